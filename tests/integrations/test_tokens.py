import re
import time

import pytest

pytest.importorskip("trl")

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from envtune_gym.integrations.tokens import ChatTemplate, ChatTemplateError, Conversation

from .helpers import CHATML, CHATML_WITH_TOOLS

OPENING = [{"role": "system", "content": "rules"}, {"role": "user", "content": "begin"}]
RESULT = {"role": "tool", "name": "ls", "content": '["a"]'}


@pytest.fixture
def with_template(tokenizer):
    """The tokenizer with another template or end token; put back afterwards."""
    kept = tokenizer.chat_template, tokenizer.eos_token

    def change(template=CHATML, eos_token=kept[1]):
        tokenizer.chat_template, tokenizer.eos_token = template, eos_token
        return tokenizer

    yield change
    tokenizer.chat_template, tokenizer.eos_token = kept


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
STEPS = st.lists(st.tuples(TEXTS, st.booleans(), st.sampled_from(["tool", "user", "both"]), TEXTS), max_size=5)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
@example(steps=[("a<|im_end|>b", False, "user", ""), ("<|im_end|>", False, "both", "<|im_start|>")])
@example(steps=[("<|im_<|im_end|>end|>", True, "tool", "<|im_end|>"), ("<|pad|>", False, "user", "b")])
def test_the_tokens_are_the_rendered_conversation_and_the_mask_marks_the_models_own(tokenizer, steps):
    template = ChatTemplate(tokenizer)
    conversation = Conversation(template)
    conversation.open(OPENING)
    messages, own, logprobs = list(OPENING), [], []
    for reply, stops, kind, text in steps:
        ids = tokenizer.encode(reply, add_special_tokens=False) + [tokenizer.eos_token_id] * stops
        chances = [-0.5 - place for place in range(len(ids))]
        assert conversation.add_reply(ids, chances) == re.sub(r"<\|(pad|im_start|im_end)\|>", "", reply)
        own += ids
        logprobs += chances
        new = {
            "tool": [{"role": "tool", "content": text}],
            "user": [{"role": "user", "content": text}],
            "both": [{"role": "tool", "content": "[]"}, {"role": "user", "content": text}],
        }[kind]
        assert conversation.add_messages([{"role": "assistant", "content": None}, *new], text, room=10_000)
        sampled = (reply + tokenizer.eos_token * stops).removesuffix(tokenizer.eos_token)  # which the template adds
        messages += [{"role": "assistant", "content": sampled}, {"role": "user", "content": text}]
        assert len(conversation.completion_ids) == len(conversation.mask) == len(conversation.logprobs)
    assert tokenizer.decode(conversation.ids) == template.render(messages)
    marked = zip(conversation.completion_ids, conversation.logprobs, conversation.mask, strict=True)
    assert [(i, p) for i, p, mask in marked if mask] == list(zip(own, logprobs, strict=True))
    assert all(p == 0.0 for p, mask in zip(conversation.logprobs, conversation.mask, strict=True) if not mask)


def test_tokens_that_decode_to_no_text_are_kept_as_sampled(tokenizer):
    conversation = Conversation(ChatTemplate(tokenizer))
    conversation.open(OPENING)
    half = tokenizer.encode("é", add_special_tokens=False)[:1]
    ids = [*half, tokenizer.convert_tokens_to_ids("<|im_start|>"), *half]
    conversation.add_reply(ids, [-1.0] * 3)
    assert conversation.add_messages([{"role": "user", "content": "more"}], "more", room=100)
    assert conversation.completion_ids[:4] == [*ids, tokenizer.eos_token_id]
    assert conversation.mask[:4] == [1, 1, 1, 0]  # the end token that the model did not write is not its own


def test_what_does_not_fit_is_left_out_entirely(tokenizer):
    conversation = Conversation(ChatTemplate(tokenizer))
    conversation.open(OPENING)
    conversation.add_reply([5, tokenizer.eos_token_id], [-1.0, -1.0])
    before = list(conversation.ids)
    size = len(
        tokenizer.encode("\n<|im_start|>user\nmore<|im_end|>\n<|im_start|>assistant\n", add_special_tokens=False)
    )
    assert not conversation.add_messages([{"role": "user", "content": "more"}], "more", room=size - 1)
    assert conversation.ids == before
    assert conversation.mask == [1, 1]
    assert conversation.add_messages([{"role": "user", "content": "more"}], "more", room=size)
    assert len(conversation.ids) == len(before) + size


