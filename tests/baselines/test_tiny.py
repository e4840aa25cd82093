from pathlib import Path

import pytest

pytest.importorskip("trl")

from integrations.conftest import one_thread  # noqa: F401 (a fixture)
from rich.console import Console

from envtune_gym.integrations.models import load_model
from envtune_gym.integrations.tokens import ChatTemplate
from envtune_gym.training.layers import file_layers, make_settings

BASELINES = Path(__file__).parents[2] / "baselines"


@pytest.fixture(scope="module")
def tiny():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BASELINES))
        import tiny

        yield tiny


@pytest.fixture(scope="module")
def demo(tiny):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BASELINES))
        import demo

        yield demo


@pytest.fixture(scope="module")
def tasks(tiny):
    return tiny.family("train", 200)


@pytest.fixture(scope="module")
def warm(tiny, tasks, tmp_path_factory):
    """The directory of a model that has had two updates."""
    out = tmp_path_factory.mktemp("warm")
    args = tiny.Args(out=str(out), steps=2, batch=2, micro_batch=2, mistakes=0.0)
    tiny.make_tiny(tasks, args, Console(quiet=True))
    return out


def test_the_family_is_requests_for_one_call_of_few_tools(tiny, tasks):
    assert 20 < len(tasks) < 100
    assert all(len(task.ground_truth[0]) == 1 for task in tasks)
    assert all(task.num_turns == 1 and task.domains == (tiny.DOMAIN,) for task in tasks)
    assert {call.partition("(")[0] for task in tasks for calls in task.ground_truth for call in calls} <= tiny.TOOLS


def test_held_out_tasks_are_of_other_scenarios_and_other_words(demo, tasks):
    held_out = demo.held_out(tasks, "test", 64)
    assert len(held_out) == 64
    assert not {task.turns[0] for task in held_out} & {task.turns[0] for task in tasks}
    met = [task.initial_config for task in tasks]
    assert all(task.initial_config not in met for task in held_out)


@pytest.mark.parametrize("text", ["Turn the lights on!", "naïve\n\t\x00 日本 1,234.5", '{"a": [1, "b"]}  x', ""])
def test_the_tokenizer_keeps_any_text(tiny, tasks, text):
    tokenizer = tiny.make_tokenizer(tasks)
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_a_conversation_is_short(tiny, tasks):
    """The system prompt is one token."""
    template = ChatTemplate(tiny.make_tokenizer(tasks))
    messages = list(tiny.oracle_messages(tasks[:1]))
    assert len(messages[0]["content"]) > 2_000
    assert len(template.encode(template.render(messages[:2]))) < 60


def test_the_model_is_small_and_can_be_loaded(warm):
    model, tokenizer = load_model(str(warm))
    assert model.num_parameters() < 2_000_000
    assert len(tokenizer) == model.config.vocab_size
    assert ChatTemplate(tokenizer).tool_role == "tool"


def test_the_demo_trains_it_and_draws_a_curve(demo, warm, tasks, tmp_path):
    tiny_run = {"model": str(warm), "out": str(tmp_path / "run"), "batches": 1, "groups": 1, "group_size": 2}
    settings = make_settings(
        [*file_layers(BASELINES / "demo_cpu.yaml"), tiny_run, {"micro_batch": 2, "validation": {"every": 1}}]
    )
    log = demo.train(settings, tasks, tasks[:2])
    assert [update["step"] for update in log.updates] == [1]
    assert [entry["step"] for entry in log.validations] == [1]
    trained = str(demo.last_checkpoint(Path(settings.out)))
    assert 0 <= demo.success(trained, tasks[:2], settings) <= 1
    demo.draw([(0, 0.25), (1, 0.5)], 0.2, 0.6, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_curve_is_shown_in_the_terminal(demo, capsys):
    demo.show(Console(width=100), [(0, 0.25), (10, 0.75)])
    first, second = capsys.readouterr().out.splitlines()[1:]
    assert first.endswith("25%")
    assert second.endswith("75%")
    assert second.count("█") > 2 * first.count("█")


@pytest.mark.parametrize("name", ["demo_cpu.yaml", "demo_gpu.yaml"])
def test_the_settings_make_sense(name):
    settings = make_settings(file_layers(BASELINES / name), name)
    assert settings.max_steps < settings.max_steps_per_turn, "an episode that never answers would be paid"
    assert settings.stages[0].feedback == "off"


def test_what_is_not_installed_is_left_out(demo, capsys):
    def part(console):
        raise demo.DataError("no data; pip install them")

    assert demo.if_installed(Console(), part) is None
    assert "pip install them" in capsys.readouterr().out
