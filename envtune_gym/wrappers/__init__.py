"""The paper's tunings of the environment as Gymnasium wrappers, one class a file.

* `AugmentedFeedbackWrapper`: errors become feedback that teaches.
* `ProgressRewardWrapper`: each passed turn pays its share.
* `FormatRewardWrapper`: the format and the calls pay.
* `DirectRewardWrapper`: progress and a little for the format; what the paper compares with.
* `ToolRLRewardWrapper`: calls that look like the ground truth's pay; likewise.
* `CurriculumWrapper`: tasks, feedback and reward by stage.
* `CandidateActionWrapper`: a choice among calls in place of text.
* `FeaturizeWrapper`: numbers in place of text.
"""

from __future__ import annotations

from envtune_gym.wrappers.augmented_feedback import AugmentedFeedbackWrapper
from envtune_gym.wrappers.candidate_action import CandidateActionWrapper
from envtune_gym.wrappers.curriculum import CurriculumWrapper
from envtune_gym.wrappers.direct_reward import DirectRewardWrapper
from envtune_gym.wrappers.featurize import FeaturizeWrapper
from envtune_gym.wrappers.format_reward import FormatRewardWrapper
from envtune_gym.wrappers.progress_reward import ProgressRewardWrapper
from envtune_gym.wrappers.toolrl_reward import ToolRLRewardWrapper

__all__ = [
    "AugmentedFeedbackWrapper",
    "CandidateActionWrapper",
    "CurriculumWrapper",
    "DirectRewardWrapper",
    "FeaturizeWrapper",
    "FormatRewardWrapper",
    "ProgressRewardWrapper",
    "ToolRLRewardWrapper",
]
