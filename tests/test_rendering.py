import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envtune_gym.rendering import register_constants, render

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


@given(st.dictionaries(st.text() | st.integers(), plain))
def test_a_dict_is_rendered_as_the_standard_library_does(value):
    assert render(value) == json.dumps(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [("as is \n é", "as is \n é"), ([1, "a"], "[1, 'a']"), (None, "None"), (True, "True"), ({"a": {1}}, "{'a': {1}}")],
)
def test_what_is_not_a_json_dict_is_rendered_by_str(value, text):
    assert render(value) == text


def test_long_strings_and_known_constants_render_like_any_other():
    constant = [1.5] * 2000
    register_constants([constant])
    for value in ({"a": "é\n" * 5000, "b": constant}, {1: "x" * 5000}, {"c": [constant]}):
        assert render(value) == json.dumps(value)


def test_an_integer_too_long_to_print_raises_what_python_raises():
    with pytest.raises(ValueError, match="integer string conversion"):
        render({"result": 10**5000})
