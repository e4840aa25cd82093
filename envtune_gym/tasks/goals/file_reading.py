"""Goals of GorillaFileSystem that look into files: reading, searching, counting, sorting, comparing."""

from __future__ import annotations

import re

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.file_desk import Desk, ask_at, is_open_choice, is_shown, pick_file, refer
from envtune_gym.tasks.goals.file_trees import TextFile
from envtune_gym.tasks.goals.plan import Plan, Unfit

__all__ = ["count_of", "look_up_word"]

_FILES = "GorillaFileSystem"
_NAME_ANSWER = ("[It is|It's|I mean|I am thinking of] {name}.", "The file is [called |]{name}.")
_MODES = {"l": "lines", "w": "words", "c": "characters"}

_DULL = (
    "again", "about", "asked", "back", "came", "cannot", "find", "from", "last", "needs", "replace", "took", "waiting",
    "wants", "went", "will", "with",
)  # fmt: skip
"""Words that nobody looks up."""


def count_of(text: str, mode: str) -> int:
    """Return what `wc` counts."""
    return len(text if mode == "c" else text.split() if mode == "w" else text.splitlines())


def _give_count(plan: Plan, file: TextFile, mode: str, count: int, *short: str) -> None:
    """Leave a count behind: for calculations, and for writing down."""
    label = f"the number of {_MODES[mode]} in {file.name}"
    plan.give("figure", label, short, value=count, source=file)
    plan.give("count", label, short, value=count, source=file, step=len(plan.steps))


def _give_line(plan: Plan, file: TextFile, label: str, line: str, *short: str) -> None:
    """Leave a line behind that a result has shown."""
    plan.give("line", label, short, text=line, source=file, step=len(plan.steps))


def look_up_word(plan: Plan, file: TextFile, most: int) -> tuple[str, tuple[str, ...]]:
    """Return a word and the lines of a file that contain it: one at least, and no more than some.

    Raises:
        Unfit: If none is found.
    """
    desk = plan.book(Desk)
    words = [word for word in re.findall(r"[A-Za-z]{4,}", file.text) if word not in _DULL]
    lines = file.lines
    for _ in range(6 if words else 0):
        word = plan.rng.pick(words)
        found = tuple(line for line in lines if word in line)
        if len(found) <= min(most, len(lines) - 1) and ("grep", found) not in desk.seen:
            return word, found
    raise Unfit("no word to look up")


@goal(_FILES, needs=("file",))
def read_a_file(plan: Plan) -> None:
    """Ask for all of a file."""
    desk = plan.book(Desk)
    file = pick_file(plan, lambda one: bool(one.text) and not is_shown(plan, one.text))
    ask_at(
        plan,
        file.folder,
        "[Show me|Print|Let me see|Display] [everything in|the whole content of|all of] {file}[, please|].",
        "[What does {file} say|What is written in {file}]? [Show me all of it|I want the full text|Print the "
        "whole thing].",
        "[I have to|I must|I'd like to] [read|look through|check] {file}[ before lunch| today|]. "
        "[Please print its content|Put the full text on the screen|Show me the full text].",
        vague=(
            "[Show me|Print|Let me see] [everything in|the whole content of] one of the files {there}[, please|].",
            "[I have to|I'd like to] read a file that lies {there}. [Print|Show me] [its full text|all of it].",
        )
        if is_open_choice(plan, file)
        else (),
        answer=_NAME_ANSWER,
        place_first=True,
        file=refer(plan, file),
        name=file.name,
    )
    plan.call("cat", file_name=file.name)
    desk.seen.add(("cat", file.text))
    desk.speak_of(plan, file)
    plan.give("file_text", f"the text of {file.name}", ("that text",), name=file.name, text=file.text, source=file)


@goal(_FILES, needs=("file",), weight=1.3)
def search_a_file(plan: Plan) -> None:
    """Ask for the lines of a file that contain a word."""
    desk = plan.book(Desk)
    file = pick_file(
        plan, lambda one: len(one.lines) > 2 and not (is_shown(plan, one.text) or ("sort", one.text) in desk.seen)
    )
    word, found = look_up_word(plan, file, 9)
    ask_at(
        plan,
        file.folder,
        "[Find|Pick out|Show me|Give me] [all |the ]lines of {file} that [contain|mention|have] '{word}'.",
        "[Grep|Search] {file} for '{word}'[ and show me the lines| and tell me what turns up|, please|].",
        "[Which|What] lines [of|in] {file} [contain|mention] '{word}'? [Grep for it|A grep will do|Use grep].",
        "[I need|I'm after] whatever {file} [says about|has on] '{word}'. [Grep for exactly that|Search it for "
        "that word].",
        vague=(
            "[Grep|Search] {file} for [a certain word|a keyword|something][ for me|, please|].",
            "[Find|Show me] the lines of {file} that [contain|mention] a certain word.",
        )
        if not plan.has_come_up(word)
        else (),
        answer=("[Look for|Search for|Grep for|The word is|It's] '{word}'.", "[I mean |]'{word}'[, spelt like that|]."),
        file=refer(plan, file),
        word=word,
    )
    plan.call("grep", file_name=file.name, pattern=word)
    desk.seen.add(("grep", found))
    desk.speak_of(plan, file)
    if len(found) == 1:
        _give_line(
            plan, file, f"the line about '{word}' in {file.name}", found[0], "that line", "the line you just found"
        )