@pytest.mark.parametrize(
    ("template", "tool_role", "shown"),
    [
        (CHATML, "auto", [{"role": "user", "content": "seen"}]),
        (CHATML_WITH_TOOLS, "auto", [RESULT]),
        (CHATML, "tool", [RESULT]),
        (CHATML_WITH_TOOLS, "user", [{"role": "user", "content": "seen"}]),
    ],
)
def test_tool_results_come_in_a_role_that_the_template_knows(with_template, template, tool_role, shown):
    template = ChatTemplate(with_template(template), tool_role)
    assert template.added([{"role": "assistant", "content": ""}, RESULT], "seen") == shown
    request = {"role": "user", "content": "next"}
    assert template.added([{"role": "assistant", "content": ""}, request], "next") == [request]


@pytest.fixture
def in_zone(monkeypatch):
    """Goes to another time zone, such as `UTC+12`; back again afterwards."""

    def go(zone):
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield go
    monkeypatch.undo()
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone of a process cannot be changed here")
def test_a_template_that_writes_the_date_goes_on_the_day_after(with_template, in_zone):
    template = ChatTemplate(with_template("{{ strftime_now('%Y-%m-%d') }}" + CHATML))
    prompts = []
    for zone in ("UTC+12", "UTC-14"):  # never on the same day
        in_zone(zone)
        conversation = Conversation(template)
        conversation.open(OPENING)
        conversation.add_reply([template.end_id], [-0.5])
        assert conversation.add_messages([RESULT], "seen", room=10_000)
        prompts.append(conversation.prompt_ids)
    assert prompts[0] != prompts[1]


def test_a_template_that_trims_messages_will_do(with_template):
    trimming = CHATML.replace("message['content']", "message['content'] | trim")
    conversation = Conversation(ChatTemplate(with_template(trimming)))
    conversation.open(OPENING)
    ids = [*with_template(trimming).encode("  hi \n", add_special_tokens=False), with_template(trimming).eos_token_id]
    conversation.add_reply(ids, [-1.0] * len(ids))
    assert conversation.add_messages([{"role": "user", "content": "more"}], "more", room=100)
    assert conversation.completion_ids[: len(ids)] == ids


NO_THOUGHTS = CHATML.replace("message['content']", "message['content'].split('</think>')[-1]")
ONLY_LAST = CHATML.replace("message['content']", "(message['content'] if loop.last else '…')")
RENUMBERED = "{{ messages | length }}" + CHATML
STRICT = CHATML_WITH_TOOLS.replace(
    "<|im_start|>{{",
    "{% if message['role'] == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}<|im_start|>{{",
)


@pytest.mark.parametrize(
    ("template", "eos_token", "reason"),
    [
        (NO_THOUGHTS, "<|im_end|>", "rewrites earlier messages"),
        (ONLY_LAST, "<|im_end|>", "rewrites earlier messages"),
        (RENUMBERED, "<|im_end|>", "rewrites earlier messages"),
        (CHATML, "<|pad|>", "end token '<|pad|>'"),
        (STRICT, "<|im_end|>", 'no tools here; tool_role="user" may help'),
        (None, "<|im_end|>", "needs a chat template"),
    ],
)
def test_a_template_that_cannot_carry_a_growing_conversation_is_refused(with_template, template, eos_token, reason):
    with pytest.raises(ChatTemplateError) as caught:
        ChatTemplate(with_template(template, eos_token))
    assert reason in str(caught.value)


def test_a_template_that_rewrites_in_the_middle_is_refused_when_it_does(with_template):
    late = CHATML.replace("message['content']", "message['content'] | replace('secret', '***')")
    conversation = Conversation(ChatTemplate(with_template(late)))
    conversation.open(OPENING)
    ids = with_template(late).encode("the secret", add_special_tokens=False)
    conversation.add_reply(ids, [-1.0] * len(ids))
    with pytest.raises(ChatTemplateError, match="rewrites earlier messages"):
        conversation.add_messages([{"role": "user", "content": "more"}], "more", room=100)
    assert conversation.completion_ids == ids


