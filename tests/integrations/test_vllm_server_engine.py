import json
import os

import pytest

pytest.importorskip("trl")

import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

from envtune_gym.errors import ConfigurationError, ServerError
from envtune_gym.integrations import vllm_server
from envtune_gym.integrations.engine import Continuation, TransformersEngine
from envtune_gym.integrations.engines import engine_maker
from envtune_gym.integrations.vllm_server import VllmServer
from envtune_gym.integrations.vllm_server_engine import VllmServerEngine

from .conversations import Conversations
from .helpers import tiny_model
from .test_engine import PROMPTS, teacher_forced
from .vllm_stand_in import place, stand_in


@pytest.fixture
def server(tokenizer):
    """A server that was started with other weights than those of the tests' model."""
    with stand_in(tiny_model(tokenizer, seed=9)) as running:
        yield running


@pytest.fixture
def make(server, model, tmp_path):
    def make(ends=(2,), **options):
        return VllmServerEngine(model, place(server, tmp_path), ends, **options)

    return make


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(vllm_server, "_PAUSES", (0.0, 0.0))


@pytest.mark.parametrize("batch_size", [1, 3, 8])
@pytest.mark.parametrize("temperature", [1.0, 0.4])
def test_log_probabilities_are_those_of_a_forward_pass_over_the_whole(make, model, batch_size, temperature):
    engine = make(temperature=temperature, batch_size=batch_size)
    for prompt, reply in zip(PROMPTS, engine.generate(PROMPTS, [9, 14, 5, 12]), strict=True):
        assert len(reply.ids) == len(reply.logprobs) > 0
        expected = teacher_forced(model, prompt, reply.ids, temperature)
        torch.testing.assert_close(torch.tensor(reply.logprobs), expected, atol=1e-4, rtol=0)


def test_at_zero_temperature_replies_are_those_of_the_transformers_engine(make, model):
    limits = [10, 3, 7, 1]
    assert make(temperature=0.0).generate(PROMPTS, limits) == TransformersEngine(model, {2}, 0.0).generate(
        PROMPTS, limits
    )


def test_a_reply_ends_with_its_end_token_or_at_its_own_limit(make):
    ends, limits = set(range(200)), [1, 6, 3, 30]
    replies = [reply for _ in range(5) for reply in make(ends).generate(PROMPTS, limits)]
    for reply, limit in zip(replies, limits * 5, strict=True):
        assert not set(reply.ids[:-1]) & ends
        assert reply.ids[-1] in ends or len(reply.ids) == limit
    assert {len(reply.ids) for reply in replies} > {1, 3}


def test_the_end_token_of_the_model_ends_nothing_unless_the_engine_was_told_so(make, server):
    engine = make((), temperature=0.0)
    (reply,) = engine.generate([[40]], [9])
    server.model.config.eos_token_id = reply.ids[3]
    assert engine.generate([[40]], [9]) == [reply]


def test_a_seed_gives_the_same_replies_and_equal_prompts_are_answered_apart(make):
    engine = make()
    torch.manual_seed(3)
    first = engine.generate([[7, 8, 9]] * 12, [8] * 12)
    torch.manual_seed(3)
    assert engine.generate([[7, 8, 9]] * 12, [8] * 12) == first
    assert len({tuple(reply.ids) for reply in first}) > 6


def test_no_more_requests_are_open_than_the_batch_has_rows(make, server):
    make(batch_size=3).generate(PROMPTS * 5, [6] * 20)
    assert 1 <= server.most_open <= 3


def test_replies_are_passed_on_once_each(make):
    seen = {}
    replies = make().generate(PROMPTS, [4] * 4, lambda row, reply: seen.setdefault(row, []).append(reply))
    assert {row: reply for row, (reply,) in seen.items()} == dict(enumerate(replies))


def test_conversations_go_on_within_a_call_and_get_the_same_replies(make, server, model):
    turns = [1, 4, 2, 5]
    expected = Conversations(PROMPTS, turns, 0).play(TransformersEngine(model, {2}, 0.0))
    engine = make(temperature=0.0, batch_size=2)
    asked = len(server.prompts)
    conversations = Conversations(PROMPTS, turns, 0)
    assert conversations.play(engine) == expected
    assert (conversations.calls, len(server.prompts) - asked) == (1, sum(turns))
    assert server.most_open <= 2


