"""Who and what scenarios are about: people, short messages, days, passwords."""

from __future__ import annotations

from envtune_gym.tasks.generation.rng import Rng

__all__ = ["FIRST_NAMES", "MONTHS", "Cast", "future_day", "notes", "number_list", "password"]

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
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)
_PASSWORD_WORDS = ("copper", "meadow", "lantern", "orbit", "pebble", "saffron", "timber", "velvet", "walnut", "zephyr")
# fmt: on


class Cast:
    """The people of a scenario: whoever makes the requests, and others who are called by their first names.

    Attributes:
        first: First name of the user.
        last: Last name of the user.
        others: First names of other people, all different.
    """

    def __init__(self, rng: Rng) -> None:
        self.first, *self.others = rng.sample(FIRST_NAMES, 8)
        self.last = rng.pick(_LAST_NAMES)

    @property
    def full_name(self) -> str:
        """The user's whole name."""
        return f"{self.first} {self.last}"


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
    return written, rng.pick((written, f"{day} {MONTHS[month]} {year}", f"{MONTHS[month]} {day}, {year}"))


def number_list(numbers: list[int] | list[float]) -> str:
    """Return numbers as people list them: `3, 5 and 8`."""
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last
