r"""GRPO through the stages of Environment Tuning (arXiv 2510.10197): the same as `envtune train`, from a checkout.

The run itself is `envtune_gym/training/grpo.py`, readable from top to bottom; its settings are documented in
`envtune_gym/training/settings.py`.

Examples:
  The bundled model on one GPU, through the paper's four stages on generated tasks:
    python baselines/grpo.py --preset small --out runs/small

  The same without the curriculum or hints, straight on all tasks:
    python baselines/grpo.py --preset small --preset direct --out runs/direct

  Where it was interrupted:
    python baselines/grpo.py --out runs/small --resume

  The paper's settings, with adapters:
    python baselines/grpo.py --preset paper --preset qwen2.5-7b --out runs/paper
"""

from __future__ import annotations

import sys

from envtune_gym.commands.app import run

if __name__ == "__main__":
    sys.exit(run(["train", *sys.argv[1:]]))
