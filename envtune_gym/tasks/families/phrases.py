"""How people say things: names, dates, short messages, and the courtesies around a request."""

from __future__ import annotations

from envtune_gym.tasks.families.rng import Rng

__all__ = ["FIRST_NAMES", "dress", "full_name", "future_day", "notes", "password"]

# fmt: off
FIRST_NAMES = (
    "Amara", "Anselm", "Beatriz", "Bastian", "Chiara", "Conrad", "Dalia", "Dmitri", "Elif", "Esteban", "Fatima",
    "Finn", "Greta", "Gideon", "Hana", "Hugo", "Ingrid", "Ivo", "Jasmin", "Jorge", "Keiko", "Karim", "Leonie",
    "Luca", "Mirela", "Milan", "Nadia", "Noor", "Oluchi", "Oskar", "Priya", "Pavel", "Quentin", "Rosa", "Rafael",
    "Soraya", "Sven", "Tamsin", "Tariq", "Ulla", "Viktor", "Wanda", "Xenia", "Yusuf", "Zofia",
)
_LAST_NAMES = (
    "Albrecht", "Banerjee", "Castellan", "Duarte", "Eklund", "Fontaine", "Grabowski", "Halloran", "Ishikawa",
    "Jankovic", "Kowalczyk", "Lindqvist", "Marchetti", "Novotny", "Okafor", "Petrov", "Quiroga", "Rautio",
    "Sandoval", "Tremblay", "Ueda", "Vasquez", "Wexler", "Yilmaz", "Zimmer",
)
_THINGS = (
    "budget review", "design workshop", "client call", "fire drill", "release party", "team breakfast",
    "warehouse visit", "board lunch", "safety briefing", "product demo", "hiring panel", "photo shoot",
    "planning session", "town hall", "supplier audit", "network upgrade", "office move", "charity run",
)
_NEWS = (
    "starts at nine", "has moved to Thursday", "is called off", "needs two more volunteers", "will be online only",
    "begins half an hour late", "takes place in room 12", "has been approved", "is full", "ends before lunch",
    "is open to guests", "has a new agenda", "will be recorded", "is on the fourth floor", "waits for your answer",
)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)
_PASSWORD_WORDS = ("copper", "meadow", "lantern", "orbit", "pebble", "saffron", "timber", "velvet", "walnut", "zephyr")
# fmt: on

_OPENERS = ("", "", "", "Hi! ", "Hello there. ", "Good morning. ", "I could use a hand. ", "Quick one. ")
_LINKS = (
    "",
    "",
    "",
    "Next. ",
    "Great. ",
    "Good, thank you. ",
    "One more thing. ",
    "All right. ",
    "Now for something else. ",
)
_CLOSERS = ("", "", "", "", " Thanks!", " That would help a lot.", " Much appreciated.")


def dress(rng: Rng, request: str, first: bool) -> str:
    """Return a request with an opening and a closing courtesy, or none."""
    return rng.pick(_OPENERS if first else _LINKS) + request + rng.pick(_CLOSERS)


def full_name(rng: Rng) -> tuple[str, str]:
    """Return a first and a last name."""
    return rng.pick(FIRST_NAMES), rng.pick(_LAST_NAMES)


def password(rng: Rng) -> str:
    """Return a password that can be told from ordinary words."""
    return f"{rng.pick(_PASSWORD_WORDS)}-{rng.digits(4)}"


def notes(rng: Rng, count: int) -> list[str]:
    """Return short messages on different matters."""
    return [f"The {thing} {rng.pick(_NEWS)}." for thing in rng.sample(_THINGS, count)]


def future_day(rng: Rng) -> tuple[str, str]:
    """Return a day after the domains' present, written `YYYY-MM-DD` and as people say it."""
    year, month, day = rng.between(2027, 2028), rng.below(12), rng.between(1, 28)
    written = f"{year}-{month + 1:02}-{day:02}"
    return written, rng.pick((written, f"{day} {_MONTHS[month]} {year}", f"{_MONTHS[month]} {day}, {year}"))
