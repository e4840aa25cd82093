"""The tree behind the file system domain: files, directories, and the walks over them.

Copying a directory copies its listing alone, so that two directories may hold the same file object, and a
directory that is copied into itself contains itself. Everything here stays bounded on such graphs, and nothing
recurses into a tree that tools have built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from envtune_gym.domains.base import to_plain
from envtune_gym.errors import ConfigurationError

__all__ = [
    "MAX_DEPTH",
    "MAX_ENTRIES",
    "Directory",
    "DirectoryLoopError",
    "File",
    "Node",
    "copy_tree",
    "fits",
    "load_tree",
    "locate",
    "plain_tree",
    "same_tree",
    "walk",
]

MAX_DEPTH = 64
"""Levels of directories below the root; the nested plain data of the state stays within Python's recursion limit."""

MAX_ENTRIES = 20_000
"""Entries that one walk visits; repeated copies of directories would otherwise double the work with each call."""


class File:
    """A file; its name is the key under which its directory lists it."""

    __slots__ = ("text",)

    def __init__(self, text: str = "") -> None:
        self.text = text


class Directory:
    """A directory: its name, where it was made (None for the root), and what it lists, in order of creation."""

    __slots__ = ("contents", "name", "parent")

    def __init__(self, name: str, parent: Directory | None) -> None:
        self.name = name
        self.parent = parent
        self.contents: dict[str, Node] = {}

    def depth(self) -> int:
        """Return the number of directories above this one."""
        depth = 0
        above = self.parent
        while above is not None:
            depth += 1
            above = above.parent
        return depth


Node = File | Directory


class DirectoryLoopError(Exception):
    """A walk met a directory inside itself."""


def load_tree(config: Mapping[str, Any], filler: Mapping[str, Any] | None) -> Directory:
    """Build the tree of a task's configuration.

    Args:
        config: `{"root": {name: {"type": "directory", "contents": {...}}}}`; of several names the first counts.
            Without a root, the tree is an empty directory `/`.
        filler: Constants of a long-context task: texts grow by `FILE_CONTENT_EXTENSION` unless the file's name is
            in `FILES_TAIL_USED`, and directories without subdirectories get the empty files of
            `POPULATE_FILE_EXTENSION`.

    Raises:
        ConfigurationError: If the configuration has another form or is nested deeper than `MAX_DEPTH`.
    """
    if "root" not in config:
        return Directory("/", None)
    try:
        name, entry = next(iter(config["root"].items()))
        root = Directory(name, None)
        _load_entries(entry["contents"], root, filler, MAX_DEPTH)
    except (AttributeError, KeyError, StopIteration, TypeError) as error:
        raise ConfigurationError(
            "the configuration of GorillaFileSystem must be {'root': {<name>: {'type': 'directory', 'contents': "
            "{<name>: <entry>, ...}}}}, where an entry is such a directory or {'type': 'file', 'content': <text>}"
        ) from error
    return root


def _load_entries(
    entries: Mapping[str, Any], directory: Directory, filler: Mapping[str, Any] | None, levels: int
) -> None:
    contents = directory.contents
    innermost = True
    for name, entry in entries.items():
        kind = entry["type"]
        if kind == "file":
            text = entry["content"]
            if filler is not None and name not in filler["FILES_TAIL_USED"]:
                text = _lengthened(text, filler["FILE_CONTENT_EXTENSION"])
            contents[name] = File(text)
        elif kind == "directory":
            if not levels:
                raise ConfigurationError(f"directory {name!r} lies deeper than the {MAX_DEPTH} levels allowed")
            innermost = False
            child = contents[name] = Directory(name, directory)
            _load_entries(entry["contents"], child, filler, levels - 1)
    if innermost and filler is not None:
        for name in filler["POPULATE_FILE_EXTENSION"]:
            contents.setdefault(name, File())


@lru_cache(maxsize=1024)
def _lengthened(text: str, extension: str) -> str:
    """Return one string object for equal texts, so that work on long strings can be memoised across worlds."""
    return text + extension