def test_a_seed_gives_the_same_replies_to_conversations_that_go_on(make):
    replies = []
    engine = make()
    for _ in range(2):
        torch.manual_seed(3)
        replies.append(Conversations([[7, 8, 9]] * 6, [4] * 6, 1).play(engine))
    assert replies[0] == replies[1]


def test_no_prompts_are_no_requests(make, server):
    engine = make()
    asked = len(server.prompts)
    assert engine.generate([], []) == []
    assert len(server.prompts) == asked


@pytest.mark.parametrize("fused", [False, True])
def test_weights_are_handed_over_when_an_update_has_changed_them_and_not_again(make, model, server, fused):
    engine = make(temperature=0.0)
    before = engine.generate(PROMPTS, [12] * 4)
    assert (server.loads, server.resets) == (1, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.3, fused=fused)
    model(torch.tensor([[5, 6, 7, 8]]), labels=torch.tensor([[5, 6, 7, 8]])).loss.backward()
    optimizer.step()
    after = engine.generate(PROMPTS, [12] * 4)
    assert after != before
    assert after == TransformersEngine(model, {2}, 0.0).generate(PROMPTS, [12] * 4)
    engine.generate(PROMPTS, [2] * 4)
    assert (server.loads, server.resets) == (2, 2)


def test_the_folder_holds_one_whole_model_in_the_wanted_precision_and_nothing_half_written(make, model, tmp_path):
    make(dtype=torch.bfloat16)
    files = {file.name for file in (tmp_path / "weights").iterdir()}
    assert files == {"config.json", "generation_config.json", "model.safetensors", ".envtune-weights"}
    stored = load_file(tmp_path / "weights" / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values()} == {torch.bfloat16}
    assert set(stored) == {name for name, _ in model.named_parameters()}
    assert model.dtype == torch.float32


def test_a_server_of_another_user_may_read_what_that_user_might_read_otherwise(make, tmp_path):
    make()
    (tmp_path / "usual").touch()
    written = {file.stat().st_mode for file in (tmp_path / "weights").iterdir()}
    assert written == {(tmp_path / "usual").stat().st_mode}


def test_tied_weights_are_written_once(model, tmp_path):
    model.config.tie_word_embeddings = True
    tied = LlamaForCausalLM(model.config).eval()
    with stand_in(tied) as server:
        VllmServerEngine(tied, place(server, tmp_path), {2}, dtype=torch.bfloat16).generate([[5, 6]], [3])
    assert "lm_head.weight" not in load_file(tmp_path / "weights" / "model.safetensors")


def test_what_a_killed_run_left_half_written_is_removed(make, tmp_path):
    make()
    (tmp_path / "weights" / ".new").mkdir()
    (tmp_path / "weights" / ".new" / "model.safetensors").write_bytes(b"half")
    make().generate([[5]], [2])
    assert not (tmp_path / "weights" / ".new").exists()


def test_a_folder_that_holds_something_else_is_left_alone(make, model, tmp_path):
    model.save_pretrained(tmp_path / "weights")
    kept = (tmp_path / "weights" / "model.safetensors").read_bytes()
    with pytest.raises(ConfigurationError, match=r"holds other files.*name a new folder"):
        make()
    assert (tmp_path / "weights" / "model.safetensors").read_bytes() == kept


def test_a_folder_that_cannot_be_made_is_named(server, model, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"weights cannot be written to .*file/weights"):
        VllmServerEngine(model, VllmServer(server.url, str(tmp_path / "file" / "weights")), {2})


def test_where_no_server_answers_the_command_that_starts_one_is_said_and_its_folder_is_there(model, tmp_path):
    with stand_in(model) as gone:
        url = gone.url
    with pytest.raises(ConfigurationError) as caught:
        VllmServerEngine(model, VllmServer(url + "/v1/", str(tmp_path / "my weights")), {2}, dtype=torch.bfloat16)
    port = url.rpartition(":")[2]
    said = str(caught.value)
    assert "\n" not in said
    assert "does not answer" in said
    assert said.endswith(
        f"start one: VLLM_SERVER_DEV_MODE=1 vllm serve '{tmp_path}/my weights' --host 127.0.0.1 --port {port} "
        "--dtype bfloat16 --skip-tokenizer-init --logprobs-mode processed_logprobs --gpu-memory-utilization 0.3"
    )
    assert (tmp_path / "my weights" / "model.safetensors").is_file()