@goal(_FILES, needs=("file",), weight=0.8)
def search_two_files(plan: Plan) -> None:
    """Ask for the lines with a word in each of two files of a directory."""
    desk = plan.book(Desk)
    first = pick_file(plan, lambda one: len(one.lines) > 2 and _partner(one) is not None)
    second = _partner(first)
    if second is None:
        raise Unfit("a single file")
    word, found = look_up_word(plan, first, 9)
    others = tuple(line for line in second.lines if word in line)
    if others == found or ("grep", others) in desk.seen:
        raise Unfit("nothing to tell apart")
    ask_at(
        plan,
        first.folder,
        "[Grep|Search] both {first} and {second} for '{word}'[, please|, and show me what each has|].",
        "Does either of {first} and {second} [mention|contain] '{word}'? Grep [both|one after the other].",
        "[Look for|I'm looking for] '{word}' in two files, {first} and {second}: [grep each of them|run grep on both].",
        vague=(
            "[Grep|Search] both {first} and {second} for [a word|a certain word|something].",
            "[I'm looking for|I need] a certain word in {first} and {second}: run grep on both.",
        )
        if not plan.has_come_up(word)
        else (),
        answer=("[Look for|Search for|The word is|It's] '{word}'.", "[I mean |]'{word}'[, spelt like that|]."),
        first=first.name,
        second=second.name,
        word=word,
    )
    plan.call("grep", file_name=first.name, pattern=word)
    plan.call("grep", file_name=second.name, pattern=word)
    desk.seen.update((("grep", found), ("grep", others)))
    for file, lines in ((first, found), (second, others)):
        if len(lines) == 1:
            _give_line(plan, file, f"the line about '{word}' in {file.name}", lines[0])


def _partner(file: TextFile) -> TextFile | None:
    """Return another file of the same directory that has some lines."""
    return next((one for one in file.folder.files() if one is not file and len(one.lines) > 2), None)


@goal(_FILES, needs=("file",))
def count_in_a_file(plan: Plan) -> None:
    """Ask how many lines, words or characters a file has."""
    desk, mode = plan.book(Desk), plan.rng.pick("lwc")
    file = pick_file(plan, lambda one: bool(one.text) and ("wc", count_of(one.text, mode), mode) not in desk.seen)
    ask_at(
        plan,
        file.folder,
        "[Count|Please count] the {units} [of|in] {file}[ for me|].",
        "[How many {units} does {file} have|How many {units} are there in {file}]?",
        "[I was asked|Somebody wants to know] how many {units} {file} has. [Count them|Please count|Run wc on it].",
        "[Use wc to get|Get me|Tell me] the number of {units} in {file}[, please|].",
        vague=(
            "[Count|Please count] the {units} of one of the files {there}.",
            "[How many {units} has|Tell me how many {units} there are in] a certain file {there}[?|, please.]",
        )
        if is_open_choice(plan, file)
        else (),
        answer=_NAME_ANSWER,
        place_first=True,
        withhold=("wc",),
        file=refer(plan, file),
        name=file.name,
        units=_MODES[mode],
    )
    count = plan.call("wc", file_name=file.name, mode=mode)["count"]
    desk.seen.add(("wc", count, mode))
    desk.speak_of(plan, file)
    _give_count(plan, file, mode, count, "that number", "that count")


@goal(_FILES, needs=("file",))
def compare_counts(plan: Plan) -> None:
    """Ask which of two files has more lines, words or characters."""
    desk, mode = plan.book(Desk), plan.rng.pick("lwc")
    first = pick_file(plan, lambda one: bool(one.text) and _partner(one) is not None)
    second = _partner(first)
    if second is None:
        raise Unfit("a single file")
    counts = [count_of(file.text, mode) for file in (first, second)]
    if counts[0] == counts[1] or any(("wc", count, mode) in desk.seen for count in counts):
        raise Unfit("nothing to compare")
    ask_at(
        plan,
        first.folder,
        "[Which|Which one] has more {units}, {first} or {second}? [Count both|Please count them in both|Run wc on "
        "both].",
        "[Count|Please count] the {units} of {first} and of {second}[, I want to compare| and tell me which has "
        "more|].",
        "[Compare|Let's compare] {first} and {second} by [their number|the number] of {units}: count [both|in each].",
        withhold=("wc",),
        first=first.name,
        second=second.name,
        units=_MODES[mode],
    )
    for file in (first, second):
        count = plan.call("wc", file_name=file.name, mode=mode)["count"]
        desk.seen.add(("wc", count, mode))
        _give_count(plan, file, mode, count)


