"""Goals of GorillaFileSystem on directories: made, filled, renamed, copied and removed.

Only innermost directories are renamed or copied: officially `cd ..` leads from below a moved directory to where it was.
"""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.file_desk import (
    LIST_AFTERWARDS,
    Desk,
    ask_at,
    just_written,
    pick_file,
    put,
    refer,
)
from envtune_gym.tasks.goals.file_trees import DEEPEST, Folder, TextFile, register
from envtune_gym.tasks.goals.plan import Plan, Unfit

__all__: list[str] = []

_FILES = "GorillaFileSystem"
_FOLDER_ANSWER = (
    "[Call it|Name it|The folder should be called|Its name is] {new}.",
    "{new}[ is the name|, please| will do].",
)


def _innermost(plan: Plan) -> Folder:
    """Return a directory, not the current one, without directories in it, whose files may be passed on.

    Raises:
        Unfit: If there is none.
    """
    desk = plan.book(Desk)
    found = [
        folder
        for folder in desk.folders()[1:]
        if folder.entries
        and folder not in desk.here.trail
        and not folder.folders()
        and not any(file.shared or just_written(plan, file) for file in folder.files())
    ]
    if not found:
        raise Unfit("no innermost directory")
    return plan.rng.pick(found)


def _above(folder: Folder) -> Folder:
    """Return the directory that holds another.

    Raises:
        Unfit: If that is the root, which stays.
    """
    if folder.parent is None:
        raise Unfit("the root")
    return folder.parent


@goal(_FILES, needs=("file",), weight=1.3)
def move_into_new_folder(plan: Plan) -> None:
    """Ask for a new directory and to move one or two files into it."""
    desk, rng = plan.book(Desk), plan.rng
    file = pick_file(plan, lambda one: len(one.folder.trail) < DEEPEST)
    beside = [one for one in file.folder.files() if one is not file]
    files = [file, rng.pick(beside)] if beside and rng.chance(0.4) else [file]
    new = desk.new_folder(plan)
    ask_at(
        plan,
        file.folder,
        "[Make|Create|Set up] a [new |]folder {new} {there} and [move|put] {files} into it.",
        "[I want|I'd like] {files} [to be|to lie] in a folder of their own {there}: [create|make] {new} and move "
        "{them} in."
        if len(files) > 1
        else "[I want|I'd like] {files} to have a folder of its own {there}: [create|make] {new} and move {them} in.",
        "[Could you|Can you|Would you] [create|make] a folder [called|named] {new} {there} and move {files} into it?",
        vague=(
            "[Make|Create|Set up] a new folder {there}, with a name of my choice, and [move|put] {files} into it.",
            "[I want|I'd like] a new folder {there}, under the name I have in mind, with {files} moved into it.",
        ),
        answer=_FOLDER_ANSWER,
        place_first=True,
        withhold=("mkdir",),
        files=refer(plan, file) if len(files) == 1 else " and ".join(one.name for one in files),
        them="it" if len(files) == 1 else "them",
        new=new,
    )
    plan.call("mkdir", dir_name=new)
    folder = Folder(new, desk.here)
    desk.here.entries[new] = folder
    for one in files:
        plan.call("mv", source=one.name, destination=new)
        put(one.name, one, folder)
    plan.give("folder", f"the folder {new}", ("that folder", "the new folder"), node=folder)
    if len(files) == 1:
        desk.speak_of(plan, file)


@goal(_FILES, weight=0.8)
def make_folders(plan: Plan) -> None:
    """Ask for one or two new directories."""
    desk, rng = plan.book(Desk), plan.rng
    place = rng.pick([folder for folder in desk.folders() if len(folder.trail) < DEEPEST])
    check = "" if place is desk.here else rng.pick(LIST_AFTERWARDS)
    # A listing shows which of two was made first, and the user cares for no order.
    names = [desk.new_folder(plan) for _ in range(1 if check else rng.between(1, 2))]
    ask_at(
        plan,
        place,
        f"[Create|Make|Set up|Please make] {{some}} {{there}}: {{names}}.{check}",
        f"[I need|We need] {{some}} {{there}}[ for next week| for the new papers|], {{names}}.{check}",
        f"[Could you|Can you|Would you] [create|make|set up] {{some}} {{there}}, {{names}}?{check}",
        vague=(
            f"[Create|Make|Set up|Please make] {{some}} {{there}}, {{chosen}}.{check}",
            f"[I need|We need] {{some}} {{there}}, {{chosen}}.{check}",
        ),
        answer=("[Call it|Name it|It's]: {names}.", "{names}, [please|if that is free].")
        if len(names) == 1
        else ("[Call them|Name them] {names}.", "{names}, [please|if these are free]."),
        place_first=True,
        withhold=("mkdir",),
        chosen="with a name of my choice" if len(names) == 1 else "with names of my choice",
        some="a new folder" if len(names) == 1 else "two new folders",
        names=" and ".join(names),
    )
    for name in names:
        plan.call("mkdir", dir_name=name)
        folder = Folder(name, place)
        place.entries[name] = folder
        plan.give("folder", f"the folder {name}", ("that folder", "the folder you just made"), node=folder)
    if check:
        plan.call("ls")


