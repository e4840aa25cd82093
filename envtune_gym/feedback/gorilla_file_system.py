"""Hints for GorillaFileSystem."""

from __future__ import annotations

from envtune_gym.feedback.rules import HintRule

__all__ = ["RULES"]

_LOOK = "List the current directory with `ls`, or search below it with `find`, before you name an entry."
_LOOK_PLAIN = "Find out what the current directory holds before you name an entry of it."
_OTHER_NAME = "Choose another name, or deal with the entry that has it first if that is what was asked."

RULES = (
    HintRule(
        code="no_such_file",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="The current directory has no entry named {value}, but one that differs from it in the ending only. "
        "A name counts whole, with what follows its last dot.",
        actionable=(
            "Give the whole name as a message or a result has it; `ls` lists the names.",
            "Give the whole name as a message or a result has it.",
        ),
        when={"other_ending": True},
    ),
    HintRule(
        code="no_such_file",
        category="state_prerequisite",
        augmentation="suggest_prerequisite",
        error="No directory has a file named {value}, and this command writes into a file that exists already.",
        actionable=(
            "If the file is to be new, make it first with `touch`; if not, check the name.",
            "If the file is to be new, make it first; if not, check the name.",
        ),
        tool="echo",
        when={"found_at": []},
    ),
    HintRule(
        code="no_such_file",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="No directory has an entry named {value}. Names count whole, ending included; upper and lower case "
        "differ, and a path is not a name.",
        actionable=(
            "Use a name that a message or a result has, letter for letter. See what is here with `ls`; `find` lists "
            "what lies below.",
            "Use a name that a message or a result has, letter for letter; see what is here with `ls`.",
            _LOOK_PLAIN,
        ),
        when={"found_at": []},
    ),
    HintRule(
        code="no_such_file",
        category="state_prerequisite",
        augmentation="explain_dependency",
        error="{value} is not in the current directory, but in another one. A command works on entries of the current "
        "directory only.",
        actionable=(
            "Go to its directory first with `cd`, one level at a time; `find` tells where it is.",
            "Go to its directory first with `cd`, one level at a time.",
            "Go to its directory first.",
        ),
    ),
    HintRule(
        code="no_such_directory",
        category="state_prerequisite",
        augmentation="explain_dependency",
        error="{value} does not lead to a directory from where you are. A name starts at the current directory, "
        "which earlier steps may have changed, and upper and lower case differ.",
        actionable=(
            "See where you are with `pwd` and what is there with `ls`; then go one level at a time.",
            _LOOK,
            _LOOK_PLAIN,
        ),
    ),
    HintRule(
        code="not_a_directory",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is, or leads through, a file. {argument} must be a directory here.",
        actionable=(
            "Remove a file with `rm`, not as a directory.",
            "Name the directory itself; a file cannot be treated as one.",
        ),
        tool="rmdir",
    ),
    HintRule(
        code="not_a_directory",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} names a file that is there already. A destination is either a directory of the current "
        "directory or a new name.",
        actionable=("Name a directory, or a name that is not taken.",),
        when={"argument": "destination"},
    ),
    HintRule(
        code="not_a_directory",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is, or leads through, a file, and only a directory can be entered or searched.",
        actionable=("Name the directory that holds the file, not the file.",),
    ),
    HintRule(
        code="is_directory",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is a directory, and this command works on the text of a file.",
        actionable=(
            "Enter the directory with `cd` and look at its entries with `ls`; then name one of its files.",
            "Name a file of the current directory.",
        ),
    ),
    HintRule(
        code="path_not_allowed",
        category="format_mismatch",
        augmentation="correct_format",
        error="{value} is a path. A destination is a single name: a directory of the current directory, or a new name.",
        actionable=(
            "Go to the right directory with `cd` first, or do it in several steps with one level in each.",
            "Do it in several steps with one level in each.",
        ),
        when={"argument": "destination"},
    ),
    HintRule(
        code="path_not_allowed",
        category="format_mismatch",
        augmentation="correct_format",
        error="{value} is a path of several levels. One call goes a single level, down or up.",
        actionable=("Make one call for each level of the path, in order.",),
    ),
    HintRule(
        code="already_at_root",
        category="state_prerequisite",
        augmentation="explain_dependency",
        error="You are in the topmost directory, and nothing is above it, so that {value} leads nowhere.",
        actionable=(
            "See where you are with `pwd`; from here you can only go down.",
            "From here you can only go down.",
        ),
    ),
    HintRule(
        code="file_exists",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The place where {value} is to go already has an entry of that name, and nothing is overwritten.",
        actionable=(
            "Look at what the destination holds with `ls`; then choose another name or another destination.",
            "Choose another name or another destination.",
        ),
        when={"argument": "source"},
    ),
    HintRule(
        code="file_exists",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The current directory already has an entry named {value}, and nothing is overwritten.",
        actionable=(
            "Look at what is there with `ls`. If it is what you need, go on with it; otherwise choose another name.",
            _OTHER_NAME,
        ),
    ),
    HintRule(
        code="invalid_character",
        category="format_mismatch",
        augmentation="correct_format",
        error="{value} contains a character that a name must not have: {characters}. A path is not a name.",
        actionable=(
            "Give the bare name; for another directory, go there first with `cd`.",
            "Give the bare name of an entry of the current directory.",
        ),
    ),
    HintRule(
        code="directory_not_empty",
        category="state_prerequisite",
        augmentation="suggest_prerequisite",
        error="{value} still holds entries, and this command removes empty directories only.",
        actionable=(
            "Empty the directory first, or remove it with all that is in it with `rm` if that is what was asked.",
            "Empty the directory first.",
        ),
    ),
    HintRule(
        code="invalid_mode",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a mode of counting. The mode is one lower-case letter, listed by the documentation.",
        actionable=("Choose the letter for what was asked: lines, words or characters.",),
    ),
    HintRule(
        code="pattern_is_literal",
        category="format_mismatch",
        augmentation="correct_format",
        error="Nothing was found, for {value} was taken literally: names are searched for a text, without wildcards.",
        actionable=("Search for the part of the name that you know, without wildcards.",),
    ),
    HintRule(
        code="other_case",
        category="format_mismatch",
        augmentation="correct_format",
        error="Nothing was found for {value}, but a name contains it in another case: upper and lower case differ.",
        actionable=("Search for another part of the name, or leave out {argument} to list everything.",),
    ),
    HintRule(
        code="lines_not_positive",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a number of lines to show; with it the result is not the end of the file.",
        actionable=("Give a positive number of lines.",),
    ),
    HintRule(
        code="moved_into_itself",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="A directory was moved into itself, for {value} is the directory that was moved. "
        "It is no longer listed where it was, and cannot be reached.",
        actionable=("Move a directory only to a place outside it.",),
    ),
    HintRule(
        code="copied_into_itself",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="A directory was copied into itself, for {value} is the directory that was copied. "
        "The copy lists itself without end, and searching it fails.",
        actionable=(
            "Remove the copy with `rm`, and copy a directory only to a place outside it.",
            "Copy a directory only to a place outside it.",
        ),
    ),
    HintRule(
        code="directory_inside_itself",
        category="state_prerequisite",
        augmentation="explain_dependency",
        error="A directory below here contains itself, so that a search of everything below never ends.",
        actionable=(
            "Remove the copy that a directory holds of itself with `rm`, or start the search elsewhere.",
            "Start elsewhere.",
        ),
    ),
    HintRule(
        code="too_large",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="The directory tree would be too deep or too large, or is too large to be searched.",
        actionable=("Work on a smaller part of the tree, and copy no directory that holds many others.",),
    ),
)
