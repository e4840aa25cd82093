from pathlib import Path

import pytest

pytest.importorskip("trl")

from integrations.conftest import one_thread, tokenizer  # noqa: F401 (fixtures)
from integrations.helpers import SMALL_TASK
from rich.console import Console

from envtune_gym import TaskSet, load_tasks
from envtune_gym.calls import parse_action
from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.tokens import ChatTemplate, Conversation
from envtune_gym.tasks import save_jsonl
from envtune_gym.training.environment import make_env
from envtune_gym.training.layers import make_settings

BASELINES = Path(__file__).parents[2] / "baselines"
END = "<|im_end|>"


@pytest.fixture(scope="module")
def sft():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BASELINES))
        import sft

        yield sft


@pytest.fixture(scope="module")
def trajectories(sft):
    import sft_trajectories

    return sft_trajectories


@pytest.fixture
def rows(sft, trajectories, tokenizer):  # noqa: F811
    """Return what arguments make of tasks: trajectories, and each as tokens."""

    def rows(args, tasks=None):
        made = trajectories.demonstrations(trajectories.training_tasks(args) if tasks is None else tasks, args)
        with sft.progress_bars(Console(quiet=True)) as bars:
            tokens = trajectories.tokenised(made, tokenizer, args, bars)
        assert not tokens.too_long
        return made, tokens.rows

    return rows


def arguments(sft, **changes):
    """Return arguments for a few trajectories over single domains."""
    return sft.Args(**{"steps": 1, "batch": 6, "micro_batch": 2, "max_domains": 1, "max_tokens": 30_000, **changes})


def parts(trajectories, tokenizer, row):  # noqa: F811
    """Return a trajectory as text: what is learnt, and what is only read."""
    learnt = [token for token in row["labels"] if token != trajectories.IGNORED]
    read = [
        token for token, label in zip(row["input_ids"], row["labels"], strict=True) if label == trajectories.IGNORED
    ]
    return tokenizer.decode(learnt), tokenizer.decode(read)


@pytest.mark.parametrize(
    ("tasks", "split"),
    [("bfcl", "test"), ("bfcl", "val"), ("bfcl", "all"), ("generated", "test"), ("generated", "all")],
)
def test_what_is_to_be_tested_on_is_not_trained_on(sft, trajectories, tasks, split):
    with pytest.raises(ConfigurationError, match=f"the split '{split}' of {tasks} has tasks to test on") as caught:
        trajectories.training_tasks(arguments(sft, tasks=tasks, split=split))
    assert "\n" not in str(caught.value)


def test_a_file_of_tasks_is_taken_whole(sft, trajectories, tmp_path):
    save_jsonl([SMALL_TASK], tmp_path / "tasks.jsonl")
    chosen = trajectories.training_tasks(arguments(sft, tasks=str(tmp_path / "tasks.jsonl"), split="all"))
    assert chosen.ids == [SMALL_TASK.id]


@pytest.mark.bfcl
def test_official_trajectories_are_of_training_scenarios(sft, trajectories):
    tasks = trajectories.training_tasks(arguments(sft, tasks="bfcl"))
    assert set(tasks.ids) <= set(load_tasks("bfcl", split="train").ids)


def test_the_loss_is_on_the_assistants_messages_alone(sft, trajectories, tokenizer, rows):  # noqa: F811
    made, tokens = rows(arguments(sft, mistakes=0.0, batch=4))
    for demonstration, row in zip(made, tokens, strict=True):
        learnt, read = parts(trajectories, tokenizer, row)
        assert learnt == "".join(message + END for message in demonstration.messages)
        assert demonstration.task.turns[0] in read
        assert not any(message in read for message in demonstration.messages if "<tool_call>" in message)


@pytest.mark.parametrize("action_format", ["tool_call", "python"])
def test_a_mistake_is_answered_with_a_hint_and_put_right_and_not_learnt(
    sft,
    trajectories,
    tokenizer,  # noqa: F811
    rows,
    action_format,
):
    made, tokens = rows(arguments(sft, mistakes=1.0, batch=12, feedback=["actionable"], action_format=action_format))
    kinds = set()
    for demonstration, row in zip(made, tokens, strict=True):
        messages = list(demonstration.messages)
        broken = messages.pop(demonstration.mistake)
        learnt, read = parts(trajectories, tokenizer, row)
        assert learnt == "".join(message + END for message in messages)
        assert broken in read
        env = trajectories.make_env([demonstration.task], "actionable", action_format)
        env.reset(options={"task_id": demonstration.task.id})
        for place, message in enumerate(demonstration.messages):
            *_, info = env.step(message)
            failed = "parse_error" in info or any(result["error"] for result in info["tool_results"])
            assert failed == (place == demonstration.mistake), message
        kinds.add(parse_action(broken, action_format).error is not None)
        shown = tokenizer.decode(row["input_ids"])
        assert shown.index(broken) < shown.index(messages[demonstration.mistake], shown.index(broken))
    assert kinds == ({True, False} if action_format == "tool_call" else {False})


def test_the_feedback_on_a_mistake_is_what_is_asked_for(sft, trajectories, tokenizer, rows):  # noqa: F811
    texts = {}
    for feedback in ("off", "actionable"):
        _, tokens = rows(arguments(sft, mistakes=1.0, batch=6, feedback=[feedback]))
        texts[feedback] = [parts(trajectories, tokenizer, row)[1] for row in tokens]
    assert all(hinted != plain for hinted, plain in zip(texts["actionable"], texts["off"], strict=True))


@pytest.mark.parametrize(
    "prompt",
    [
        {"action_format": "tool_call", "tool_docs": "compact", "examples": False},
        {"action_format": "python", "tool_docs": "full", "examples": False},
        {"action_format": "python", "tool_docs": "compact", "examples": True},
        {"action_format": "tool_call", "tool_docs": "full", "examples": True},
    ],
    ids=lambda prompt: "-".join(map(str, prompt.values())),
)
def test_a_warm_start_has_the_prompt_of_the_run_that_follows(sft, trajectories, tokenizer, rows, prompt):  # noqa: F811
    args = arguments(sft, mistakes=0.5, batch=2, **prompt)
    made, tokens = rows(args)
    settings = make_settings([prompt])
    for demonstration, row in zip(made, tokens, strict=True):
        env = make_env(settings, TaskSet([demonstration.task]), 20)
        _, info = env.reset(options={"task_id": demonstration.task.id})
        conversation = Conversation(ChatTemplate(tokenizer))
        conversation.open(info["messages"])
        length = len(conversation.prompt_ids)
        assert row["input_ids"][:length] == conversation.prompt_ids
        assert row["labels"][:length] == [trajectories.IGNORED] * length
        assert row["labels"][length] != trajectories.IGNORED or demonstration.mistake == 0
    assert all(("<tool_call>" in one.messages[0]) == (args.action_format == "tool_call") for one in made)


@pytest.mark.parametrize("role", ["tool", "user"])
def test_results_are_shown_in_the_role_that_is_asked_for(sft, tokenizer, rows, role):  # noqa: F811
    _, [row, *_] = rows(arguments(sft, mistakes=0.0, tool_role=role))
    assert ("<|im_start|>tool\n" in tokenizer.decode(row["input_ids"])) == (role == "tool")
