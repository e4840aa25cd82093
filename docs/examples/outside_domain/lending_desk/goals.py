"""What people want at the lending desk: the scenario and the goals that the task generator combines."""

from __future__ import annotations

from typing import Any

from envtune_gym.domains.base import TODAY
from envtune_gym.tasks.goals import Plan, Thing, Unfit, goal, scenario

__all__: list[str] = []  # the decorators register what is here

_BOOKS = (
    ("The Salt Road", "Ines Marchetti"), ("A Winter of Bees", "Tomas Halloran"), ("Maps for Sleepers", "Ayo Okafor"),
    ("The Glass Orchard", "Lena Eklund"), ("Nine Small Engines", "Piet Kowalczyk"), ("Harbour Lights", "Ruth Vasquez"),
    ("The Quiet Comet", "Jun Ishikawa"), ("Letters to a Baker", "Noor Banerjee"), ("Stone and Feather", "Ada Wexler"),
    ("The Last Ferryman", "Olga Petrov"),
)  # fmt: skip
_SURNAMES = ("Adler", "Brook", "Castro", "Dahl", "Evans", "Ferro", "Grant", "Haas")


class Desk:
    """What goals remember of the desk: names of people who have no card yet."""

    def __init__(self, strangers: list[str]) -> None:
        self.strangers = strangers


@scenario("LendingDesk")
def library(plan: Plan) -> dict[str, Any]:
    """A few members and books; some books are out, and of some of these all copies are."""
    rng = plan.rng
    people = [f"{first} {last}" for first, last in zip(plan.cast.others, rng.sample(_SURNAMES, 7), strict=True)]
    members, strangers = people[:4], people[4:]
    cards = {rng.digits(4): {"name": name} for name in members}
    books: dict[str, dict[str, Any]] = {}
    for title, author in rng.sample(_BOOKS, 6):
        books[f"B{rng.digits(3)}"] = {"title": title, "author": author, "copies": rng.between(1, 2)}
    loans: list[dict[str, str]] = []
    for number, (card, member) in enumerate(cards.items()):
        plan.give("member", member["name"], known=False, name=member["name"], card=card)
        for book_id in list(books)[number : number + 2]:
            if sum(loan["book_id"] == book_id for loan in loans) < books[book_id]["copies"]:
                due = TODAY.replace(day=rng.between(24, 30)).isoformat()
                loans.append({"card": card, "book_id": book_id, "due": due})
    for book_id, book in books.items():
        label = f"'{book['title']}' by {book['author']}"
        plan.give("book", label, ("that book",), known=False, id=book_id, **book)
    plan.keep(Desk(strangers))
    return {"books": books, "cards": cards, "loans": loans, "random_seed": rng.between(1, 10_000)}


@goal("LendingDesk", needs=("member",))
def ask_for_a_card_number(plan: Plan) -> None:
    """Ask which card somebody has."""
    member = plan.take("member", known=False)
    plan.ask(
        "[Look up|Please look up|Find] the [number of the card|card number] of {member}.",
        "[What is|Tell me] the [number of the card|card number] of {member}[, please|]?",
        vague=("[Look up|Please look up|Find] the card number of one of our members.",),
        answer=("[It is|I mean] {member}.", "{member}[, please|]."),
        withhold=("find_card",),
        member=member,
    )
    _find_card(plan, member)


@goal("LendingDesk", needs=("book",))
def ask_about_a_book(plan: Plan) -> None:
    """Ask how many copies of a book there are to take."""
    book = plan.take("book")
    if book.known and plan.has_shown("show_book", book_id=book["id"]):
        raise Unfit("shown already")
    plan.ask(
        "[Show me|Please show me|Look up] {book} in the catalogue[; I want to see how many copies are here|].",
        "[How many copies|Tell me how many copies] of {book} stand on the shelf[ now|]? Show me its entry.",
        vague=("[Show me|Please show me|Look up] a book in the catalogue for me.",),
        answer=("[It is|I mean] {book}.", "{book}[, please|]."),
        withhold=("show_book",),
        book=book,
    )
    _find_book(plan, book)
    plan.call("show_book", book_id=book["id"])


@goal("LendingDesk", needs=("member", "book"), weight=3.0)
def borrow_a_book(plan: Plan) -> None:
    """Lend a book that is there to a member, for a number of weeks."""
    member = plan.take("member")
    book = plan.take("book", where=lambda one: _can_borrow(plan, member, one))
    weeks = plan.rng.between(1, 6)
    plan.ask(
        "[Lend|Please lend] {book} to {member} for {weeks}.",
        "[I'd like to|Let us] [give|hand] {book} to {member}[ now|] for {weeks}[, please|]: enter the loan.",
        vague=("[Lend|Please lend] {book} to one of our members for {weeks}.",),
        answer=("[It is for|To] {member}.", "The member is {member}[, as always|]."),
        withhold=("lend_book",),
        member=member,
        book=book,
        weeks="1 week" if weeks == 1 else f"{weeks} weeks",
    )
    _find_card(plan, member)
    _find_book(plan, book)
    plan.call("lend_book", card=member["card"], book_id=book["id"], weeks=weeks)


