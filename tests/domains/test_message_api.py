import pytest

from envtune_gym.domains.base import ToolFailure
from envtune_gym.domains.message_api import MessageAPI
from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

CONFIG = {
    "user_count": 3,
    "user_map": {"Ann": "USR001", "Ben": "USR002", "Cy": "USR005"},
    "inbox": [{"USR002": "Hello"}, {"USR005": "hi"}, {"USR002": "again"}],
    "message_count": 3,
    "current_user": "USR001",
    "random_seed": 7,
}


@pytest.fixture
def messages():
    return MessageAPI(CONFIG)


def failure(messages, tool, *args):
    with pytest.raises(ToolFailure) as caught:
        messages.tools[tool].function(messages, *args)
    return caught.value


def test_users_and_login():
    messages = MessageAPI({})
    assert messages.list_users() == {"user_list": ["Alice", "Bob", "Catherine", "Daniel"]}
    assert messages.get_user_id("Bob") == {"user_id": "USR002"}
    assert messages.message_get_login_status() == {"login_status": False}
    assert messages.message_login("USR002") == {
        "login_status": True,
        "message": "User 'USR002' logged in successfully.",
    }
    assert messages.message_get_login_status() == {"login_status": True}


def test_sending_and_reading(messages):
    sent = messages.send_message("USR005", "See YOU there")
    assert sent["sent_status"] is True
    assert sent["message"] == "Message sent to 'USR005' successfully."
    assert messages.generated_ids == {sent["message_id"]["new_id"]}
    assert messages.message_count == 4
    assert messages.view_messages_sent() == {
        "messages": {"USR002": ["Hello", "again"], "USR005": ["hi", "See YOU there"]},
    }
    assert messages.search_messages("you") == {"results": [{"receiver_id": "USR005", "message": "See YOU there"}]}
    assert messages.search_messages("none of it") == {"results": []}
    assert messages.get_message_stats() == {"stats": {"received_count": 4, "total_contacts": 2}}


def test_default_seed_draws_the_official_ids():
    messages = MessageAPI({"current_user": "USR001"})
    ids = [messages.send_message("USR002", "x")["message_id"]["new_id"] for _ in range(3)]
    assert ids == [67410, 41772, 24547]


def test_deleting_takes_the_first_message_that_equals_the_latest(messages):
    messages.send_message("USR002", "Hello")
    assert messages.delete_message("USR002") == {
        "deleted_status": True,
        "receiver_id": "USR002",
        "message": "Receiver USR002's latest message deleted successfully.",
    }
    assert messages.inbox == [{"USR005": "hi"}, {"USR002": "again"}, {"USR002": "Hello"}]
    assert messages.message_count == 4


def test_adding_contacts_counts_up_even_when_the_id_is_taken(messages):
    assert messages.add_contact("Dee") == {
        "added_status": True,
        "user_id": "USR004",
        "message": "Contact 'Dee' added successfully.",
    }
    error = failure(messages, "add_contact", "Eve")
    assert (error.code, error.official) == ("user_id_exists", {"error": "User ID 'USR005' already exists."})
    assert messages.add_contact("Eve")["user_id"] == "USR006"


@pytest.mark.parametrize(
    ("tool", "args", "code", "argument", "official"),
    [
        ("get_user_id", ("Zoe",), "unknown_user", "user", {"error": "User 'Zoe' not found in the workspace."}),
        (
            "message_login",
            ("Ann",),
            "unknown_user_id",
            "user_id",
            {"login_status": False, "message": "User ID 'Ann' not found."},
        ),
        ("send_message", ("Ben", "x"), "unknown_user_id", "receiver_id", {"error": "Receiver ID 'Ben' not found."}),
        (
            "delete_message",
            ("USR001",),
            "no_message_to_receiver",
            "receiver_id",
            {"error": "Receiver ID USR001 not found."},
        ),
        ("add_contact", ("Ann",), "user_exists", "user_name", {"error": "User name 'Ann' already exists."}),
    ],
)
def test_failures_have_a_code_and_the_official_text(messages, tool, args, code, argument, official):
    before = messages.state()
    error = failure(messages, tool, *args)
    assert (error.code, error.argument, error.value) == (code, argument, args[0])
    assert error.official == official
    assert error.silent is False
    assert messages.state() == before


def test_a_name_in_place_of_an_id_is_recognised(messages):
    assert failure(messages, "send_message", "Ben", "x").details["same_as_name"] is True
    assert failure(messages, "send_message", "USR9", "x").details["same_as_name"] is False


@pytest.mark.parametrize("keyword", ["Ben", "USR002"])
def test_a_search_for_a_user_that_finds_nothing_is_marked(messages, keyword):
    assert messages.search_messages("nothing") == {"results": []}
    error = failure(messages, "search_messages", keyword)
    assert (error.code, error.official, error.silent) == ("keyword_is_user", {"results": []}, True)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("send_message", ("USR002", "x")),
        ("delete_message", ("USR002",)),
        ("view_messages_sent", ()),
        ("search_messages", ("x",)),
        ("get_message_stats", ()),
    ],
)
def test_most_tools_need_a_login(tool, args):
    error = failure(MessageAPI({}), tool, *args)
    assert (error.code, error.official) == ("not_logged_in", {"error": "No user is currently logged in."})


@pytest.mark.parametrize(
    ("tool", "args", "message"),
    [
        ("get_user_id", (["Ann"],), "unhashable type: 'list'"),
        ("search_messages", (5,), "'int' object has no attribute 'lower'"),
        ("message_login", (), r"MessageAPI.message_login\(\) missing 1 required positional argument: 'user_id'"),
    ],
)
def test_ill_typed_arguments_meet_pythons_own_words(messages, tool, args, message):
    with pytest.raises((TypeError, AttributeError), match=f"^{message}$"):
        messages.tools[tool].function(messages, *args)


def test_a_fork_draws_the_same_ids_and_shares_nothing(messages):
    messages.send_message("USR002", "x")
    fork = messages.fork()
    assert fork.same_state(messages)
    assert fork.send_message("USR002", "y") == messages.send_message("USR002", "y")
    fork.delete_message("USR002")
    assert not fork.same_state(messages)
    assert messages.inbox[-1] == {"USR002": "y"}


def test_message_ids_run_out_instead_of_hanging():
    messages = MessageAPI({**CONFIG, "generated_ids": set(range(10_000, 100_000))})
    assert failure(messages, "send_message", "USR002", "x").code == "ids_exhausted"


class TestSuites(DomainSuite, TaskSuite, HintSuite):
    domain = "MessageAPI"
    configs = (CONFIG, {})
