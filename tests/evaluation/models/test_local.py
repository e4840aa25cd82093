import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from integrations.conftest import model, one_thread, tokenizer  # noqa: F401
from integrations.helpers import SMALL_TASK

from envtune_gym import TaskSet
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.models import LocalMaker, local_policy
from envtune_gym.evaluation.models.local import LocalSettings
from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.evaluation.runs.policies import ModelOptions
from envtune_gym.integrations.engine import Generated

SHORT = [
    SMALL_TASK,
    SMALL_TASK.model_copy(
        update={"id": "withheld", "category": "miss_func", "missed_functions": {1: ("close_ticket",)}}
    ),
]
"""Tasks of one domain, whose documentation a model without a GPU has soon read."""


@pytest.fixture
def play(evaluate, model, tokenizer):  # noqa: F811
    """Play tasks with the tiny model; return the records."""

    def play(tasks=None, action_format="python", concurrency=4, **settings):
        settings = LocalSettings(**{"max_tokens": 8, **settings})
        maker = LocalMaker("local:tiny", model, tokenizer, settings, action_format)
        records, _ = evaluate(maker, tasks or SHORT, action_format, 2, concurrency)
        return records

    return play


def messages(records):
    return [record.messages for record in records]


@pytest.mark.parametrize("action_format", ["python", "tool_call"])
def test_episodes_are_played_to_their_ends(play, action_format):
    records = play(action_format=action_format)
    assert [record.task_id for record in records] == ["small", "small", "withheld", "withheld"]
    for record in records:
        assert record.broken == ""
        assert record.num_steps == len(record.messages) >= record.turns
        assert record.prompt_tokens > 100 * record.num_steps
        assert 0 < record.completion_tokens <= 8 * record.num_steps


def test_without_a_temperature_the_replies_do_not_depend_on_the_seed_or_the_company(play):
    alone = play(concurrency=1)
    assert messages(play(seed=5, batch_size=3)) == messages(alone)
    assert alone[0].messages == alone[1].messages


def test_with_a_temperature_samples_differ_and_a_seed_repeats_them(play):
    first = play(temperature=1.0, seed=1)
    assert messages(play(temperature=1.0, seed=1)) == messages(first)
    assert first[0].messages != first[1].messages
    assert messages(play(temperature=1.0, seed=2)) != messages(first)


def test_a_model_that_knows_the_solution_solves_the_task(play, tokenizer, ticket_task, monkeypatch):  # noqa: F811
    solution = Oracle("python").messages(ticket_task)

    class Engine:
        sizes = []

        def generate(self, prompts, limits):
            self.sizes.append(len(prompts))
            said = [tokenizer.decode(prompt).count("<|im_start|>assistant") - 1 for prompt in prompts]
            return [Generated([*tokenizer.encode(solution[n]), tokenizer.eos_token_id]) for n in said]

    monkeypatch.setattr("envtune_gym.evaluation.models.local._engine", lambda *_: Engine())
    records = play([ticket_task])
    assert [record.success for record in records] == [True, True]
    assert messages(records) == [solution] * 2
    assert Engine.sizes == [2] * len(solution)


def test_a_conversation_that_fills_the_context_breaks_its_episode_alone(play, model, ticket_task):  # noqa: F811
    long = ticket_task.model_copy(update={"id": "long", "turns": ("Hello. " * 4_000, "Bye.")})
    model.config.max_position_embeddings = 16_000
    broken, _, fine, _ = play([long, ticket_task])
    assert "fill the model's context of 16,000" in broken.broken
    assert fine.broken == ""


def test_where_memory_does_not_suffice_fewer_are_sampled_together(play, monkeypatch):
    import torch

    expected = messages(play())

    class Small:
        def __init__(self, engine):
            self.engine = engine

        def generate(self, prompts, limits):
            if len(prompts) > 1:
                raise torch.OutOfMemoryError
            return self.engine.generate(prompts, limits)

    from envtune_gym.evaluation.models import local

    make = local._engine
    monkeypatch.setattr(local, "_engine", lambda *arguments: Small(make(*arguments)))
    assert messages(play()) == expected


def test_long_conversations_are_sampled_apart(play, monkeypatch):
    from envtune_gym.evaluation.models import local

    sizes = []

    class Counting:
        def __init__(self, engine):
            self.engine = engine

        def generate(self, prompts, limits):
            sizes.append((len(prompts), max(map(len, prompts))))
            return self.engine.generate(prompts, limits)

    make = local._engine
    monkeypatch.setattr(local, "_engine", lambda *arguments: Counting(make(*arguments)))
    expected = messages(play())
    assert max(number for number, _ in sizes) == 4
    room = 2 * max(longest for _, longest in sizes) + 100
    monkeypatch.setattr(local, "_TOKENS_TOGETHER", room)
    sizes.clear()
    assert messages(play()) == expected
    assert max(number for number, _ in sizes) > 1
    assert all(number == 1 or number * longest <= room for number, longest in sizes)


def test_logits_that_are_not_finite_break_their_episode(play, model):  # noqa: F811
    import torch

    with torch.no_grad():
        model.model.embed_tokens.weight.fill_(torch.nan)
    assert {record.broken for record in play()} == {"the model's logits are not finite"}


def test_a_template_without_system_prompts_is_refused_before_the_run(model, tokenizer):  # noqa: F811
    tokenizer = type(tokenizer)(tokenizer_object=tokenizer.backend_tokenizer, eos_token="<|im_end|>")
    tokenizer.chat_template = "{{ raise_exception('no system role') }}"
    with pytest.raises(ConfigurationError, match="takes no system prompt: no system role"):
        LocalMaker("local:tiny", model, tokenizer, LocalSettings(), "python")


def test_a_directory_is_a_policy(evaluate, model, tokenizer, ticket_task, tmp_path):  # noqa: F811
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    maker = local_policy(str(tmp_path), ModelOptions(max_tokens=5), "python")
    [record], _ = evaluate(maker, TaskSet([ticket_task]), "python")
    assert record.run.policy == f"local:{tmp_path}"
    assert record.turns == 2


def test_what_a_local_model_cannot_do_is_said():
    with pytest.raises(ConfigurationError, match="put a server before it"):
        local_policy("somewhere", ModelOptions(), "openai")
    with pytest.raises(ConfigurationError, match="top-p is for servers"):
        local_policy("somewhere", ModelOptions(top_p=0.5), "python")
    with pytest.raises(DataError, match="no model directory 'somewhere'"):
        local_policy("somewhere", ModelOptions(), "python")
