"""The car of VehicleControlAPI's scenarios: how it stands, what has been shown of it, and words for its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from envtune_gym.domains._vehicle_tables import MILES_PER_GALLON, TANK_CAPACITY
from envtune_gym.tasks.goals.plan import Plan, Unfit

__all__ = ["DOORS", "MODES", "PARTS", "Car", "list_words"]

DOORS = {
    "driver": "driver's door",
    "passenger": "passenger door",
    "rear_left": "rear left door",
    "rear_right": "rear right door",
}
"""The doors, and what people call them."""

PARTS = {
    "fuel": "the fuel",
    "battery": "the battery",
    "doors": "the doors",
    "climate": "the climate control",
    "headlights": "the headlights",
    "parkingBrake": "the parking brake",
    "brakePedal": "the brake pedal",
    "engine": "the engine",
}
"""What displayCarStatus can show, and what people call it."""

MODES = ("auto", "cool", "heat", "defrost")
"""The modes of the climate control."""


@dataclass(slots=True)
class Car:
    """A car as the goals so far have left it.

    Attributes:
        fuel: Gallons in the tank.
        unlocked: The doors that are not locked.
        running: Whether the engine runs.
        pedal: Position of the brake pedal, from 0 to 1.
        parked: Whether the parking brake is engaged.
        lights: Whether the headlights are on.
        destination: Where the navigation leads.
        shown: Parts whose readings results have shown, as `PARTS` names them.
        zipcodes: Zip codes that results have shown, by city.
        lasts: Answers that have been given to whether the fuel lasts.
        shop: Address of the tire shop, once a result has shown it.
    """

    fuel: float
    unlocked: list[str]
    running: bool
    pedal: float
    parked: bool
    lights: bool
    destination: str = "None"
    shown: set[str] = field(default_factory=set)
    zipcodes: dict[str, str] = field(default_factory=dict)
    lasts: set[bool] = field(default_factory=set)
    shop: str = ""

    @property
    def miles(self) -> float:
        """How far the fuel lasts."""
        return self.fuel * MILES_PER_GALLON

    def check_refuel(self, plan: Plan, gallons: float) -> None:
        """Check that some fuel can be filled in.

        Raises:
            Unfit: If there is no room for it, or the car is on its way.
        """
        if self.fuel + gallons > TANK_CAPACITY - 1 or plan.has("cruise"):
            raise Unfit("no time to refuel")

    def refuel(self, plan: Plan, gallons: float) -> None:
        """Fill fuel into the tank, for the present goal."""
        self.fuel = plan.call("fillFuelTank", fuelAmount=gallons)["fuelLevel"]
        self.shown.add("fuel")


def list_words(words: list[str]) -> str:
    """Return words as people list them: `the one, the other and the third`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
