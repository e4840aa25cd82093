"""The exceptions that a user's mistake raises; each message says what to do about it."""

from __future__ import annotations

__all__ = [
    "ConfigurationError",
    "DataError",
    "EnvtuneError",
    "EpisodeError",
    "ServerError",
    "TaskError",
    "TrainingError",
    "UnknownTaskError",
]


class EnvtuneError(Exception):
    """Base class: catch it to handle every user mistake that this package reports."""


class ConfigurationError(EnvtuneError, ValueError):
    """An argument, option or combination of them that has no meaning here."""


class DataError(EnvtuneError, RuntimeError):
    """Benchmark data or a task file that is missing, broken, or of another version."""


class TaskError(EnvtuneError, ValueError):
    """A task whose fields contradict each other or name things that do not exist."""


class UnknownTaskError(EnvtuneError, KeyError):
    """A task id that the task set at hand does not hold."""

    def __str__(self) -> str:
        """Return the message itself (a plain KeyError would show its repr)."""
        return str(self.args[0]) if self.args else ""


class EpisodeError(EnvtuneError, RuntimeError):
    """A step taken before `reset`, or after the episode has ended."""


class ServerError(EnvtuneError, RuntimeError):
    """A server that cannot be reached, refuses a request, or keeps failing after all retries."""


class TrainingError(EnvtuneError, RuntimeError):
    """A training run that cannot go on here: no memory left, or no room on the disk."""
