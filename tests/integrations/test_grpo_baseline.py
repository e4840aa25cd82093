import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("trl")

import torch
from transformers import AutoModelForCausalLM

from envtune_gym import TaskSet
from envtune_gym.calls import parse_action
from envtune_gym.cli import main
from envtune_gym.curriculum import Stage
from envtune_gym.errors import ConfigurationError
from envtune_gym.tasks import save_jsonl
from envtune_gym.wrappers import AugmentedFeedbackWrapper

from .helpers import SMALL_TASK, answer, call, tiny_model

BASELINES = Path(__file__).parents[2] / "baselines"
TASKS = TaskSet([SMALL_TASK, SMALL_TASK.model_copy(update={"id": "other"})])
CLUMSY = (
    call("get_ticket", ticket_id=99),
    call("create_ticket", title="Lamp"),
    answer(),
    call("close_ticket", ticket_id=7),
    answer(),
)
STAGES = [Stage("first", reward="format", feedback="off"), Stage("second", feedback="error")]


@pytest.fixture
def grpo(monkeypatch):
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    monkeypatch.syspath_prepend(str(BASELINES))
    import grpo

    return grpo


@pytest.fixture
def args(grpo, tokenizer, tmp_path):
    tiny_model(tokenizer).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return grpo.Args(
        model=str(tmp_path / "model"),
        out=str(tmp_path / "run"),
        batches=2,
        groups=1,
        group_size=2,
        updates_per_batch=2,
        micro_batch=1,
        learning_rate=1e-3,
        beta=0.0,
        gradient_checkpointing=False,
        max_prompt_tokens=2_000,
        max_completion_tokens=100,
        max_new_tokens=10,
        max_steps=3,
        advance_every=2,
        checkpoint_every=2,
        validate_every=2,
    )


def read(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_run_goes_through_its_stages_and_can_be_resumed(grpo, args, tmp_path, capsys):
    grpo.train(args, TASKS, STAGES, validation=TASKS)
    out = tmp_path / "run"
    printed = capsys.readouterr().out
    assert "stage 'first' is done, 'second' begins" in printed
    assert "of the validation tasks solved" in printed
    assert "reward spread" in " ".join(printed.split())
    rollouts, updates = read(out / "rollouts.jsonl"), read(out / "updates.jsonl")
    assert [(r["step"], r["stage"], r["feedback"]) for r in rollouts] == (
        [(1, "first", "off")] * 2 + [(3, "second", "error")] * 2
    )
    assert [update["step"] for update in updates] == [1, 2, 3, 4]
    assert ["reward" in update for update in updates] == [True, False] * 2
    assert all("clip_ratio/region_mean" in update for update in updates)
    whole = AutoModelForCausalLM.from_pretrained(out / "checkpoint-4").state_dict()

    (out / "checkpoint-4").rename(tmp_path / "kept")  # as if the run had stopped after the first batch
    with pytest.raises(ConfigurationError, match="--resume"):
        grpo.train(args, TASKS, STAGES, validation=TASKS)
    grpo.train(replace(args, resume=True), TASKS, STAGES, validation=TASKS)
    assert read(out / "rollouts.jsonl") == rollouts
    assert [update["step"] for update in read(out / "updates.jsonl")] == [1, 2, 3, 4]
    resumed = AutoModelForCausalLM.from_pretrained(out / "checkpoint-4").state_dict()
    assert all(torch.equal(resumed[name], whole[name]) for name in whole)


def test_hints_and_the_graph_are_made_of_a_training_run(grpo, args, run, make_env, tokenizer, tmp_path, capsys):
    hinting = AugmentedFeedbackWrapper(make_env(tasks=TASKS), level="error")
    (shown,) = run(CLUMSY, task_id="small", envs=[hinting])
    learnt_by_heart(shown.conversation, tokenizer).save_pretrained(args.model)
    limits = {"max_completion_tokens": 800, "max_new_tokens": 60, "max_steps": 8, "temperature": 0.1}
    grpo.train(replace(args, batches=1, **limits), TASKS, STAGES[1:])
    out, tasks = tmp_path / "run" / "rollouts.jsonl", tmp_path / "tasks.jsonl"
    assert all(rollout["messages"] == list(CLUMSY) and rollout["hints"] for rollout in read(out))
    save_jsonl(TASKS, tasks)
    capsys.readouterr()

    def hints(command, *words):
        words = ["hints", command, "--from", out, "--tasks", tasks, "--json", *words]
        assert main([str(word) for word in words]) == 0
        return json.loads(capsys.readouterr().out)

    server = ("--model", "m", "--base-url", "http://localhost:9", "--out", tmp_path / "book.yaml", "--dry-run")
    [cause] = hints("propose", *server)
    assert (cause["code"], cause["failures"]) == ("ticket_not_found", 2)
    assert hints("graph")["feeds"]["close_ticket.ticket_id"] == {"create_ticket.id": 1}


def learnt_by_heart(conversation, tokenizer):
    """Return a tiny model that has learnt its part of a conversation."""
    model = tiny_model(tokenizer).train()
    ids = torch.tensor([conversation.ids])
    own = torch.tensor([[0] * len(conversation.prompt_ids) + conversation.mask])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(300):
        loss = model(input_ids=ids, labels=ids.masked_fill(own == 0, -100)).loss
        if loss < 0.005:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"resume": True}, "no checkpoint"),
        ({"micro_batch": 4}, "multiple of"),
        ({"advance_every": 0}, "nothing would end a stage"),
    ],
)
def test_arguments_that_make_no_run_are_refused(grpo, args, change, reason):
    with pytest.raises(ConfigurationError, match=reason):
        grpo.train(replace(args, **change), TASKS, STAGES)


def test_help_documents_every_argument_and_shows_examples(grpo, capsys):
    with pytest.raises(SystemExit):
        grpo.parse_arguments(grpo.Args, grpo.__doc__, ["--help"])
    text = capsys.readouterr().out
    assert "Examples:" in text
    assert "rollouts of each task" in text
    args = grpo.parse_arguments(grpo.Args, "", ["--group-size", "3", "--bf16", "--domains", "MathAPI", "TicketAPI"])
    assert (args.group_size, args.bf16, args.domains) == (3, True, ["MathAPI", "TicketAPI"])


def test_worked_examples_stand_before_the_request_and_can_be_read(grpo, make_env):
    from example import WorkedExamples

    _, info = WorkedExamples(make_env(), "tool_call").reset(options={"task_id": "ticket"})
    system, *examples, request = info["messages"]
    assert system["role"] == "system"
    assert "Lamp" in request["content"]
    assert [message["role"] for message in examples] == ["user", "assistant"] * 4
    replies = [parse_action(message["content"], "tool_call") for message in examples[1::2]]
    assert [bool(reply.calls) for reply in replies] == [True, False, True, False]
    assert all(reply.format_ok for reply in replies)
