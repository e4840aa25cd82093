import time

import pytest

from envtune_gym.domains.base import ToolFailure
from envtune_gym.domains.gorilla_file_system import GorillaFileSystem
from envtune_gym.errors import ConfigurationError
from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

FILLER = {
    "FILE_CONTENT_EXTENSION": "\nmuch more",
    "FILES_TAIL_USED": ["log.txt"],
    "POPULATE_FILE_EXTENSION": ["image_1.jpg", "image_2.jpg"],
}


def directory(**contents):
    return {"type": "directory", "contents": {name.replace("_", "."): entry for name, entry in contents.items()}}


def text(content):
    return {"type": "file", "content": content}


CONFIG = {
    "root": {
        "home": directory(
            docs=directory(plan_md=text("one\ntwo\nthree"), log_txt=text("b\na")),
            notes_txt=text("café\nthe end"),
            empty=directory(),
        ),
        "ignored": directory(),
    }
}


@pytest.fixture
def files():
    return GorillaFileSystem(CONFIG)


def run(files, tool, *args, **kwargs):
    """Return the official result, whether the tool returned or failed."""
    try:
        return files.tools[tool].function(files, *args, **kwargs)
    except ToolFailure as failure:
        return failure.official


def failure(files, tool, *args):
    with pytest.raises(ToolFailure) as caught:
        files.tools[tool].function(files, *args)
    return caught.value


def names(files):
    return files.ls(a=True)["current_directory_content"]


def test_a_session_of_ordinary_work(files):
    assert files.cd("docs") == {"current_working_directory": "docs"}
    assert files.pwd() == {"current_working_directory": "/home/docs"}
    assert files.touch("new.txt") is None
    assert files.echo("x\ny", "new.txt") is None
    assert files.cat("new.txt") == {"file_content": "x\ny"}
    assert files.diff("plan.md", "new.txt") == {"diff_lines": "- one\n+ x\n- two\n+ y"}
    assert files.mv("new.txt", "old.txt") == {"result": "'new.txt' moved to 'old.txt'"}
    assert files.cd("..") == {}
    assert files.cp("notes.txt", "empty") == {"result": "'notes.txt' copied to 'empty/notes.txt'"}
    assert files.find("/", "txt") == {
        "matches": ["/docs/log.txt", "/docs/old.txt", "/notes.txt", "/empty/notes.txt"],
    }
    assert files.rm("docs") == {"result": "'docs' removed"}
    assert names(files) == ["notes.txt", "empty"]


@pytest.mark.parametrize(
    ("tool", "args", "result"),
    [
        ("wc", ("notes.txt",), {"count": 2, "type": "lines"}),
        ("wc", ("notes.txt", "w"), {"count": 3, "type": "words"}),
        ("wc", ("notes.txt", "c"), {"count": 12, "type": "characters"}),
        ("sort", ("notes.txt",), {"sorted_content": "café\nthe end"}),
        ("grep", ("notes.txt", "end"), {"matching_lines": ["the end"]}),
        ("tail", ("notes.txt", 1), {"last_lines": "the end"}),
        ("tail", ("notes.txt", 10**30), {"last_lines": "café\nthe end"}),
        ("du", (), {"disk_usage": "29 bytes"}),
        ("du", (True,), {"disk_usage": "29.00 B"}),
        ("echo", ("hi",), {"terminal_output": "hi"}),
        ("echo", ("hi", ""), {"terminal_output": "hi"}),
        ("find", ("docs",), {"matches": ["docs/plan.md", "docs/log.txt"]}),
        ("find", (".", "o"), {"matches": ["./docs", "./docs/log.txt", "./notes.txt"]}),
        ("cd", ("docs/",), {"current_working_directory": "docs"}),
        ("cd", ("/",), {"current_working_directory": "home"}),
        ("rmdir", ("empty",), {"result": "'empty' removed"}),
    ],
)
def test_results(files, tool, args, result):
    assert run(files, tool, *args) == result


