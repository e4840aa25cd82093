"""The file system domain: a small tree of directories and text files, and shell-like commands on it."""

from __future__ import annotations

from itertools import islice

from envtune_gym.domains._file_tree import MAX_DEPTH, MAX_ENTRIES, Directory, DirectoryLoopError, File, Node, walk
from envtune_gym.domains._working_tree import MAX_LISTED, WorkingTree, endless, too_large
from envtune_gym.domains.base import ToolFailure, tool

__all__ = ["GorillaFileSystem"]

_MAX_FOUND_CHARACTERS = 2**22


class GorillaFileSystem(WorkingTree):
    """A file system that is worked on from a current directory, one level at a time.

    State: `root`, the tree of directories and files, and `long_context`. The current directory starts at the root
    and is not compared. Configuration: `{"root": {name: {"type": "directory", "contents": {...}}}}`, where a file
    is `{"type": "file", "content": text}`; without it the tree is an empty directory `/`. In long-context tasks the
    innermost directories hold further empty files, and texts are longer.

    Names are looked up in the current directory, and paths are not accepted (except by `find`). A moved or copied
    directory is a new one that lists the same files and subdirectories: writing to a file of the copy changes the
    original, and `cd ..` in a subdirectory leads to where that was made.

    Failures are those of the benchmark, and `too_large` where a directory would lie deeper than 64 levels, or a tree
    multiplied by copies would pass 20,000 entries.
    """

    moving_tools = frozenset({"cd"})

    @tool
    def pwd(self) -> dict[str, str]:
        """Show the path of the directory you are in.

        Returns:
            `current_working_directory`: the path from the root's name on.
        """
        path = []
        directory: Directory | None = self._current_dir
        while directory is not None:
            path.append(directory.name)
            directory = directory.parent
        return {"current_working_directory": "/" + "/".join(reversed(path))}

    @tool
    def ls(self, a: bool = False) -> dict[str, list[str]]:
        """List what the current directory holds.

        Args:
            a: Whether to include hidden entries, whose names begin with a dot.

        Returns:
            `current_directory_content`: the names, in order of creation.
        """
        names = list(self._current_dir.contents)
        if not a:
            names = [name for name in names if not name.startswith(".")]
        return {"current_directory_content": names}

    @tool
    def cd(self, folder: str) -> dict[str, str]:
        """Go to another directory, one level away.

        Args:
            folder: Name of a subdirectory of the current directory, `..` for the directory above, or `/` for the
                root. Longer paths are not accepted.

        Returns:
            `current_working_directory`: the name of the new directory; nothing after going up.
        """
        folder = folder.rstrip("/") or "/"
        if folder == "..":
            return self._go_up()
        if folder != "/" and "/" in folder:
            raise ToolFailure(
                "path_not_allowed",
                f"cd: {folder}: Unsupported path. Only one folder level at a time is supported.",
                argument="folder",
                value=folder,
            )
        self._current_dir = self._navigate("cd", "folder", folder)
        return {"current_working_directory": self._current_dir.name}

    @tool
    def mkdir(self, dir_name: str) -> None:
        """Make a new, empty directory in the current directory.

        Args:
            dir_name: Name of the new directory, not a path.
        """
        self._check_new_name(dir_name, "dir_name", "mkdir: cannot create directory")
        if self._current_dir.depth() >= MAX_DEPTH:
            raise too_large("mkdir", "dir_name", dir_name)
        self._add("mkdir", "dir_name", self._current_dir, dir_name, Directory(dir_name, self._current_dir))

    @tool
    def touch(self, file_name: str) -> None:
        """Make a new, empty file in the current directory.

        Args:
            file_name: Name of the new file with its extension, not a path.
        """
        self._check_new_name(file_name, "file_name", "touch: cannot touch")
        self._add("touch", "file_name", self._current_dir, file_name, File())

    @tool
    def echo(self, content: str, file_name: str | None = None) -> dict[str, str] | None:
        """Print a text, or make it the whole content of an existing file of the current directory.

        Args:
            content: The text.
            file_name: Name of the file to overwrite; it must exist. Leave it out to print the text.

        Returns:
            `terminal_output`: the text, if it was printed.
        """
        if file_name is None:
            return {"terminal_output": content}
        self._check_characters(file_name, "file_name", "echo: cannot write to")
        if not file_name:
            return {"terminal_output": content}
        node = self._lookup(file_name)
        if isinstance(node, Directory):
            raise ToolFailure(
                "is_directory",
                AttributeError("'Directory' object has no attribute '_write'"),
                argument="file_name",
                value=file_name,
            )
        if node is None:
            raise self._not_found("file_name", file_name, f"echo: cannot write to '{file_name}': No such file")
        node.text = content
        return None

    @tool
    def cat(self, file_name: str) -> dict[str, str]:
        """Show the whole content of a file of the current directory.

        Args:
            file_name: Name of the file with its extension, not a path.

        Returns:
            `file_content`: the text.
        """
        self._check_characters(file_name, "file_name", "cat:")
        node = self._lookup(file_name)
        if isinstance(node, File):
            return {"file_content": node.text}
        reason = "Is a directory" if node else "No such file or directory"
        raise self._not_a_file("file_name", file_name, f"cat: '{file_name}': {reason}")

    @tool
    def find(self, path: str = ".", name: str | None = None) -> dict[str, list[str]]:
        """Search a directory and everything below it for entries whose name contains a text.

        Args:
            path: Where to start: `.` is the current directory, `/` the root; paths of several levels are accepted.
            name: Text that the names must contain, taken literally. Leave it out to list everything.

        Returns:
            `matches`: the paths found, each beginning with `path`.
        """
        start = self._navigate("find", "path", path)
        matches = []
        trail = [path.rstrip("/")]
        size = 0
        try:
            for count, (level, entry, node) in enumerate(walk(start), 1):
                found = f"{trail[level - 1]}/{entry}"
                size += len(found)
                if count > MAX_ENTRIES or size > _MAX_FOUND_CHARACTERS:
                    raise too_large("find", "path", path)
                if name is None or name in entry:
                    matches.append(found)
                if isinstance(node, Directory):
                    trail[level:] = [found]
        except DirectoryLoopError:
            raise endless("path", path) from None
        if not matches and isinstance(name, str) and ("*" in name or "?" in name):
            raise ToolFailure("pattern_is_literal", {"matches": []}, argument="name", value=name, silent=True)
        if not matches and isinstance(name, str) and any(name.lower() in entry.lower() for _, entry, _ in walk(start)):
            raise ToolFailure("other_case", {"matches": []}, argument="name", value=name, silent=True)
        return {"matches": matches}

    @tool
    def wc(self, file_name: str, mode: str = "l") -> dict[str, int | str]:
        """Count the lines, words or characters of a file of the current directory.

        Args:
            file_name: Name of the file.
            mode: What to count: `l` for lines, `w` for words, `c` for characters.

        Returns:
            `count`: the number; `type`: `lines`, `words` or `characters`.
        """
        if mode not in ["l", "w", "c"]:
            raise ToolFailure("invalid_mode", f"wc: invalid mode '{mode}'", argument="mode", value=mode)
        text = self._read("wc", file_name)
        if mode == "l":
            return {"count": len(text.splitlines()), "type": "lines"}
        if mode == "w":
            return {"count": len(text.split()), "type": "words"}
        return {"count": len(text), "type": "characters"}

    @tool
    def sort(self, file_name: str) -> dict[str, str]:
        """Show the lines of a file of the current directory in sorted order; the file stays as it is.

        Args:
            file_name: Name of the file.

        Returns:
            `sorted_content`: the sorted lines.
        """
        return {"sorted_content": "\n".join(sorted(self._read("sort", file_name).splitlines()))}

    @tool
    def grep(self, file_name: str, pattern: str) -> dict[str, list[str]]:
        """Show the lines of a file of the current directory that contain a text.

        Args:
            file_name: Name of the file, not a path.
            pattern: The text to look for, taken literally; upper and lower case differ.

        Returns:
            `matching_lines`: the lines that contain it.
        """
        lines = self._read("grep", file_name).splitlines()
        return {"matching_lines": [line for line in lines if pattern in line]}

    @tool
    def du(self, human_readable: bool = False) -> dict[str, str]:
        """Add up the size of all files in the current directory and below it.

        Args:
            human_readable: Whether to show the size in a fitting unit (KB, MB, ...) instead of bytes.

        Returns:
            `disk_usage`: the size with its unit.
        """
        size: float = _size_of_files(self._current_dir)
        if not human_readable:
            return {"disk_usage": f"{size} bytes"}
        for unit in ("B", "KB", "MB", "GB", "TB"):
            if size < 1024:
                return {"disk_usage": f"{size:.2f} {unit}"}
            size /= 1024
        return {"disk_usage": f"{size:.2f} PB"}

    @tool
    def tail(self, file_name: str, lines: int = 10) -> dict[str, str]:
        """Show the last lines of a file of the current directory.

        Args:
            file_name: Name of the file, not a path.
            lines: How many lines to show.

        Returns:
            `last_lines`: the lines.
        """
        content = self._read("tail", file_name).splitlines()
        if lines > len(content):
            lines = len(content)
        elif lines < 1:
            rest = {"last_lines": "\n".join(content[-lines:])}
            raise ToolFailure("lines_not_positive", rest, argument="lines", value=lines, silent=True)
        return {"last_lines": "\n".join(content[-lines:])}

    @tool
    def diff(self, file_name1: str, file_name2: str) -> dict[str, str]:
        """Compare two files of the current directory line by line; lines beyond the shorter file are left out.

        Args:
            file_name1: Name of the first file.
            file_name2: Name of the second file.

        Returns:
            `diff_lines`: for each pair of different lines, the first marked `-` and the second `+`.
        """
        first = self._lookup(file_name1)
        second = self._lookup(file_name2) if first else None
        if isinstance(first, File) and isinstance(second, File):
            pairs = zip(first.text.splitlines(), second.text.splitlines(), strict=False)
            return {"diff_lines": "\n".join([f"- {old}\n+ {new}" for old, new in pairs if old != new])}
        official = f"diff: {file_name1} or {file_name2}: No such file or directory"
        if isinstance(first, File):
            raise self._not_a_file("file_name2", file_name2, official)
        raise self._not_a_file("file_name1", file_name1, official)

    @tool
    def mv(self, source: str, destination: str) -> dict[str, str]:
        """Move a file or directory of the current directory into another directory there, or rename it.

        Args:
            source: Name of the file or directory to move.
            destination: Name of a directory of the current directory to move it into; any other name becomes the
                new name. Not a path.

        Returns:
            `result`: what was moved where.
        """
        node, target, name, place = self._transfer("mv", "move", source, destination)
        if name in target.contents:
            official = f"mv: cannot move '{source}' to '{place}': File exists"
            raise ToolFailure("file_exists", official, argument="source", value=source, directory=target.name)
        if isinstance(node, File):
            self._add("mv", "source", target, name, File(node.text))
        else:
            moved = Directory(name, target)
            moved.contents = node.contents
            self._add("mv", "source", target, name, moved)
        del self._current_dir.contents[source]
        result = {"result": f"'{source}' moved to '{place}'"}
        if _lists_same(node, target):
            raise ToolFailure("moved_into_itself", result, argument="destination", value=destination, silent=True)
        return result

    @tool
    def rm(self, file_name: str) -> dict[str, str]:
        """Remove a file, or a directory with all that is in it, from the current directory.

        Args:
            file_name: Name of the file or directory.

        Returns:
            `result`: what was removed.
        """
        if self._lookup(file_name) is None:
            official = f"rm: cannot remove '{file_name}': No such file or directory"
            raise self._not_found("file_name", file_name, official)
        del self._current_dir.contents[file_name]
        return {"result": f"'{file_name}' removed"}

    @tool
    def rmdir(self, dir_name: str) -> dict[str, str]:
        """Remove an empty directory from the current directory.

        Args:
            dir_name: Name of the directory, not a path.

        Returns:
            `result`: what was removed.
        """
        node = self._lookup(dir_name)
        failed = f"rmdir: cannot remove '{dir_name}'"
        if node is None:
            raise self._not_found(
                "dir_name", dir_name, f"{failed}: No such file or directory", code="no_such_directory"
            )
        if isinstance(node, File):
            official = f"{failed}: Not a directory"
            raise ToolFailure("not_a_directory", official, argument="dir_name", value=dir_name)
        if node.contents:
            raise ToolFailure(
                "directory_not_empty",
                f"{failed}: Directory not empty",
                argument="dir_name",
                value=dir_name,
                contents=list(islice(node.contents, MAX_LISTED)),
            )
        del self._current_dir.contents[dir_name]
        return {"result": f"'{dir_name}' removed"}

    @tool
    def cp(self, source: str, destination: str) -> dict[str, str]:
        """Copy a file or directory of the current directory into another directory there, or to a new name.

        Args:
            source: Name of the file or directory to copy.
            destination: Name of a directory of the current directory to copy it into; any other name becomes the
                name of the copy. Not a path.

        Returns:
            `result`: what was copied where.
        """
        node, target, name, place = self._transfer("cp", "copy", source, destination)
        if name in target.contents:
            kind = "File" if isinstance(node, File) else "Directory"
            official = ValueError(f"{kind} '{name}' already exists in directory '{target.name}'.")
            raise ToolFailure("file_exists", official, argument="source", value=source, directory=target.name)
        inward = _lists_same(node, target)
        if isinstance(node, File):
            self._add("cp", "source", target, name, File(node.text))
        else:
            copy = Directory(name, target)
            copy.contents = node.contents.copy()
            if inward:  # officially the copy lists itself, for it is made before the listing is copied
                copy.contents[name] = copy
            self._add("cp", "source", target, name, copy)
        result = {"result": f"'{source}' copied to '{place}'"}
        if inward:
            raise ToolFailure("copied_into_itself", result, argument="destination", value=destination, silent=True)
        return result


def _lists_same(node: Node, directory: Directory) -> bool:
    """Tell whether a node is a directory itself, or another one that shares its listing."""
    return isinstance(node, Directory) and node.contents is directory.contents


def _size_of_files(top: Directory) -> int:
    """Return the number of UTF-8 bytes in all files below a directory."""
    size = 0
    try:
        for count, (_, _, node) in enumerate(walk(top), 1):
            if count > MAX_ENTRIES:
                raise too_large("du", None, None)
            if isinstance(node, File):
                text = node.text
                size += len(text) if isinstance(text, str) and text.isascii() else len(text.encode("utf-8"))
    except DirectoryLoopError:
        raise endless(None, None) from None
    return size
