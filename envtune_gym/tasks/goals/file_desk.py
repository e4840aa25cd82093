"""Working in a file system: where one is, the way to another directory and how a user says it, what has been shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from envtune_gym.tasks.goals.file_trees import Folder, Setting, TextFile, register, sentence
from envtune_gym.tasks.goals.people import MONTHS
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit

__all__ = [
    "LIST_AFTERWARDS",
    "Desk",
    "Way",
    "ask_at",
    "is_open_choice",
    "is_shown",
    "just_written",
    "named",
    "outdate",
    "pick_file",
    "refer",
]

_NEW_FILES = ("summary", "memo", "leaflet", "extract", "overview", "briefing", "checklist", "jottings")
_NEW_FOLDERS = ("papers", "bundle", "pile", "dossier", "parcel", "corner", "shelf", "tray")
_ENDINGS = (".txt", ".txt", ".md")

_LEADS = {
    ("", 0): "",
    ("", 1): "[Go into|Go to|Change to|Switch to|Open] the [folder|directory|subfolder] {a}. ",
    ("", 2): "[Go into {a} and from there into {b}|Change to {a} and then to {b}|Go to the folder {b} inside {a}]. ",
    ("", 3): "[From here, go|Work your way] down into {a}, then into {b}[, then|, and finally] into {c}. ",
    ("..", 0): "[Go|Step] [back up one level|one level up][, out of {h}|]. ",
    ("..", 1): "[Go|Step] [back up|up] one level and from there [into|to] [the folder |]{a}. ",
    ("..", 2): "[Go|Step] [back up|up] one level, then into {a}[ and on into| and from there into] {b}. ",
    ("/", 0): "[Go|Change|Jump] [back |]to the root directory[ (/)|]. ",
    ("/", 1): "[Go|Change|Jump] to the root directory[ (/)|] and from there [into|to] [the folder |]{a}. ",
    ("/", 2): "[Go|Change|Jump] to the root directory[ (/)|], then into {a}, then into {b}. ",
    ("/", 3): "[Go|Change|Jump] to the root directory[ (/)|], then into {a}, {b} and {c}, one after the other. ",
}
"""How a user says where to go before the request: first leg, and how many directories down from there."""
_TAILS = {
    ("", 1): " [That is|All this is|It's all] in the [folder|directory|subfolder] {a}.",
    ("", 2): " [That is|All this is|It's all] in [the folder |]{b}, [inside|which is in] {a}.",
}
"""How a user says it after the request."""


class Way(NamedTuple):
    """A way from one directory to another.

    Attributes:
        first: `..`, `/`, or nothing.
        down: The directories to go down from there.
    """

    first: str
    down: list[Folder]

    @property
    def calls(self) -> list[str]:
        """The arguments of `cd`."""
        return [*([self.first] if self.first else []), *(folder.name for folder in self.down)]


@dataclass(slots=True)
class Desk:
    """What goals on files remember.

    Attributes:
        setting: What the file system is about.
        root: The tree.
        here: The current directory.
        names: All names that have ever been used.
        seen: What reading tools have shown; asking for it again would be idle.
        topic: The number of the last step that was about a single file, and the file.
    """

    setting: Setting
    root: Folder
    here: Folder
    names: set[str] = field(default_factory=set)
    seen: set[object] = field(default_factory=set)
    topic: tuple[int, TextFile | None] = (0, None)

    def folders(self) -> list[Folder]:
        """Return all directories."""
        return [self.root, *(entry for _, entry in self.root.everything() if isinstance(entry, Folder))]

    def way(self, plan: Plan, target: Folder) -> Way:
        """Return a way to a directory that a user may describe."""
        trail, here = target.trail, self.here.trail
        if trail[: len(here)] == here:
            return Way("", trail[len(here) :])
        above = here[:-1]
        near = trail[: len(above)] == above and len(trail) - len(above) <= 2
        if near and (len(above) > 1 or plan.rng.chance(0.6)):
            return Way("..", trail[len(above) :])
        return Way("/", trail[1:])

    def new_file(self, plan: Plan) -> str:
        """Return a name for a new file."""
        return self._new_name(plan, _NEW_FILES, _ENDINGS)

    def new_folder(self, plan: Plan) -> str:
        """Return a name for a new directory."""
        rng = plan.rng
        if rng.chance(0.5):
            return self._new_name(plan, _NEW_FOLDERS, ("",))
        name = f"{rng.pick(('for', 'from', 'with'))}_{rng.pick(plan.cast.others).lower()}"
        if name in self.names:
            name = f"{rng.pick(_NEW_FOLDERS)}_{rng.pick(MONTHS).lower()}"
        return self._unused(name)

    def sentence(self, plan: Plan) -> str:
        """Return a sentence that a user may dictate."""
        return sentence(plan, self.setting)

    def write(self, plan: Plan, name: str, text: str, dictated: bool = False) -> TextFile:
        """Note a new file in the current directory."""
        file = register(plan, TextFile(name, self.here, text, dictated=dictated))
        self.here.entries[name] = file
        return file

    def speak_of(self, plan: Plan, file: TextFile) -> None:
        """Note that the present step is about a single file."""
        self.topic = (len(plan.steps), file)

    def forget(self, plan: Plan, entry: TextFile | Folder) -> None:
        """Note that an entry of the current directory is gone."""
        del self.here.entries[entry.name]
        gone = [entry] if isinstance(entry, TextFile) else [one for _, one in entry.everything()]
        for one in gone:
            if isinstance(one, TextFile) and one.thing is not None:
                outdate(plan, one)
                for kind in ("file", "note"):
                    for thing in plan.things(kind):
                        if thing["node"] is one:
                            plan.drop(thing)

    def _new_name(self, plan: Plan, kinds: Sequence[str], endings: Sequence[str]) -> str:
        rng = plan.rng
        item = rng.pick(self.setting.items).replace(" ", "_")
        return self._unused(f"{item}_{rng.pick(kinds)}{rng.pick(endings)}")

    def _unused(self, name: str) -> str:
        if name in self.names:
            raise Unfit("no new name")
        self.names.add(name)
        return name


def pick_file(plan: Plan, fits: Callable[[TextFile], bool]) -> TextFile:
    """Return a file that a goal can be about: often the one spoken of last, or one of the current directory.

    Raises:
        Unfit: If there is none.
    """
    desk, rng = plan.book(Desk), plan.rng
    found = [thing["node"] for thing in plan.things("file") if fits(thing["node"])]
    if not found:
        raise Unfit("no such file")
    file: TextFile
    near = [one for one in found if one.folder is desk.here]
    if desk.topic[1] in found and rng.chance(0.5):
        file = desk.topic[1]  # type: ignore[assignment]  # it is in the list
    else:
        file = rng.pick(near if near and rng.chance(0.5) else found)
    return file


def refer(plan: Plan, file: TextFile) -> str:
    """Return words for a file: its name, or fewer if the step before was about it alone."""
    step, topic = plan.book(Desk).topic
    if topic is file and step == len(plan.steps) - 1 and plan.rng.chance(0.6):
        return plan.rng.pick(("that file", "the same file"))
    return file.name


LIST_AFTERWARDS = (
    " [Then|Afterwards,] [list|show me a listing of] what is in that directory[, so that I can check|].",
    " [When that is done|After that], [list|show me] what lies there[, hidden entries aside|].",
)
"""How a user asks, after something was made elsewhere, to see it: what is made does not show where that happened."""


def put(name: str, entry: TextFile | Folder, place: Folder) -> None:
    """Note that an entry now lies elsewhere, or has another name."""
    above = entry.folder if isinstance(entry, TextFile) else entry.parent
    if above is not None:
        del above.entries[entry.name]
    entry.name = name
    place.entries[name] = entry
    if isinstance(entry, Folder):
        entry.parent = place
        return
    entry.folder = place


def named(plan: Plan, thing: Thing) -> str:
    """Return words for a number or line: short ones only right after the step that has shown it."""
    return plan.rng.pick(thing.short) if thing.short and thing["step"] == len(plan.steps) - 1 else thing.label


def outdate(plan: Plan, file: TextFile) -> None:
    """Forget what results have shown of a file that is changed, renamed or gone: nobody could say it clearly."""
    for kind in ("line", "count", "figure", "file_text"):
        for thing in plan.things(kind):
            if thing.values.get("source") is file:
                plan.drop(thing)


def is_shown(plan: Plan, text: str) -> bool:
    """Tell whether the user or a result has said a text, line breaks included, so that nobody needs to read it."""
    return plan.has_come_up(text) or plan.has_come_up(json.dumps(text)[1:-1])


def is_open_choice(plan: Plan, file: TextFile) -> bool:
    """Tell whether a user who speaks of "one of the files there" may mean others too, as far as anybody knows."""
    return len(file.folder.files()) > 1 and not plan.has_come_up(file.name)


def just_written(plan: Plan, file: TextFile) -> bool:
    """Tell whether one of the steps before, perhaps of the same turn, has written to a file.

    Overwriting or removing it in one turn with that would make the writing idle.
    """
    return any(
        call.name == "echo" and call.kwargs.get("file_name") == file.name
        for step in plan.steps[-3:-1]
        for call in step.calls
    )


def ask_at(
    plan: Plan,
    target: Folder,
    *requests: str,
    vague: Sequence[str] = (),
    answer: Sequence[str] = (),
    withhold: Iterable[str] = (),
    place_first: bool = False,
    **values: object,
) -> None:
    """Ask for something in a directory, say where that is unless one is there already, and go there.

    Args:
        plan: The plan.
        target: The directory.
        requests: Templates of the request, each a sentence or more; `{there}` is "here" or "there".
        vague: As for `Plan.ask`.
        answer: As for `Plan.ask`.
        withhold: As for `Plan.ask`; `cd` is added where it is needed.
        place_first: Whether the directory must be said before the request.
        values: What the templates speak of.

    Raises:
        Unfit: If one must not go away after the call before.
    """
    desk = plan.book(Desk)
    way = desk.way(plan, target)
    if way.calls and (plan.just_called("touch") or plan.just_called("mkdir")):
        raise Unfit("the result of the call before does not tell where it was made")
    leg = (way.first, len(way.down))
    lead, tail = _LEADS[leg], ""
    if leg in _TAILS and not place_first and plan.rng.chance(0.35):
        lead, tail = "", _TAILS[leg]
    plan.ask(
        *(f"{lead}{request}{tail}" for request in requests),
        vague=[f"{lead}{request}{tail}" for request in vague],
        answer=answer,
        withhold=(*withhold, "cd") if way.calls else tuple(withhold),
        **dict(zip("abc", (folder.name for folder in way.down), strict=False)),
        h=desk.here.name,
        there="there" if way.calls else plan.rng.pick(("here", "right here", "in the current directory")),
        **values,
    )
    for folder in way.calls:
        plan.call("cd", folder=folder)
    desk.here = target
