"""What goals of MathAPI calculate with: lists of measurements, measures in units, and figures left by earlier goals."""

from __future__ import annotations

from envtune_gym.tasks.goals.plan import Plan, Unfit

__all__ = [
    "COUNTED",
    "IMPERIAL",
    "METRIC",
    "ORDINALS",
    "UNIT_WORDS",
    "give_figure",
    "give_series",
    "new_series",
    "pass_over",
    "pick_measure",
    "pick_number",
]

_SERIES = (
    ("scores of the morning class", 11, 99), ("rents in our street", 480, 1_960), ("ages of the volunteers", 18, 84),
    ("heights of the seedlings", 11, 95), ("takings of the kiosk", 85, 960), ("lap times of the relay team", 48, 97),
    ("prices of the prizes", 12, 280), ("rainfall figures of last month", 11, 96), ("weights of the parcels", 14, 980),
    ("daily visitors of the museum", 61, 960), ("lengths of the boards", 45, 480),
    ("marks of the evening course", 31, 100),
)  # fmt: skip
"""What lists of numbers are about, with the least and the greatest number."""
_ROUTES = ("the cycling trip", "the hiking trail", "the delivery round", "the new tram line")
_LOADS = ("the flour order", "the parcel", "the suitcase", "the bag of cement")
_GROUNDS = ("the garden fence", "the new path", "the swimming lane", "the old hedge")
_FITTINGS = ("the shelf", "the picture frame", "the window board", "the spare pipe")
IMPERIAL = (
    (("miles", "km"), _ROUTES, 4, 280), (("km", "miles"), _ROUTES, 6, 450), (("lb", "kg"), _LOADS, 4, 90),
    (("kg", "lb"), _LOADS, 3, 45), (("ft", "m"), _GROUNDS, 12, 350), (("m", "ft"), _GROUNDS, 6, 120),
    (("yd", "m"), _GROUNDS, 12, 150), (("m", "yd"), _GROUNDS, 9, 120), (("in", "cm"), _FITTINGS, 6, 95),
    (("cm", "in"), _FITTINGS, 15, 240),
)  # fmt: skip
"""Units to convert from and to, what is measured in them, and the least and greatest measure."""
METRIC = (
    (("km", "m"), _ROUTES, 3, 95), (("m", "km"), _ROUTES, 2_100, 48_000), (("m", "cm"), _GROUNDS, 6, 120),
    (("cm", "m"), _GROUNDS, 650, 9_800), (("m", "mm"), _FITTINGS, 1, 4), (("mm", "m"), _FITTINGS, 180, 4_500),
)  # fmt: skip
UNIT_WORDS = {"in": "inches", "m": "meters"}
"""What people call the units that are hard to read as they are."""
COUNTED = ("particles", "visitors", "clicks", "bacteria", "tickets", "kernels", "ballots", "steps")
ORDINALS = {3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}


def give_figure(plan: Plan, value: float, label: str, *short: str) -> None:
    """Leave a number behind for later goals.

    Words like "the result" stand for none: other calls may have come since.
    """
    plan.give("figure", label, short, value=value)


def pass_over(plan: Plan, label: str) -> None:
    """Note that a number has been shown that no goal is about, so that "that sum" is not taken for it."""
    plan.drop(plan.give("figure", label))


def pick_number(plan: Plan) -> tuple[float, object]:
    """Return a number to calculate with and words for it: an earlier result, often, or one that the user says."""
    if plan.has("figure") and plan.rng.chance(0.7):
        thing = plan.take("figure")
        return thing["value"], thing
    value = plan.rng.between(13, 4_800)
    return value, value


def new_series(plan: Plan) -> tuple[str, list[int]]:
    """Return what a new list of numbers is about, and the numbers."""
    subject, least, most = plan.rng.pick(_SERIES)
    if plan.has_come_up(subject):
        raise Unfit("there are such numbers already")
    return subject, [plan.rng.between(least, most) for _ in range(plan.rng.between(4, 8))]


def give_series(plan: Plan, subject: str, numbers: list[int]) -> None:
    """Leave a list of numbers behind for later goals."""
    plan.give("series", f"the {subject}", ("those numbers", "those figures"), numbers=numbers)


def pick_measure(
    plan: Plan, kinds: tuple[tuple[tuple[str, str], tuple[str, ...], int, int], ...]
) -> tuple[tuple[str, str], str, float]:
    """Return two units, something that has not been measured yet, and its measure in the first unit."""
    units, owners, least, most = plan.rng.pick(kinds)
    owner = plan.rng.pick(owners)
    if plan.has_come_up(owner):
        raise Unfit("measured already")
    return units, owner, plan.rng.price(least, most)
