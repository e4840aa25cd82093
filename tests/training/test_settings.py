from pathlib import Path

import pytest
import yaml

pytest.importorskip("yaml")

from envtune_gym import load_tasks
from envtune_gym.curriculum import PAPER_STAGES
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.tasks import CATEGORIES, save_jsonl
from envtune_gym.training.layers import assign, file_layers, make_settings, settings_table, to_yaml
from envtune_gym.training.presets import MODELS, PRESETS, RUNS, preset_layers
from envtune_gym.training.settings import GROUPS, Settings

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def test_without_any_layer_the_stages_are_the_papers():
    assert [stage.stage() for stage in make_settings([]).stages] == list(PAPER_STAGES)


@pytest.mark.parametrize("name", PRESETS)
def test_printed_settings_are_read_back_as_they_were(name, tmp_path):
    settings = make_settings(preset_layers([name]))
    (tmp_path / "run.yaml").write_text(to_yaml(settings))
    assert make_settings(file_layers(tmp_path / "run.yaml")) == settings


def test_every_setting_is_documented_in_what_is_printed_and_on_the_page():
    printed = to_yaml(Settings())
    for group in GROUPS:
        for name, field in group.model_fields.items():
            assert field.description, name
            assert f"`{name}`" in settings_table()
    for name, field in Settings.model_fields.items():
        assert f"# {field.description}\n{name}:" in printed
    assert settings_table() in PAGE.read_text(encoding="utf-8"), "run: make docs"


def test_later_layers_stand_over_earlier_ones():
    layers = [*preset_layers(["small", "direct"]), {"beta": 0.02}, assign("learning_rate=1e-5"), assign("lora.rank=4")]
    settings = make_settings(layers)
    assert (settings.beta, settings.learning_rate, settings.lora.rank) == (0.02, 1e-5, 4)
    assert [(stage.reward, stage.feedback) for stage in settings.stages] == [("direct", "off")]
    assert settings.groups == RUNS["small"]["groups"]


def test_an_assignment_reaches_into_lists():
    layers = [*preset_layers(["small"]), assign("stages.1.batches=7"), assign("tasks.0.split=all")]
    settings = make_settings(layers)
    assert [stage.batches for stage in settings.stages] == [3, 7, 40, None]
    assert (settings.tasks[0].source, settings.tasks[0].split) == ("generated", "all")
    assert make_settings([assign("tasks=[generated, bfcl]")]).tasks[1].source == "bfcl"
    with pytest.raises(ConfigurationError, match=r"stages\.4: there are 4 entries"):
        make_settings([*preset_layers(["small"]), assign("stages.4.batches=7")])