@goal(_FILES, needs=("file",))
def sort_a_file(plan: Plan) -> None:
    """Ask to see the lines of a file in sorted order."""
    desk = plan.book(Desk)
    file = pick_file(plan, lambda one: len(one.lines) > 2 and ("sort", one.text) not in desk.seen)
    ask_at(
        plan,
        file.folder,
        "[Show|Give|Print] me the lines of {file} [in sorted order|in alphabetical order|sorted].",
        "[Sort|Please sort] the lines of {file} [and show me the result|and let me see them|for me].",
        "How does {file} look [once its lines are sorted|with its lines in sorted order]?",
        "[I can't find anything|Nothing is in order] in {file}. [Sort its lines|Show me its lines in sorted order].",
        vague=(
            "[Sort|Please sort] the lines of one of the files {there} [and show me the result|for me].",
            "[Nothing is in order|I can't find anything] in one of the files {there}. Sort its lines.",
        )
        if is_open_choice(plan, file)
        else (),
        answer=_NAME_ANSWER,
        place_first=True,
        withhold=("sort",),
        file=refer(plan, file),
        name=file.name,
    )
    plan.call("sort", file_name=file.name)
    desk.seen.add(("sort", file.text))
    desk.speak_of(plan, file)
    _give_line(plan, file, f"the first line of {file.name} in sorted order", min(file.lines))


@goal(_FILES, needs=("file",))
def end_of_a_file(plan: Plan) -> None:
    """Ask for the last lines of a file."""
    desk, count = plan.book(Desk), plan.rng.between(1, 4)
    file = pick_file(plan, lambda one: len(one.lines) > count and not is_shown(plan, "\n".join(one.lines[-count:])))
    ask_at(
        plan,
        file.folder,
        "[Show me|Print|Give me] the [last|final] {number} of {file}[, please|].",
        "[Tail|Run tail on] {file} for [just |]the last {number}.",
        "[How does|How exactly does] {file} end? [The last {number}|Just the last {number}][ will do|, please| "
        "would be enough].",
        "[I only need|I just want] the [last|final] {number} of {file}. [Print that|Use tail].",
        vague=(
            "[Show me|Print|Give me] the [last|final] {number} of one of the files {there}.",
            "[I only need|I just want] the [last|final] {number} of a file {there}. Use tail.",
        )
        if is_open_choice(plan, file)
        else (),
        answer=_NAME_ANSWER,
        place_first=True,
        file=refer(plan, file),
        name=file.name,
        number="line" if count == 1 else f"{plan.rng.pick((count, ('two', 'three', 'four')[count - 2]))} lines",
    )
    plan.call("tail", file_name=file.name, lines=count)
    desk.seen.add(("tail", tuple(file.lines[-count:])))
    desk.speak_of(plan, file)
    if count == 1:
        _give_line(plan, file, f"the last line of {file.name}", file.lines[-1], "that line")


@goal(_FILES, needs=("file",))
def compare_versions(plan: Plan) -> None:
    """Ask how two versions of a text differ."""
    desk = plan.book(Desk)
    old = pick_file(plan, lambda one: _newer(one) is not None)
    new = _newer(old)
    if new is None:
        raise Unfit("a single version")
    key = ("diff", old.text, new.text)
    if key in desk.seen or not any(one != other for one, other in zip(old.lines, new.lines, strict=False)):
        raise Unfit("no difference")
    ask_at(
        plan,
        old.folder,
        "[How|Where] does {new} differ from {old}? [Diff them|Run diff], {old} first.",
        "[Run|Give me] a diff of {old} against {new}[, in that order|, please|].",
        "[Compare|Please compare] {old} with {new} line by line[ and show me the differences|, {old} first|].",
        "[Somebody|Someone] has changed {old} and saved it as {new}. [Show me the diff|Diff the old one against "
        "the new one].",
        withhold=("diff",),
        old=old.name,
        new=new.name,
    )
    plan.call("diff", file_name1=old.name, file_name2=new.name)
    desk.seen.add(key)


_VERSIONS = {"_v1.": "_v2.", "_old.": "_new.", "_a.": "_b.", "_draft.": "_revised."}


def _newer(file: TextFile) -> TextFile | None:
    """Return the newer version of a file, which lies beside it."""
    for old, new in _VERSIONS.items():
        if old in file.name:
            other = file.folder.entries.get(file.name.replace(old, new))
            return other if isinstance(other, TextFile) else None
    return None