class Counted(ChatTemplate):
    """A chat template that counts its renderings."""

    rendered = 0

    def render(self, messages):
        self.rendered += 1
        return super().render(messages)


@pytest.fixture
def counted(tokenizer):
    """A template that has counted nothing yet."""
    template = Counted(tokenizer)
    template.rendered = 0
    return template


def test_the_first_prompt_of_a_group_is_rendered_once(counted):
    conversations = [Conversation(counted) for _ in range(5)]
    for conversation in conversations:
        conversation.open(list(OPENING))
    assert counted.rendered == 1
    conversations[0].prompt_ids.append(7)  # nobody else's
    assert conversations[1].prompt_ids == conversations[0].prompt_ids[:-1]


def opened(template, content="begin"):
    conversation = Conversation(template)
    conversation.open([OPENING[0], {"role": "user", "content": content}])
    return conversation


def test_first_prompts_that_are_made_together_are_those_made_one_by_one(tokenizer, counted):
    requests = ["begin", "a  longer\n one, é", "", "begin", "<|im_end|>x"]
    alone = [opened(ChatTemplate(tokenizer), request).prompt_ids for request in requests]
    kept = counted.read_ahead([[OPENING[0], {"role": "user", "content": request}] for request in requests])
    assert [opened(counted, request).prompt_ids for request in requests] == alone
    assert counted.rendered == len(kept) == 4
    assert counted.read_ahead([]) == []


REFUSING = "{% if 'no' in messages[-1]['content'] %}{{ raise_exception('oh') }}{% endif %}" + CHATML


@pytest.mark.parametrize(("content", "error"), [("no", ChatTemplateError), ("\ud800", (TypeError, UnicodeError))])
def test_a_first_prompt_that_cannot_be_made_fails_for_itself_alone(with_template, content, error):
    template = ChatTemplate(with_template(REFUSING))
    assert template.read_ahead([OPENING, [OPENING[0], {"role": "user", "content": content}]]) == []
    assert opened(template).prompt_ids == template.encode(template.render(OPENING))
    with pytest.raises(error):
        opened(template, content)


def test_what_rollouts_of_a_group_do_alike_is_rendered_once_and_each_keeps_its_own_tokens(tokenizer, counted):
    ids = tokenizer.encode("done", add_special_tokens=False)
    ended, cut, other = (opened(counted) for _ in range(3))
    ended.add_reply([*ids, counted.end_id], [-1.0] * (len(ids) + 1))
    cut.add_reply(ids, [-2.0] * len(ids))  # the same text, without the token that ends it
    other.add_reply([*ids, *ids], [-3.0] * 2 * len(ids))
    for conversation in (ended, cut, other):
        assert conversation.add_messages([RESULT], "seen", room=100)
    assert counted.rendered == 3  # the first prompt, what followed "done", and what followed the other reply
    assert ended.completion_ids == cut.completion_ids
    assert (sum(ended.mask), sum(cut.mask), sum(other.mask)) == (len(ids) + 1, len(ids), 2 * len(ids))
    cut.add_reply(ids, [-2.0] * len(ids))
    assert ended.completion_ids == cut.completion_ids[: -len(ids)]
    assert cut.add_messages([RESULT], "seen elsewhere", room=100)
    assert cut.ids == opened_and_played(ChatTemplate(tokenizer), ids, "seen", "seen elsewhere").ids


def opened_and_played(template, ids, *observations):
    conversation = opened(template)
    for observation in observations:
        conversation.add_reply(ids, [-2.0] * len(ids))
        conversation.add_messages([RESULT], observation, room=100)
    return conversation


def test_nothing_is_kept_of_conversations_that_are_gone(tokenizer, counted):
    ids = tokenizer.encode("done", add_special_tokens=False)
    first = opened_and_played(counted, ids, "seen", "seen")
    assert counted.rendered == 3
    del first
    opened_and_played(counted, ids, "seen", "seen")
    assert counted.rendered == 6
