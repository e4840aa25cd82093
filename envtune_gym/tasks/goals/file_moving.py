"""Goals of GorillaFileSystem that tidy up files: moved, renamed, copied and removed."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.file_desk import (
    Desk,
    ask_at,
    is_open_choice,
    just_written,
    outdate,
    pick_file,
    put,
    refer,
)
from envtune_gym.tasks.goals.file_trees import Folder, TextFile, register
from envtune_gym.tasks.goals.plan import Plan

__all__: list[str] = []

_FILES = "GorillaFileSystem"


def _rename(plan: Plan, file: TextFile, name: str) -> None:
    """Note the new name of a file, so that whatever stands for it is called by that."""
    outdate(plan, file)
    put(name, file, file.folder)
    for kind in ("file", "note"):
        for thing in plan.things(kind):
            if thing["node"] is file:
                thing.label = name


def _copied(plan: Plan, file: TextFile, name: str, place: Folder) -> TextFile:
    """Note a copy of a file."""
    copy = register(plan, TextFile(name, place, file.text, dictated=file.dictated))
    place.entries[name] = copy
    return copy


def _room(file: TextFile) -> list[Folder]:
    """Return the directories beside a file that hold nothing of its name."""
    return [folder for folder in file.folder.folders() if file.name not in folder.entries]


@goal(_FILES, needs=("file",), weight=1.2)
def move_into_a_folder(plan: Plan) -> None:
    """Ask to move a file into a directory beside it."""
    desk = plan.book(Desk)
    file = pick_file(plan, lambda one: bool(_room(one)))
    folder = plan.rng.pick(_room(file))
    ask_at(
        plan,
        file.folder,
        "[Move|Please move|Put] {file} into the [folder|subfolder|directory] {folder}.",
        "The [right|proper] place for {file} is [the folder |]{folder}. [Move it there|Please move it].",
        "[Somebody|I] left {file} in the wrong place: it [belongs in|should be in|goes into] the subfolder {folder}. "
        "[Move it|Please move it there].",
        "[Could you|Can you|Would you] move {file} [to|into] the [subfolder|folder] {folder}?",
        vague=(
            "[Move|Please move|Put] {file} into [one of the subfolders|another folder].",
            "[Somebody|I] left {file} in the wrong place. [Move it|Please move it] into a subfolder.",
        )
        if len(_room(file)) > 1 and not plan.has_come_up(folder.name)
        else (),
        answer=(
            "[It goes into|It belongs in|I mean] {folder}.",
            "{folder}[ is the place|, please| is where it belongs].",
        ),
        file=refer(plan, file),
        folder=folder.name,
    )
    plan.call("mv", source=file.name, destination=folder.name)
    put(file.name, file, folder)
    desk.speak_of(plan, file)


@goal(_FILES, needs=("file",))
def rename_a_file(plan: Plan) -> None:
    """Ask to rename a file."""
    desk = plan.book(Desk)
    file = pick_file(plan, lambda one: True)
    new = desk.new_file(plan)
    ask_at(
        plan,
        file.folder,
        "[Rename|Please rename] {file} to {new}.",
        "[Give|Please give] {file} [the new name|another name:] {new}.",
        "[I don't like|Nobody understands] the name of {file}. [From now on it is|Rename it to|Call it] {new}.",
        "[Could you|Can you|Would you] [rename {file} to|change the name of {file} to] {new}?",
        vague=(
            "[Rename|Please rename] {file}[ for me|].",
            "[I don't like|Nobody understands] the name of {file}. [Change it|Rename it].",
        ),
        answer=(
            "[Call it|Rename it to|Its new name is|It should be called] {new}.",
            "{new}[ is the new name|, please| is better].",
        ),
        file=refer(plan, file),
        new=new,
    )
    plan.call("mv", source=file.name, destination=new)
    _rename(plan, file, new)
    desk.speak_of(plan, file)


@goal(_FILES, needs=("file",))
def copy_under_a_new_name(plan: Plan) -> None:
    """Ask for a copy of a file beside it."""
    desk = plan.book(Desk)
    file = pick_file(plan, lambda one: not plan.just_called("echo", file_name=one.name))
    new = desk.new_file(plan)
    ask_at(
        plan,
        file.folder,
        "[Copy|Please copy] {file} to {new}[, in the same directory|, right beside it].",
        "[Make|Please make] a copy of {file} [called|named] {new}[ in the same directory| right beside it|].",
        "[I want to change|I may spoil] {file} later[. Keep|, so keep] a copy of it [beside it|in the same "
        "directory] as {new}.",
        "[Could you|Can you|Would you] [duplicate|copy] {file} [as|under the name] {new}?",
        vague=(
            "[Make|Please make] a copy of {file} [in the same directory|right beside it], under the name I have in "
            "mind.",
            "[I want to change|I may spoil] {file} later. Keep a copy beside it, with a name of my choice.",
        ),
        answer=(
            "[Call it|Call the copy|The copy should be called] {new}.",
            "{new}[ is the name of the copy|, please].",
        ),
        file=refer(plan, file),
        new=new,
    )
    plan.call("cp", source=file.name, destination=new)
    _copied(plan, file, new, desk.here)


@goal(_FILES, needs=("file",))
def copy_into_a_folder(plan: Plan) -> None:
    """Ask for a copy of a file in a directory beside it."""
    file = pick_file(plan, lambda one: bool(_room(one)) and not plan.just_called("echo", file_name=one.name))
    folder = plan.rng.pick(_room(file))
    ask_at(
        plan,
        file.folder,
        "[Copy|Please copy] {file} into the [folder|subfolder|directory] {folder}.",
        "[I want|I'd like|We need] a copy of {file} in the [folder|subfolder] {folder}[, the original stays where "
        "it is|].",
        "[The folder|The subfolder] {folder} [lacks|should also have] {file}, so [copy it there|put a copy there].",
        vague=(
            "[Copy|Please copy] {file} into [one of the subfolders|another folder].",
            "[I want|I'd like|We need] a copy of {file} in [one of the subfolders|another folder].",
        )
        if len(_room(file)) > 1 and not plan.has_come_up(folder.name)
        else (),
        answer=("[It should go into|Copy it to|I mean] {folder}.", "{folder}[ is the place|, please]."),
        file=refer(plan, file),
        folder=folder.name,
    )
    plan.call("cp", source=file.name, destination=folder.name)
    _copied(plan, file, file.name, folder)


@goal(_FILES, needs=("file",))
def copy_and_move_the_copy(plan: Plan) -> None:
    """Ask for a copy of a file under another name, and to move that into a directory."""
    desk = plan.book(Desk)
    file = pick_file(plan, lambda one: bool(one.folder.folders()) and not plan.just_called("echo", file_name=one.name))
    folder = plan.rng.pick(file.folder.folders())
    new = desk.new_file(plan)
    ask_at(
        plan,
        file.folder,
        "[Copy|Please copy] {file} to {new} [first, then|and then] move {new} into the [folder|subfolder] {folder}.",
        "[Make|I want] a copy of {file} [called|named] {new}, beside it at first; [then|after that,] move the "
        "copy into "
        "[the folder |]{folder}.",
        "[Could you|Can you|Would you] [duplicate|copy] {file} as {new} and [then move|after that move] the copy "
        "to the "
        "[folder|subfolder] {folder}?",
        vague=(
            "[Copy|Please copy] {file} under a name of my choice, then move the copy into the [folder|subfolder] "
            "{folder}.",
            "[Make|I want] a copy of {file} with the name I have in mind; after that, move the copy into {folder}.",
        ),
        answer=(
            "[Call it|Call the copy|The copy should be called] {new}.",
            "{new}[ is the name of the copy|, please].",
        ),
        file=refer(plan, file),
        folder=folder.name,
        new=new,
    )
    plan.call("cp", source=file.name, destination=new)
    plan.call("mv", source=new, destination=folder.name)
    _copied(plan, file, new, folder)


@goal(_FILES, needs=("file",), weight=0.8)
def remove_a_file(plan: Plan) -> None:
    """Ask to delete a file."""
    desk = plan.book(Desk)
    file = pick_file(plan, lambda one: not just_written(plan, one))
    ask_at(
        plan,
        file.folder,
        "[Delete|Please delete|Remove|Get rid of] {file}.",
        "[Nobody needs|We no longer need|I don't need] {file}[ any more|]. [Delete it|Please remove it|Get rid of it].",
        "[Could you|Can you|Would you] [delete|remove] {file}[ for me|, please|]?",
        vague=(
            "[Delete|Please delete|Remove|Get rid of] one of the files {there}.",
            "[Nobody needs|We no longer need] one of the files {there}. [Delete it|Please remove it].",
        )
        if is_open_choice(plan, file)
        else (),
        answer=("[It is|It's|I mean|I am speaking of] {name}.", "{name} [can go|is the one]."),
        withhold=("rm",),
        place_first=True,
        file=refer(plan, file),
        name=file.name,
    )
    plan.call("rm", file_name=file.name)
    desk.forget(plan, file)
