"""Goals of GorillaFileSystem that write: new files, dictated texts, and results of reading that are kept in a file."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.file_desk import (
    LIST_AFTERWARDS,
    Desk,
    ask_at,
    is_shown,
    just_written,
    named,
    outdate,
    pick_file,
    refer,
)
from envtune_gym.tasks.goals.file_reading import count_of, look_up_word
from envtune_gym.tasks.goals.file_trees import TextFile
from envtune_gym.tasks.goals.plan import Plan, Unfit

__all__: list[str] = []

_FILES = "GorillaFileSystem"
_NAME_ANSWER = (
    "[Call it|The new file is called|Name it|It should be named] {new}.",
    "{new}[ is the name|, please| will do].",
)


def _note(plan: Plan, file: TextFile) -> None:
    """Leave a file behind whose text the user has dictated."""
    file.dictated = True
    plan.give("note", file.name, ("that file",), node=file)


def _new_text(plan: Plan) -> str:
    text = plan.book(Desk).sentence(plan)
    if plan.has_come_up(text):
        raise Unfit("said already")
    return text


@goal(_FILES, weight=2.0)
def write_a_note(plan: Plan) -> None:
    """Dictate a text for a new file."""
    desk = plan.book(Desk)
    folder = plan.rng.pick(desk.folders())
    new, text = desk.new_file(plan), _new_text(plan)
    ask_at(
        plan,
        folder,
        "[Create|Make|Start] a [new |]file {new} {there} [that says|with the text|and write into it]: '{text}'",
        "[I need|I'd like to have] a [new |]file {there}, {new}, [that says|with these words in it]: '{text}'",
        "[Please note|Note|Write down] '{text}' in a [new|fresh] file [called|named] {new} {there}.",
        "[Before I forget it|So that it isn't forgotten]: '{text}' [Put|Write] that into a new file {new} {there}.",
        vague=(
            "[Create|Make|Start] a new file {new} {there} with a [short |]note from me.",
            "[Please note|Write down] something for me in a new file [called|named] {new} {there}.",
        ),
        answer=(
            "[It should say|The text is|Write]: '{text}'",
            "[The note is|What I want in it is|My words are]: '{text}'",
        ),
        place_first=True,
        withhold=("echo",),
        new=new,
        text=text,
    )
    plan.call("touch", file_name=new)
    plan.call("echo", content=text, file_name=new)
    file = desk.write(plan, new, text, dictated=True)
    desk.speak_of(plan, file)
    _note(plan, file)


@goal(_FILES, needs=("note",), weight=4.0)
def add_a_line(plan: Plan) -> None:
    """Dictate one more line for a file of which the user has dictated the rest."""
    desk = plan.book(Desk)
    note = plan.take("note")
    file: TextFile = note["node"]
    if file.shared or len(file.lines) > 2 or just_written(plan, file) or plan.just_called("cp", source=file.name):
        raise Unfit("not to be written to")
    text = _new_text(plan)
    ask_at(
        plan,
        file.folder,
        "[Add|Please add|Append] a {which} line to {file}[, below what is there|, and keep what is there]: '{text}'",
        "[Below|After] what {file} says now[, add|, put|, I want] a {which} line: '{text}'",
        "[I forgot something|One thing is missing] in {file}. [Keep what it says and add|Leave the text and append] "
        "this as line {number}: '{text}'",
        vague=(
            "[Add|Please add|Append] a {which} line to {file}[, below what is there|, and keep what is there].",
            "[I forgot something|One thing is missing] in {file}. It needs a {which} line.",
        ),
        answer=("[The line is|It should say|The new line]: '{text}'", "'{text}' [is the new line|should be added]."),
        withhold=("echo",),
        file=refer(plan, file),
        which=("second", "third")[len(file.lines) - 1],
        number=len(file.lines) + 1,
        text=text,
    )
    file.text += f"\n{text}"
    plan.call("echo", content=file.text, file_name=file.name)
    outdate(plan, file)
    desk.speak_of(plan, file)


@goal(_FILES, needs=("file",), weight=0.8)
def replace_a_text(plan: Plan) -> None:
    """Dictate a text that replaces all that a file says."""
    desk = plan.book(Desk)
    file = pick_file(
        plan,
        lambda one: (
            bool(one.text) and not (one.shared or just_written(plan, one) or plan.just_called("cp", source=one.name))
        ),
    )
    text = _new_text(plan)
    ask_at(
        plan,
        file.folder,
        "[Replace|Please replace|Overwrite] [everything in|the whole content of|all of] {file} with '{text}'",
        "[Whatever is in {file} can go|What {file} says is out of date]. [Its only content should be|Let it say "
        "nothing "
        "but]: '{text}'",
        "[From now on|As of today], {file} [should|must] say only this: '{text}' [Overwrite it|Replace the old "
        "content].",
        vague=(
            "[Replace|Please replace|Overwrite] [everything in|the whole content of] {file} with [a new "
            "sentence|new text].",
            "[Whatever is in {file} can go|What {file} says is out of date]. Overwrite it with something new.",
        ),
        answer=("[It should say|The new text is|Write]: '{text}'", "[Let it say|My new text is]: '{text}'"),
        withhold=("echo",),
        file=refer(plan, file),
        text=text,
    )
    plan.call("echo", content=text, file_name=file.name)
    file.text = text
    outdate(plan, file)
    desk.speak_of(plan, file)
    _note(plan, file)


@goal(_FILES, weight=0.8)
def make_empty_files(plan: Plan) -> None:
    """Ask for one or two empty files."""
    desk, rng = plan.book(Desk), plan.rng
    folder = rng.pick(desk.folders())
    check = "" if folder is desk.here else rng.pick(LIST_AFTERWARDS)
    # A listing shows which of two was made first, and the user cares for no order.
    names = [desk.new_file(plan) for _ in range(1 if check else rng.between(1, 2))]
    ask_at(
        plan,
        folder,
        f"[Create|Make|Please create] {{some}} {{there}}, {{names}}.{check}",
        f"[I will need|I'm going to need] {{some}} {{there}}[ later| tomorrow|]: [create|make] {{names}}.{check}",
        f"[Could you|Can you|Would you] [create|set up|make] {{some}} {{there}}, {{names}}?{check}",
        vague=(
            f"[Create|Make|Please create] {{some}} {{there}}, {{chosen}}.{check}",
            f"[I will need|I'd like] {{some}} {{there}}, {{chosen}}.{check}",
        ),
        answer=("[Call it|Name it|It's]: {names}.", "{names}, [please|if that is free].")
        if len(names) == 1
        else ("[Call them|Name them] {names}.", "{names}, [please|if these are free]."),
        place_first=True,
        withhold=("touch",),
        chosen="with a name of my choice" if len(names) == 1 else "with names of my choice",
        some="an empty file" if len(names) == 1 else "two empty files",
        names=" and ".join(names),
    )
    for name in names:
        plan.call("touch", file_name=name)
        desk.write(plan, name, "")
    if check:
        plan.call("ls")


@goal(_FILES, weight=0.4)
def print_a_text(plan: Plan) -> None:
    """Ask to have a sentence printed on the terminal."""
    text = _new_text(plan)
    plan.ask(
        "[Print|Have the terminal print|Put] '{text}' [on the terminal|on the screen], [no file needed|not into a "
        "file].",
        "[Just echo|Echo] this[ on the terminal|]: '{text}' [It need not go into|Don't put it into] any file.",
        "[My screen is shared|People are watching my screen], so [print|echo] this on the terminal, in no file: "
        "'{text}'",
        vague=("[Print|Echo] a sentence [of mine |]on the terminal, not into a file.",),
        answer=("[It is|The sentence is|Print]: '{text}'", "'{text}' [is what it should say|is the sentence]."),
        withhold=("echo",),
        text=text,
    )
    plan.call("echo", content=text)


@goal(_FILES, needs=("file",))
def keep_a_found_line(plan: Plan) -> None:
    """Ask to look a line up and to keep it in a new file."""
    desk = plan.book(Desk)
    file = pick_file(plan, lambda one: len(one.lines) > 2)
    word, (line,) = look_up_word(plan, file, 1)
    if is_shown(plan, line):
        raise Unfit("known already")
    new = desk.new_file(plan)
    ask_at(
        plan,
        file.folder,
        "[Grep|Search] {file} for '{word}' and [write|put|copy] the one line that [turns up|you find] into a new "
        "file {new} "
        "[beside it|in the same directory].",
        "[Exactly|Only] one line of {file} [mentions|contains] '{word}'. [Find it with grep|Grep it] and "
        "[save|keep] that line "
        "in a new file {new} [beside it|in the same directory].",
        "[I need|I'd like] the single line that a grep of {file} for '{word}' [gives|shows], by itself, in a new file "
        "{new} [beside|next to] it.",
        vague=(
            "[Grep|Search] {file} for '{word}' and [write|put] the one line that turns up into a new file [beside "
            "it|next to it], under the name I have in mind.",
        ),
        answer=_NAME_ANSWER,
        withhold=("echo",),
        file=refer(plan, file),
        word=word,
        new=new,
    )
    plan.call("grep", file_name=file.name, pattern=word)
    plan.call("touch", file_name=new)
    plan.call("echo", content=line, file_name=new)
    desk.seen.add(("grep", (line,)))
    desk.write(plan, new, line)


@goal(_FILES, needs=("file",))
def keep_a_count(plan: Plan) -> None:
    """Ask to count what is in a file and to keep the number in a new file."""
    desk, mode = plan.book(Desk), plan.rng.pick("lwc")
    file = pick_file(plan, lambda one: bool(one.text) and ("wc", count_of(one.text, mode), mode) not in desk.seen)
    new = desk.new_file(plan)
    ask_at(
        plan,
        file.folder,
        "[Count|Please count] the {units} of {file} and [write|put] the number, [just the digits|digits only], "
        "into a new file "
        "{new} [beside it|in the same directory].",
        "How many {units} does {file} have? [Save|Keep|Put] [the number alone|only the number], in digits, in a "
        "new file {new} "
        "[beside it|in the same directory].",
        "[I need|I want] the number of {units} in {file}, [in|as] digits and nothing else, in a new file {new} "
        "[beside|next to] it.",
        vague=(
            "[Count|Please count] the {units} of {file} and [write|put] the number, [just the digits|digits "
            "only], into a new "
            "file [beside it|next to it], under the name I have in mind.",
        ),
        answer=_NAME_ANSWER,
        withhold=("wc", "echo"),
        file=refer(plan, file),
        units={"l": "lines", "w": "words", "c": "characters"}[mode],
        new=new,
    )
    count = plan.call("wc", file_name=file.name, mode=mode)["count"]
    plan.call("touch", file_name=new)
    plan.call("echo", content=str(count), file_name=new)
    desk.seen.add(("wc", count, mode))
    desk.write(plan, new, str(count))


@goal(_FILES, needs=("file",), weight=0.8)
def keep_the_last_line(plan: Plan) -> None:
    """Ask to keep the last line of a file in a new one."""
    desk = plan.book(Desk)
    file = pick_file(plan, lambda one: len(one.lines) > 1 and ("tail", (one.lines[-1],)) not in desk.seen)
    new, line = desk.new_file(plan), file.lines[-1]
    if is_shown(plan, line):
        raise Unfit("known already")
    ask_at(
        plan,
        file.folder,
        "[Take|Get] the last line of {file} with tail and [write|put] [just that|only that line] into a new file "
        "{new} "
        "[beside it|in the same directory].",
        "[I need|I want] the last line of {file}, and nothing else, in a new file {new} [beside|next to] it; [get the "
        "line with tail|use tail for that].",
        "[What is|What's] the last line of {file}, by tail? [Save it|Keep that line] in a new file {new} [beside "
        "it|in the same "
        "directory].",
        vague=(
            "[Take|Get] the last line of {file} with tail and [write|put] just that into a new file [beside "
            "it|next to it], under the name I have in mind.",
        ),
        answer=_NAME_ANSWER,
        withhold=("echo",),
        file=refer(plan, file),
        new=new,
    )
    plan.call("tail", file_name=file.name, lines=1)
    plan.call("touch", file_name=new)
    plan.call("echo", content=line, file_name=new)
    desk.seen.add(("tail", (line,)))
    desk.write(plan, new, line)


@goal(_FILES, needs=("file",), weight=0.8)
def keep_the_first_in_order(plan: Plan) -> None:
    """Ask to sort a file and to keep the line that comes first in a new one."""
    desk = plan.book(Desk)
    file = pick_file(plan, lambda one: len(one.lines) > 2 and ("sort", one.text) not in desk.seen)
    new, first = desk.new_file(plan), plan.rng.chance(0.5)
    line = min(file.lines) if first else max(file.lines)
    ask_at(
        plan,
        file.folder,
        "[Sort|Please sort] the lines of {file} and [write|put] the one that comes {place} into a new file {new} "
        "[beside it|in the same directory].",
        "Which line of {file} comes {place} [once the lines are sorted|in sorted order]? [Sort them|Sort it] and "
        "[keep|save] that "
        "line in a new file {new} [beside it|in the same directory].",
        "[I need|I want] the line of {file} that comes {place} [in sorted order|once all are sorted], by "
        "itself, in a "
        "new file {new} [beside|next to] it. Sort the file for that.",
        vague=(
            "[Sort|Please sort] the lines of {file} and put the one that comes {place} into a new file [beside "
            "it|next to it], under the name I have in mind.",
        ),
        answer=_NAME_ANSWER,
        withhold=("echo", "sort"),
        file=refer(plan, file),
        place="first" if first else "last",
        new=new,
    )
    plan.call("sort", file_name=file.name)
    plan.call("touch", file_name=new)
    plan.call("echo", content=line, file_name=new)
    desk.seen.add(("sort", file.text))
    desk.write(plan, new, line)


@goal(_FILES, needs=("count",), weight=1.5)
def write_down_a_count(plan: Plan) -> None:
    """Ask to write a number that was counted before into a new file."""
    desk = plan.book(Desk)
    count = plan.take("count")
    new = desk.new_file(plan)
    ask_at(
        plan,
        desk.here,
        "[Write|Put] {count}[, just the digits|, in digits], into a new file {new} {there}.",
        "[I want to remember|I'd like to keep] {count}: [write it down in digits|put just the digits] in a new "
        "file {new} {there}.",
        "[Make|Create] a [new |]file {new} {there} that holds [nothing but|only] {count}, in digits.",
        vague=(
            "[Write|Put] {count}[, just the digits|, in digits], into a new file {there}, with the name I have in "
            "mind.",
        ),
        answer=_NAME_ANSWER,
        withhold=("echo",),
        count=named(plan, count),
        new=new,
    )
    text = str(count["value"])
    plan.call("touch", file_name=new)
    plan.call("echo", content=text, file_name=new)
    desk.write(plan, new, text)


@goal(_FILES, needs=("line",), weight=1.5)
def write_down_a_line(plan: Plan) -> None:
    """Ask to write a line that was found before into a new file."""
    desk = plan.book(Desk)
    line = plan.take("line")
    new = desk.new_file(plan)
    ask_at(
        plan,
        desk.here,
        "[Write|Put|Copy] {line}[, word for word|, exactly as it stands], into a new file {new} {there}.",
        "[I want to keep|I'd like to keep] {line}: [write|put] it[, unchanged,|] into a new file {new} {there}.",
        "[Make|Create] a [new |]file {new} {there} that holds [nothing but|only] {line}.",
        vague=(
            "[Write|Put|Copy] {line}[, word for word|, exactly as it stands], into a new file {there}, with the name "
            "I have in mind.",
        ),
        answer=_NAME_ANSWER,
        withhold=("echo",),
        line=named(plan, line),
        new=new,
    )
    plan.call("touch", file_name=new)
    plan.call("echo", content=line["text"], file_name=new)
    desk.write(plan, new, line["text"])