@pytest.mark.parametrize(
    ("tool", "args", "code", "argument", "official"),
    [
        ("cd", ("..",), "already_at_root", "folder", "Current directory is already the root. Cannot go back."),
        (
            "cd",
            ("docs/x",),
            "path_not_allowed",
            "folder",
            "cd: docs/x: Unsupported path. Only one folder level at a time is supported.",
        ),
        ("cd", ("nope",), "no_such_directory", "folder", "cd: 'nope': No such file or directory"),
        ("cd", ("notes.txt",), "not_a_directory", "folder", "cd: 'notes.txt': No such file or directory"),
        ("mkdir", ("docs",), "file_exists", "dir_name", "mkdir: cannot create directory 'docs': File exists"),
        ("mkdir", ("a/b",), "invalid_character", "dir_name", "mkdir: cannot create directory 'a/b': Invalid character"),
        ("touch", ("notes.txt",), "file_exists", "file_name", "touch: cannot touch 'notes.txt': File exists"),
        ("touch", ("a?",), "invalid_character", "file_name", "touch: cannot touch 'a?': Invalid character"),
        ("echo", ("x", "new"), "no_such_file", "file_name", "echo: cannot write to 'new': No such file"),
        ("echo", ("x", "a/b"), "invalid_character", "file_name", "echo: cannot write to 'a/b': Invalid character"),
        ("cat", ("docs",), "is_directory", "file_name", "cat: 'docs': Is a directory"),
        ("cat", ("new",), "no_such_file", "file_name", "cat: 'new': No such file or directory"),
        ("cat", ("docs/x",), "invalid_character", "file_name", "cat: 'docs/x': Invalid character"),
        ("find", ("nope/x",), "no_such_directory", "path", "find: 'nope/x': No such file or directory"),
        ("wc", ("notes.txt", "z"), "invalid_mode", "mode", "wc: invalid mode 'z'"),
        ("wc", ("new",), "no_such_file", "file_name", "wc: new: No such file or directory"),
        ("sort", ("docs",), "is_directory", "file_name", "sort: docs: No such file or directory"),
        ("grep", ("new", "x"), "no_such_file", "file_name", "grep: new: No such file or directory"),
        ("tail", ("new",), "no_such_file", "file_name", "tail: new: No such file or directory"),
        ("diff", ("notes.txt", "b"), "no_such_file", "file_name2", "diff: notes.txt or b: No such file or directory"),
        ("diff", ("docs", "b"), "is_directory", "file_name1", "diff: docs or b: No such file or directory"),
        ("mv", ("new", "docs"), "no_such_file", "source", "mv: cannot move 'new': No such file or directory"),
        (
            "mv",
            ("notes.txt", "docs/x"),
            "path_not_allowed",
            "destination",
            "mv: path not allowed in destination. Provide only a file or directory name.",
        ),
        (
            "mv",
            ("docs", "notes.txt"),
            "not_a_directory",
            "destination",
            "mv: cannot move 'docs' to 'notes.txt': Not a directory",
        ),
        ("cp", ("new", "docs"), "no_such_file", "source", "cp: cannot copy 'new': No such file or directory"),
        (
            "cp",
            ("notes.txt", "a/b"),
            "path_not_allowed",
            "destination",
            "cp: path not allowed in destination. Provide only a file or directory name.",
        ),
        ("rm", ("new",), "no_such_file", "file_name", "rm: cannot remove 'new': No such file or directory"),
        ("rmdir", ("docs",), "directory_not_empty", "dir_name", "rmdir: cannot remove 'docs': Directory not empty"),
        ("rmdir", ("notes.txt",), "not_a_directory", "dir_name", "rmdir: cannot remove 'notes.txt': Not a directory"),
        ("rmdir", ("x",), "no_such_directory", "dir_name", "rmdir: cannot remove 'x': No such file or directory"),
    ],
)
def test_failures_have_a_code_and_the_official_text(files, tool, args, code, argument, official):
    before = files.state()
    error = failure(files, tool, *args)
    assert (error.code, error.argument, error.official) == (code, argument, {"error": official})
    assert error.silent is False
    assert files.state() == before


def test_official_crashes_have_typed_causes(files):
    write = failure(files, "echo", "x", "docs")
    assert write.code == "is_directory"
    assert str(write.official) == "'Directory' object has no attribute '_write'"
    files.cp("notes.txt", "empty")
    copy = failure(files, "cp", "notes.txt", "empty")
    assert copy.code == "file_exists"
    assert str(copy.official) == "File 'notes.txt' already exists in directory 'empty'."


