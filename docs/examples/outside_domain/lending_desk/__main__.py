"""Prints where the tasks are: `envtune replay --tasks "$(python -m lending_desk)"`."""

import sys

from lending_desk import TASKS

sys.stdout.write(f"{TASKS}\n")
