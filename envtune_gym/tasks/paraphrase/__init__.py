"""User messages in other words, by a language model, without a loss of what they say.

`entities` finds the values in a text, `checks` compares a paraphrase with the original, `prompts` is what the model is
told, `rewrite` asks and decides: what the checks or the proof of the task refuse is asked for again, and in the end the
original stays. What the model writes becomes a user's message and nothing else.
"""

from __future__ import annotations

from envtune_gym.tasks.paraphrase.rewrite import MAX_ATTEMPTS, MessageRecord, TaskRecord, paraphrase_task, rewritten

__all__ = ["MAX_ATTEMPTS", "MessageRecord", "TaskRecord", "paraphrase_task", "rewritten"]
