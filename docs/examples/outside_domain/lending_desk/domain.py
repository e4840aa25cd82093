"""LendingDesk: the state of a library's lending desk, and the tools that work on it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from envtune_gym.domains.base import TODAY, Domain, LazyRandom, ToolFailure, copy_plain, tool

__all__ = ["LendingDesk"]

_MOST_LOANS = 3
_MOST_WEEKS = 6
_FIRST_CARD, _LAST_CARD = 1_000, 9_999


class LendingDesk(Domain):
    """A library's desk: members with cards, books in a few copies, loans and reservations.

    Attributes:
        books: Books by id: `title`, `author` and `copies`, the number of copies the library owns.
        cards: Members by the number of their card: `name`.
        loans: What is lent, in order: `card`, `book_id` and `due`, the day it is to come back.
        reservations: Numbers of the cards that wait for a book, by its id.
    """

    state_fields = ("books", "cards", "loans", "reservations")
    hidden_fields = ("_random",)
    random_tools = frozenset({"issue_card"})

    def __init__(self, config: Mapping[str, Any], filler: Mapping[str, Any] | None = None) -> None:
        self.books: dict[str, dict[str, Any]] = copy_plain(config.get("books", {}))
        self.cards: dict[str, dict[str, str]] = copy_plain(config.get("cards", {}))
        self.loans: list[dict[str, str]] = copy_plain(config.get("loans", []))
        self.reservations: dict[str, list[str]] = copy_plain(config.get("reservations", {}))
        self._random = LazyRandom(config.get("random_seed", 1))

    @tool
    def find_books(self, text: str) -> dict[str, list[str]]:
        """Search the catalogue for books by title or author.

        Args:
            text: Part of the title or of the author's name, whatever its case.

        Returns:
            `book_ids`: the ids of the books found; their details are shown one by one.
        """
        wanted = text.lower()
        found = [key for key, book in self.books.items() if wanted in f"{book['title']}\n{book['author']}".lower()]
        return {"book_ids": found}

    @tool
    def show_book(self, book_id: str) -> dict[str, Any]:
        """Show what the catalogue says about a book, and how many copies stand on the shelf.

        Args:
            book_id: Id of the book.

        Returns:
            `title`, `author`, `copies` owned, `on_shelf`, and `waiting`, the number of reservations.
        """
        book = self._book(book_id)
        waiting = len(self.reservations.get(book_id, []))
        return {**book, "on_shelf": self._on_shelf(book_id), "waiting": waiting}

    @tool
    def find_card(self, name: str) -> dict[str, str]:
        """Look up the card of a member.

        Args:
            name: The member's full name.

        Returns:
            `card`: the number of the card.
        """
        for card, member in self.cards.items():
            if member["name"] == name:
                return {"card": card}
        raise ToolFailure("unknown_member", f"No member is named '{name}'.", argument="name", value=name)

    @tool
    def issue_card(self, name: str) -> dict[str, str]:
        """Make a card for a new member.

        Args:
            name: The new member's full name.

        Returns:
            `card`: the number of the new card.
        """
        if not isinstance(name, str) or not name.strip():
            raise ToolFailure("empty_name", "A card needs a name.", argument="name", value=name)
        if any(member["name"] == name for member in self.cards.values()):
            raise ToolFailure("has_card", f"'{name}' has a card already.", argument="name", value=name)
        free = [card for card in map(str, range(_FIRST_CARD, _LAST_CARD + 1)) if card not in self.cards]
        if not free:
            raise ToolFailure("no_cards_left", "There are no cards left.")
        card = self._random.generator.choice(free)
        self.cards[card] = {"name": name}
        return {"card": card}

    @tool
    def list_loans(self, card: str) -> dict[str, list[dict[str, str]]]:
        """List what a member has borrowed.

        Args:
            card: Number of the member's card.

        Returns:
            `loans`: each with `book_id` and `due`.
        """
        self._check_card(card)
        own = [{"book_id": loan["book_id"], "due": loan["due"]} for loan in self.loans if loan["card"] == card]
        return {"loans": own}

    @tool
    def lend_book(self, card: str, book_id: str, weeks: int = 3) -> dict[str, str]:
        """Lend a book to a member, counted from today.

        Args:
            card: Number of the member's card.
            book_id: Id of the book.
            weeks: For how many weeks, 1 to 6.

        Returns:
            `due`: the day the book is to come back.
        """
        self._check_card(card)
        self._book(book_id)
        if type(weeks) is not int or not 1 <= weeks <= _MOST_WEEKS:
            message = f"A loan is for 1 to {_MOST_WEEKS} weeks."
            raise ToolFailure("bad_weeks", message, argument="weeks", value=weeks, most=_MOST_WEEKS)
        own = [loan["book_id"] for loan in self.loans if loan["card"] == card]
        if book_id in own:
            raise ToolFailure("has_book", "This member has the book already.", argument="book_id", value=book_id)
        if len(own) >= _MOST_LOANS:
            message = f"This member has {len(own)} books and can take no more."
            raise ToolFailure("loan_limit", message, argument="card", value=card, most=_MOST_LOANS)
        if self._on_shelf(book_id) < 1:
            raise ToolFailure("all_lent", "All copies are lent.", argument="book_id", value=book_id)
        due = (TODAY + timedelta(weeks=weeks)).isoformat()
        self.loans.append({"card": card, "book_id": book_id, "due": due})
        return {"due": due}

    @tool
    def return_book(self, card: str, book_id: str) -> dict[str, Any]:
        """Take a book back from a member.

        Args:
            card: Number of the member's card.
            book_id: Id of the book.

        Returns:
            `returned`: true; `waiting`: the cards that have reserved the book.
        """
        self._check_card(card)
        for index, loan in enumerate(self.loans):
            if (loan["card"], loan["book_id"]) == (card, book_id):
                del self.loans[index]
                return {"returned": True, "waiting": list(self.reservations.get(book_id, []))}
        raise ToolFailure("not_lent", "This member does not have that book.", argument="book_id", value=book_id)

    @tool
    def reserve_book(self, card: str, book_id: str) -> dict[str, int]:
        """Put a member on the waiting list of a book whose copies are all lent.

        Args:
            card: Number of the member's card.
            book_id: Id of the book.

        Returns:
            `place`: the member's place on the list, from 1.
        """
        self._check_card(card)
        self._book(book_id)
        if self._on_shelf(book_id) > 0:
            raise ToolFailure("on_shelf", "A copy stands on the shelf.", argument="book_id", value=book_id)
        waiting = self.reservations.get(book_id, [])
        if card in waiting:
            official = {"place": waiting.index(card) + 1}  # says nothing of a mistake, so it is a silent one
            raise ToolFailure("reserved_already", official, argument="card", value=card, silent=True)
        self.reservations[book_id] = [*waiting, card]
        return {"place": len(waiting) + 1}

    def _book(self, book_id: str) -> dict[str, Any]:
        if not isinstance(book_id, str) or book_id not in self.books:
            raise ToolFailure("unknown_book", f"There is no book '{book_id}'.", argument="book_id", value=book_id)
        return self.books[book_id]

    def _check_card(self, card: str) -> None:
        if not isinstance(card, str) or card not in self.cards:
            raise ToolFailure("unknown_card", f"There is no card '{card}'.", argument="card", value=card)

    def _on_shelf(self, book_id: str) -> int:
        lent = sum(loan["book_id"] == book_id for loan in self.loans)
        return int(self.books[book_id]["copies"]) - lent
