"""Chat templates of the families that the model presets name, written afresh after how their models are prompted."""

import pytest

pytest.importorskip("trl")

from integrations.helpers import answer, call

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.integrations.tokens import ChatTemplate, Conversation
from envtune_gym.training.presets import MODELS

QWEN = """
{%- if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nBe helpful.<|im_end|>\\n' }}{% endif %}
{%- for message in messages %}
  {%- if message['role'] == 'tool' %}
    {%- if loop.first or messages[loop.index0 - 1]['role'] != 'tool' %}{{ '<|im_start|>user' }}{% endif %}
    {{- '\\n<tool_response>\\n' + message['content'] + '\\n</tool_response>' }}
    {%- if loop.last or messages[loop.index0 + 1]['role'] != 'tool' %}{{ '<|im_end|>\\n' }}{% endif %}
  {%- else %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

LLAMA_31 = """
{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] | trim %}{% set rest = messages[1:] %}
{%- else %}{% set system = '' %}{% set rest = messages %}{% endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nCutting Knowledge Date: December 2023\\n' }}
{{- 'Today Date: 26 Jul 2024\\n\\n' + system + '<|eot_id|>' }}
{%- for message in rest %}
  {%- if message['role'] in ('tool', 'ipython') %}
    {{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' + (message['content'] | tojson) + '<|eot_id|>' }}
  {%- else %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
    {{- message['content'] | trim + '<|eot_id|>' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}
"""

HEADERS = """
{%- for message in messages %}
  {%- if loop.first %}{{ bos_token }}{% endif %}
  {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}
"""

FAMILIES = {
    "qwen2.5-7b": (QWEN, "<|im_end|>"),
    "llama-3.1-8b": (LLAMA_31, "<|eot_id|>"),
    "toolace-2-8b": (HEADERS, "<|eot_id|>"),
    "watt-tool-8b": (LLAMA_31, "<|eot_id|>"),
}


@pytest.fixture(params=FAMILIES)
def family(request, tokenizer):
    """The name of a preset, and the tokenizer with that family's template and special tokens."""
    import copy

    template, end = FAMILIES[request.param]
    changed = copy.deepcopy(tokenizer)
    changed.add_special_tokens(
        {
            "eos_token": end,
            "bos_token": "<|begin_of_text|>",
            "additional_special_tokens": ["<|im_start|>", "<|start_header_id|>", "<|end_header_id|>"],
        }
    )
    changed.chat_template = template.strip()
    return request.param, changed


def test_an_episode_is_the_rendered_conversation_and_only_the_models_own_tokens_are_marked(family, make_env):
    name, tokenizer = family
    preset = MODELS[name]
    template = ChatTemplate(tokenizer, preset["tool_role"])
    env = make_env(action_format=preset["action_format"])
    _, info = env.reset(options={"task_id": "ticket"})
    conversation = Conversation(template)
    conversation.open(info["messages"])
    solution = [
        render_calls([Call("create_ticket", {"title": "Lamp", "description": "Broken."})], preset["action_format"]),
        render_answer("Done.", preset["action_format"]),
        render_calls(
            [Call("close_ticket", {"ticket_id": 7}), Call("mean", {"numbers": [1, 2, 6]})], preset["action_format"]
        ),
    ]
    messages, own = list(info["messages"]), []
    for text in solution:
        ids = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
        own += ids
        assert conversation.add_reply(ids, [-1.0] * len(ids)) == text
        observation, _, _, _, info = env.step(text)
        assert not [result for result in info["tool_results"] if result["error"]]
        assert conversation.add_messages(info["messages"], observation, room=10_000)
        messages += [{"role": "assistant", "content": text}, *template.added(info["messages"], observation)]
    assert tokenizer.decode(conversation.ids) == template.render(messages)
    marked = [i for i, mask in zip(conversation.completion_ids, conversation.mask, strict=True) if mask]
    assert marked == own


def test_results_stand_in_the_role_that_the_template_names(family):
    name, tokenizer = family
    template = ChatTemplate(tokenizer, MODELS[name]["tool_role"])
    result = {"role": "tool", "name": "ls", "content": "[]"}
    shown = template.render(
        [{"role": "user", "content": "go"}, {"role": "assistant", "content": "x"}, *template.added([result], "[]")]
    )
    tail = shown.partition("x" + FAMILIES[name][1])[2]
    expected = {
        "qwen2.5-7b": "<tool_response>\n[]\n</tool_response>",
        "llama-3.1-8b": "ipython<|end_header_id|>",
        "toolace-2-8b": "user<|end_header_id|>",
        "watt-tool-8b": "ipython<|end_header_id|>",
    }
    assert expected[name] in tail


def test_the_paper_format_survives_every_template(family):
    _, tokenizer = family
    template = ChatTemplate(tokenizer)
    for text in (call("ls"), answer(), "<think>\nlook\n</think>\n" + call("cd", folder="x")):
        ids = tokenizer.encode(text, add_special_tokens=False)
        assert template.decode([*ids, tokenizer.eos_token_id]) == text
