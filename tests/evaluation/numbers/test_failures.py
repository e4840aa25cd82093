import pytest

from envtune_gym.errors import UnknownTaskError
from envtune_gym.evaluation.numbers.failures import CLASSES, NOT_FOUND, failure_class, failure_counts
from envtune_gym.evaluation.replay import play
from envtune_gym.evaluation.runs.episode import env_maker
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.tasks import TaskSet

RUN = RunSettings(policy="someone", action_format="python", max_steps_per_turn=3)
OPEN = "[create_ticket(title='Lamp', description='The lamp is broken.')]"
CLOSE, MEAN, DONE = "[close_ticket(ticket_id=7)]", "[mean(numbers=[1, 2, 6])]", "Done."


def played(task, *messages, run=RUN):
    return play(env_maker(TaskSet([task]), run)(), task, messages, run)


@pytest.mark.parametrize(
    ("expected", "messages"),
    [
        ("", (OPEN, DONE, CLOSE, MEAN, DONE)),
        ("gave_up", (OPEN, DONE, DONE)),
        ("gave_up", (OPEN, DONE)),
        ("format", ("[create_ticket(title='Lamp'", DONE, CLOSE, MEAN, DONE)),
        ("unknown_tool", (OPEN, DONE, CLOSE, "[average(numbers=[1, 2, 6])]", DONE)),
        ("wrong_argument", (OPEN, DONE, "[close_ticket(ticket_id=8)]", MEAN, DONE)),
        ("missing_call", (OPEN, DONE, MEAN, DONE)),
        ("format", (OPEN, DONE, CLOSE, "[mean(numbers=[1, 2, 6)]", DONE)),
        ("extra_call", (OPEN, OPEN, DONE, CLOSE, MEAN, DONE)),
        ("step_limit", (OPEN, *[MEAN] * 3)),
    ],
)
def test_each_class(ticket_task, expected, messages):
    assert failure_class(played(ticket_task, *messages), ticket_task) == expected


def test_arguments_may_be_written_in_other_ways(ticket_task):
    positional = "[create_ticket('Lamp', 'The lamp is broken.', priority=1)]"
    episode = played(ticket_task, positional, DONE, "[mean(numbers=[1.0, 2.0, 6.0])]", DONE)
    assert failure_class(episode, ticket_task) == "missing_call"


def test_acting_on_what_is_impossible_yet(withheld_task):
    official = RUN.model_copy(update={"offer": "official"})
    early = played(
        withheld_task, OPEN, DONE, "[resolve_ticket(ticket_id=7, resolution='New bulb.')]", DONE, CLOSE, MEAN, DONE
    )
    assert failure_class(early, withheld_task) == "called_when_it_should_ask"
    # Reading in that turn changes nothing; what fails then is the next one.
    reading = played(withheld_task, OPEN, DONE, MEAN, DONE, CLOSE.replace("7", "8"), DONE, run=official)
    assert failure_class(reading, withheld_task) == "wrong_argument"


def test_a_broken_episode_is_not_played_again(ticket_task):
    broken = played(ticket_task, OPEN).model_copy(update={"broken": "the server gave no answer"})
    assert failure_class(broken, ticket_task) == "broken"


def test_feedback_does_not_matter(ticket_task):
    helped = RUN.model_copy(update={"feedback": "actionable", "hints": "no/such/book.yaml"})
    episode = played(ticket_task, OPEN, DONE, MEAN, DONE).model_copy(update={"run": helped})
    assert failure_class(episode, ticket_task) == "missing_call"


def test_counts_of_a_run(ticket_task):
    episodes = [
        played(ticket_task, *messages) for messages in ((OPEN, DONE, DONE), (DONE, DONE), (OPEN, DONE, MEAN, DONE))
    ]
    episodes.append(played(ticket_task, OPEN, DONE, CLOSE, MEAN, DONE))
    assert failure_counts(episodes, lambda task_id, source: ticket_task) == {"gave_up": 2, "missing_call": 1}

    def nowhere(task_id, source):
        raise UnknownTaskError("not here")

    assert failure_counts(episodes, nowhere) == {NOT_FOUND: 4}
    assert {"gave_up", "missing_call"} <= set(CLASSES)
