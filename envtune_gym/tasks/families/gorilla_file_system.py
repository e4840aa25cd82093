"""Families of GorillaFileSystem: a folder to tidy up, and two versions of a text to compare."""

from __future__ import annotations

from typing import Any

from envtune_gym.tasks.families.base import Draft, family
from envtune_gym.tasks.families.phrases import notes
from envtune_gym.tasks.families.rng import Rng

# fmt: off
_SUBJECTS = (
    "harvest", "payroll", "museum", "bridge", "telescope", "orchard", "vaccine", "marathon", "library", "ferry",
    "archive", "kitchen", "glacier", "theatre", "railway", "pavilion",
)
_KINDS = ("report", "minutes", "inventory", "survey", "plan", "summary", "log")
_FOLDERS = ("projects", "records", "clients", "field_work", "accounts", "studies", "drafts", "team_files")
_NEW_FOLDERS = ("sorted", "to_review", "finished", "shared", "backup", "later", "approved", "cold_storage")
# fmt: on


def _file(lines: list[str]) -> dict[str, Any]:
    return {"type": "file", "content": "\n".join(lines)}


def _home(rng: Rng, folder: str, files: dict[str, Any]) -> dict[str, Any]:
    """Return a tree with one folder of files beside other things."""
    side = {f"{rng.pick(_SUBJECTS)}_old.txt": _file(notes(rng, 2))}
    contents = {folder: {"type": "directory", "contents": files}, "misc": {"type": "directory", "contents": side}}
    return {"root": {rng.pick(("home", "workspace", "storage")): {"type": "directory", "contents": contents}}}


@family("GorillaFileSystem")
def tidy_folder(draft: Draft) -> None:
    """Sort a file into a new directory, write another, search it, remove it."""
    rng = draft.rng
    folder, new_folder = rng.pick(_FOLDERS), rng.pick(_NEW_FOLDERS)
    subject, other, third = rng.sample(_SUBJECTS, 3)
    moved, kept, written = (f"{name}_{rng.pick(_KINDS)}.txt" for name in (subject, other, third))
    lines = notes(rng, 6)
    word = rng.pick(lines[1:4]).split()[2]
    text = lines[5]
    draft.start(GorillaFileSystem=_home(rng, folder, {moved: _file(lines[:1]), kept: _file(lines[1:5])}))

    draft.ask(
        f"Go into {folder}, make a directory {new_folder} there and move {moved} into it.",
        f"In the folder {folder}, create a subfolder named {new_folder}, and put {moved} there.",
        f"{moved} lies in {folder}. Please make a new directory {new_folder} beside it and move the file there.",
        vague=(
            f"In {folder}, make a new directory and move {moved} into it.",
            f"{moved} lies in {folder}. Please put it into a new subfolder there.",
        ),
        answer=(f"Call the directory {new_folder}.", f"The new one should be named {new_folder}."),
        withhold=("cd", "mkdir"),
    )
    draft.call("cd", folder=folder)
    draft.call("mkdir", dir_name=new_folder)
    draft.call("mv", source=moved, destination=new_folder)

    draft.ask(
        f"Create a file {written} in {folder} with the text '{text}'",
        f"I also need a file {written} in {folder} that says '{text}'",
        f"Please make {written} in {folder} and write '{text}' into it.",
        vague=(
            f"Create a file in {folder} that says '{text}'",
            f"Make a file {written} in {folder} with a line from me.",
        ),
        answer=(f"The file is {written}, the text '{text}'", f"Name: {written}. Text: '{text}'"),
        withhold=("echo",),
    )
    draft.call("touch", file_name=written)
    draft.call("echo", content=text, file_name=written)

    draft.ask(
        f"Use grep to find the lines of {kept} in {folder} that contain '{word}'.",
        f"Grep {kept}, still in {folder}, for '{word}'.",
        f"Search {kept} for '{word}' with grep and show me the lines.",
        vague=(f"Grep {kept} in {folder} for a word.", f"Search {kept} with grep for me."),
        answer=(f"Look for '{word}'.", f"The word is '{word}'."),
    )
    draft.call("grep", file_name=kept, pattern=word)

    draft.ask(
        f"Now remove {kept}.",
        f"{kept} can be deleted.",
        f"Please delete the file {kept} from {folder}.",
        vague=(f"Please delete one of the two files that are left in {folder}.",),
        answer=(f"{kept} can go.", f"Delete {kept}."),
        withhold=("rm",),
    )
    draft.call("rm", file_name=kept)


@family("GorillaFileSystem")
def compare_versions(draft: Draft) -> None:
    """Compare two versions, write a decision, look at the end of a log, count and rename."""
    rng = draft.rng
    folder = rng.pick(_FOLDERS)
    subject, kind = rng.pick(_SUBJECTS), rng.pick(_KINDS)
    old, new, log, verdict = f"{subject}_v1.txt", f"{subject}_v2.txt", f"{subject}_changes.log", f"{kind}_verdict.txt"
    lines = notes(rng, 12)
    changed = [*lines[:2], lines[4], lines[3]]
    tail, decision = rng.between(2, 4), lines[11]
    files = {old: _file(lines[:4]), new: _file(changed), log: _file(lines[5:11])}
    draft.start(GorillaFileSystem=_home(rng, folder, files))

    draft.ask(
        f"Change to the directory {folder} and show the diff from {old} to {new}.",
        f"In {folder} there are {old} and {new}. Go there and run a diff of the first against the second.",
        f"How does {old} differ from {new}? Both are in {folder}; use diff on them in that order.",
        withhold=("cd",),
    )
    draft.call("cd", folder=folder)
    draft.call("diff", file_name1=old, file_name2=new)

    draft.ask(
        f"Make a new file {verdict} in {folder} and write '{decision}' into it.",
        f"Note my decision in a file {verdict} in {folder}: '{decision}'",
        f"Create {verdict} beside the two versions; it should say '{decision}'",
        vague=(f"Note my decision in a new file in {folder}.", f"Create {verdict} in {folder} with my decision."),
        answer=(f"Into {verdict}: '{decision}'", f"The file is {verdict} and says '{decision}'"),
        withhold=("echo",),
    )
    draft.call("touch", file_name=verdict)
    draft.call("echo", content=decision, file_name=verdict)

    draft.ask(
        f"Show the last {tail} lines of {log} with tail.",
        f"Tail {log} in {folder}, {tail} lines.",
        f"I need the final {tail} lines of {log}; use tail.",
        vague=(f"Show me the last few lines of {log}; I need a certain number.",),
        answer=(f"{tail} lines.", f"The last {tail}."),
    )
    draft.call("tail", file_name=log, lines=tail)

    final = f"{subject}_{rng.pick(_KINDS)}_final.txt"
    draft.ask(
        f"Count the words of {new} with wc, then rename it to {final}.",
        f"How many words has {new}, by wc? After that give it the name {final}.",
        f"Run a word count on {new} and rename the file to {final} afterwards.",
        vague=(f"Rename {new} and count its words with wc before that.",),
        answer=(f"The new name is {final}.", f"Call it {final}."),
    )
    draft.call("wc", file_name=new, mode="w")
    draft.call("mv", source=new, destination=final)
