"""VehicleControlAPI: engine, doors, climate, brakes, cruise control and navigation of a car."""

from __future__ import annotations

from typing import Any, ClassVar

from envtune_gym.domains._vehicle_checks import no_distance, tank_limit
from envtune_gym.domains._vehicle_state import Car
from envtune_gym.domains._vehicle_tables import (
    DISPLAYS,
    DISTANCES,
    FULL_BRAKE_FORCE,
    GALLONS_PER_LITER,
    LITERS_PER_GALLON,
    MILES_PER_GALLON,
    TANK_CAPACITY,
    UNKNOWN_ZIPCODE,
    ZIPCODES,
)
from envtune_gym.domains.base import ToolFailure, tool

__all__ = ["VehicleControlAPI"]


class VehicleControlAPI(Car):
    """A car: engine, doors, climate, lights, brakes, cruise control, navigation and tires.

    State: the readings of the car by name. Actions depend on each other: the engine starts with all doors
    locked and the brake fully pressed, and cruise control needs a running engine.

    Official module: `vehicle_control.py`.
    """

    random_tools: ClassVar[frozenset[str]] = frozenset({"get_outside_temperature_from_google", "get_current_speed"})

    @tool
    def startEngine(self, ignitionMode: str) -> dict[str, Any]:
        """Turn the ignition. Starting takes locked doors and a fully pressed brake pedal.

        Args:
            ignitionMode: START or STOP.

        Returns:
            engineState, fuelLevel (gallons) and batteryVoltage (volts).
        """
        if ignitionMode == "STOP":
            self.engine_state = "stopped"
        obstacle = self._starting_obstacle(ignitionMode)
        if obstacle is not None:
            raise obstacle
        if ignitionMode != "START":
            # Stopping has worked by now; the official tool reports it as an error all the same.
            code = "stopped_as_error" if ignitionMode == "STOP" else "invalid_ignition_mode"
            raise ToolFailure(code, "Invalid ignition mode.", argument="ignitionMode", value=ignitionMode)
        self.engine_state = "running"
        return {
            "engineState": self.engine_state,
            "fuelLevel": self.fuelLevel,
            "batteryVoltage": self.batteryVoltage,
        }

    @tool
    def fillFuelTank(self, fuelAmount: float) -> dict[str, float]:
        """Add fuel to the tank, which holds 50 gallons.

        Args:
            fuelAmount: Gallons to add to what is in the tank.

        Returns:
            fuelLevel: Gallons now in the tank.
        """
        if fuelAmount < 0:
            text = "Fuel amount cannot be negative."
            raise ToolFailure("negative_fuel_amount", text, argument="fuelAmount", value=fuelAmount)
        level = self.fuelLevel + fuelAmount
        if level > TANK_CAPACITY or level < 0:
            raise tank_limit(self.fuelLevel, fuelAmount)
        self.fuelLevel = level
        return {"fuelLevel": level}

    @tool
    def lockDoors(self, unlock: bool, door: list[str]) -> dict[str, Any]:
        """Lock or unlock doors.

        Args:
            unlock: True to unlock the doors, False to lock them.
            door: Which doors: driver, passenger, rear_left, rear_right.

        Returns:
            lockStatus (locked or unlocked) and remainingUnlockedDoors (how many doors are still unlocked).
        """
        status, step = ("unlocked", 1) if unlock else ("locked", -1)
        for name in door:
            if name not in self.doorStatus:
                known = list(self.doorStatus)
                raise ToolFailure("unknown_door", KeyError(name), argument="door", value=door, door=name, known=known)
            if self.doorStatus[name] != status:
                self.doorStatus = {**self.doorStatus, name: status}
                self.remainingUnlockedDoors += step
        return {"lockStatus": status, "remainingUnlockedDoors": self.remainingUnlockedDoors}

    @tool
    def adjustClimateControl(
        self, temperature: float, unit: str = "celsius", fanSpeed: int = 50, mode: str = "auto"
    ) -> dict[str, Any]:
        """Set temperature, fan and mode of the air conditioning.

        Args:
            temperature: Temperature to set, in the given unit.
            unit: celsius or fahrenheit.
            fanSpeed: Speed of the fan, from 0 to 100.
            mode: auto, cool, heat or defrost.

        Returns:
            currentACTemperature (as given), climateMode and humidityLevel (percent).
        """
        if not 0 <= fanSpeed <= 100:
            text = "Fan speed must be between 0 and 100."
            raise ToolFailure("invalid_fan_speed", text, argument="fanSpeed", value=fanSpeed)
        self.acTemperature = temperature
        if unit == "fahrenheit":
            self.acTemperature = (temperature - 32) * 5 / 9
        self.fanSpeed = fanSpeed
        self.acMode = mode
        return {"currentACTemperature": temperature, "climateMode": mode, "humidityLevel": self.humidityLevel}

    @tool
    def get_outside_temperature_from_google(self) -> dict[str, Any]:
        """Look up the outside temperature on Google.

        Returns:
            outsideTemperature: Degrees Celsius.
        """
        temperature = self._random.generator.uniform(-10.0, 40.0)
        if self._filler is None:
            return {"outsideTemperature": temperature}
        return {**self._filler["LONG_WEATHER_EXTENSION"], "outsideTemperature": temperature}

    @tool
    def get_outside_temperature_from_weather_com(self) -> dict[str, float]:
        """Look up the outside temperature on weather.com.

        Returns:
            outsideTemperature: Degrees Celsius.
        """
        raise ToolFailure("service_unavailable", {"error": 404}, alternative="get_outside_temperature_from_google")

    @tool
    def setHeadlights(self, mode: str) -> dict[str, str]:
        """Switch the headlights.

        Args:
            mode: on, off or auto.

        Returns:
            headlightStatus: on or off.
        """
        if mode not in ("on", "off", "auto"):
            raise ToolFailure("invalid_headlight_mode", "Invalid headlight mode.", argument="mode", value=mode)
        self.headLightStatus = "on" if mode == "on" else "off"
        return {"headlightStatus": self.headLightStatus}

    @tool
    def displayCarStatus(self, option: str) -> dict[str, Any]:
        """Show the readings of one part of the car.

        Args:
            option: fuel, battery, doors, climate, headlights, parkingBrake, brakePedal or engine.

        Returns:
            The readings of that part by name.
        """
        status = {} if self._filler is None else {"metadata": self._filler["CAR_STATUS_METADATA_EXTENSION"]}
        shown = DISPLAYS.get(option) if isinstance(option, str) else None
        if shown is None:
            official = {**status, "error": "Invalid option"}
            raise ToolFailure("invalid_option", official, argument="option", value=option, known=list(DISPLAYS))
        for key, attribute in shown:
            status[key] = getattr(self, attribute)
        return status

    @tool
    def activateParkingBrake(self, mode: str) -> dict[str, Any]:
        """Engage or release the parking brake.

        Args:
            mode: engage or release.

        Returns:
            parkingBrakeStatus, _parkingBrakeForce (newtons) and _slopeAngle (degrees).
        """
        if mode not in ("engage", "release"):
            raise ToolFailure("invalid_parking_brake_mode", "Invalid mode", argument="mode", value=mode)
        if mode == "engage":
            self.parkingBrakeStatus, self._parkingBrakeForce = "engaged", 500.0
        else:
            self.parkingBrakeStatus, self._parkingBrakeForce = "released", 0.0
        self._slopeAngle = 10.0
        reading = {
            "parkingBrakeStatus": self.parkingBrakeStatus,
            "_parkingBrakeForce": self._parkingBrakeForce,
            "_slopeAngle": self._slopeAngle,
        }
        if self._filler is None:
            return reading
        return {"parkingBrakeInstruction": self._filler["PARKING_BRAKE_INSTRUCTION"], **reading}

    @tool
    def pressBrakePedal(self, pedalPosition: float) -> dict[str, Any]:
        """Press the brake pedal; it stays where it is put until it is moved or released.

        Args:
            pedalPosition: From 0 (not pressed) to 1 (fully pressed).

        Returns:
            brakePedalStatus (pressed or released) and brakePedalForce (newtons).
        """
        if not 0 <= pedalPosition <= 1:
            text = "Pedal position must be between 0 and 1."
            raise ToolFailure("invalid_pedal_position", text, argument="pedalPosition", value=pedalPosition)
        if pedalPosition == 0:
            return self._release_pedal()
        self.brakePedalStatus = "pressed"
        self._brakePedalForce = pedalPosition * FULL_BRAKE_FORCE
        return {"brakePedalStatus": "pressed", "brakePedalForce": float(self._brakePedalForce)}

    @tool
    def releaseBrakePedal(self) -> dict[str, Any]:
        """Take the foot off the brake pedal.

        Returns:
            brakePedalStatus and brakePedalForce (newtons).
        """
        return self._release_pedal()

    @tool
    def setCruiseControl(self, speed: float, activate: bool, distanceToNextVehicle: float) -> dict[str, Any]:
        """Switch cruise control on or off; the engine must be running.

        Args:
            speed: Speed to hold: from 0 to 120, a multiple of 5.
            activate: True to switch it on, False to switch it off.
            distanceToNextVehicle: Distance to keep to the next vehicle, in meters.

        Returns:
            cruiseStatus (active or inactive), currentSpeed and distanceToNextVehicle (meters).
        """
        distance = float(distanceToNextVehicle)
        speed = float(speed)
        if self.engine_state == "stopped":
            text = "Start the engine before activating the cruise control."
            raise ToolFailure("engine_not_running", text, engine_state=self.engine_state)
        self.distanceToNextVehicle = distance
        if activate and (speed < 0 or speed > 120 or speed % 5 != 0):
            raise ToolFailure("invalid_speed", "Invalid speed", argument="speed", value=speed)
        self.cruiseStatus = "active" if activate else "inactive"
        return {"cruiseStatus": self.cruiseStatus, "currentSpeed": speed, "distanceToNextVehicle": distance}

    @tool
    def get_current_speed(self) -> dict[str, float]:
        """Read the speedometer.

        Returns:
            currentSpeed: Kilometers an hour.
        """
        return {"currentSpeed": self._random.generator.uniform(0.0, 120.0)}

    @tool
    def display_log(self, messages: list[str]) -> dict[str, list[str]]:
        """Show messages on the car's display.

        Args:
            messages: The messages.

        Returns:
            log: The messages shown.
        """
        return {"log": messages}

    @tool
    def estimate_drive_feasibility_by_mileage(self, distance: float) -> dict[str, bool]:
        """Tell whether the fuel in the tank lasts for a distance.

        Args:
            distance: Miles to drive.

        Returns:
            canDrive: True if it does.
        """
        return {"canDrive": not self.fuelLevel * MILES_PER_GALLON < distance}

    @tool
    def liter_to_gallon(self, liter: float) -> dict[str, float]:
        """Convert liters to gallons.

        Args:
            liter: Amount in liters.

        Returns:
            gallon: Amount in gallons.
        """
        return {"gallon": liter * GALLONS_PER_LITER}

    @tool
    def gallon_to_liter(self, gallon: float) -> dict[str, float]:
        """Convert gallons to liters.

        Args:
            gallon: Amount in gallons.

        Returns:
            liter: Amount in liters.
        """
        return {"liter": gallon * LITERS_PER_GALLON}

    @tool
    def estimate_distance(self, cityA: str, cityB: str) -> dict[str, Any]:
        """Estimate the distance between two cities.

        Args:
            cityA: Zip code of the first city.
            cityB: Zip code of the second city.

        Returns:
            distance: Kilometers.
        """
        known = isinstance(cityA, str) and isinstance(cityB, str)
        distance = DISTANCES.get((cityA, cityB)) if known else None
        found: dict[str, Any] = {"distance": distance}
        if distance is None:
            found = {"error": "distance not found in database."}
        if self._filler is not None:
            found["intermediaryCities"] = self._filler["INTERMEDIARY_CITIES"]
        if distance is None:
            raise no_distance(cityA, cityB, found)
        return found

    @tool
    def get_zipcode_based_on_city(self, city: str) -> dict[str, str]:
        """Look up the zip code of a city.

        Args:
            city: Name of the city.

        Returns:
            zipcode: Its zip code; 00000 for a city that is not known.
        """
        zipcode = ZIPCODES.get(city) if isinstance(city, str) else None
        if zipcode is None:
            official = {"zipcode": UNKNOWN_ZIPCODE}
            raise ToolFailure("unknown_city", official, argument="city", value=city, silent=True, known=list(ZIPCODES))
        return {"zipcode": zipcode}

    @tool
    def set_navigation(self, destination: str) -> dict[str, str]:
        """Start navigating to a destination.

        Args:
            destination: Street, city and state.

        Returns:
            status: What the navigation system says.
        """
        self.destination = destination
        return {"status": "Navigating to " + destination}

    @tool
    def check_tire_pressure(self) -> dict[str, Any]:
        """Read the pressure of the four tires.

        Returns:
            The pressure of each tire in psi, healthy_tire_pressure (whether their mean is from 30 to 35 psi) and
            car_info.
        """
        front = self.frontLeftTirePressure + self.frontRightTirePressure
        mean = (front + self.rearLeftTirePressure + self.rearRightTirePressure) / 4
        return {
            "frontLeftTirePressure": self.frontLeftTirePressure,
            "frontRightTirePressure": self.frontRightTirePressure,
            "rearLeftTirePressure": self.rearLeftTirePressure,
            "rearRightTirePressure": self.rearRightTirePressure,
            "healthy_tire_pressure": 30 <= mean <= 35,
            "car_info": {} if self._filler is None else self._filler["CAR_STATUS_METADATA_EXTENSION"],
        }

    @tool
    def find_nearest_tire_shop(self) -> dict[str, str]:
        """Find the nearest shop for tires.

        Returns:
            shopLocation: Its address.
        """
        return {"shopLocation": "456 Oakwood Avenue, Rivermist, 83214"}
