"""What a model is shown of an official task equals, byte for byte, what the benchmark's own harness shows it."""

import ast
import asyncio

import pytest

pytest.importorskip("mpmath")
handler = pytest.importorskip("bfcl_eval.model_handler.utils", reason="needs the official package")

from bfcl_eval.constants.enums import ModelStyle  # noqa: E402
from bfcl_eval.constants.type_mappings import GORILLA_TO_OPENAPI  # noqa: E402
from bfcl_eval.utils import load_dataset_entry  # noqa: E402

from envtune_gym import TaskSet, load_tasks  # noqa: E402
from envtune_gym.evaluation.models.history import OfficialHistory  # noqa: E402
from envtune_gym.evaluation.oracle import Oracle  # noqa: E402
from envtune_gym.evaluation.runs.episode import env_maker, new_record, play_episode  # noqa: E402
from envtune_gym.evaluation.runs.policies import Reply  # noqa: E402
from envtune_gym.evaluation.runs.records import RunSettings  # noqa: E402

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
FIXED = "I have updated some more functions you can choose from. What about now?"


class Watching:
    """The ground truth, played under the eyes of a history; keeps what a model would have been shown."""

    def __init__(self, task, action_format):
        self.history = OfficialHistory(task, action_format)
        self.messages = iter(Oracle(action_format).messages(task))
        self.shown = []
        self.replies = []

    async def reply(self, messages, tools):
        self.shown.append(self.history.shown(messages, tools))
        self.replies.append(next(self.messages))
        return Reply(self.replies[-1])


def watch(category, action_format):
    """Yield each official entry and what a model would have been shown of it."""
    entries = load_dataset_entry(f"multi_turn_{category}")
    tasks = load_tasks("bfcl", categories=(category,))
    run = RunSettings(policy="oracle", action_format=action_format, decoder="official")
    env = env_maker(TaskSet(list(tasks)), run)()
    for entry in entries:
        task = tasks.get(entry["id"])
        watching = Watching(task, action_format)
        record = new_record(task, 0, run)
        assert asyncio.run(play_episode(env, task, record, lambda watching=watching: watching)) is None
        yield entry, watching


@pytest.mark.bfcl
@pytest.mark.parametrize("category", CATEGORIES)
def test_the_prompting_mode_shows_what_the_benchmark_shows(category):
    for entry, watching in watch(category, "python"):
        expected = handler.system_prompt_pre_processing_chat_model(entry["question"][0], entry["function"], entry["id"])
        replies = iter(watching.replies)
        conversation = iter(watching.shown[-1][0])
        assert watching.shown[-1][1] == []
        for turn, messages in enumerate(entry["question"]):
            returned = entry.get("missed_function", {}).get(str(turn))
            if returned is not None:
                expected = [{"role": "user", "content": f"{returned}\n{FIXED}"}]
            elif turn:
                expected = messages
            assert [next(conversation) for _ in expected] == expected
            for said in conversation:
                assert said == {"role": "assistant", "content": next(replies)}
                calls = _executed(said["content"])
                if calls is None:
                    break
                shown = next(conversation, None)
                entries = ast.literal_eval(shown["content"])
                names, results = ([one[key] for one in entries] for key in ("name", "content"))
                data = {"model_responses_decoded": calls}
                assert names == calls
                assert shown == {
                    "role": "user",
                    "content": handler.format_execution_results_prompting({}, results, data),
                }


def _executed(text):
    try:
        return handler.default_decode_execute_prompting(text) or None
    except Exception:
        return None


@pytest.mark.bfcl
@pytest.mark.parametrize("category", CATEGORIES)
def test_the_function_calling_mode_offers_what_the_benchmark_offers(category):
    for entry, watching in watch(category, "openai"):
        turn = -1
        for messages, tools in watching.shown:
            turns = sum(message["role"] == "user" for message in messages) - 1
            if turns != turn:
                turn = turns
                entry["function"] = entry["function"] + entry.get("missed_function", {}).get(str(turn), [])
            assert tools == handler.convert_to_tool(
                entry["function"], GORILLA_TO_OPENAPI, ModelStyle.OPENAI_COMPLETIONS
            )
        assert "system" not in {message["role"] for message in messages}
        users = [message["content"] for message in messages if message["role"] == "user"]
        assert users == [turn[0]["content"] if turn else FIXED for turn in entry["question"]]
        assert {frozenset(m) for m in messages if m["role"] == "tool"} <= {
            frozenset(("role", "content", "tool_call_id"))
        }