def test_a_missing_name_tells_where_it_is(files):
    details = failure(files, "cat", "log.txt").details
    assert details["directory"] == "home"
    assert details["available"] == ["docs", "notes.txt", "empty"]
    assert details["found_at"] == ["/docs/log.txt"]
    assert not details["other_ending"]


@pytest.mark.parametrize("name", ["notes", "notes.md"])
def test_a_missing_name_tells_that_only_its_ending_differs(files, name):
    assert failure(files, "cat", name).details["other_ending"]


@pytest.mark.parametrize(
    ("tool", "args", "code", "official"),
    [
        ("find", (".", "*.txt"), "pattern_is_literal", {"matches": []}),
        ("find", (".", "NOTES"), "other_case", {"matches": []}),
        ("tail", ("notes.txt", -1), "lines_not_positive", {"last_lines": "the end"}),
        ("mv", ("docs", "docs"), "moved_into_itself", {"result": "'docs' moved to 'docs/docs'"}),
        ("cp", ("docs", "docs"), "copied_into_itself", {"result": "'docs' copied to 'docs/docs'"}),
    ],
)
def test_successes_that_cannot_have_been_meant_are_silent_failures(files, tool, args, code, official):
    error = failure(files, tool, *args)
    assert (error.code, error.official, error.silent) == (code, official, True)


def test_a_copied_directory_shares_its_files_and_a_moved_file_does_not(files):
    files.cp("docs", "copy")
    files.cd("copy")
    files.echo("shared", "plan.md")
    files.mv("log.txt", "own.txt")
    files.echo("own", "own.txt")
    files.cd("/")
    files.cd("docs")
    assert files.cat("plan.md") == {"file_content": "shared"}
    assert files.cat("log.txt") == {"file_content": "b\na"}


def test_up_from_a_moved_subdirectory_leads_to_where_it_was_made(files):
    files.cd("docs")
    files.mkdir("sub")
    files.cd("/")
    files.mv("docs", "papers")
    files.cd("papers")
    files.cd("sub")
    assert files.pwd() == {"current_working_directory": "/home/docs/sub"}
    files.cd("..")
    files.touch("late.txt")
    assert "./papers/late.txt" in (files.cd("/"), files.find())[1]["matches"]


def test_state_is_plain_and_fresh(files):
    state = files.state()
    assert state["long_context"] is False
    assert state["root"]["name"] == "home"
    assert state["root"]["directory"]["docs"]["directory"]["plan.md"] == {"name": "plan.md", "file": "one\ntwo\nthree"}
    state["root"]["directory"].clear()
    assert names(files) == ["docs", "notes.txt", "empty"]


def test_same_state_ignores_order_and_current_directory():
    left, right = GorillaFileSystem({}), GorillaFileSystem({})
    for files, order in ((left, "ab"), (right, "ba")):
        for name in order:
            files.mkdir(name)
    right.cd("a")
    assert left.same_state(right)
    right.touch("x")
    assert not left.same_state(right)
    left.cd("a")
    left.mkdir("x")
    assert not left.same_state(right)
    assert not GorillaFileSystem({}).same_state(GorillaFileSystem({}, FILLER))


def test_a_fork_stands_in_the_same_place_and_shares_nothing(files):
    files.cp("docs", "copy")
    files.cd("docs")
    fork = files.fork()
    assert fork.same_state(files)
    fork.echo("changed", "plan.md")
    fork.touch("fork.txt")
    assert files.cat("plan.md") == {"file_content": "one\ntwo\nthree"}
    assert names(files) == ["plan.md", "log.txt"]
    fork.cd("..")
    fork.cd("copy")
    assert fork.cat("plan.md") == {"file_content": "changed"}, "the fork lost the link between copies"


def test_long_context_fills_files_and_innermost_directories():
    files = GorillaFileSystem(CONFIG, FILLER)
    again = GorillaFileSystem(CONFIG, FILLER)
    assert files.long_context is True
    assert names(files) == ["docs", "notes.txt", "empty"]
    content = files.cat("notes.txt")["file_content"]
    assert content == "café\nthe end\nmuch more"
    assert again.cat("notes.txt")["file_content"] is content
    files.cd("docs")
    assert names(files) == ["plan.md", "log.txt", "image_1.jpg", "image_2.jpg"]
    assert files.cat("log.txt") == {"file_content": "b\na"}
    assert files.cat("image_1.jpg") == {"file_content": ""}