@goal(_FILES, weight=0.5)
def remove_a_folder(plan: Plan) -> None:
    """Ask to delete a directory with all that is in it."""
    desk = plan.book(Desk)
    folder = _innermost(plan)
    ask_at(
        plan,
        _above(folder),
        "[Delete|Remove|Please delete] the folder {folder} [with everything in it|and all its files].",
        "[We are done with|Nobody needs] the folder {folder}[ any more|]. [Delete it with all that is in "
        "it|Remove it and its files].",
        "[Could you|Can you|Would you] [delete|remove] the folder {folder}, [its files included|files and all]?",
        vague=(
            "[Delete|Remove|Please delete] one of the folders {there} [with everything in it|and all its files].",
            "[We are done with|Nobody needs] one of the folders {there}. Remove it with all that is in it.",
        )
        if len(_above(folder).folders()) > 1 and not plan.has_come_up(folder.name)
        else (),
        answer=("[It is|It's|I mean] {folder}.", "{folder} [can go|is the one]."),
        place_first=True,
        withhold=("rm",),
        folder=folder.name,
    )
    plan.call("rm", file_name=folder.name)
    desk.forget(plan, folder)


@goal(_FILES, weight=1.5)
def remove_an_empty_folder(plan: Plan) -> None:
    """Ask to remove a directory that holds nothing."""
    desk = plan.book(Desk)
    found = [folder for folder in desk.folders()[1:] if not folder.entries and folder not in desk.here.trail]
    if not found or found[-1].made_by:  # filler may lie in a directory of the configuration
        raise Unfit("no empty directory")
    folder = found[-1]
    ask_at(
        plan,
        _above(folder),
        "[Remove|Please remove] the empty [folder|directory] {folder}.",
        "[There is|There's] nothing in the folder {folder}[, so remove the empty directory|. Remove the empty "
        "directory].",
        "[Could you|Can you|Would you] remove the [folder|directory] {folder}? [It is empty|Nothing is in it].",
        "[We won't need|I don't need] the folder {folder}, and nothing is in it. [Remove that directory|Use rmdir "
        "on it].",
        folder=folder.name,
    )
    plan.call("rmdir", dir_name=folder.name)
    desk.forget(plan, folder)


@goal(_FILES, weight=0.5)
def rename_a_folder(plan: Plan) -> None:
    """Ask to rename a directory."""
    desk = plan.book(Desk)
    folder = _innermost(plan)
    new = desk.new_folder(plan)
    ask_at(
        plan,
        _above(folder),
        "[Rename|Please rename] the folder {folder} to {new}.",
        "[The folder|The directory] {folder} [needs a better name|should have another name]: [make it|call it] {new}.",
        "[Could you|Can you|Would you] [rename|change the name of] the [folder|directory] {folder} to {new}?",
        vague=(
            "[Rename|Please rename] the folder {folder}[ for me|].",
            "[The folder|The directory] {folder} [needs a better name|should have another name].",
        ),
        answer=("[Call it|Rename it to|Its new name is] {new}.", "{new}[ is the new name|, please| is better]."),
        folder=folder.name,
        new=new,
    )
    plan.call("mv", source=folder.name, destination=new)
    put(new, folder, _above(folder))


@goal(_FILES, weight=0.6)
def copy_a_folder(plan: Plan) -> None:
    """Ask for a copy of a directory beside it."""
    desk = plan.book(Desk)
    folder = _innermost(plan)
    new = desk.new_folder(plan)
    ask_at(
        plan,
        _above(folder),
        "[Copy|Please copy] the [whole |]folder {folder} to {new}[, right beside it|, in the same directory].",
        "[Back up|Make a copy of] the [whole |]folder {folder}, [under the name|as] {new}, [right beside it|in "
        "the same directory].",
        "[Before we change|Before anybody spoils] anything in the folder {folder}, [copy it|make a copy of it] as "
        "{new} beside it.",
        vague=(
            "[Make|Please make] a copy of the [whole |]folder {folder} right beside it, with a name of my choice.",
            "[Before we change|Before anybody spoils] anything in the folder {folder}, make a copy beside it, under "
            "the "
            "name I have in mind.",
        ),
        answer=(
            "[Call it|Call the copy|The copy should be called] {new}.",
            "{new}[ is the name of the copy|, please].",
        ),
        withhold=("cp",),
        folder=folder.name,
        new=new,
    )
    plan.call("cp", source=folder.name, destination=new)
    copy = Folder(new, _above(folder))
    _above(folder).entries[new] = copy
    for name, entry in folder.entries.items():  # a copied directory lists the same files
        if isinstance(entry, TextFile):
            entry.shared = True
            twin = TextFile(name, copy, entry.text, dictated=entry.dictated, shared=True)
            copy.entries[name] = twin if name[0] == "." else register(plan, twin)