@goal("LendingDesk", needs=("member",), weight=2.0)
def bring_a_book_back(plan: Plan) -> None:
    """Take back a book that a member has."""
    if plan.lately_called("lend_book", "return_book"):
        raise Unfit("it has just gone out, or another has come back")
    loans = plan.world.state()["LendingDesk"]["loans"]
    borrowed = {(loan["card"], loan["book_id"]) for loan in loans}
    member = plan.take("member", where=lambda one: any(card == one["card"] for card, _ in borrowed))
    book = plan.take("book", where=lambda one: (member["card"], one["id"]) in borrowed)
    plan.ask(
        "[Take back|Please take back] {book} from {member}.",
        "{who} [brings|is bringing] {book} back[ today|]; [enter the return|book it in].",
        "[Here is|This is] {book}, back from {member}. [Enter the return|Please book it in].",
        vague=("[Take back|Please take back] {book} from a member.",),
        answer=("[It was lent to|The member is] {member}.", "{member} had it[ all along|]."),
        withhold=("return_book",),
        member=member,
        who=member["name"],
        book=book,
    )
    _find_card(plan, member)
    _find_book(plan, book)
    plan.call("return_book", card=member["card"], book_id=book["id"])


@goal("LendingDesk", needs=("member", "book"))
def wait_for_a_book(plan: Plan) -> None:
    """Reserve a book of which all copies are out."""
    member = plan.take("member")
    book = plan.take("book", where=lambda one: _can_reserve(plan, member, one))
    if plan.lately_called("lend_book", "return_book"):
        raise Unfit("whether it is out may have changed in the same message")
    plan.ask(
        "[Reserve|Please reserve] {book} for {member}[; all copies are out|].",
        "[Put|Please put] {member} on the waiting list for {book}[, which is out|].",
        vague=("[Reserve|Please reserve] {book} for a member who asked for it.",),
        answer=("[It was|The member is] {member}.", "For {member}[, please|]."),
        withhold=("reserve_book",),
        member=member,
        book=book,
    )
    _find_card(plan, member)
    _find_book(plan, book)
    plan.call("reserve_book", card=member["card"], book_id=book["id"])


@goal("LendingDesk", needs=("member",))
def ask_what_somebody_has(plan: Plan) -> None:
    """List the loans of a member."""
    member = plan.take("member")
    if member.known and plan.has_shown("list_loans", card=member["card"]):
        raise Unfit("shown already")
    plan.ask(
        "[List|Please list|Show me] the loans of {member}.",
        "[Which books|What] [does|has] {who} [have|borrowed] at the moment? List the loans[, please|].",
        "[When|By when] do the books of {member} have to come back? [List|Show me] the loans.",
        vague=("[List|Please list|Show me] the loans of one of our members.",),
        answer=("[I mean|It is] {member}.", "Of {member}[, please|]."),
        withhold=("list_loans",),
        member=member,
        who=member["name"],
    )
    _find_card(plan, member)
    plan.call("list_loans", card=member["card"])


@goal("LendingDesk", weight=0.7)
def welcome_a_new_member(plan: Plan) -> None:
    """Make a card for somebody new, who can borrow from then on."""
    desk = plan.book(Desk)
    if not desk.strangers:
        raise Unfit("everybody has a card")
    name = desk.strangers.pop()
    plan.ask(
        "[Make|Please make] a card for [a new member|our new member], {name}.",
        "{name} [wants to join|is new here]: [make|issue] a card[, please|].",
        "[There is a new member|Somebody new has come]. [Make|Issue] a card for {name}.",
        vague=("[Make|Please make] a card for [a new member|somebody new].",),
        answer=("[The name is|It is] {name}.", "{name}[ is the name|]."),
        withhold=("issue_card",),
        name=name,
    )
    card = plan.call("issue_card", name=name)["card"]
    plan.give("member", name, name=name, card=card)


def _find_card(plan: Plan, member: Thing) -> None:
    """Look up the card of a member, unless its number has been seen."""
    if not member.known:
        plan.call("find_card", name=member["name"])
        member.known = True


def _find_book(plan: Plan, book: Thing) -> None:
    """Look up the id of a book, unless it has been seen."""
    if not book.known:
        plan.call("find_books", text=book["title"])
        book.known = True


def _can_borrow(plan: Plan, member: Thing, book: Thing) -> bool:
    loans = plan.world.state()["LendingDesk"]["loans"]
    own = [loan["book_id"] for loan in loans if loan["card"] == member["card"]]
    out = sum(loan["book_id"] == book["id"] for loan in loans)
    return len(own) < 3 and book["id"] not in own and out < book["copies"]


def _can_reserve(plan: Plan, member: Thing, book: Thing) -> bool:
    state = plan.world.state()["LendingDesk"]
    out = [loan["card"] for loan in state["loans"] if loan["book_id"] == book["id"]]
    waiting = state["reservations"].get(book["id"], [])
    return len(out) >= book["copies"] and member["card"] not in (*out, *waiting)
