import sys

import pytest

pytest.importorskip("trl")

import torch

from envtune_gym.integrations.vllm_engine import VllmEngine

STAND_IN = """
import torch
from types import SimpleNamespace

seen = []


class SamplingParams(SimpleNamespace):
    pass


class LLM:
    def __init__(self, model, **options):
        self.rotations = torch.einsum("i,j->ij", torch.arange(2048.0), torch.tensor([1.0]))
        loader = SimpleNamespace(load_weights=lambda weights: seen.append(dict(weights)))
        runner = SimpleNamespace(model=loader)
        worker = SimpleNamespace(driver_worker=SimpleNamespace(model_runner=runner))
        self.llm_engine = SimpleNamespace(model_executor=worker)

    def reset_prefix_cache(self):
        pass

    def generate(self, prompts, parameters, use_tqdm):
        products = torch.ones(1, 1) @ torch.full((1, 1), 1001.0)
        said = {"rotations": self.rotations, "product": products}
        seen.append(said)
        reply = SimpleNamespace(token_ids=[5], logprobs=[{5: SimpleNamespace(logprob=-1.0)}])
        return [SimpleNamespace(outputs=[reply]) for _ in prompts]
"""
"""Stands in for vLLM, which needs a GPU: it multiplies where vLLM does, and keeps what came of it."""


@pytest.fixture
def vllm(tmp_path, monkeypatch):
    (tmp_path / "vllm.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    import vllm

    yield vllm
    del sys.modules["vllm"]


def test_the_autocast_of_a_trainer_does_not_reach_vllm(vllm, model):
    with torch.autocast("cpu", torch.bfloat16):
        (reply,) = VllmEngine(model, {2}).generate([[7, 8]], [4])
        assert torch.is_autocast_enabled("cpu")  # as it was
    assert reply.ids == [5]
    weights, said = vllm.seen
    assert weights.keys() == dict(model.named_parameters()).keys()
    assert said["rotations"][1001].item() == 1001.0
    assert said["product"].item() == 1001.0
