"""Failures of VehicleControlAPI whose cause takes a closer look."""

from __future__ import annotations

from envtune_gym.domains._vehicle_tables import DISTANCES, TANK_CAPACITY, ZIPCODES
from envtune_gym.domains.base import ToolFailure

__all__ = ["no_distance", "tank_limit"]


def tank_limit(level: float, amount: float) -> ToolFailure:
    """Return the failure for an amount of fuel with which the tank would be below empty or above full."""
    if level + amount > TANK_CAPACITY:
        code, text = "tank_overflow", "Cannot fill gas above the tank capacity."
    else:
        code, text = "fuel_empty", "Fuel tank is empty. Min fuel level is 0 gallons."
    return ToolFailure(code, text, argument="fuelAmount", value=amount, fuel_level=level, tank_capacity=TANK_CAPACITY)


def no_distance(city_a: object, city_b: object, official: object) -> ToolFailure:
    """Return the failure for two cities without a known distance; names of cities are a frequent cause."""
    known = {zipcode for pair in DISTANCES for zipcode in pair}
    for argument, city in (("cityA", city_a), ("cityB", city_b)):
        if not isinstance(city, str) or city not in known:
            is_name = isinstance(city, str) and city in ZIPCODES
            return ToolFailure("unknown_zipcode", official, argument=argument, value=city, is_city_name=is_name)
    return ToolFailure("no_distance", official, argument="cityB", value=city_b, cityA=city_a)
