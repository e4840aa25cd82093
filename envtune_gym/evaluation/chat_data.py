"""Oracle trajectories as chat data: ground truths, played in the environment, as conversations to fine-tune on.

A conversation holds exactly the messages that a model would have read and written (`info["messages"]`); one that does
not earn the verdict is never written. In the `openai` format the tools travel beside the messages and may change on the
way: the shape `sft` says where, the shape `trl` begins a new row there.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import gymnasium as gym

from envtune_gym.calls import ActionFormat, DocStyle, parse_action, render_answer, render_calls
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.evaluation.script import DONE
from envtune_gym.registration import MULTI_DOMAIN_ID
from envtune_gym.tasks import Task, TaskSet
from envtune_gym.tasks.lines import write_lines

__all__ = ["ChatExport", "Conversation", "Shape", "Thoughts", "converse", "save_chat_data", "sft_row", "trl_rows"]

Message = dict[str, Any]
Shape = Literal["sft", "trl"]
Thoughts = Literal["none", "plan"]

_NOTHING_LEFT = "Everything that was asked for is done."
_NOT_POSSIBLE = "Something that I need for this is missing, so I say so."


@dataclass(frozen=True, slots=True)
class Conversation:
    """A solved task as chat.

    Attributes:
        task_id: Id of the task.
        category: Its category.
        messages: All messages, from the system prompt to the last answer.
        offers: The tools on offer, as function schemas, each with the index of the first message written under them.
    """

    task_id: str
    category: str
    messages: list[Message]
    offers: list[tuple[int, list[dict[str, Any]]]]


@dataclass(slots=True)
class ChatExport:
    """What an export has come to.

    Attributes:
        conversations: Number of conversations written.
        rows: Number of lines written.
        left_out: Tasks that are not in the file, by id, and why.
    """

    conversations: int = 0
    rows: int = 0
    left_out: dict[str, str] = field(default_factory=dict)


def save_chat_data(
    tasks: TaskSet,
    path: str | os.PathLike[str],
    shape: Shape = "sft",
    *,
    action_format: ActionFormat = "tool_call",
    tool_docs: DocStyle = "full",
    thoughts: Thoughts = "none",
    on_task: Callable[[Task], object] | None = None,
) -> ChatExport:
    """Write the oracle's conversations to a file, one JSON object a line, whole or not at all.

    Tasks that the oracle cannot solve in the action format are left out, with the reason.

    Args:
        tasks: The tasks; a finite set.
        path: The file.
        shape: `"sft"`: whole conversations (`sft_row`). `"trl"`: prompts and completions (`trl_rows`).
        action_format: The format of the assistant messages.
        tool_docs: How the system prompt documents the tools.
        thoughts: What the assistant says it thinks: nothing, or which tools it is about to use.
        on_task: Called after each task.

    Raises:
        ConfigurationError: If no task is left.
        DataError: If the file cannot be written.
    """
    done = ChatExport()
    env = gym.make(
        MULTI_DOMAIN_ID, tasks=tasks, action_format=action_format, tool_docs=tool_docs, disable_env_checker=True
    )

    def lines() -> Iterator[str]:
        for task in tasks:
            try:
                conversation = converse(env, task, action_format, thoughts)
            except ConfigurationError as error:
                done.left_out[task.id] = str(error)
            else:
                done.conversations += 1
                make = trl_rows if shape == "trl" else _sft_rows
                yield from (json.dumps(row, ensure_ascii=False) for row in make(conversation, action_format))
            if on_task is not None:
                on_task(task)
        if not done.conversations:
            reason = next(iter(done.left_out.values()), "there is none")
            raise ConfigurationError(f"no task can be written as chat data: {reason}")

    try:
        done.rows = write_lines(path, lines(), "chat data")
    finally:
        env.close()
    return done


def converse(
    env: gym.Env[str, str], task: Task, action_format: ActionFormat, thoughts: Thoughts = "none"
) -> Conversation:
    """Let the oracle solve a task, and return what was said.

    Args:
        env: An environment of this action format that serves the task.
        task: The task.
        action_format: The format of the assistant messages.
        thoughts: What the assistant says it thinks.

    Raises:
        ConfigurationError: If the format cannot hold a call, or the ground truth does not earn the verdict.
    """
    replies = Oracle(action_format).messages(task)
    if thoughts == "plan":
        replies = [_with_thought(reply, action_format) for reply in replies]
    _, info = env.reset(options={"task_id": task.id})
    messages: list[Message] = list(info["messages"])
    offers = [(len(messages), info["tools"])]
    for reply in replies:
        _, _, terminated, truncated, info = env.step(reply)
        messages += info["messages"]
        if "tools" in info:
            offers.append((len(messages), info["tools"]))
        if terminated or truncated:
            break
    if not info.get("success", False):
        raise ConfigurationError(f"task {task.id}: the ground truth does not earn the verdict when it is played")
    return Conversation(task.id, task.category, messages, offers)


def sft_row(conversation: Conversation, action_format: ActionFormat) -> dict[str, Any]:
    """Return a conversation as one object: `id`, `category`, `messages`.

    In the `openai` format also `tools`, those on offer at the start, and `later_tools`: for each change of them the
    index of the first message written under the new ones (`from_message`) and the new ones (`tools`).
    """
    row: dict[str, Any] = {"id": conversation.task_id, "category": conversation.category}
    row["messages"] = conversation.messages
    if action_format == "openai":
        (_, row["tools"]), *later = conversation.offers
        row["later_tools"] = [{"from_message": start, "tools": tools} for start, tools in later]
    return row


def trl_rows(conversation: Conversation, action_format: ActionFormat) -> list[dict[str, Any]]:
    """Return a conversation as rows for TRL: `id`, `category`, `prompt`, `completion`, in `openai` also `tools`.

    `SFTTrainer` takes them with `SFTConfig(assistant_only_loss=True)`; the completion holds tool results and further
    requests too, which that leaves out of the loss. In `openai` a conversation has a row for each stretch under the
    same tools, whose prompt is all that went before; the arguments of calls are objects there, as chat templates want
    them, and `tools` is JSON text, as the trainer takes it. In the other formats there is one row, and the last message
    of its prompt also names the episode (`task_id`, `seed`), as the rows of `integrations.trl.episode_rows` do, so that
    the file serves `GRPOTrainer` with a `rollout_func` of that module, which plays the task anew.
    """
    messages = [_for_template(message) for message in conversation.messages]
    ends = [start for start, _ in conversation.offers[1:]]
    stretches = conversation.offers if action_format == "openai" else conversation.offers[:1]
    rows = []
    for number, (start, tools) in enumerate(stretches):
        end = ends[number] if action_format == "openai" and number < len(ends) else len(messages)
        while messages[end - 1]["role"] != "assistant":  # the request that the next tools come with
            end -= 1
        row: dict[str, Any] = {"id": conversation.task_id, "category": conversation.category}
        row["prompt"], row["completion"] = messages[:start], messages[start:end]
        if action_format == "openai":
            row["tools"] = json.dumps(tools, ensure_ascii=False)
        else:
            row["prompt"][-1] = {**row["prompt"][-1], "task_id": conversation.task_id, "seed": 0}
        rows.append(row)
    return rows


def _sft_rows(conversation: Conversation, action_format: ActionFormat) -> list[dict[str, Any]]:
    return [sft_row(conversation, action_format)]


def _for_template(message: Message) -> Message:
    """Return a message as chat templates want it: text as content, and arguments as objects."""
    message = copy.deepcopy(message)
    message["content"] = message.get("content") or ""
    for call in message.get("tool_calls", ()):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return message


def _with_thought(text: str, action_format: ActionFormat) -> str:
    """Return an oracle's message with a thought before it: the tools that it is about to use, or why it answers."""
    reply = parse_action(text, action_format)
    if reply.calls:
        tools = list(dict.fromkeys(call.name for call in reply.calls))
        return render_calls(reply.calls, action_format, thought=f"I use {', then '.join(tools)}.")
    answer = reply.answer or ""
    thought = _NOTHING_LEFT if answer == DONE else _NOT_POSSIBLE
    return render_answer(answer, action_format, thought=thought)
