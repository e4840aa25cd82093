"""Actions that go wrong in many ways, and episodes of them."""

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call, parse_call

ID = "EnvTune/MultiDomain-v0"
DONE = "<answer>Done.</answer>"
GARBAGE = ("", "no idea", "<tool_call>[", '<tool_call>[{"name": 1}]</tool_call>', "<answer>half")


def calls(*texts, action_format="tool_call"):
    """Return an action that makes these calls, written in Python syntax."""
    return render_calls([parse_call(text) for text in texts], action_format)


def random_episode(task, rng, action_format="tool_call"):
    """Return the actions of an episode that mixes right calls, altered ones, garbage and answers."""
    actions = []
    for truth in task.ground_truth:
        for text in (*truth, *truth):
            call = parse_call(text)
            choice = rng.integers(6)
            if choice == 0:
                actions.append(str(rng.choice(GARBAGE)))
            elif choice == 1:
                actions.append(render_calls([Call(call.name + "s", call.kwargs), call], action_format))
            elif choice == 2:
                actions.append(render_calls([Call(call.name, {**call.kwargs, "more": 1})], action_format))
            elif choice == 3:
                broken = {name: f"no/{value}" for name, value in call.kwargs.items()}
                actions.append(render_calls([Call(call.name, broken), Call(call.name)], action_format))
            else:
                actions.append(render_calls([call], action_format))
        actions.append(render_answer("ok", action_format))
    return actions


def play(env, task_id, actions, seed=0):
    """Return all that an episode returns: the reset, then each step until the end."""
    trace = [env.reset(seed=seed, options={"task_id": task_id})]
    for action in actions:
        trace.append(env.step(action))
        if trace[-1][2] or trace[-1][3]:
            break
    return trace
