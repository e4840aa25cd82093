"""Goals of GorillaFileSystem that look around: listings, paths, sizes of directories, and files to be found."""

from __future__ import annotations

import re

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.file_desk import Desk, ask_at
from envtune_gym.tasks.goals.file_trees import Folder, TextFile
from envtune_gym.tasks.goals.plan import Plan, Unfit

__all__: list[str] = []

_FILES = "GorillaFileSystem"


@goal(_FILES, weight=1.2)
def list_a_folder(plan: Plan) -> None:
    """Ask what a directory holds, hidden entries included where there are any."""
    desk = plan.book(Desk)
    folder = plan.rng.pick(desk.folders())
    hidden = any(name[0] == "." for name in folder.entries)
    key = ("ls", tuple(sorted(folder.entries)))
    if key in desk.seen:
        raise Unfit("listed already")
    more = ", [including hidden entries|hidden entries included]" if hidden else ""
    ask_at(
        plan,
        folder,
        f"[List|Show me] the files and folders that are {{there}}{more}.",
        f"[What is|What's] [lying around|to be found] {{there}}? [List the names|Give me a listing]{more}.",
        f"[I've lost track of|I forgot] what I keep {{there}}. [List it|Give me a listing]{more}.",
        place_first=True,
    )
    plan.call("ls", **({"a": True} if hidden else {}))
    desk.seen.add(key)


@goal(_FILES, weight=0.8)
def tell_the_path(plan: Plan) -> None:
    """Go somewhere and ask for the full path."""
    desk = plan.book(Desk)
    folder = plan.rng.pick(desk.folders())
    key = ("pwd", tuple(one.name for one in folder.trail))
    if key in desk.seen or (folder is desk.root and not plan.rng.chance(0.2)):
        raise Unfit("known already")
    ask_at(
        plan,
        folder,
        "[What is|What's] the [full |complete |whole ]path of the directory we are in[ now|]?",
        "[Print|Tell me|Show me] the [full |complete |]path of the [working|current] directory[, please|].",
        "[A colleague|Somebody] wants to know [where exactly that is|the exact place]: print the working "
        "directory[, please|].",
        place_first=True,
        withhold=("pwd",),
    )
    plan.call("pwd")
    desk.seen.add(key)


@goal(_FILES, weight=1.3)
def size_of_a_folder(plan: Plan) -> None:
    """Ask how much space a directory takes."""
    desk = plan.book(Desk)
    readable = plan.rng.chance(0.4)
    folder = plan.rng.pick(desk.folders())
    key = ("du", folder, readable)
    if key in desk.seen or not any(isinstance(one, TextFile) and one.text for _, one in folder.everything()):
        raise Unfit("measured already")
    ask_at(
        plan,
        folder,
        "How much [space|room|disk space] do the files {there} [take up|need|occupy] in all, {unit}?",
        "[Tell me|Work out|Give me] the disk usage {there}, {unit}[, please|].",
        "[Our disk|The disk] is [nearly full|filling up]. [Check|Measure] the disk usage {there}, {unit}.",
        place_first=True,
        withhold=("du",),
        unit=plan.rng.pick(("in human-readable form", "in a human-readable unit"))
        if readable
        else plan.rng.pick(("in bytes", "in plain bytes")),
    )
    usage = plan.call("du", human_readable=readable)["disk_usage"]
    desk.seen.add(key)
    if not readable:
        plan.give("figure", f"the bytes used by {folder.name}", ("that size",), value=int(usage.split()[0]))


@goal(_FILES, weight=2.0)
def find_by_name(plan: Plan) -> None:
    """Ask for everything whose name contains a text, from here or from the root."""
    desk, rng = plan.book(Desk), plan.rng
    from_root = desk.here is not desk.root and rng.chance(0.5)
    part, matches = _part_of_a_name(plan, desk.root if from_root else desk.here)
    key = ("find", from_root, matches)
    if key in desk.seen or len(matches) > 6 or plan.has_come_up(part):
        raise Unfit("found already")
    plan.ask(
        "[Find|Search for] [everything with '{part}' in its name|all files and folders with '{part}' in the "
        "name], {where}.",
        "[Which|What] files and folders have '{part}' in their names? [Search|Look] {where}.",
        "[Something|A thing or two] with '{part}' in the name must be [around|somewhere]. [Find it|Search for "
        "that], {where}.",
        vague=(
            "[Find|Search for] everything with a certain word in its name, {where}.",
            "[I'm looking for|I need] files by a part of their names. [Search|Look] {where}.",
        ),
        answer=("[The word is|It's|Look for|The part I remember is] '{part}'.", "[It has to be |]'{part}'."),
        withhold=("find",),
        part=part,
        where=rng.pick(("starting at the root directory (/)", "from the root directory (/) down"))
        if from_root
        else rng.pick(("in the current directory and all below it", "from the current directory (.) down")),
    )
    plan.call("find", path="/" if from_root else ".", name=part)
    desk.seen.add(key)


def _part_of_a_name(plan: Plan, start: Folder) -> tuple[str, tuple[str, ...]]:
    """Return a part of some entry's name and the paths of all entries below a directory whose names contain it."""
    entries = start.everything()
    if not entries:
        raise Unfit("nothing to find")
    path, _ = plan.rng.pick(entries)
    part = plan.rng.pick(re.findall(r"[a-z]{3,}", path.rpartition("/")[2]) or ("old",))
    return part, tuple(one for one, _ in entries if part in one.rpartition("/")[2])


@goal(_FILES, needs=("file",), weight=4.0)
def find_and_read(plan: Plan) -> None:
    """Ask for the text of a file of which the user knows only a part of the name."""
    desk = plan.book(Desk)
    part, matches = _part_of_a_name(plan, desk.here)
    if len(matches) != 1 or "/" not in matches[0] or plan.has_come_up(part):
        raise Unfit("not a single file below here")
    file = dict(desk.here.everything())[matches[0]]
    if not isinstance(file, TextFile) or file.thing is None or not file.text or ("cat", file.text) in desk.seen:
        raise Unfit("nothing to read")
    plan.ask(
        "[There must be|There is|I know there's] a file with '{part}' in its name [somewhere below|in some folder "
        "below] "
        "[here|the current directory]. [Find it, go to its folder|Find it, change to where it lies] and "
        "[show me what it says|print its whole content].",
        "[Find|Please find] the file below [here|the current directory] whose name contains '{part}', go [into|to] "
        "its "
        "directory[,| and] then [print its content|show me its full text].",
        "[Where did I put|In which folder is] the '{part}' file? [Search for '{part}'|Find '{part}'] from the "
        "current "
        "directory down, go [there|to its folder] and [read the file out to me|print the file's content].",
        vague=(
            "[There must be|There is] a file [somewhere below|in some folder below] here that I need to read. "
            "[Find it by a part of its name|I know a part of its name: find it], go to its folder and print its "
            "content.",
        ),
        answer=("[The name has|It has] '{part}' in it.", "[The part I remember is|Its name contains] '{part}'."),
        withhold=("find",),
        part=part,
    )
    plan.call("find", path=".", name=part)
    for folder in desk.way(plan, file.folder).down:
        plan.call("cd", folder=folder.name)
    plan.call("cat", file_name=file.name)
    desk.here = file.folder
    desk.seen.update((("find", False, matches), ("cat", file.text)))
    desk.speak_of(plan, file)
    plan.give("file_text", f"the text of {file.name}", ("that text",), name=file.name, text=file.text, source=file)