def test_a_server_of_another_kind_is_told_apart(make, server, model, tmp_path):
    remedy = "is no vLLM server; start one: VLLM_SERVER_DEV_MODE=1 vllm serve"
    with pytest.raises(ConfigurationError, match=remedy):
        VllmServerEngine(model, VllmServer(server.url + "/elsewhere", str(tmp_path / "weights")), {2})
    server.longest = None  # as servers have it that know no such limit
    with pytest.raises(ConfigurationError, match=remedy):
        make()


def test_a_server_that_takes_no_weights_is_to_be_started_in_development_mode(make, server):
    server.development = False
    with pytest.raises(ConfigurationError, match="not in development mode; start it so: VLLM_SERVER_DEV_MODE=1 vllm"):
        make()


def test_log_probabilities_before_the_temperature_are_noticed(make, server):
    server.mode = "raw_logprobs"
    with pytest.raises(ConfigurationError, match=r"before the temperature; start it so: .*processed_logprobs"):
        make()


def test_a_server_that_keeps_other_weights_is_noticed(make, server):
    server.stubborn = True
    with pytest.raises(ConfigurationError, match=r"another model .* off by \d+\.\d\d on average"):
        make()


def test_a_server_of_a_model_with_another_shape_cannot_load_the_weights(model, tmp_path):
    other = LlamaForCausalLM(
        LlamaConfig(vocab_size=90, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2)
    )
    refusal = r"cannot load the weights in .*\(shape mismatch\)"
    with stand_in(other) as server, pytest.raises(ServerError, match=refusal):
        VllmServerEngine(model, place(server, tmp_path), {2})


def test_a_server_that_wants_a_key_is_given_it(make, server, monkeypatch):
    server.key = "secret"
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    with pytest.raises(ServerError, match="environment variable VLLM_API_KEY"):
        make()
    monkeypatch.setenv("VLLM_API_KEY", "secret")
    assert make().generate([[5]], [2])[0].ids


def test_what_is_longer_than_the_server_takes_is_refused_with_the_option_to_set(make, server):
    server.longest = 40
    engine = make()
    with pytest.raises(ConfigurationError, match="takes 40; start it with --max-model-len 41"):
        engine.generate([[5], [6] * 31], [10, 10])
    with pytest.raises(ConfigurationError, match="takes 40; start it with --max-model-len 43"):
        engine.generate([[5]], [10], lambda *_: Continuation([5] * 33, 10))


@pytest.mark.parametrize("fault", [None, 503])
def test_a_fault_that_passes_changes_nothing(make, server, impatient, fault):
    engine = make(temperature=0.0)
    expected = engine.generate(PROMPTS, [5] * 4)
    server.faults = [fault, fault]
    assert engine.generate(PROMPTS, [5] * 4) == expected
    assert server.faults == []


def test_a_server_that_is_gone_ends_the_run_with_a_line(make, server, impatient):
    engine = make()
    server.faults = [None] * 1_000
    with pytest.raises(ServerError, match=r"vLLM server at http.* does not answer: ") as caught:
        engine.generate(PROMPTS, [5] * 4)
    assert "\n" not in str(caught.value)


def test_a_refused_request_says_what_the_server_says(make, server):
    engine = make()
    server.faults = [400] * 4
    with pytest.raises(ServerError, match="refuses /v1/completions with status 400: fault"):
        engine.generate(PROMPTS, [5] * 4)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"choices": []},
        {"choices": [{"text": "as OpenAI has it", "logprobs": None}]},
        {"choices": [{"token_ids": [1, 2], "logprobs": {"token_logprobs": [-0.5]}}]},
        {"choices": [{"token_ids": ["1"], "logprobs": {"token_logprobs": [-0.5]}}]},
        {"choices": [{"token_ids": [], "logprobs": {"token_logprobs": []}}]},
        {"choices": [{"token_ids": [1, 2, 3], "logprobs": {"token_logprobs": [-0.5, -0.5, -0.5]}}]},
        {"choices": [{"token_ids": [100_000], "logprobs": {"token_logprobs": [-0.5]}}]},
        {"choices": [{"token_ids": [-1], "logprobs": {"token_logprobs": [-0.5]}}]},
        {"choices": ["as nobody has it"]},
    ],
)
def test_answers_without_tokens_are_no_replies(make, server, answer):
    engine = make()
    server.answers = [answer]
    with pytest.raises(ServerError, match="without token ids and their log-probabilities"):
        engine.generate([[5]], [2])


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_not_finite_end_their_row_alone(make, model, temperature):
    with torch.no_grad():
        model.model.embed_tokens.weight[31] = torch.nan
    healthy, _, poisoned, other = make(temperature=temperature).generate(PROMPTS, [6] * 4)
    assert poisoned.ids == []
    assert "not finite" in poisoned.error
    assert (healthy.error, other.error) == ("", "")
    assert len(healthy.ids) == 6 or healthy.ids[-1] == 2


