"""Hints for LendingDesk: what each failure means, and what kind of step helps."""

from __future__ import annotations

from envtune_gym.feedback import HintRule

__all__ = ["RULES"]

RULES = (
    HintRule(
        code="unknown_book",
        category="dependency_missing",
        augmentation="explain_dependency",
        error="{value} is not the id of a book; {argument} takes an id, not a title.",
        actionable=(
            "Search the catalogue with `find_books` by a part of the title.",  # used where it is on offer
            "Use an id that a result has shown.",  # the last one names no tool
        ),
        or_ask=True,  # the user may not have said yet which book
    ),
    HintRule(
        code="unknown_card",
        category="dependency_missing",
        augmentation="explain_dependency",
        error="No card has the number {value}; {argument} takes the number, not the member's name.",
        actionable=("Look the number up with `find_card`.", "Use a number that a message or a result has shown."),
        or_ask=True,
    ),
    HintRule(
        code="unknown_member",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="{value} is not the full name of a member; names are matched letter for letter.",
        actionable=("Check the spelling; somebody new gets a card with `issue_card`.", "Check the spelling."),
        or_ask=True,
    ),
    HintRule(
        code="empty_name",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{argument} is {value}, and a card is made out to a name.",
        actionable=("Give the full name as a text.",),
        or_ask=True,
    ),
    HintRule(
        code="has_card",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="{value} has a card already, and nobody gets two.",
        actionable=("Look its number up with `find_card`.", "Go on with that card."),
    ),
    HintRule(
        code="no_cards_left",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="All numbers of cards are taken.",
        actionable=("Tell the user.",),
    ),
    HintRule(
        code="bad_weeks",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is no length of a loan: {argument} is a whole number from 1 to {most}.",
        actionable=("Give a number in these bounds, or leave {argument} out for the usual time.",),
    ),
    HintRule(
        code="has_book",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="This member has the book {value} already, and takes a single copy of each.",
        actionable=("See what the member has with `list_loans`.", "Check that it is the right book."),
    ),
    HintRule(
        code="loan_limit",
        category="state_prerequisite",
        augmentation="suggest_prerequisite",
        error="The member with the card {value} has {most} books, which is as many as one may have at a time.",
        actionable=(
            "If the user agrees, take one back first with `return_book`.",
            "Tell the user that a book has to come back first.",
        ),
    ),
    HintRule(
        code="all_lent",
        category="resource_unavailable",
        augmentation="suggest_prerequisite",
        error="All copies of the book {value} are lent.",
        actionable=(
            "If the user wants to wait, put the member on the list with `reserve_book`.",
            "Tell the user that the book is out.",
        ),
    ),
    HintRule(
        code="not_lent",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The book {value} is not lent to this member.",
        actionable=("See what the member has with `list_loans`.", "Check card and book."),
        or_ask=True,
    ),
    HintRule(
        code="on_shelf",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="A copy of the book {value} stands on the shelf, and only books that are out can be reserved.",
        actionable=("It can be lent right away with `lend_book`.", "It can be lent right away."),
    ),
    HintRule(
        code="reserved_already",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="The member with the card {value} was on the waiting list already; nothing has changed.",
        actionable=("Go on with what was asked.",),
    ),
)
