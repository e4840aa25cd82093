"""What is said of a missing file depends on where it is; where that is, and how it is named, is not told."""

import pytest

from envtune_gym.domains import domain_class
from envtune_gym.domains.base import ToolFailure
from envtune_gym.feedback import default_book

DOMAIN = "GorillaFileSystem"
CONFIG = {
    "root": {
        "home": {
            "type": "directory",
            "contents": {
                "deploy.py": {"type": "file", "content": ""},
                "archive": {"type": "directory", "contents": {"old.txt": {"type": "file", "content": ""}}},
            },
        }
    }
}


@pytest.fixture
def hint_of():
    """Make a call that fails; return the hint."""

    def make(tool, *args):
        files = domain_class(DOMAIN)(CONFIG)
        with pytest.raises(ToolFailure) as caught:
            files.tools[tool].function(files, *args)
        return default_book().explain(DOMAIN, caught.value.error(tool), frozenset(files.tools)).text

    return make


@pytest.mark.parametrize(
    ("tool", "args", "says", "advises"),
    [
        ("cat", ("deploy",), "differs from it in the ending", "whole name"),
        ("echo", ("x", "deploy.txt"), "differs from it in the ending", "whole name"),
        ("echo", ("x", "new.txt"), "writes into a file that exists", "make it first with `touch`"),
        ("cat", ("new.txt",), "ending included", "letter for letter"),
        ("rm", ("archive/old.txt",), "a path is not a name", "`ls`"),
        ("cat", ("old.txt",), "but in another one", "first with `cd`"),
    ],
)
def test_a_missing_file_is_explained_by_where_it_is(hint_of, tool, args, says, advises):
    hint = hint_of(tool, *args)
    assert says in hint
    assert advises in hint
    given = " ".join(args)
    assert not any(secret in hint for secret in ("deploy.py", "old.txt", "archive") if secret not in given)
