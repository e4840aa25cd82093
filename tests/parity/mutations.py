"""Trajectories that are nearly right: a task's ground truth, changed in one or two ways."""

from dataclasses import replace

from envtune_gym.callsyntax import Call, parse_call

JUNK = (
    "no_such_tool(x=1)",
    "mean(numbers=[1, 2])",
    "ls(a=True)",
    "cat()",
    "get_watchlist()",
    "get_current_speed()",
    "displayCarStatus(option='fuel')",
    "list_users()",
    "authenticate_travel('a', 'b', 'c', 'd', 'e', 'f')",
)


def as_played(task):
    """Return the ground truth as a trajectory, one step a turn; a turn without calls has no steps."""
    return [[list(calls)] if calls else [] for calls in task.ground_truth]


def mutate(task, tasks, mutation, rng):
    """Return a task's ground truth as steps by turn, changed by a mutation and now and then by a second one."""
    turns = as_played(task)
    if rng.random() < 0.5:
        _split_steps(turns, rng)
    mutation(turns, tasks, rng)
    if rng.random() < 0.3 and _places(turns):
        rng.choice(MUTATIONS)(turns, tasks, rng)
    return turns


def _places(turns):
    return [(t, s, c) for t, steps in enumerate(turns) for s, step in enumerate(steps) for c in range(len(step))]


def _pick(turns, rng):
    """Return a step and the index of one of its calls."""
    turn, step, index = rng.choice(_places(turns))
    return turns[turn][step], index


def _split_steps(turns, rng):
    for turn, steps in enumerate(turns):
        turns[turn] = [[call] for step in steps for call in step] if rng.random() < 0.7 else steps


def unchanged(turns, tasks, rng):
    """Leave the trajectory right."""


def empty_steps(turns, tasks, rng):
    """Add steps without calls, to right turns and to turns without any."""
    for steps in turns:
        for _ in range(rng.choice([0, 1, 2])):
            steps.insert(rng.randint(0, len(steps)), [])


def keywords_to_positionals(turns, tasks, rng):
    """Pass arguments by position, which is right only if they stand in the signature's order."""
    for _ in range(3):
        step, index = _pick(turns, rng)
        call = parse_call(step[index])
        step[index] = Call(call.name, {}, (*call.args, *call.kwargs.values())).source()


def drop_call(turns, tasks, rng):
    """Leave a call out."""
    step, index = _pick(turns, rng)
    del step[index]


def drop_last_call(turns, tasks, rng):
    """Leave out the last call, often one that only looks something up."""
    turn, step, index = _places(turns)[-1]
    del turns[turn][step][index]


def repeat_call(turns, tasks, rng):
    """Make a call twice."""
    step, index = _pick(turns, rng)
    step.insert(index, step[index])


def reorder_calls(turns, tasks, rng):
    """Shuffle the calls of a turn."""
    steps = rng.choice([steps for steps in turns if steps])
    calls = [call for step in steps for call in step]
    rng.shuffle(calls)
    steps[:] = [[call] for call in calls]


def move_call(turns, tasks, rng):
    """Make a call one turn too early or too late."""
    turn, step, index = rng.choice(_places(turns))
    call = turns[turn][step].pop(index)
    other = min(max(turn + rng.choice([-1, 1]), 0), len(turns) - 1)
    turns[other].insert(rng.randint(0, len(turns[other])), [call])


def alter_argument(turns, tasks, rng):
    """Change the value of an argument."""
    step, index = _pick(turns, rng)
    call = parse_call(step[index])
    if call.kwargs:
        name = rng.choice(sorted(call.kwargs))
        value = call.kwargs[name]
        other = rng.choice([f"{value}x", "", None, 7, -1, [value], {"a": 1}] if isinstance(value, str) else [0, 1, "1"])
        step[index] = replace(call, kwargs={**call.kwargs, name: other}).source()


def foreign_call(turns, tasks, rng):
    """Add a call of another task."""
    other = tasks[rng.randrange(len(tasks))]
    calls = [call for calls in other.ground_truth for call in calls]
    steps = rng.choice(turns)
    steps.insert(rng.randint(0, len(steps)), [rng.choice(calls)])


def junk_call(turns, tasks, rng):
    """Add a call that reads, fails or does not exist."""
    steps = rng.choice(turns)
    steps.insert(rng.randint(0, len(steps)), [rng.choice(JUNK)])


def skip_turn(turns, tasks, rng):
    """Do nothing in a turn."""
    turns[rng.randrange(len(turns))] = rng.choice([[], [[]], [[], []]])


def cut_short(turns, tasks, rng):
    """Stop before the last turns."""
    del turns[rng.randrange(len(turns)) :]


def further_turn(turns, tasks, rng):
    """Go on after the last turn."""
    turns.append(rng.choice([[], [["ls()"]]]))


MUTATIONS = (
    unchanged,
    empty_steps,
    keywords_to_positionals,
    drop_call,
    drop_last_call,
    repeat_call,
    reorder_calls,
    move_call,
    alter_argument,
    foreign_call,
    junk_call,
    skip_turn,
    cut_short,
    further_turn,
)
