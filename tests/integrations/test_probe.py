import math

import pytest

pytest.importorskip("trl")

import torch

from envtune_gym.integrations.probe import PROBE_TEMPERATURE, PROBE_TOKENS, probe, probe_prompt

IDS = [9, 30, 5]


@pytest.fixture
def logits(model):
    with torch.no_grad():
        return model(torch.tensor([[*probe_prompt(100), *IDS]])).logits[0, -len(IDS) - 1 : -1]


def chances(logits):
    return logits.log_softmax(-1).gather(1, torch.tensor(IDS)[:, None])[:, 0].tolist()


def test_the_models_own_log_probabilities_are_found_to_be_so(model, logits):
    model.train()
    found = probe(model, probe_prompt(100), IDS, chances(logits / PROBE_TEMPERATURE))
    assert found.off < 1e-4
    assert found.is_the_model
    assert model.training


def test_others_are_found_out_and_those_before_the_temperature_told_apart(model, logits):
    before = probe(model, probe_prompt(100), IDS, chances(logits))
    assert (before.is_the_model, before.is_before_the_temperature) == (False, True)
    other = probe(model, probe_prompt(100), IDS, chances(logits.flip(0) / PROBE_TEMPERATURE))
    assert (other.is_the_model, other.is_before_the_temperature) == (False, False)


def test_a_model_that_has_diverged_is_left_to_its_rows(model):
    assert probe(model, probe_prompt(100), IDS, [math.nan] * 3).is_the_model


def test_a_prompt_leaves_room_for_the_reply():
    assert len(probe_prompt(40)) == 40 - PROBE_TOKENS
    assert len(probe_prompt(1)) == 1
    assert 300 < len(probe_prompt(8_192)) < 8_192
