import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from gymnasium.spaces import Text
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory
from hypothesis import given
from hypothesis import strategies as st

from envtune_gym.spaces import UnicodeText

any_text = st.text(st.characters(), max_size=40)  # lone surrogates included


@given(any_text)
def test_every_unicode_string_up_to_the_length_belongs(text):
    assert text in UnicodeText(40)
    assert (text + "x" in UnicodeText(len(text))) is False


@pytest.mark.parametrize("value", [None, 1, b"bytes", ["list"], np.zeros(2)])
def test_only_strings_belong(value):
    assert value not in UnicodeText(100)


def test_samples_belong_are_short_and_follow_the_seed():
    first, second = UnicodeText(65_536, seed=3), UnicodeText(65_536, seed=3)
    samples = [first.sample() for _ in range(50)]
    assert samples == [second.sample() for _ in range(50)]
    assert all(sample in first and len(sample) <= 256 for sample in samples)
    assert len(set(samples)) > 40


def test_samples_do_not_depend_on_the_hash_seed():
    code = "from envtune_gym.spaces import UnicodeText; print(ascii(UnicodeText(99, seed=1).sample()))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_spaces_compare_by_length_and_survive_pickling():
    assert UnicodeText(5) == UnicodeText(5) != UnicodeText(6)
    assert UnicodeText(5) != Text(5)
    assert pickle.loads(pickle.dumps(UnicodeText(5))) == UnicodeText(5)


@given(st.lists(any_text, min_size=3, max_size=3))
def test_shared_memory_gives_back_what_was_written(texts):
    space = UnicodeText(40)
    memory = create_shared_memory(space, n=3)
    view = read_from_shared_memory(space, memory, n=3)
    for index, text in enumerate(texts):
        write_to_shared_memory(space, index, text, memory)
    assert list(view) == texts
    kept = copy.deepcopy(view)
    write_to_shared_memory(space, 0, "new", memory)
    assert kept == tuple(texts)
    assert view[0] == "new"
    assert view[-1] == texts[-1]


def test_shared_memory_refuses_what_does_not_fit():
    space = UnicodeText(4)
    memory = create_shared_memory(space, n=2)
    write_to_shared_memory(space, 1, "kept", memory)
    with pytest.raises(ValueError, match="at most 4 characters"):
        write_to_shared_memory(space, 0, "too long", memory)
    assert read_from_shared_memory(space, memory, n=2)[1] == "kept"