def test_a_file_may_stand_on_presets(tmp_path):
    (tmp_path / "run.yaml").write_text("preset: [small, direct]\nlearning_rate: 1e-5\nseed: 3\n")
    settings = make_settings(file_layers(tmp_path / "run.yaml"))
    assert (settings.learning_rate, settings.seed, settings.stages[0].name) == (1e-5, 3, "direct")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("learning_rat: 1", "learning_rat: no such setting; similar: learning_rate"),
        ("learning_rate: fast", "learning_rate: Input should be a valid number"),
        ("learning_rate: 0", "learning_rate: Input should be greater than 0, not 0"),
        ("groups: 0", "groups: Input should be greater than or equal to 1, not 0"),
        ("group_size: 1", "group_size: Input should be greater than or equal to 2"),
        ("delta: .nan", "delta: Input should be a finite number"),
        (
            "engine: fast",
            "engine: Input should be 'auto', 'transformers', 'graph', 'static', 'vllm' or 'vllm-server', not 'fast'",
        ),
        ("engine: vllm-server", "the engine vllm-server needs vllm_server: a folder for the weights"),
        ("vllm_server: {url: 'http://there:8000'}", "vllm_server.weights: Field required"),
        ("vllm_server: {weights: w, url: there}", "vllm_server: the url of a vLLM server is an address such as http:"),
        ("stages: []", "stages: needs at least one entry"),
        ("stages: [{reward: format}]", "stages.0.name: Field required"),
        ("stages: [{name: a}, {name: b, reward: gold}]", "stages.1.reward: Input should be 'format', 'progress'"),
        ("stages: [{name: a, categories: [hard]}]", "stages.0: stage 'a': categories are of base"),
        ("stages: [{name: a, sampling: best}]", "stages.0.sampling: Input should be 'uniform' or 'adaptive'"),
        ("tasks: {split: dev}", "tasks.0.split: Input should be 'train'"),
        ("validation: {evry: 3}", "validation.evry: no such setting; similar: every"),
        ("rule: {patience: 0}", "rule.patience: Input should be greater than or equal to 1"),
        ("lora: {rank: 0}", "lora.rank: Input should be greater than or equal to 1"),
        ("micro_batch: 3", "groups * group_size must be a multiple of micro_batch * updates_per_batch"),
        ("pass_tokens: 9000", "pass_tokens goes with gradient_checkpointing: false and entropy_bonus: 0"),
        ("validation: {every: 0}", "nothing would end stage 'format'; give it batches"),
        ("preset: huge", "unknown preset 'huge'; known: paper, small, demo"),
        ("- 1", "settings are a mapping"),
        ("a: [", "not YAML"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_that_names_the_setting(text, reason, tmp_path):
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        make_settings(file_layers(tmp_path / "run.yaml"), "run.yaml")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*none.yaml: No such file"):
        file_layers(tmp_path / "none.yaml")


@pytest.mark.parametrize("assignment", ["learning_rate", "=3", ""])
def test_what_assigns_nothing_is_refused(assignment):
    with pytest.raises(ConfigurationError, match="name=value"):
        assign(assignment)


def test_the_papers_settings_are_those_it_gives():
    paper = make_settings(preset_layers(["paper"]))
    assert (paper.learning_rate, paper.beta, paper.epsilon, paper.epsilon_high, paper.delta) == (
        1e-6,
        0.1,
        0.2,
        0.28,
        10,
    )
    assert (paper.group_size, paper.groups, paper.max_grad_norm, paper.entropy_bonus) == (16, 32, 1.0, 0.001)
    assert (paper.max_prompt_tokens, paper.max_completion_tokens) == (8_192, 10_000)
    assert [stage.max_completion_tokens for stage in paper.stages] == [None, None, 24_576, None]
    assert paper.batches * paper.groups == 20 * 400  # epochs, tasks


def test_a_validation_has_each_category_of_an_ordered_set(tmp_path, ticket_task, withheld_task):
    tasks = [
        one.model_copy(update={"id": f"{one.category}_{number}"})
        for one in (ticket_task, withheld_task)
        for number in range(10)
    ]
    save_jsonl(tasks, tmp_path / "tasks.jsonl")
    source = {"source": str(tmp_path / "tasks.jsonl"), "split": "all"}

    def validation(limit):
        return make_settings([{"validation": {"limit": limit, "tasks": source}}]).load_validation().ids

    assert validation(4) == ["base_0", "base_5", "miss_func_0", "miss_func_5"]
    assert validation(3) == ["base_0", "base_6", "miss_func_3"]
    assert validation(20) == validation(500) == [task.id for task in tasks]
    trained_on = make_settings([{"tasks": {**source, "limit": 4}}]).load_tasks().ids
    assert trained_on == validation(4)


@pytest.mark.bfcl
def test_the_papers_validation_is_its_whole_split():
    chosen = make_settings(preset_layers(["paper"])).load_validation()
    assert chosen.ids == load_tasks("bfcl", split="val").ids
    few = make_settings([]).load_validation()
    assert len(few) == 25
    assert set(few.categories) == set(CATEGORIES)


def test_a_mixture_joins_its_sources_and_wants_an_end():
    mixed = [{"source": "generated", "limit": 3}, {"source": "generated", "split": "test", "limit": 2}]
    assert len(make_settings([{"tasks": mixed}]).load_tasks()) == 5
    with pytest.raises(ConfigurationError, match="needs a limit"):
        make_settings([{"tasks": ["generated", {"source": "generated", "split": "test"}]}]).load_tasks()


def test_the_tasks_of_an_evaluation_have_an_end():
    def evaluation(**tasks):
        [chosen] = make_settings([{"evaluations": [{"name": "new", "tasks": tasks}]}]).evaluations
        return chosen.load_tasks()

    assert len(evaluation(source="generated", split="test", limit=2)) == 2
    with pytest.raises(ConfigurationError, match=r"evaluation 'new': an endless source \(generated\) needs a limit"):
        evaluation(source="generated", split="test")


def test_each_evaluation_has_a_name_of_its_own():
    tasks = {"source": "generated", "split": "test", "limit": 2}
    twice = [{"name": "new", "tasks": tasks, "samples": samples} for samples in (1, 2)]
    with pytest.raises(ConfigurationError, match="two evaluations have one name"):
        make_settings([{"evaluations": twice}])


def test_models_are_presets_over_a_run():
    for name, preset in MODELS.items():
        settings = make_settings(preset_layers(["paper", name]))
        assert settings.model == preset["model"]
        assert settings.lora.rank == 32
        assert yaml.safe_load(to_yaml(settings))["action_format"] == preset["action_format"]