@pytest.mark.parametrize("logprob", [None, -9999.0])
def test_placeholders_for_log_probabilities_are_not_taken_for_them(make, server, logprob):
    engine = make()
    server.answers = [{"choices": [{"token_ids": [5, 6], "logprobs": {"token_logprobs": [-0.5, logprob]}}]}]
    (reply,) = engine.generate([[5]], [2])
    assert (reply.ids, reply.logprobs) == ([], [])
    assert "not finite" in reply.error


@pytest.mark.parametrize("begun", [{"token_ids": [5], "logprobs": {"token_logprobs": [-0.5]}}, {"token_ids": []}])
def test_a_reply_that_the_server_gave_up_is_none(make, server, begun):
    engine = make()
    choice = {**begun, "finish_reason": "abort"}
    server.answers = [{"choices": [choice]}]
    (reply,) = engine.generate([[5]], [2])
    assert (reply.ids, reply.error) == ([], "the server gave the reply up")


def test_a_model_that_has_diverged_is_said_by_its_rows(make, model):
    with torch.no_grad():
        model.model.norm.weight.fill_(torch.nan)
    assert all("not finite" in reply.error for reply in make().generate(PROMPTS, [3] * 4))


@pytest.mark.parametrize(
    "options", [{"temperature": -0.1}, {"temperature": float("nan")}, {"temperature": 1e-3}, {"batch_size": 0}]
)
def test_bad_options_are_refused(make, options):
    with pytest.raises(ConfigurationError):
        make(**options)


def test_adapters_are_refused(server, model, tmp_path):
    peft = pytest.importorskip("peft")
    adapted = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj"]))
    with pytest.raises(ConfigurationError, match="train LoRA with the engine 'auto'"):
        VllmServerEngine(adapted, place(server, tmp_path), {2})
    assert not (tmp_path / "weights").exists()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://localhost",
        "http://",
        "http://host:port",
        "http://a host",
        "http://host..name",
        "http://host/weiß",
        "http://host\x1b[2J",
    ],
)
def test_addresses_that_are_none_are_refused(url):
    with pytest.raises(ConfigurationError, match="such as http://localhost:8000"):
        VllmServer(url, "weights")


@pytest.mark.parametrize("url", ["http://ann:secret@host", "https://host:port?key=secret", "http://host/#secret"])
def test_an_address_with_a_secret_is_refused_and_not_repeated(url):
    with pytest.raises(ConfigurationError, match="key goes into the environment variable VLLM_API_KEY") as caught:
        VllmServer(url, "weights")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["secret\nsecret", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_not_repeated(make, server, monkeypatch, key):
    monkeypatch.setenv("VLLM_API_KEY", key)
    with pytest.raises(ConfigurationError, match="VLLM_API_KEY holds characters") as caught:
        make()
    assert key not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_a_server_says_does_nothing_to_a_terminal(make, server):
    engine = make()
    server.refusal = "\x1b[2Jno\nmore" * 1_000
    server.faults = [400] * 4
    with pytest.raises(ServerError, match="with status 400: \ufffd") as caught:
        engine.generate(PROMPTS, [5] * 4)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 2_000


def test_an_answer_that_is_nested_without_end_is_no_json(make, server):
    engine = make()
    server.body = b"[" * 100_000
    with pytest.raises(ServerError, match="is not JSON"):
        engine.generate(PROMPTS, [5] * 4)


def test_a_server_without_a_folder_is_refused():
    with pytest.raises(ConfigurationError, match="a folder of their own"):
        VllmServer("http://localhost:8000", " ")


def test_the_maker_knows_the_engine_by_its_name(server, model, tmp_path):
    engine = engine_maker("vllm-server", 8, None, place(server, tmp_path))(model, {2}, 1.0)
    assert type(engine) is VllmServerEngine


def test_the_folder_is_said_to_the_server_in_full(server, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = []
    load = server.load
    server.load = lambda asked: (told.append(asked["kwargs"]["weights_path"]), load(asked))[1]
    VllmServerEngine(model, VllmServer(server.url, "here"), {2})
    assert told == [os.path.join(os.path.realpath(tmp_path), "here")]
    assert json.loads((tmp_path / "here" / "config.json").read_text())["architectures"] == ["LlamaForCausalLM"]
