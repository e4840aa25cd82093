"""The messaging domain: the users of a workspace, and the messages that one of them sends."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from envtune_gym.domains.base import Domain, LazyRandom, ToolFailure, copy_plain, tool

__all__ = ["MessageAPI"]

_DEFAULTS: dict[str, Any] = {
    "generated_ids": set(),
    "user_count": 4,
    "user_map": {"Alice": "USR001", "Bob": "USR002", "Catherine": "USR003", "Daniel": "USR004"},
    "inbox": [
        {"USR002": "My name is Alice. I want to connect."},
        {"USR003": "Could you upload the file?"},
        {"USR004": "Could you upload the file?"},
    ],
    "message_count": 3,
    "current_user": None,
}
_DEFAULT_SEED = 200191
_FIRST_ID, _LAST_ID = 10_000, 99_999
_MAX_LISTED = 50


class MessageAPI(Domain):
    """A workspace whose users have names and ids, and messages sent to ids.

    State: `generated_ids` (of messages), `user_count`, `user_map` (name to id), `inbox` (all messages in order, each
    a dictionary of receiver's id and text), `message_count` and `current_user` (an id, or None before login).
    Configuration: these names, and `random_seed` for message ids; each has a default.

    The inbox is one for all users: what it lists counts as sent by whoever is logged in. Deleting a message takes
    away the first one that equals the receiver's latest, and leaves `message_count` as it is.

    Failures are those of the benchmark, and `ids_exhausted` when every message id is in use.
    """

    state_fields = ("generated_ids", "user_count", "user_map", "inbox", "message_count", "current_user")
    hidden_fields = ("_random",)
    random_tools = frozenset({"send_message"})

    def __init__(self, config: Mapping[str, Any], filler: Mapping[str, Any] | None = None) -> None:
        self.generated_ids: set[int] = copy_plain(config.get("generated_ids", _DEFAULTS["generated_ids"]))
        self.user_count: int = config.get("user_count", _DEFAULTS["user_count"])
        self.user_map: dict[str, str] = copy_plain(config.get("user_map", _DEFAULTS["user_map"]))
        self.inbox: list[dict[str, str]] = copy_plain(config.get("inbox", _DEFAULTS["inbox"]))
        self.message_count: int = config.get("message_count", _DEFAULTS["message_count"])
        self.current_user: str | None = config.get("current_user", _DEFAULTS["current_user"])
        self._random = LazyRandom(config.get("random_seed", _DEFAULT_SEED))

    @tool
    def list_users(self) -> dict[str, list[str]]:
        """List the names of all users of the workspace.

        Returns:
            `user_list`: the names.
        """
        return {"user_list": list(self.user_map)}

    @tool
    def get_user_id(self, user: str) -> dict[str, str]:
        """Look up the id of a user.

        Args:
            user: The user's name, spelled exactly as in the workspace.

        Returns:
            `user_id`: the id.
        """
        if user not in self.user_map:
            raise ToolFailure(
                "unknown_user",
                f"User '{user}' not found in the workspace.",
                argument="user",
                value=user,
                known_users=list(islice(self.user_map, _MAX_LISTED)),
            )
        return {"user_id": self.user_map[user]}

    @tool
    def message_login(self, user_id: str) -> dict[str, bool | str]:
        """Log in to the messaging application as a user.

        Args:
            user_id: The user's id, not the name.

        Returns:
            `login_status`: whether it worked; `message`: the outcome in words.
        """
        if user_id not in list(self.user_map.values()):
            raise self._unknown_id(
                "user_id", user_id, {"login_status": False, "message": f"User ID '{user_id}' not found."}
            )
        self.current_user = user_id
        return {"login_status": True, "message": f"User '{user_id}' logged in successfully."}

    @tool
    def message_get_login_status(self) -> dict[str, bool]:
        """Tell whether anybody is logged in to the messaging application.

        Returns:
            `login_status`: whether a user is logged in.
        """
        return {"login_status": bool(self.current_user)}

    @tool
    def send_message(self, receiver_id: str, message: str) -> dict[str, Any]:
        """Send a message to a user; needs a login.

        Args:
            receiver_id: Id of the user who is to get the message, not the name.
            message: The text.

        Returns:
            `sent_status`: whether it was sent; `message_id`: an object with the message's id as `new_id`; `message`:
            the outcome in words.
        """
        self._require_login()
        if receiver_id not in self.user_map.values():
            raise self._unknown_id("receiver_id", receiver_id, f"Receiver ID '{receiver_id}' not found.")
        new_id = self._new_id()
        self.inbox.append({receiver_id: message})
        self.message_count += 1
        return {
            "sent_status": True,
            "message_id": {"new_id": new_id},
            "message": f"Message sent to '{receiver_id}' successfully.",
        }

    @tool
    def delete_message(self, receiver_id: str) -> dict[str, bool | str]:
        """Delete the latest message to a user; needs a login.

        Args:
            receiver_id: Id of the user who got the message, not the name.

        Returns:
            `deleted_status`: whether it was deleted; `receiver_id`: the receiver; `message`: the outcome in words.
        """
        self._require_login()
        for message in reversed(self.inbox):
            receiver, _ = _receiver_and_text(message)
            if receiver == receiver_id:
                self.inbox.remove(message)
                return {
                    "deleted_status": True,
                    "receiver_id": receiver,
                    "message": f"Receiver {receiver_id}'s latest message deleted successfully.",
                }
        raise ToolFailure(
            "no_message_to_receiver",
            f"Receiver ID {receiver_id} not found.",
            argument="receiver_id",
            value=receiver_id,
            known_user=receiver_id in self.user_map.values(),
            same_as_name=_is_key(receiver_id, self.user_map),
        )

    @tool
    def view_messages_sent(self) -> dict[str, dict[str, list[str]]]:
        """Show all messages sent so far; needs a login.

        Returns:
            `messages`: the texts in order, by receiver's id.
        """
        self._require_login()
        sent: dict[str, list[str]] = {}
        for message in self.inbox:
            receiver, text = _receiver_and_text(message)
            sent.setdefault(receiver, []).append(text)
        return {"messages": sent}

    @tool
    def add_contact(self, user_name: str) -> dict[str, bool | str]:
        """Add a user to the workspace, under the next free id.

        Args:
            user_name: Name of the new user.

        Returns:
            `added_status`: whether the user was added; `user_id`: the new id; `message`: the outcome in words.
        """
        if user_name in self.user_map:
            official = f"User name '{user_name}' already exists."
            raise ToolFailure("user_exists", official, argument="user_name", value=user_name)
        self.user_count += 1
        user_id = f"USR{str(self.user_count).zfill(3)}"
        if user_id in self.user_map.values():
            official = f"User ID '{user_id}' already exists."
            raise ToolFailure("user_id_exists", official, argument="user_name", value=user_name, user_id=user_id)
        self.user_map[user_name] = user_id
        return {
            "added_status": True,
            "user_id": user_id,
            "message": f"Contact '{user_name}' added successfully.",
        }

    @tool
    def search_messages(self, keyword: str) -> dict[str, list[dict[str, str]]]:
        """Find the messages that contain a text, whatever its case; needs a login.

        Args:
            keyword: The text to look for.

        Returns:
            `results`: for each message found, `receiver_id` and the text as `message`.
        """
        self._require_login()
        wanted = keyword.lower()
        pairs = map(_receiver_and_text, self.inbox)
        found = [{"receiver_id": receiver, "message": text} for receiver, text in pairs if wanted in text.lower()]
        official = {"results": found}
        if not found and (_is_key(keyword, self.user_map) or keyword in self.user_map.values()):
            raise ToolFailure("keyword_is_user", official, argument="keyword", value=keyword, silent=True)
        return official

    @tool
    def get_message_stats(self) -> dict[str, dict[str, int]]:
        """Count the messages and those they went to; needs a login.

        Returns:
            `stats`: `received_count`, the number of messages, and `total_contacts`, the number of receivers.
        """
        self._require_login()
        receivers = [_receiver_and_text(message)[0] for message in self.inbox]
        return {"stats": {"received_count": len(receivers), "total_contacts": len(set(receivers))}}

    def _require_login(self) -> None:
        """Fail unless a user is logged in."""
        if not self.current_user:
            raise ToolFailure("not_logged_in", "No user is currently logged in.")

    def _new_id(self) -> int:
        """Draw a message id that is not in use."""
        if len(self.generated_ids) > _LAST_ID - _FIRST_ID:
            raise ToolFailure("ids_exhausted", "No message ID is left.")
        draw = self._random.generator.randint
        new_id = draw(_FIRST_ID, _LAST_ID)
        while new_id in self.generated_ids:
            new_id = draw(_FIRST_ID, _LAST_ID)
        self.generated_ids.add(new_id)
        return new_id

    def _unknown_id(self, argument: str, value: str, official: object) -> ToolFailure:
        """Return the failure for an id that no user has; a name in its place is a frequent mistake."""
        return ToolFailure(
            "unknown_user_id",
            official,
            argument=argument,
            value=value,
            same_as_name=_is_key(value, self.user_map),
            known_users=list(islice(self.user_map, _MAX_LISTED)),
        )


def _receiver_and_text(message: Mapping[str, str]) -> tuple[str, str]:
    """Return the first entry of a message; the benchmark ignores any further ones."""
    return list(message.items())[0]  # noqa: RUF015 - an empty message fails as officially, with an IndexError


def _is_key(value: object, mapping: Mapping[str, Any]) -> bool:
    """Tell whether a value, which may be unhashable, is a key."""
    return isinstance(value, str) and value in mapping
