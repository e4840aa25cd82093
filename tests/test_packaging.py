"""What wheel and sdist hold, and that a fresh environment can use them; `tests/versions.py` tries more versions."""

import runpy
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

VERSIONS = runpy.run_path(str(Path(__file__).with_name("versions.py")))


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    return VERSIONS["build"](tmp_path_factory.mktemp("dist"))


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(archives):
    package = VERSIONS["ROOT"] / "envtune_gym"
    files = {path.relative_to(package.parent).as_posix() for path in package.rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    held = set(zipfile.ZipFile(archives["wheel"]).namelist())
    assert files - held == set()
    others = {name for name in held - files if not name.partition("/")[0].endswith(".dist-info")}
    assert others == {"envtune_verifiers.py"}  # a plugin, which is found as a module of its own
    assert "envtune_gym/py.typed" in held


def test_the_sdist_holds_what_tests_and_docs_need(archives):
    with tarfile.open(archives["sdist"]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "tests/versions.py", "docs/versions.md"} <= held
    assert not any(name.startswith((".venv", "runs/", "dist/")) for name in held)


def test_without_the_builder_a_line_says_what_to_install(tmp_path):
    hidden = "import runpy, sys; sys.modules['hatchling'] = None; sys.argv = sys.argv[1:];"
    code = f"{hidden} runpy.run_path(sys.argv[0], run_name='__main__')"
    script = VERSIONS["ROOT"] / "tests/versions.py"
    done = subprocess.run([sys.executable, "-c", code, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: building the archives needs hatchling; run: pip install hatchling\n"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_fresh_environment_imports_and_plays(archives, kind, tmp_path):
    said = VERSIONS["try_out"](sys.executable, archives[kind], None, tmp_path)
    assert sys.version.split()[0] in said
