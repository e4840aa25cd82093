import subprocess
import sys

CODE = """
import gc
from envtune_gym.training.collection import old_objects_left_alone

kept = [[] for _ in range(30_000)]
with old_objects_left_alone():
    assert gc.get_freeze_count() > 30_000
    with old_objects_left_alone():
        pass
    assert gc.get_freeze_count() > 30_000  # it was somebody else's
assert gc.get_freeze_count() == 0
try:
    with old_objects_left_alone():
        raise KeyboardInterrupt
except KeyboardInterrupt:
    assert gc.get_freeze_count() == 0
"""


def test_what_stood_before_is_left_out_of_collections_until_the_end():
    """In a process of its own: that of the tests has frozen what it imported."""
    subprocess.run([sys.executable, "-c", CODE], check=True)