def test_without_configuration_the_root_is_empty():
    files = GorillaFileSystem({})
    assert files.pwd() == {"current_working_directory": "//"}
    assert names(files) == []


@pytest.mark.parametrize("config", [{"root": {}}, {"root": []}, {"root": {"a": {}}}, {"root": {"a": directory(b={})}}])
def test_a_broken_configuration_is_refused(config):
    with pytest.raises(ConfigurationError, match="must be"):
        GorillaFileSystem(config)


def test_a_configuration_that_is_too_deep_is_refused():
    entry = directory()
    for _ in range(1000):
        entry = directory(d=entry)
    with pytest.raises(ConfigurationError, match="deeper"):
        GorillaFileSystem({"root": {"home": entry}})


@pytest.mark.parametrize(
    ("tool", "args", "message"),
    [
        ("cd", (5,), "'int' object has no attribute 'rstrip'"),
        ("touch", (None,), "argument of type 'NoneType' is not iterable"),
        ("touch", (10**5000,), "argument of type 'int' is not iterable"),
        ("cat", (["a"],), "unhashable type: 'list'"),
        ("tail", ("notes.txt", "3"), "'>' not supported between instances of 'str' and 'int'"),
        ("find", (None,), "'NoneType' object has no attribute 'rstrip'"),
        ("ls", (True, 1), r"GorillaFileSystem.ls\(\) takes from 1 to 2 positional arguments but 3 were given"),
    ],
)
def test_ill_typed_arguments_meet_pythons_own_words(files, tool, args, message):
    with pytest.raises((TypeError, AttributeError), match=f"^{message}$"):
        files.tools[tool].function(files, *args)


def test_nesting_is_bounded():
    files = GorillaFileSystem({})
    for _ in range(64):
        files.mkdir("d")
        files.cd("d")
    assert failure(files, "mkdir", "d").code == "too_large"
    files.cd("/")
    assert files.fork().same_state(files)
    assert len(files.find()["matches"]) == 64
    assert files.du() == {"disk_usage": "0 bytes"}


def test_moving_cannot_nest_deeper():
    files = GorillaFileSystem({})
    files.mkdir("inner0")
    files.cd("inner0")
    for _ in range(60):
        files.mkdir("d")
        files.cd("d")
    files.cd("/")
    for i in range(3):
        files.mkdir(f"inner{i + 1}")
        files.mv(f"inner{i}", f"inner{i + 1}")
    files.mkdir("outer")
    before = files.state()
    assert failure(files, "mv", "inner3", "outer").code == "too_large"
    assert files.state() == before
    assert names(files) == ["inner3", "outer"]


def test_directories_inside_themselves_are_bounded(files):
    for _ in range(6):
        run(files, "cp", "docs", "docs")
        run(files, "cp", "docs", "twin")
        files.cd("docs")
    assert failure(files, "find").code == "directory_inside_itself"
    assert failure(files, "du").code == "directory_inside_itself"
    assert files.fork().same_state(files)
    assert files.fork().state() == files.state()


def test_copies_that_double_the_tree_are_refused_in_time():
    files = GorillaFileSystem({})
    files.mkdir("p")
    files.cd("p")
    files.touch("a")
    files.cd("..")
    codes = set()
    start = time.perf_counter()
    for _ in range(40):
        for tool, *args in (("cp", "p", "q"), ("mkdir", "r"), ("mv", "p", "r"), ("mv", "q", "r"), ("mv", "r", "p")):
            try:
                files.tools[tool].function(files, *args)
            except ToolFailure as error:
                codes.add(error.code)
    assert "too_large" in codes
    assert time.perf_counter() - start < 10
    assert files.fork().same_state(files)


def test_long_names_give_a_bounded_search():
    files = GorillaFileSystem({})
    for _ in range(30):
        files.mkdir("n" * 60_000)
        files.cd("n" * 60_000)
    files.cd("/")
    assert failure(files, "find").code == "too_large"


class TestSuites(DomainSuite, TaskSuite, HintSuite):
    domain = "GorillaFileSystem"
    configs = (CONFIG, {})
