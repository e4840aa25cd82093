import pytest

from envtune_gym.asking import MalformedReplyError, read_reply
from envtune_gym.feedback.proposing.reply import Judgement, Proposal

from .server import APPROVAL, judgement, proposal


@pytest.mark.parametrize(
    "text",
    [
        proposal(),
        f"<think>a set {{1, 2}}, or {{}}</think>\n```json\n{proposal()}\n```\nThat is it.",
        f"First {proposal(need='Draft.')}, better: {proposal()}",
        proposal(extra="field"),
        proposal(error="There is no ticket {value}:\n  an id is given when a ticket is created."),
    ],
)
def test_the_last_object_of_a_reply_counts(text):
    assert read_reply(text, Proposal) == read_reply(proposal(), Proposal)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ("{" * 100_000, "no JSON object"),
        ('{"a":' + "[" * 100_000, "no JSON object"),
        (proposal(need="\ud800"), "need: "),
        (proposal(actionable="Look."), "actionable: "),
        (proposal(actionable=[]), "actionable: "),
    ],
)
def test_what_is_no_proposal_is_refused_with_a_reason(text, fault):
    with pytest.raises(MalformedReplyError, match=fault):
        read_reply(text, Proposal)


@pytest.mark.parametrize("name", [name for name, value in APPROVAL.items() if value is not APPROVAL["reasons"]])
def test_one_objection_is_enough(name):
    assert read_reply(judgement(), Judgement).approved
    assert not read_reply(judgement(**{name: not APPROVAL[name]}), Judgement).approved


def test_a_decision_needs_a_reason():
    with pytest.raises(MalformedReplyError, match="reasons"):
        read_reply(judgement(reasons=[]), Judgement)
