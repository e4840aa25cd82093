import json

from envtune_gym.viewer.strings import MAX_EPISODE, MAX_PAGE, MAX_TEXT, Strings


def test_a_text_is_kept_once():
    strings = Strings()
    assert [strings.number(text) for text in ("a", "b", "a")] == [0, 1, 0]
    assert strings.kept == ["a", "b"]


def test_a_long_text_keeps_its_ends_and_says_what_is_left_out():
    strings = Strings()
    strings.number("x" * MAX_TEXT + "y" * 500 + "z" * 100)
    beginning, left_out, end = strings.kept[0]
    assert left_out == 600
    assert len(beginning) + len(end) == MAX_TEXT
    assert beginning.strip("x") == ""
    assert end.endswith("z" * 100)


def test_an_episode_without_end_cannot_fill_the_page():
    strings = Strings()
    for number in range(1000):
        strings.number(f"{number} " + "x" * MAX_TEXT)
    size = sum(len(part) for entry in strings.kept for part in entry if isinstance(part, str))
    assert size < MAX_EPISODE + MAX_TEXT + 1000 * 500
    strings.begin_episode()
    strings.number("y" * MAX_TEXT)
    assert strings.kept[-1] == "y" * MAX_TEXT


def test_many_long_episodes_share_the_room_of_a_page():
    def size(text, episodes):
        strings = Strings(episodes)
        for number in range(100):
            strings.number(f"{number} " + text * MAX_TEXT)
        return len(json.dumps(strings.kept))

    assert size("x", 2000) < MAX_PAGE / 2000 + 100 * 500
    assert size("x", 2) > 2 * size("x", 2000)
    assert size("\u4e16", 2000) < MAX_PAGE / 2000 + 100 * 6 * 500