def walk(top: Directory, *, skip_loops: bool = False) -> Iterator[tuple[int, str, Node]]:
    """Yield the level (from 1), name and node of everything below a directory, parents first, in listing order.

    Args:
        top: Where to start; it is not yielded itself.
        skip_loops: Do not enter a directory inside itself, instead of raising.

    Raises:
        DirectoryLoopError: If a directory lies inside itself.
    """
    listings = [iter(top.contents.items())]
    trail = [id(top.contents)]
    while listings:
        for name, node in listings[-1]:
            yield len(listings), name, node
            if isinstance(node, Directory):
                if id(node.contents) not in trail:
                    listings.append(iter(node.contents.items()))
                    trail.append(id(node.contents))
                    break
                if not skip_loops:
                    raise DirectoryLoopError
        else:
            listings.pop()
            trail.pop()


def fits(root: Directory) -> bool:
    """Tell whether a tree keeps to `MAX_DEPTH` and `MAX_ENTRIES`."""
    for count, (level, _, node) in enumerate(walk(root, skip_loops=True), 1):
        if count > MAX_ENTRIES or (level > MAX_DEPTH and isinstance(node, Directory)):
            return False
    return True


def locate(root: Directory, name: str, limit: int) -> list[str]:
    """Return the paths below the root (at most `limit`) that end in exactly this name."""
    found: list[str] = []
    trail: list[str] = []
    for count, (level, entry, _) in enumerate(walk(root, skip_loops=True), 1):
        trail[level - 1 :] = [entry]
        if entry == name:
            found.append("/" + "/".join(map(str, trail)))
        if len(found) == limit or count == MAX_ENTRIES:
            break
    return found


def plain_tree(root: Directory) -> dict[str, Any]:
    """Return a tree as fresh plain data; a directory inside itself is shown empty."""
    tree: dict[str, Any] = {"name": root.name, "directory": {}}
    listings = [tree["directory"]]
    for level, name, node in walk(root, skip_loops=True):
        key = name if isinstance(name, str) else str(name)
        if isinstance(node, Directory):
            listing: dict[str, Any] = {}
            listings[level:] = [listing]
            listings[level - 1][key] = {"name": key, "directory": listing}
        else:
            listings[level - 1][key] = {"name": key, "file": to_plain(node.text)}
    return tree


def same_tree(left: Directory, right: Directory) -> bool:
    """Tell whether two trees have equal names and texts throughout; the order of listings does not matter."""
    if left.name != right.name:
        return False
    pending = [(left.contents, right.contents)]
    seen = set()
    while pending:
        ours, theirs = pending.pop()
        pair = (id(ours), id(theirs))
        if pair in seen:
            continue
        seen.add(pair)
        if len(ours) != len(theirs):
            return False
        for name, node in ours.items():
            twin = theirs.get(name)
            if isinstance(node, File):
                if not isinstance(twin, File) or node.text != twin.text:
                    return False
            elif isinstance(twin, Directory):
                pending.append((node.contents, twin.contents))
            else:
                return False
    return True


def copy_tree(root: Directory, current: Directory) -> tuple[Directory, Directory]:
    """Copy all that can be reached from a root and a working directory, and keep what is shared in it shared."""
    directories: dict[int, Directory] = {}
    listings: dict[int, dict[str, Node]] = {}
    files: dict[int, File] = {}
    pending: list[tuple[Directory, Directory]] = []

    def twin(directory: Directory) -> Directory:
        copy = directories.get(id(directory))
        if copy is None:
            copy = directories[id(directory)] = Directory(directory.name, None)
            pending.append((directory, copy))
        return copy

    copies = twin(root), twin(current)
    while pending:
        directory, copy = pending.pop()
        if directory.parent is not None:
            copy.parent = twin(directory.parent)
        listing = listings.get(id(directory.contents))
        if listing is not None:
            copy.contents = listing
            continue
        listing = listings[id(directory.contents)] = copy.contents
        for name, node in directory.contents.items():
            if isinstance(node, File):
                file = files.get(id(node))
                if file is None:
                    file = files[id(node)] = File(node.text)
                listing[name] = file
            else:
                listing[name] = twin(node)
    return copies
