"""Episodes made up for the tests of the numbers."""

from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings

RUN = RunSettings(policy="someone", action_format="python")


def episode(task_id, success, *, sample=0, run=RUN, **fields):
    """Return an episode of an official task."""
    category = task_id.removeprefix("multi_turn_").rpartition("_")[0]
    known = {"category": category, "domains": ["TicketAPI"], "source": "bfcl 2026.3.23", "num_turns": 2, "turns": 2}
    error = {} if success else {"error_type": "multi_turn:instance_state_mismatch"}
    return EvaluatedEpisode(
        task_id=task_id,
        sample=sample,
        success=success,
        **{"run": run, "messages": [], "progress": float(success), **known, **error, **fields},
    )
