import pytest

from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks.generation.shape import LEVELS, Shape, shapes_of


@pytest.mark.parametrize(
    ("difficulty", "shapes"),
    [
        (None, tuple(LEVELS.values())),
        (2, (LEVELS[2],)),
        ("2", (LEVELS[2],)),
        ([1, "3"], (LEVELS[1], LEVELS[3])),
        ((1, 1), (LEVELS[1],)),
        ({"turns": 5}, (Shape(5),)),
        ("turns=5,domains=2", (Shape(5, domains=2),)),
        ({"turns": 1, "goals": 3, "domains": 4, "filler": 64}, (Shape(1, 3, 4, 64),)),
        (["turns=5", 1], (Shape(5), LEVELS[1])),
        (Shape(7), (Shape(7),)),
    ],
)
def test_what_a_difficulty_means(difficulty, shapes):
    assert shapes_of(difficulty) == shapes


@pytest.mark.parametrize(
    ("difficulty", "message"),
    [
        (0, "unknown difficulty 0; known: 1, 2, 3, 4, 5"),
        (True, "unknown difficulty True"),
        ("hard", "unknown difficulty 'hard'"),
        ("turns=x", "unknown difficulty 'turns=x'"),
        (2.0, "unknown difficulty 2.0"),
        ([], "empty list"),
        ({"steps": 3}, "unknown number 'steps'; known: turns, goals, domains, filler"),
        ({"turns": 9}, "turns is a whole number from 1 to 8, not 9"),
        ({"turns": True}, "turns is a whole number"),
        ("domains=5", "domains is a whole number from 1 to 4"),
    ],
)
def test_mistakes_say_what_is_known(difficulty, message):
    with pytest.raises(ConfigurationError) as caught:
        shapes_of(difficulty)
    assert message in str(caught.value)


def test_a_code_says_the_filler_where_there_is_any():
    assert Shape(3, goals=2, filler=16).code(filled=False) == "t3g2d1"
    assert Shape(3, goals=2, filler=16).code(filled=True) == "t3g2d1f16"
