import sys

import pytest

pytest.importorskip("trl")

import torch

from envtune_gym.errors import ConfigurationError
from envtune_gym.integrations.vllm_engine import VllmEngine

STAND_IN = """
import torch
from types import SimpleNamespace

model = None
loaded = []


class SamplingParams(SimpleNamespace):
    pass


class LLM:
    def __init__(self, model, **options):
        positions = torch.arange(2048.0)[:, None] @ torch.ones(1, 1)  # vLLM: einsum, which only a GPU's autocast casts
        self.table = positions - torch.arange(2048.0)[:, None]  # zeros, if the product is exact
        loader = SimpleNamespace(load_weights=lambda weights: loaded.append(dict(weights)))
        runner = SimpleNamespace(model=loader)
        worker = SimpleNamespace(driver_worker=SimpleNamespace(model_runner=runner))
        self.llm_engine = SimpleNamespace(model_executor=worker)

    def reset_prefix_cache(self):
        pass

    def generate(self, prompts, parameters, use_tqdm):
        replies = [self._reply(prompt["prompt_token_ids"], how) for prompt, how in zip(prompts, parameters)]
        return [SimpleNamespace(outputs=[reply]) for reply in replies]

    def _reply(self, ids, how):
        reply, chances = [], []
        while len(reply) < how.max_tokens and not set(reply) & set(how.stop_token_ids):
            with torch.no_grad():
                logits = model(torch.tensor([[*ids, *reply]])).logits[0, -1].float() / (how.temperature or 1.0)
            logprobs = logits.log_softmax(-1) + self.table[: len(ids)].abs().sum()
            reply.append(int(logprobs.argmax()))
            chances.append({reply[-1]: SimpleNamespace(logprob=float(logprobs.max()))})
        return SimpleNamespace(token_ids=reply, logprobs=chances)
"""
"""Stands in for vLLM, which needs a GPU: it computes the model, and is wrong where a table of positions is."""


@pytest.fixture
def vllm(model, tmp_path, monkeypatch):
    (tmp_path / "vllm.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    import vllm

    vllm.model = model
    yield vllm
    del sys.modules["vllm"]


def test_the_autocast_of_a_trainer_does_not_reach_vllm(vllm, model):
    with torch.autocast("cpu", torch.bfloat16):
        engine = VllmEngine(model, {2}, temperature=0.7)
        (reply,) = engine.generate([[7, 8]], [4])
        assert torch.is_autocast_enabled("cpu")  # as it was
    with torch.no_grad():
        logits = model(torch.tensor([[7, 8, *reply.ids]])).logits[0, 1:-1] / 0.7
    expected = logits.log_softmax(-1).gather(1, torch.tensor(reply.ids)[:, None])[:, 0]
    torch.testing.assert_close(torch.tensor(reply.logprobs), expected, atol=1e-4, rtol=0)


def test_weights_are_handed_over_when_they_have_changed(vllm, model):
    engine = VllmEngine(model, {2})
    engine.generate([[7, 8]], [1])
    assert [weights.keys() for weights in vllm.loaded] == [dict(model.named_parameters()).keys()]
    with torch.no_grad():
        model.model.embed_tokens.weight.mul_(1.1)
    engine.generate([[7, 8]], [1])
    assert len(vllm.loaded) == 2


def test_an_engine_that_computes_something_else_is_refused(vllm, model, monkeypatch):
    monkeypatch.setattr(VllmEngine, "_own_precision", lambda _: torch.autocast("cpu", torch.bfloat16))
    with pytest.raises(ConfigurationError, match="vLLM computes another model than the one that is trained"):
        VllmEngine(model, {2})
