import copy

import pytest

pytest.importorskip("trl")

import torch
from datasets import Dataset
from trl import GRPOTrainer

from envtune_gym.integrations.models import load_model
from envtune_gym.training import grpo
from envtune_gym.training.trainer import EnvtuneTrainer, last_checkpoint, write_state

pytestmark = pytest.mark.filterwarnings("ignore:You are using 'rollout_func'", "ignore::FutureWarning")

TEMPERATURE, LOW, HIGH, DELTA, BETA, ENTROPY = 0.7, 0.2, 0.28, 1.1, 0.1, 0.01

# Prompt, completion, mask of the model's own tokens, reward. Two groups of two.
ROLLOUTS = [
    ([5, 6, 7], [11, 12, 13, 14, 2], [1, 1, 0, 0, 1], 1.0),
    ([5, 6, 7], [15, 2], [1, 1], 0.0),
    ([8], [21, 22, 23, 24, 25, 26, 2], [1, 0, 0, 1, 1, 1, 1], 0.25),
    ([8], [27, 28, 29], [1, 1, 1], 0.75),
]


@pytest.fixture
def trainer(settings, tokenizer):
    """Make a trainer, configured as a run's is, whose rollouts are those above."""
    columns = {"prompt_ids": 0, "completion_ids": 1, "env_mask": 2, "payment": 3}

    def rollout_func(prompts, trainer):
        played = {name: [rollout[place] for rollout in ROLLOUTS] for name, place in columns.items()}
        return {**played, "logprobs": [[0.0] * len(ids) for ids in played["completion_ids"]]}

    def make(cls=EnvtuneTrainer, **changes):
        chosen = settings(
            groups=2,
            batches=1,
            temperature=TEMPERATURE,
            epsilon=LOW,
            epsilon_high=HIGH,
            delta=DELTA,
            **{"beta": BETA, "entropy_bonus": ENTROPY, "learning_rate": 3e-2, **changes},
        )
        made = cls(
            model=load_model(chosen.model)[0],
            processing_class=tokenizer,
            reward_funcs=[lambda payment, **_: list(payment)],
            rollout_func=rollout_func,
            train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": str(n)}]} for n in range(4)]),
            args=grpo._trainer_config(chosen),
        )
        made.pass_tokens = chosen.pass_tokens
        return made

    return make


def distributions(model, prompt, completion):
    """Log-probabilities of all tokens at each place of a completion, in plain torch, without any padding."""
    ids = torch.tensor([prompt + completion])
    logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1].float() / TEMPERATURE
    return logits - logits.logsumexp(-1, keepdim=True)


