import pytest

pytest.importorskip("torch")

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import Gemma3Config, Gemma3TextConfig, LlamaConfig, MistralConfig, Qwen3Config

from envtune_gym.integrations.attention import for_changing_shapes, layer_kinds
from envtune_gym.integrations.engine import TransformersEngine


def test_cudnn_is_left_out_and_comes_back():
    before = torch.backends.cuda.cudnn_sdp_enabled()
    with for_changing_shapes():
        assert not torch.backends.cuda.cudnn_sdp_enabled()
        assert torch.backends.cuda.flash_sdp_enabled()
        assert torch.backends.cuda.mem_efficient_sdp_enabled()
        assert torch.backends.cuda.math_sdp_enabled()
    assert torch.backends.cuda.cudnn_sdp_enabled() == before


def test_it_comes_back_after_an_error():
    before = torch.backends.cuda.cudnn_sdp_enabled()
    with pytest.raises(ValueError, match="broken"), for_changing_shapes():
        raise ValueError("broken")
    assert torch.backends.cuda.cudnn_sdp_enabled() == before


def test_kernels_that_somebody_has_left_out_are_left_out():
    with sdpa_kernel(SDPBackend.MATH), for_changing_shapes():
        enabled = torch.backends.cuda
        assert enabled.math_sdp_enabled()
        assert not enabled.flash_sdp_enabled()
        assert not enabled.mem_efficient_sdp_enabled()
        assert not enabled.cudnn_sdp_enabled()
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION), for_changing_shapes():
        assert torch.backends.cuda.cudnn_sdp_enabled()


def test_replies_are_sampled_without_it(model):
    seen = []
    model.register_forward_pre_hook(lambda *_: seen.append(torch.backends.cuda.cudnn_sdp_enabled()))
    TransformersEngine(model, [2]).generate([[5, 6, 7], [5, 6]], [3, 3])
    assert seen
    assert not any(seen)


@pytest.mark.parametrize(
    ("config", "kinds"),
    [
        (LlamaConfig(), {"full_attention"}),
        (Qwen3Config(), {"full_attention"}),
        (MistralConfig(sliding_window=None), {"full_attention"}),
        (MistralConfig(sliding_window=4096), {"sliding_attention"}),
        (Gemma3TextConfig(), {"sliding_attention", "full_attention"}),
        (Gemma3Config(), {"sliding_attention", "full_attention"}),
    ],
)
def test_the_kinds_of_layers_are_known(config, kinds):
    assert layer_kinds(config) == kinds
