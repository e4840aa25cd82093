"""The file system domain's state, the moves in it and its failures: what the tools share."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from typing_extensions import Self

from envtune_gym.domains._file_tree import (
    Directory,
    File,
    Node,
    copy_tree,
    fits,
    load_tree,
    locate,
    plain_tree,
    same_tree,
)
from envtune_gym.domains.base import Domain, ToolFailure

__all__ = ["MAX_LISTED", "WorkingTree", "endless", "too_large"]

MAX_LISTED = 50
"""Most names that an error carries for hints."""

_FORBIDDEN = '|/\\?%*:"><'


class WorkingTree(Domain):
    """A tree of directories and files, and the directory in it that one works from."""

    state_fields = ("root", "long_context")
    hidden_fields = ("_current_dir", "_relinked")

    def __init__(self, config: Mapping[str, Any], filler: Mapping[str, Any] | None = None) -> None:
        self.long_context = filler is not None
        self.root = load_tree(config, filler)
        self._current_dir = self.root
        self._relinked = False  # a directory was moved or copied: a directory may have several places or none

    def state(self) -> dict[str, Any]:
        """Return the public state as fresh plain data; a directory inside itself is shown empty."""
        return {"root": plain_tree(self.root), "long_context": self.long_context}

    def same_state(self, other: Self) -> bool:
        """Tell whether trees and context length are equal; the current directory and the order do not matter."""
        return self.long_context == other.long_context and same_tree(self.root, other.root)

    def fork(self) -> Self:
        """Return an independent copy that stands in the same directory."""
        copy = type(self).__new__(type(self))
        copy.long_context = self.long_context
        copy.root, copy._current_dir = copy_tree(self.root, self._current_dir)
        copy._relinked = self._relinked
        return copy

    def _lookup(self, name: str) -> Node | None:
        """Return what the current directory lists under a name; an entry named `.` is the directory itself."""
        contents = self._current_dir.contents
        if name not in contents:
            return None
        return self._current_dir if name == "." else contents[name]

    def _read(self, command: str, file_name: str) -> str:
        """Return the text of a file of the current directory, or fail as `command` does."""
        node = self._lookup(file_name)
        if isinstance(node, File):
            return node.text
        official = f"{command}: {file_name}: No such file or directory"
        raise self._not_a_file("file_name", file_name, official)

    def _go_up(self) -> dict[str, str]:
        """Go to the directory above."""
        if self._current_dir.parent is None:
            raise ToolFailure(
                "already_at_root",
                "Current directory is already the root. Cannot go back.",
                argument="folder",
                value="..",
            )
        self._current_dir = self._current_dir.parent
        return {}

    def _navigate(self, command: str, argument: str, path: str | None) -> Directory:
        """Return the directory at a path, or fail as `command` does."""
        if path is None or path == ".":
            return self._current_dir
        if path == "/":
            return self.root
        parts = path.strip("/").split("/")
        directory = self.root if path.startswith("/") else self._current_dir
        for part in parts:
            node = directory if part == "." else directory.contents.get(part)
            if not isinstance(node, Directory):
                official = f"{command}: '{path}': No such file or directory"
                code = "not_a_directory" if node else "no_such_directory"
                raise self._not_found(argument, path, official, code=code, missing=part)
            directory = node
        return directory

    def _transfer(self, command: str, verb: str, source: str, destination: str) -> tuple[Node, Directory, str, str]:
        """Return what a move or copy takes, the directory it goes to, the name there, and that place in words."""
        failed = f"{command}: cannot {verb}"
        node = self._lookup(source)
        if node is None:
            raise self._not_found("source", source, f"{failed} '{source}': No such file or directory")
        if "/" in destination:
            official = f"{command}: path not allowed in destination. Provide only a file or directory name."
            raise ToolFailure("path_not_allowed", official, argument="destination", value=destination)
        target = self._lookup(destination)
        if target is None:
            return node, self._current_dir, destination, destination
        if isinstance(target, File):
            official = f"{failed} '{source}' to '{destination}': Not a directory"
            raise ToolFailure("not_a_directory", official, argument="destination", value=destination)
        return node, target, source, f"{destination}/{source}"

    def _add(self, command: str, argument: str, directory: Directory, name: str, node: Node) -> None:
        """List a new node, unless the tree would outgrow its bounds."""
        directory.contents[name] = node
        self._relinked = self._relinked or (isinstance(node, Directory) and bool(node.contents))
        if self._relinked and not fits(self.root):
            del directory.contents[name]
            raise too_large(command, argument, name)

    def _check_characters(self, name: str, argument: str, failed: str) -> None:
        """Refuse a name with a forbidden character."""
        characters = [character for character in _FORBIDDEN if character in name]
        if characters:
            official = f"{failed} '{name}': Invalid character"
            raise ToolFailure("invalid_character", official, argument=argument, value=name, characters=characters)

    def _check_new_name(self, name: str, argument: str, failed: str) -> None:
        """Refuse a name with a forbidden character, or one that is taken."""
        self._check_characters(name, argument, failed)
        if name in self._current_dir.contents:
            raise ToolFailure("file_exists", f"{failed} '{name}': File exists", argument=argument, value=name)

    def _not_a_file(self, argument: str, name: str, official: str) -> ToolFailure:
        """Return the failure for a name of the current directory that is no file's."""
        if self._lookup(name) is None:
            return self._not_found(argument, name, official)
        return ToolFailure("is_directory", official, argument=argument, value=name)

    def _not_found(
        self, argument: str, value: str, official: str, *, code: str = "no_such_file", **details: Any
    ) -> ToolFailure:
        """Return the failure for a name that is not there, with what is, and where the name occurs elsewhere."""
        return ToolFailure(
            code,
            official,
            argument=argument,
            value=value,
            directory=self._current_dir.name,
            available=list(islice(self._current_dir.contents, MAX_LISTED)),
            found_at=locate(self.root, value, limit=3),
            other_ending=_without_ending(value) in map(_without_ending, self._current_dir.contents),
            **details,
        )


def _without_ending(name: object) -> object:
    return (name.rpartition(".")[0] or name) if isinstance(name, str) else name


def too_large(command: str, argument: str | None, value: object) -> ToolFailure:
    """Return the failure for work that this package refuses; the benchmark knows no such limit."""
    return ToolFailure("too_large", f"{command}: The directory tree is too large", argument=argument, value=value)


def endless(argument: str | None, value: object) -> ToolFailure:
    """Return the failure for a search below a directory that was copied into itself."""
    return ToolFailure(
        "directory_inside_itself",
        RecursionError("maximum recursion depth exceeded while calling a Python object"),
        argument=argument,
        value=value,
    )
