import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("trl")

from envtune_gym.errors import ConfigurationError

from .helpers import tiny_model

BASELINES = Path(__file__).parents[2] / "baselines"
COUNTS = dict.fromkeys(("right", "succeeds", "repeated", "answer", "unreadable", "broken"), False)


@pytest.fixture
def baseline(monkeypatch):
    monkeypatch.syspath_prepend(str(BASELINES))
    import hint_usefulness

    return hint_usefulness


@pytest.fixture
def report(baseline):
    import hint_report

    return hint_report


@pytest.fixture
def args(baseline, tokenizer, tmp_path):
    tiny_model(tokenizer).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return baseline.Args(
        model=str(tmp_path / "model"),
        out=str(tmp_path / "out"),
        seeds=[1, 2],
        steps=1,
        batch=4,
        micro_batch=2,
        max_tokens=10_000,
        test_sets=["generated"],
        cases=4,
        samples=2,
        max_prompt_tokens=10_000,
        max_new_tokens=4,
        generate_batch=16,
    )


def read(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_case_is_answered_with_every_feedback(baseline, args, tmp_path):
    table = baseline.measure(args)
    out = tmp_path / "out"
    results, cases, replies = json.loads((out / "results.json").read_text()), read(out / "cases.jsonl"), None
    replies = read(out / "replies.jsonl")
    assert len(cases) == results["cases"]["generated"]["kept"] > 0
    answered = [(reply["case"], reply["feedback"], reply["seed"]) for reply in replies]
    assert {answered.count(one) for one in answered} == {args.samples}
    assert len(set(answered)) == len(cases) * 5 * 2
    for case in cases:
        assert set(case["texts"]) == set(args.feedback)
        assert case["texts"]["off"] != case["texts"]["actionable"]
        assert "hint" not in case["texts"]["off"].lower()
    assert [run["weights"] for run in results["runs"]] == ["torch.float32"] * 2
    assert [run["skipped_updates"] for run in results["runs"]] == [0, 0]
    assert sum(results["training"]["corrected_by_feedback"].values()) == 2
    assert all(f"| generated | all | {feedback} | {len(cases)} |" in table for feedback in args.feedback)
    assert (out / "table.md").read_text() == table


def test_prompts_differ_in_what_follows_the_failure_alone(baseline, args, tokenizer):
    import sft

    from envtune_gym.integrations.tokens import ChatTemplate

    with sft.progress_bars(baseline.Console(quiet=True)) as bars:
        cases, _ = baseline.test_cases(replace(args, max_domains=1), ChatTemplate(tokenizer), bars)
    for case in cases:
        assert len(case.case.task.domains) == 1
        shown = {feedback: tokenizer.decode(ids) for feedback, ids in case.prompts.items()}
        before = {text.rpartition(case.case.broken)[0] for text in shown.values()}
        assert len(before) == 1
        assert before != {""}
        assert len(set(shown.values())) > 1


def test_cases_that_are_too_long_are_left_out_and_counted(baseline, args):
    with pytest.raises(ConfigurationError, match="max-prompt-tokens"):
        baseline.measure(replace(args, max_prompt_tokens=10))


def test_what_fails_is_not_learnt_and_what_corrects_it_is(baseline, args, tokenizer):
    import sft
    import sft_trajectories

    settings = sft.Args(steps=1, batch=4, micro_batch=2, mistakes=1.0, max_tokens=10_000)
    made = sft_trajectories.demonstrations(sft_trajectories.training_tasks(settings), settings)
    with sft.progress_bars(baseline.Console(quiet=True)) as bars:
        rows = sft_trajectories.tokenised(made, tokenizer, settings, bars)
    assert rows.by_feedback == dict.fromkeys(("off", "error", "actionable", "automatic"), 1)
    for demonstration, row in zip(made, rows.rows, strict=True):
        learnt = tokenizer.decode([label for label in row["labels"] if label != sft_trajectories.IGNORED])
        messages = list(demonstration.messages)
        broken = messages.pop(demonstration.mistake)
        assert learnt == "".join(f"{message}<|im_end|>" for message in messages)
        assert broken in tokenizer.decode(row["input_ids"])


def test_trajectories_end_with_the_last_message_that_fits(baseline):
    import sft_trajectories

    ids, spans = list(range(20)), [(5, 8), (10, 13), (15, 18)]
    assert sft_trajectories._row(ids, spans, None, 14) == {
        "input_ids": ids[:13],
        "labels": [sft_trajectories.IGNORED] * 5 + [5, 6, 7] + [sft_trajectories.IGNORED] * 2 + [10, 11, 12],
    }
    assert sft_trajectories._row(ids, spans, 1, 14) is None  # the correction does not fit
    assert sft_trajectories._row(ids, spans, None, 7) is None


def test_shares_and_differences_are_those_of_the_replies(report):
    cases = [{"case": f"c{n}", "test_set": "bfcl", "scenario": str(n), "kind": "wrong_case"} for n in range(10)]
    settings = {"test_sets": ["bfcl"], "feedback": ["off", "error"], "seeds": [1, 2], "data_seed": 0}
    replies = [
        {"case": case["case"], "feedback": feedback, "seed": seed, **COUNTS, "right": feedback == "error" and seed == 2}
        for case in cases
        for feedback in settings["feedback"]
        for seed in settings["seeds"]
    ]
    entries = report.summarise(settings, cases, replies)
    assert [(entry["kinds"], entry["feedback"]) for entry in entries] == [
        ("all", "off"),
        ("all", "error"),
        ("as in training", "off"),
        ("as in training", "error"),
    ]
    helped = entries[1]
    assert helped["counts"]["right"] == 10
    assert helped["right"]["by_seed"] == {"1": 0, "2": 1}
    assert helped["right"]["difference"]["value"] == pytest.approx(0.5)
    assert helped["succeeds"]["share"]["value"] == 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"feedback": ["error"]}, "'off'"),
        ({"feedback": ["off", "kind"]}, "unknown feedback 'kind'"),
        ({"test_sets": ["other"]}, "unknown test set"),
        ({"kinds": ["other"]}, "unknown kind"),
        ({"micro_batch": 3}, "multiple of"),
    ],
)
def test_arguments_that_make_no_measurement_are_refused(baseline, args, change, reason):
    with pytest.raises(ConfigurationError, match=reason):
        baseline.measure(replace(args, **change))


def test_help_documents_every_argument(baseline, capsys):
    import sft

    for module, phrase in ((baseline, "sampling temperature"), (sft, "peak learning rate")):
        with pytest.raises(SystemExit):
            module.parse_arguments(module.Args, module.__doc__, ["--help"])
        assert phrase in capsys.readouterr().out
