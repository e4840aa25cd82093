import pytest

from envtune_gym.tasks.paraphrase.checks import find_faults, kept_texts, length_bound, values_of
from envtune_gym.tasks.paraphrase.entities import find_entities

ORIGINAL = "Please send 'Meet at 5' to Ann and move report.txt to /tmp before 2024-05-01; ticket tk_12 costs $20."
GOOD = "Before 2024-05-01, put report.txt into /tmp and let Ann have 'Meet at 5'. By the way, tk_12 comes to $20."


def kinds(original, paraphrase, values=()):
    return {fault.kind for fault in find_faults(original, paraphrase, list(values))}


def test_other_words_with_the_same_values_pass():
    assert kinds(ORIGINAL, GOOD, ["Meet at 5", "report.txt", "/tmp", 20, "Ann"]) == set()


@pytest.mark.parametrize("text", ["'Meet at 5'", "Ann", "report.txt", "/tmp", "2024-05-01", "tk_12", "$20"])
def test_a_value_that_is_lost_is_named(text):
    faults = find_faults(ORIGINAL, GOOD.replace(text, "that"), [])
    assert {fault.kind for fault in faults} == {"lost"}
    assert text.strip("'") in faults[0].reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("report.txt", "report.TXT"),
        ("2024-05-01", "May 1st, 2024"),
        ("$20", "twenty dollars"),
        ("'Meet at 5'", "it: Meet at 5"),
    ],
)
def test_a_value_in_another_form_is_a_loss(old, new):
    assert "lost" in kinds(ORIGINAL, GOOD.replace(old, new))


@pytest.mark.parametrize(
    "more",
    ["It has id 77.", "Call it 'x'.", 'Say "now".', "See notes.md.", "I am #1.", "It is for Bob.", "Do it ASAP."],
)
def test_what_looks_like_a_value_and_is_new_is_refused(more):
    assert kinds(ORIGINAL, f"{GOOD} {more}") == {"added"}


def test_number_words_count_as_numbers():
    assert kinds("Wait two hours.", "Hold on for two hours.") == set()
    assert kinds("Wait two hours.", "Hold on for some hours.") == {"lost"}
    assert kinds("Wait some hours.", "Hold on for two hours.") == {"added"}
    assert kinds("Do this one first.", "This should be done before the others.") == set()


def test_a_number_that_stands_twice_stays_twice():
    assert kinds("Average 2, 2 and 3.", "I want the mean of 2, 2 and 3.") == set()
    assert kinds("Average 2, 2 and 3.", "I want the mean of 2 and 3.") == {"lost"}


def test_values_of_the_solution_stay_in_whatever_form_they_are_said():
    said = "Set the priority to high and say the lamp is broken, by the fifteenth."
    assert kinds(said, "Make the priority high, and say the lamp is broken, by the fifteenth.", ["high"]) == set()
    assert kinds(said, "Make it urgent and say the lamp is broken, by the fifteenth.", ["high"]) == {"lost"}
    assert kinds(said, "Priority high; the light does not work, by the fifteenth.", ["The lamp is broken."]) == {"lost"}
    assert kinds("Convert it to kilometers.", "In kilometers, please.", ["kilometer"]) == set()
    assert kinds("Convert it to kilometers.", "In miles, please.", ["kilometer"]) == {"lost"}


def test_what_the_message_does_not_say_is_not_asked_for():
    assert kinds("Close it, please.", "Please close that.", ["Lamp", 7, "high"]) == set()


@pytest.mark.parametrize("text", ["", "Please\x00 go", "\ud800", "Go \u202e on"])
def test_what_cannot_be_printed_is_malformed(text):
    assert kinds("Go on.", text) == {"malformed"}


def test_length_and_sameness():
    assert kinds("Go on.", "Go on.") == {"unchanged"}
    assert kinds("Go on.", "Continue. " + "please " * 40) == {"too long"}
    assert length_bound("x" * 10) == 110
    assert length_bound("x" * 500) == 1_000


def test_typographic_marks_are_marks():
    assert find_entities("Say “hello you” to them.").quoted == {"hello you"}
    assert find_entities("Say 'it's late' to them, it's Ann's wish.") == find_entities(
        "Say ‘it’s late’ to them, it’s Ann’s wish."  # noqa: RUF001 - they are what is tested
    )
    assert find_entities("It's Ann's wish, and I'm OK.").names == {"Ann"}
    assert find_entities("It's mine and it's late.").quoted == set()


def test_beginnings_of_sentences_are_not_names():
    assert find_entities("Thanks. Please go on: Now. Then (Maybe) stop! What?").names == set()


def test_the_model_is_told_what_to_keep_of_the_message_alone(ticket_task):
    kept = kept_texts(ticket_task.turns[0], values_of(ticket_task))
    assert "Lamp" in kept
    assert not {"7", "The lamp is broken.", "6"} & set(kept)


def test_hostile_texts_are_read_in_time():
    text = "'" * 3_000 + "a'b" * 3_000 + '"' * 3_000 + "_." * 3_000
    find_faults(ORIGINAL, text[: length_bound(ORIGINAL)], [])
    find_entities(text)
