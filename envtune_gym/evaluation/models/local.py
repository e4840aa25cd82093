"""A model in this process, as a policy: a directory of model files or a GGUF file.

Episodes play side by side, and the replies of all that wait are sampled together. The conversation is rendered anew by
the model's chat template at each reply: unlike in training no token needs to stay what it was, so that templates which
drop earlier thoughts will do.

Native function calling is not for local models: how calls are taken out of a text is another thing for each family of
models, and servers know it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envtune_gym.asking import Completion, RefusedRequestError
from envtune_gym.calls import ActionFormat
from envtune_gym.errors import ConfigurationError, EnvtuneError
from envtune_gym.evaluation.models.batching import Batches
from envtune_gym.evaluation.models.history import History, history_of
from envtune_gym.evaluation.models.replies import action_text
from envtune_gym.evaluation.runs.policies import AsyncPolicy, ModelOptions, Prompts, Reply
from envtune_gym.tasks import Task

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from envtune_gym.integrations.engine import Engine, Generated

__all__ = ["LocalMaker", "LocalSettings", "local_policy"]

_TOKENS_TOGETHER = 65_536
"""Tokens of the conversations that are read together, padding included; the memory of a CPU gives no warning."""
_PROBE = [{"role": "system", "content": "rules"}, {"role": "user", "content": "begin"}]


class LocalModelError(EnvtuneError, RuntimeError):
    """A model that cannot write a reply here."""


@dataclass(frozen=True)
class LocalSettings:
    """How a local model is sampled.

    Attributes:
        temperature: Sampling temperature; 0 takes the most likely token.
        max_tokens: Longest reply.
        batch_size: Conversations whose replies are sampled together, if they are not too long for that.
        seed: Seed of the sampling. The same seed gives the same replies only in the same batches: not after a run was
            interrupted, and not at another concurrency.

    Raises:
        ConfigurationError: If a number makes no sense.
    """

    temperature: float = 0.0
    max_tokens: int = 1_024
    batch_size: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not self.temperature >= 0 or self.max_tokens < 1 or self.batch_size < 1:
            raise ConfigurationError("temperature must be 0 or more, max_tokens and batch_size at least 1")


def local_policy(path: str, options: ModelOptions, action_format: ActionFormat) -> LocalMaker:
    """Return the policies of a local model.

    Args:
        path: As `load_model` takes it.
        options: How it is sampled; without a temperature it takes the most likely token.
        action_format: The format of its messages.

    Raises:
        ConfigurationError: If an option is not for local models, or torch is not installed.
        DataError: If the model cannot be loaded.
    """
    if options.top_p is not None:
        raise ConfigurationError("--top-p is for servers; a local model is sampled by its temperature alone")
    settings = LocalSettings(
        options.temperature or 0.0, options.max_tokens, options.concurrency, options.sampling_seed or 0
    )
    _check_format(action_format)
    try:
        from envtune_gym.integrations.models import load_model

        model, tokenizer = load_model(path)
    except ModuleNotFoundError as error:
        raise ConfigurationError(f'a local model needs {error.name}; run: pip install "envtune-gym[train]"') from None
    return LocalMaker(f"local:{path}", model, tokenizer, settings, action_format, options.prompts)


class LocalMaker:
    """Makes policies that share a model.

    Args:
        name: What the run's settings call it.
        model: A causal language model; it goes to the GPU if there is one.
        tokenizer: Its tokenizer, with a chat template.
        settings: How it is sampled.
        action_format: The format of its messages: `python` or `tool_call`.
        prompts: Whose prompts it reads.

    Raises:
        ConfigurationError: If the model has no chat template, or one without system prompts.
    """

    def __init__(
        self,
        name: str,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        settings: LocalSettings,
        action_format: ActionFormat,
        prompts: Prompts = "auto",
    ) -> None:
        _check_format(action_format)
        self.name = name
        self._format = action_format
        self._prompts = prompts
        self._writer = _Writer(model, tokenizer, settings)
        self._batches: Batches[list[int], Generated] = Batches(self._writer.write, settings.batch_size)

    def make(self, task: Task, sample: int, seed: int) -> AsyncPolicy:
        """Return a policy for one episode.

        Raises:
            ConfigurationError: If the benchmark's prompts were asked for and there are none for this task.
        """
        return _LocalPolicy(self._writer, self._batches, self._format, history_of(task, self._format, self._prompts))

    async def aclose(self) -> None:
        """Begin no further batch."""
        await self._batches.aclose()


class _LocalPolicy:
    def __init__(
        self,
        writer: _Writer,
        batches: Batches[list[int], Generated],
        action_format: ActionFormat,
        history: History,
    ) -> None:
        self._writer = writer
        self._batches = batches
        self._format = action_format
        self._history = history

    async def reply(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        shown, _ = self._history.shown(messages, tools)
        prompt = self._writer.prompt(shown)
        generated = await self._batches.ask(prompt)
        if generated.error:
            raise LocalModelError(generated.error)
        text = action_text(Completion(self._writer.text(generated.ids)), self._format)
        return Reply(text, len(prompt), len(generated.ids))


class _Writer:
    """A model with its tokenizer and what samples from it."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, settings: LocalSettings) -> None:
        import torch

        if torch.cuda.is_available():
            model = model.to(torch.device("cuda"), torch.bfloat16)
        self._tokenizer = tokenizer
        self._settings = settings
        self._context = getattr(model.config, "max_position_embeddings", None)
        self._engine = _engine(model, tokenizer, settings)
        try:
            self._render(_PROBE)
        except Exception as error:  # a template is a program of its own and may raise anything
            raise ConfigurationError(f"the model's chat template takes no system prompt: {error}") from error
        torch.manual_seed(settings.seed)

    def prompt(self, messages: Sequence[dict[str, Any]]) -> list[int]:
        """Return the tokens of a conversation.

        Raises:
            RefusedRequestError: If they leave the model no room for a reply.
        """
        ids: list[int] = self._tokenizer.encode(self._render(messages), add_special_tokens=False)
        if self._limit(ids) < 1:
            raise RefusedRequestError(
                f"the conversation has {len(ids):,} tokens, which fill the model's context of {self._context:,}"
            )
        return ids

    def text(self, ids: Sequence[int]) -> str:
        """Return what the model wrote, without special tokens."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def write(self, prompts: Sequence[list[int]]) -> list[Generated]:
        """Return one reply to each prompt; where there is no room for all of them together, in two parts."""
        import torch

        if len(prompts) == 1 or len(prompts) * max(map(len, prompts)) <= _TOKENS_TOGETHER:
            try:
                return self._engine.generate(prompts, [self._limit(prompt) for prompt in prompts])
            except torch.OutOfMemoryError:
                if len(prompts) == 1:
                    raise LocalModelError(f"out of memory at a conversation of {len(prompts[0]):,} tokens") from None
        half = len(prompts) // 2
        return [*self.write(prompts[:half]), *self.write(prompts[half:])]

    def _limit(self, prompt: Sequence[int]) -> int:
        """Return the most tokens that the reply may have."""
        longest = self._settings.max_tokens
        return longest if self._context is None else min(longest, self._context - len(prompt))

    def _render(self, messages: Sequence[dict[str, Any]]) -> str:
        return str(self._tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True))


def _engine(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, settings: LocalSettings) -> Engine:
    from envtune_gym.integrations.engines import engine_maker
    from envtune_gym.integrations.models import end_token_ids

    make_engine = engine_maker("auto", settings.batch_size)
    return make_engine(model, end_token_ids(model, tokenizer), settings.temperature)


def _check_format(action_format: ActionFormat) -> None:
    if action_format == "openai":
        raise ConfigurationError(
            "a local model is asked by prompting (--mode prompting); for native function calling put a server before "
            "it, such as `vllm serve` or `transformers serve`, and use --policy server:NAME"
        )
