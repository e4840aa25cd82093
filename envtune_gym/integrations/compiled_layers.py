"""A model's layers compiled for decoding: few kernels where eager code launches dozens a layer.

One layer is compiled, and the code serves all of them, whatever the number of rows: what differs between layers is
handed in. That takes a fraction of the time in which a whole model is compiled.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from envtune_gym.integrations.slot_views import DecodeView

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["CompiledLayers"]

logger = logging.getLogger(__name__)


class CompiledLayers:
    """Runs what calls a model with its layers compiled, or as they are where they cannot be.

    Args:
        model: A decoder-only model that is given a `DecodeView` as its cache.
        backend: What torch compiles with.
    """

    def __init__(self, model: PreTrainedModel, backend: str | Callable[..., Any] = "inductor") -> None:
        self._layers: list[torch.nn.Module] = list(getattr(model.get_decoder(), "layers", ()))
        self._compiled = [torch.compile(layer.forward, backend=backend, dynamic=True) for layer in self._layers]
        self._works: bool | None = None if self._layers else False

    def run(self, step: Callable[[], None]) -> None:
        """Run a step that decodes a token; if compiled layers fail at their first one, it runs again without them."""
        if self._works is False:
            step()
            return
        try:
            with self._in_place():
                step()
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # there is no C compiler, say, or the compiler does not take the model
            if self._works:
                raise
            self._works = False
            logger.warning("decoding goes without compiled layers, and slower: %s", str(error).strip().split("\n")[0])
            step()
        else:
            self._works = True

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Have the model call its compiled layers."""
        hooks = [vars(layer).get("forward") for layer in self._layers]  # of accelerate's, say
        for number, (layer, compiled) in enumerate(zip(self._layers, self._compiled, strict=True)):
            layer.forward = _with_own_slots(compiled, number)
        try:
            yield
        finally:
            for layer, hook in zip(self._layers, hooks, strict=True):
                if hook is None:  # a method left there would be this layer's in copies of the layer, too
                    del layer.forward
                else:
                    layer.forward = hook


def _with_own_slots(compiled: Callable[..., Any], number: int) -> Callable[..., Any]:
    """Return a layer that is handed its own slots: code that looks them up by number would serve that layer alone."""

    def forward(*args: Any, **options: Any) -> Any:
        own = {
            name: value.of_layer(number) if isinstance(value, DecodeView) else value for name, value in options.items()
        }
        return compiled(*args, **own)

    return forward
