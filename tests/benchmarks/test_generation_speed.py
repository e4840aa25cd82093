import argparse
import json
from importlib.util import find_spec

import pytest

pytest.importorskip("trl")

import generation_speed
from generation_speed import COLUMNS, held, make_prompts, with_ratios
from integrations.vllm_stand_in import stand_in
from speed_report import markdown

SMALL = [
    "--prompts",
    "4",
    "--group",
    "2",
    "--shortest",
    "20",
    "--longest",
    "30",
    "--new-tokens",
    "3",
    "--batches",
    "4",
    "--repeats",
    "1",
]


def row(engine, batch, speed):
    return {
        "engine": engine,
        "batch": batch,
        "tokens_per_second": speed,
        "making_seconds": 1.25,
        "first_run_seconds": 2.5,
    }


ROWS = [
    row("generate", 128, 100.0),
    row("graph", 128, 450.0),
    row("generate", 512, 300.0),
    row("graph", 512, 600.0),
    row("vllm", 64, 1_000.0),
]


def test_engines_are_compared_with_generate_at_their_own_batch_size():
    assert [one["times_generate"] for one in with_ratios(ROWS)] == [1.0, 4.5, 1.0, 2.0, None]


def test_a_bar_is_met_at_every_batch_size_or_missed():
    rows = with_ratios(ROWS)
    assert held(rows, {"graph": 2.0, "vllm": 4.0}) == {"graph": True}  # vLLM was not compared with anything
    assert held(rows, {"graph": 3.0}) == {"graph": False}


def test_the_table_states_the_start_up_apart():
    lines = markdown(COLUMNS, with_ratios(ROWS)).splitlines()
    assert lines[0] == "| engine | batch | tokens/s | x generate | made in, s | first run, s more |"
    assert lines[3] == "| graph | 128 | 450 | 4.5 | 1.2 | 2.5 |"
    assert lines[-1] == "| vllm | 64 | 1,000 |  | 1.2 | 2.5 |"


def test_no_engine_knows_the_prompts_of_a_run_from_the_one_before():
    args = argparse.Namespace(seed=3, prompts=6, group=2, shortest=5, longest=9)
    first, second = (make_prompts(args, 1_000, run) for run in (0, 1))
    assert [len(prompt) for prompt in first] == [len(prompt) for prompt in second]
    assert all(one[0] == one[1] for one in (first[:2], first[2:4], second[4:]))
    assert not {tuple(prompt) for prompt in first} & {tuple(prompt) for prompt in second}


def test_engines_are_measured_and_those_that_are_missing_are_named(model, tmp_path, capsys):
    engines = ["vllm", "graph", "transformers", "static", "generate"]
    command = [*SMALL, "--model", str(model), "--turns", "2", "--added", "5", "--out", str(tmp_path)]
    assert generation_speed.main([*command, "--engines", *engines, "--bars", "graph=0.001"]) == 0
    said = capsys.readouterr().out
    assert "graph at least 0.001 x generate at every batch size: met" in said
    rows = json.loads((tmp_path / "generation_speed.json").read_text())["rows"]
    assert [one["engine"] for one in rows][:4] == ["generate", "transformers", "static", "graph"]
    assert rows[0]["times_generate"] == 1.0
    if find_spec("vllm") is None:
        assert "vllm            batch    4: left out: the engine 'vllm' needs vLLM" in said
    assert generation_speed.main([*command, "--engines", "generate", "graph", "--bars", "graph=1e6"]) == 1
    assert "MISSED" in capsys.readouterr().out


def test_a_server_is_measured_where_the_command_line_says_that_there_is_one(model, tmp_path, capsys):
    command = [*SMALL, "--model", str(model), "--engines", "generate", "--bars"]
    with stand_in(generation_speed.load_unending(str(model))) as server:
        at = ["--vllm-server", server.url, "--vllm-weights", str(tmp_path / "weights")]
        assert generation_speed.main([*command, *at]) == 0
    assert "vllm-server     batch    4:" in capsys.readouterr().out
    assert len(server.prompts) == 2 * 4 + 1  # the runs, and what the engine compares at first
    assert generation_speed.main([*command, "--vllm-server", server.url]) == 0
    assert "vllm-server     batch    4: left out: the engine 'vllm-server' needs --vllm" in capsys.readouterr().out


def test_every_engine_draws_as_many_tokens(model):
    args = argparse.Namespace(bf16=False, new_tokens=12)
    loaded = generation_speed.load_unending(str(model))
    prompts = [[101, 102, 103], [101, 102, 103], [150, 151], [160] * 7]
    for name, make in generation_speed.makers(args, loaded, 4).items():
        if not name.startswith("vllm"):
            assert [len(reply) for reply in make()(prompts)] == [12] * 4, name


def test_an_engine_that_fails_does_not_stop_the_others(model, capsys):
    command = [*SMALL, "--model", str(model), "--engines", "generate", "graph"]
    command[command.index("--batches") + 1] = "0"
    assert generation_speed.main(command) == 1
    said = capsys.readouterr().out
    assert "generate        batch    0: failed: ValueError" in said
    assert "graph           batch    0: left out: " in said


def test_engines_are_held_against_plain_passes(model, capsys):
    assert generation_speed.main([*SMALL, "--model", str(model), "--check", "--turns", "2"]) == 0
    said = capsys.readouterr().out
    assert said.count(": good") == 4
    assert "static, turn 2" in said
    with pytest.raises(SystemExit):
        generation_speed.main([*SMALL, "--model", str(model), "--check", "--engines", "generate", "graph"])
    assert "not generate" in capsys.readouterr().err


def test_a_server_is_held_against_plain_passes(model, tmp_path, capsys):
    command = [*SMALL, "--model", str(model), "--check", "--turns", "2", "--engines", "vllm-server"]
    with stand_in(generation_speed.load_unending(str(model))) as server:
        at = ["--vllm-server", server.url, "--vllm-weights", str(tmp_path / "weights")]
        assert generation_speed.main([*command, *at]) == 0
    assert capsys.readouterr().out.count("vllm-server, turn") == 2