def reference_loss(index, policy, start):
    """What one rollout adds to the loss of an update, from the formulas: PPO's clipping, KL and entropy, by token."""
    prompt, completion, mask, reward = ROLLOUTS[index]
    pair = torch.tensor([ROLLOUTS[index // 2 * 2 + n][3] for n in (0, 1)])
    advantage = (reward - pair.mean()) / (pair.std() + 1e-4)
    chances = distributions(policy, prompt, completion)
    tokens = torch.tensor(completion)[:, None]
    logps, old = (c.gather(1, tokens)[:, 0] for c in (chances, distributions(start, prompt, completion)))
    ratio = torch.exp(logps - old)
    gain = torch.minimum(ratio.clamp(max=DELTA) * advantage, ratio.clamp(1 - LOW, 1 + HIGH) * advantage)
    kl = torch.exp(old - logps) - (old - logps) - 1
    entropy = -(chances.exp() * chances).sum(-1)
    own = torch.tensor(mask, dtype=torch.float)
    all_own = sum(sum(rollout[2]) for rollout in ROLLOUTS)
    tokens_of_update = all_own / 2  # two updates share the tokens of the batch
    policy_loss = ((BETA * kl - gain) * own).sum() / tokens_of_update
    return policy_loss - ENTROPY * (entropy * own).sum() / own.sum() / 2


@pytest.mark.parametrize("cls", [EnvtuneTrainer, GRPOTrainer])
def test_the_loss_of_a_fixed_batch_is_that_of_the_formulas(trainer, cls):
    made = trainer(cls)
    start = copy.deepcopy(made.model)
    del start.forward  # the trainer's own way of scoring
    seen = []
    compute = made._compute_loss

    def spy(model, inputs):
        policy = copy.deepcopy(start)
        policy.load_state_dict(made.model.state_dict())
        loss = compute(model, inputs)
        first = int(inputs["completion_ids"][0, 0])
        seen.append((next(n for n, rollout in enumerate(ROLLOUTS) if rollout[1][0] == first), policy, loss.item()))
        return loss

    made._compute_loss = spy
    made.train()
    assert sorted(index for index, _, _ in seen) == [0, 1, 2, 3]
    with torch.no_grad():
        for index, policy, loss in seen:
            assert loss == pytest.approx(reference_loss(index, policy, start).item(), abs=1e-5)
    moved = [p for p, q in zip(seen[-1][1].parameters(), start.parameters(), strict=True) if not torch.equal(p, q)]
    assert moved  # so that in the second update the ratios are not all 1


@pytest.mark.parametrize("beta", [0.0, BETA])
@pytest.mark.parametrize("pass_tokens", [None, 1, 1000])
@pytest.mark.parametrize("flat", [False, True])
def test_an_update_is_that_of_trls_own_micro_batches(trainer, monkeypatch, flat, pass_tokens, beta):
    if flat:
        monkeypatch.setattr(f"{__name__}.ROLLOUTS", [*ROLLOUTS[:2], *((*row[:3], 0.5) for row in ROLLOUTS[2:])])
    weights = []
    for cls in (EnvtuneTrainer, GRPOTrainer):
        changes = {"updates_per_batch": 1, "micro_batch": 2, "learning_rate": 1e-3, "pass_tokens": pass_tokens}
        made = trainer(cls, beta=beta, entropy_bonus=0.0, **changes)
        start = copy.deepcopy(made.model)
        made.train()
        weights.append([p.detach() for p in made.model.parameters()])
        assert any(not torch.equal(p, q) for p, q in zip(weights[-1], start.parameters(), strict=True))
    for ours, theirs in zip(*weights, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=0)


def test_in_several_processes_a_pass_is_bounded_by_all_its_rows(trainer, monkeypatch):
    """There, rows that teach nothing stay, as wide as the others."""
    made = trainer(beta=0.0, entropy_bonus=0.0, updates_per_batch=1, micro_batch=2)
    made.model.train()
    rows = micro_batch([0.0, 0.0, 0.7, -0.7])
    cut = [{name: v[n : n + 2] if v.ndim else v for name, v in rows.items()} for n in (0, 2)]
    made.pass_tokens = 20  # the group that teaches has a prompt of 1 and two completions of at most 7
    assert [len(one["advantages"]) for one in made._scored_together(cut)] == [0, 4]
    monkeypatch.setattr(type(made.accelerator), "num_processes", 2)
    assert [len(one["advantages"]) for one in made._scored_together(cut)] == [2, 2]


def test_where_rows_are_not_packed_passes_say_that_they_do_nothing(trainer, caplog):
    made = trainer(beta=0.0, entropy_bonus=0.0, updates_per_batch=1, micro_batch=2, pass_tokens=1000)
    made.model.train()
    rows = micro_batch([0.7, -0.7, 0.7, -0.7])
    cut = [{name: v[n : n + 2] if v.ndim else v for name, v in rows.items()} for n in (0, 2)]
    made._scored_together(cut)
    assert "pass_tokens" not in caplog.text
    made.model.config.attention_dropout = 0.1
    for _ in range(2):
        assert made._scored_together(cut) is cut
    assert caplog.text.count("pass_tokens changes nothing here") == 1


def padded(rows, keep):
    """Rows as TRL pads them: prompts on the left, completions on the right."""
    width = max(len(prompt) for prompt, *_ in rows)
    ids = torch.tensor([[0] * (width - len(p)) + p + c + [0] * (keep - len(c)) for p, c, *_ in rows], dtype=torch.long)
    mask = torch.tensor([[0] * (width - len(p)) + [1] * (len(p) + len(c)) + [0] * (keep - len(c)) for p, c, *_ in rows])
    return ids, mask


@pytest.mark.parametrize("batch_size", [None, 1, 3])
def test_padding_on_the_right_scores_as_trl_does(trainer, batch_size):
    made = trainer()
    ids, mask = padded(ROLLOUTS, 7)
    arguments = (made.model, ids, mask, 7, batch_size, True)
    ours, ours_entropy, _ = made._get_per_token_logps_and_entropies(*arguments)
    theirs, theirs_entropy, _ = GRPOTrainer._get_per_token_logps_and_entropies(made, *arguments)
    present = mask[:, -7:].bool()
    torch.testing.assert_close(ours[present], theirs[present], atol=1e-5, rtol=0)
    torch.testing.assert_close(ours_entropy[present], theirs_entropy[present], atol=1e-4, rtol=0)
    assert not ours[~present].any()


def test_the_model_is_not_asked_about_padding_or_prompts(trainer):
    made = trainer()
    ids, mask = padded(ROLLOUTS, 7)
    asked = []
    forward = made.model.forward
    made.model.forward = lambda **inputs: (asked.append(inputs), forward(**inputs))[1]
    made._get_per_token_logps_and_entropies(made.model, ids, mask, 7, 2)
    widths = [inputs["input_ids"].shape[1] for inputs in asked]
    assert widths == [2 + 5 + 2, 8]  # packed, with the prompt read once; and two rows with nothing to share
    labels = [inputs["labels" if "labels" in inputs else "shift_labels"] for inputs in asked]
    scored = sum(int((those != -100).sum()) for those in labels)
    assert scored == sum(len(completion) for _, completion, *_ in ROLLOUTS)


def test_a_checkpoint_without_its_last_file_is_not_one(tmp_path):
    for step in (2, 10, 12):
        (tmp_path / f"checkpoint-{step}").mkdir()
    assert last_checkpoint(tmp_path) is None
    for step in (2, 10):
        write_state(tmp_path / f"checkpoint-{step}", {})
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"


def micro_batch(advantages):
    """What TRL hands to the loss: the rollouts above, with these advantages."""
    ids, mask = padded(ROLLOUTS, 7)
    own = torch.tensor([row[2] + [0] * (7 - len(row[2])) for row in ROLLOUTS])
    return {
        "prompt_ids": ids[:, :-7],
        "prompt_mask": mask[:, :-7],
        "completion_ids": ids[:, -7:],
        "completion_mask": mask[:, -7:],
        "tool_mask": own,
        "advantages": torch.tensor(advantages),
        "num_items_in_batch": own.sum(),
    }


def loss_and_gradients(made, compute, advantages):
    made.model.zero_grad()
    made.current_gradient_accumulation_steps = 1
    made._step = made.args.gradient_accumulation_steps - 1  # the last micro-batch of an update
    loss = compute(made, made.model, micro_batch(advantages))
    loss.backward()
    return loss.item(), {name: parameter.grad.clone() for name, parameter in made.model.named_parameters()}


@pytest.mark.parametrize("advantages", [[0.0, 0.0, 0.7, -0.7], [0.7, -0.7, 6e-4, 6e-4], [0.0, 0.0, 0.0, 0.0]])
def test_rows_without_advantage_change_nothing_and_are_not_scored(trainer, advantages):
    made = trainer()
    made.beta, made._entropy_bonus_enabled = 0.0, False
    exact = [0.0 if abs(advantage) < 0.01 else advantage for advantage in advantages]
    expected, right = loss_and_gradients(made, GRPOTrainer._compute_loss, exact)
    asked = []
    score = made._score
    made._score = lambda model, ids, *others: (asked.append(len(ids)), score(model, ids, *others))[1]
    loss, gradients = loss_and_gradients(made, EnvtuneTrainer._compute_loss, advantages)
    assert loss == pytest.approx(expected, abs=1e-6)
    for name, gradient in right.items():
        torch.testing.assert_close(gradients[name], gradient, atol=1e-6, rtol=1e-4)
    assert asked == [max(1, sum(advantage != 0 for advantage in exact))]


@pytest.mark.parametrize(("beta", "has_bonus"), [(0.1, False), (0.0, True)])
def test_rows_without_advantage_are_scored_where_they_matter(trainer, beta, has_bonus):
    made = trainer()
    made.beta, made._entropy_bonus_enabled = beta, has_bonus
    asked = []
    score = made._score
    made._score = lambda model, ids, *others: (asked.append(len(ids)), score(model, ids, *others))[1]
    inputs = micro_batch([0.0, 0.0, 0.7, -0.7]) | {"ref_per_token_logps": torch.zeros(4, 7)}
    made._compute_loss(made.model, inputs)
    assert asked == [4]
