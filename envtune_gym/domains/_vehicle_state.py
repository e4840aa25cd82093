"""What VehicleControlAPI keeps, and what its tools share: a car's readings, its pedal and what stops its engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from typing_extensions import Self

from envtune_gym.domains._vehicle_tables import ALL_UNLOCKED, FULL_BRAKE_FORCE
from envtune_gym.domains.base import Domain, LazyRandom, ToolFailure

__all__ = ["Car"]


class Car(Domain):
    """The readings of a car by name."""

    state_fields: ClassVar[tuple[str, ...]] = (
        "fuelLevel",
        "batteryVoltage",
        "engine_state",
        "remainingUnlockedDoors",
        "doorStatus",
        "acTemperature",
        "fanSpeed",
        "acMode",
        "humidityLevel",
        "headLightStatus",
        "parkingBrakeStatus",
        "brakePedalStatus",
        "distanceToNextVehicle",
        "cruiseStatus",
        "destination",
        "frontLeftTirePressure",
        "frontRightTirePressure",
        "rearLeftTirePressure",
        "rearRightTirePressure",
        "long_context",
    )
    hidden_fields: ClassVar[tuple[str, ...]] = (
        "_parkingBrakeForce",
        "_slopeAngle",
        "_brakePedalForce",
        "_random",
        "_filler",
    )

    def __init__(self, config: Mapping[str, Any], filler: Mapping[str, Any] | None = None) -> None:
        get = config.get
        self._random = LazyRandom(get("random_seed", 141053))
        self._filler = filler
        self.long_context = filler is not None
        self.fuelLevel: float = get("fuelLevel", 0.0)
        self.batteryVoltage: float = get("batteryVoltage", 12.6)
        self.engine_state: str = get("engineState", "stopped")
        self.doorStatus: dict[str, str] = dict(get("doorStatus", ALL_UNLOCKED))
        self.remainingUnlockedDoors = 4 - list(self.doorStatus.values()).count("locked")
        self.acTemperature: float = get("acTemperature", 25.0)
        self.fanSpeed: int = get("fanSpeed", 50)
        self.acMode: str = get("acMode", "auto")
        self.humidityLevel: float = get("humidityLevel", 50.0)
        self.headLightStatus: str = get("headLightStatus", "off")
        self.parkingBrakeStatus: str = get("parkingBrakeStatus", "released")
        self._parkingBrakeForce: float = get("parkingBrakeForce", 0.0)
        self._slopeAngle: float = get("slopeAngle", 0.0)
        self.brakePedalStatus: str = get("brakePedalStatus", "released")
        self._brakePedalForce: float = get("brakePedalForce", 0.0)
        self.distanceToNextVehicle: float = get("distanceToNextVehicle", 50.0)
        self.cruiseStatus: str = get("cruiseStatus", "inactive")
        self.destination: str = get("destination", "None")
        self.frontLeftTirePressure: float = get("frontLeftTirePressure", 32.0)
        self.frontRightTirePressure: float = get("frontRightTirePressure", 32.0)
        self.rearLeftTirePressure: float = get("rearLeftTirePressure", 30.0)
        self.rearRightTirePressure: float = get("rearRightTirePressure", 30.0)

    def fork(self) -> Self:
        """Return an independent copy; of all attributes only the generator changes in place."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._random = self._random.fork()
        return copy

    def _release_pedal(self) -> dict[str, Any]:
        self.brakePedalStatus = "released"
        self._brakePedalForce = 0.0
        return {"brakePedalStatus": "released", "brakePedalForce": 0.0}

    def _starting_obstacle(self, mode: str) -> ToolFailure | None:
        """Return what keeps the engine from starting; officially that is looked at even to stop it."""
        if self.remainingUnlockedDoors > 0:
            unlocked = [door for door, status in self.doorStatus.items() if status == "unlocked"]
            text = "All doors must be locked before starting the engine. Here are the unlocked doors: "
            return ToolFailure("doors_unlocked", text + ", ".join(unlocked), mode=mode, unlocked_doors=unlocked)
        if self.brakePedalStatus != "pressed":
            text = "Brake pedal needs to be pressed when starting the engine."
            return ToolFailure("brake_not_pressed", text, mode=mode)
        if self._brakePedalForce != FULL_BRAKE_FORCE:
            text = "Must press the brake fully before starting the engine."
            position = self._brakePedalForce / FULL_BRAKE_FORCE
            return ToolFailure("brake_not_fully_pressed", text, mode=mode, pedal_position=position)
        if self.fuelLevel < 0:
            return ToolFailure("fuel_empty", "Fuel tank is empty.", mode=mode, fuel_level=self.fuelLevel)
        return None
