"""Figures, displays, zip codes and distances of VehicleControlAPI: facts of the benchmark, read and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = [
    "ALL_UNLOCKED",
    "DISPLAYS",
    "DISTANCES",
    "FULL_BRAKE_FORCE",
    "GALLONS_PER_LITER",
    "LITERS_PER_GALLON",
    "MILES_PER_GALLON",
    "TANK_CAPACITY",
    "UNKNOWN_ZIPCODE",
    "ZIPCODES",
]

TANK_CAPACITY = 50  # gallons
MILES_PER_GALLON = 20.0
FULL_BRAKE_FORCE = 1000  # newtons
GALLONS_PER_LITER = 0.264172
LITERS_PER_GALLON = 3.78541

ZIPCODES: Mapping[str, str] = MappingProxyType(
    {
        "Rivermist": "83214",
        "Stonebrook": "74532",
        "Maplecrest": "56108",
        "Silverpine": "62947",
        "Shadowridge": "71354",
        "Sunset Valley": "83462",
        "Oakendale": "47329",
        "Willowbend": "52013",
        "Crescent Hollow": "69238",
        "Autumnville": "51479",
        "San Francisco": "94016",
    }
)
UNKNOWN_ZIPCODE = "00000"

_KILOMETERS = (
    ("83214", "74532", 750.0),
    ("83214", "94016", 980.0),
    ("74532", "94016", 880.0),
    ("56108", "62947", 320.0),
    ("62947", "94016", 780.0),
    ("62947", "47329", 1053.0),
    ("47329", "52013", 290.0),
    ("71354", "83462", 450.0),
    ("69238", "51479", 630.0),
    ("94016", "94704", 600.0),
    ("94016", "08540", 1950.0),
    ("94704", "08540", 2550.0),
)

DISTANCES: Mapping[tuple[str, str], float] = MappingProxyType(
    {pair: km for one, other, km in _KILOMETERS for pair in ((one, other), (other, one))}
)
"""Kilometers between two zip codes, in either direction."""

ALL_UNLOCKED: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("driver", "passenger", "rear_left", "rear_right"), "unlocked")
)

DISPLAYS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "fuel": (("fuelLevel", "fuelLevel"),),
        "battery": (("batteryVoltage", "batteryVoltage"),),
        "doors": (("doorStatus", "doorStatus"),),
        "climate": (
            ("currentACTemperature", "acTemperature"),
            ("fanSpeed", "fanSpeed"),
            ("climateMode", "acMode"),
            ("humidityLevel", "humidityLevel"),
        ),
        "headlights": (("headlightStatus", "headLightStatus"),),
        "parkingBrake": (
            ("parkingBrakeStatus", "parkingBrakeStatus"),
            ("parkingBrakeForce", "_parkingBrakeForce"),
            ("slopeAngle", "_slopeAngle"),
        ),
        "brakePedal": (("brakePedalStatus", "brakePedalStatus"), ("brakePedalForce", "_brakePedalForce")),
        "engine": (("engineState", "engine_state"),),
    }
)
"""What displayCarStatus shows for each option: the keys of the result, and the attribute behind each."""
