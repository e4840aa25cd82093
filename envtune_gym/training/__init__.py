"""Training with reinforcement through the stages of Environment Tuning; needs the extra `train`.

* `settings`: all that a run is given, checked; `layers`: from presets, a YAML file and single assignments.
* `presets`: settings that go together: the paper's, a small model's, a CPU's; and those of known models.
* `grpo`: the run, from top to bottom.
* `stages`: the curriculum's progress while training; `log`: what is written of a run.
* `processes`: several that train together; `collection`: what garbage collection leaves alone meanwhile.
* `trainer`: TRL's trainer with safe checkpoints and rows padded on the right.
"""

from __future__ import annotations
