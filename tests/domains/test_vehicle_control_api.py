import copy

import pytest

from envtune_gym.domains.base import ToolFailure
from envtune_gym.domains.vehicle_control_api import VehicleControlAPI
from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

LOCKED = dict.fromkeys(("driver", "passenger", "rear_left", "rear_right"), "locked")
READY = {"doorStatus": LOCKED, "brakePedalStatus": "pressed", "brakePedalForce": 1000.0, "fuelLevel": 10.0}
RUNNING = {"engineState": "running"}
FILLER = {
    "CAR_STATUS_METADATA_EXTENSION": "Model: A6",
    "LONG_WEATHER_EXTENSION": {"-1_day": {"humidity": 75.0}},
    "PARKING_BRAKE_INSTRUCTION": "Pull it.",
    "INTERMEDIARY_CITIES": ["Madison"],
}


def failure(domain, name, /, **arguments):
    with pytest.raises(ToolFailure) as caught:
        domain.tools[name].function(domain, **arguments)
    return caught.value


def test_there_are_22_tools_and_defaults_are_in_the_schema():
    assert len(VehicleControlAPI.tools) == 22
    climate = VehicleControlAPI.tools["adjustClimateControl"].schema["function"]["parameters"]
    assert climate["required"] == ["temperature"]
    assert [(p["type"], p.get("default")) for p in climate["properties"].values()] == [
        ("number", None),
        ("string", "celsius"),
        ("integer", 50),
        ("string", "auto"),
    ]
    doors = VehicleControlAPI.tools["lockDoors"].schema["function"]["parameters"]["properties"]["door"]
    assert (doors["type"], doors["items"]) == ("array", {"type": "string"})


def test_an_empty_configuration_has_the_official_defaults():
    assert VehicleControlAPI({}).state() == {
        "fuelLevel": 0.0,
        "batteryVoltage": 12.6,
        "engine_state": "stopped",
        "remainingUnlockedDoors": 4,
        "doorStatus": dict.fromkeys(LOCKED, "unlocked"),
        "acTemperature": 25.0,
        "fanSpeed": 50,
        "acMode": "auto",
        "humidityLevel": 50.0,
        "headLightStatus": "off",
        "parkingBrakeStatus": "released",
        "brakePedalStatus": "released",
        "distanceToNextVehicle": 50.0,
        "cruiseStatus": "inactive",
        "destination": "None",
        "frontLeftTirePressure": 32.0,
        "frontRightTirePressure": 32.0,
        "rearLeftTirePressure": 30.0,
        "rearRightTirePressure": 30.0,
        "long_context": False,
    }


def test_unlocked_doors_are_counted_whatever_the_configuration_claims():
    doors = {**LOCKED, "driver": "unlocked"}
    assert VehicleControlAPI({"doorStatus": doors, "remainingUnlockedDoors": 3}).remainingUnlockedDoors == 1


def test_a_car_is_started_by_locking_braking_and_turning_the_key():
    car = VehicleControlAPI({"fuelLevel": 10.0})
    assert car.lockDoors(False, ["driver", "driver"]) == {"lockStatus": "locked", "remainingUnlockedDoors": 3}
    assert car.lockDoors(False, list(LOCKED)) == {"lockStatus": "locked", "remainingUnlockedDoors": 0}
    assert car.pressBrakePedal(1.0) == {"brakePedalStatus": "pressed", "brakePedalForce": 1000.0}
    assert car.startEngine("START") == {"engineState": "running", "fuelLevel": 10.0, "batteryVoltage": 12.6}
    assert car.displayCarStatus("engine") == {"engineState": "running"}
    assert car.setCruiseControl(65, True, 100) == {
        "cruiseStatus": "active",
        "currentSpeed": 65.0,
        "distanceToNextVehicle": 100.0,
    }
    assert car.lockDoors(True, ["rear_left"]) == {"lockStatus": "unlocked", "remainingUnlockedDoors": 1}


@pytest.mark.parametrize(
    ("changes", "mode", "text", "code", "details"),
    [
        (
            {"doorStatus": {**LOCKED, "driver": "unlocked", "rear_left": "unlocked"}},
            "START",
            "All doors must be locked before starting the engine. Here are the unlocked doors: driver, rear_left",
            "doors_unlocked",
            {"mode": "START", "unlocked_doors": ["driver", "rear_left"]},
        ),
        (
            {"brakePedalStatus": "released"},
            "START",
            "Brake pedal needs to be pressed when starting the engine.",
            "brake_not_pressed",
            {"mode": "START"},
        ),
        (
            {"brakePedalForce": 500.0},
            "STOP",
            "Must press the brake fully before starting the engine.",
            "brake_not_fully_pressed",
            {"mode": "STOP", "pedal_position": 0.5},
        ),
        ({"fuelLevel": -1.0}, "START", "Fuel tank is empty.", "fuel_empty", {"mode": "START", "fuel_level": -1.0}),
        ({}, "ON", "Invalid ignition mode.", "invalid_ignition_mode", {}),
        ({}, "STOP", "Invalid ignition mode.", "stopped_as_error", {}),
    ],
)
def test_an_engine_that_does_not_start_says_what_is_missing(changes, mode, text, code, details):
    car = VehicleControlAPI({**READY, **RUNNING, **changes})
    error = failure(car, "startEngine", ignitionMode=mode)
    assert (error.official, error.code, error.details) == ({"error": text}, code, details)
    assert car.engine_state == ("stopped" if mode == "STOP" else "running")


@pytest.mark.parametrize(
    ("name", "arguments", "text", "code", "argument"),
    [
        ("fillFuelTank", {"fuelAmount": -1}, "Fuel amount cannot be negative.", "negative_fuel_amount", "fuelAmount"),
        (
            "fillFuelTank",
            {"fuelAmount": 40.5},
            "Cannot fill gas above the tank capacity.",
            "tank_overflow",
            "fuelAmount",
        ),
        (
            "adjustClimateControl",
            {"temperature": 1, "fanSpeed": 101},
            "Fan speed must be between 0 and 100.",
            "invalid_fan_speed",
            "fanSpeed",
        ),
        ("setHeadlights", {"mode": "dim"}, "Invalid headlight mode.", "invalid_headlight_mode", "mode"),
        ("displayCarStatus", {"option": ["fuel"]}, "Invalid option", "invalid_option", "option"),
        ("activateParkingBrake", {"mode": "on"}, "Invalid mode", "invalid_parking_brake_mode", "mode"),
        (
            "pressBrakePedal",
            {"pedalPosition": 1.1},
            "Pedal position must be between 0 and 1.",
            "invalid_pedal_position",
            "pedalPosition",
        ),
        (
            "estimate_distance",
            {"cityA": "83214", "cityB": "56108"},
            "distance not found in database.",
            "no_distance",
            "cityB",
        ),
        (
            "estimate_distance",
            {"cityA": "Rivermist", "cityB": "56108"},
            "distance not found in database.",
            "unknown_zipcode",
            "cityA",
        ),
        ("get_outside_temperature_from_weather_com", {}, 404, "service_unavailable", None),
    ],
)
def test_refusals_have_the_official_text_and_name_the_argument(name, arguments, text, code, argument):
    car = VehicleControlAPI(READY)
    error = failure(car, name, **arguments)
    assert (error.official, error.code) == ({"error": text}, code)
    assert (error.argument, error.value) == (argument, arguments.get(argument))
    assert car.same_state(VehicleControlAPI(READY))


def test_filling_a_tank_that_stays_below_empty_is_refused():
    error = failure(VehicleControlAPI({"fuelLevel": -5.0}), "fillFuelTank", fuelAmount=2)
    assert error.official == {"error": "Fuel tank is empty. Min fuel level is 0 gallons."}
    assert (error.code, error.details) == ("fuel_empty", {"fuel_level": -5.0, "tank_capacity": 50})


def test_cruise_control_needs_a_running_engine():
    error = failure(VehicleControlAPI({}), "setCruiseControl", speed=60, activate=True, distanceToNextVehicle=10)
    assert error.official == {"error": "Start the engine before activating the cruise control."}
    assert (error.code, error.argument) == ("engine_not_running", None)


@pytest.mark.parametrize("speed", [63, -5, 125])
def test_a_speed_that_cannot_be_held_still_sets_the_distance(speed):
    car = VehicleControlAPI(RUNNING)
    error = failure(car, "setCruiseControl", speed=speed, activate=True, distanceToNextVehicle=10)
    assert (error.official, error.code, error.value) == ({"error": "Invalid speed"}, "invalid_speed", speed)
    assert (car.cruiseStatus, car.distanceToNextVehicle) == ("inactive", 10.0)


def test_an_unknown_door_fails_after_the_doors_before_it():
    car = VehicleControlAPI({})
    error = failure(car, "lockDoors", unlock=False, door=["driver", "hood", "passenger"])
    assert isinstance(error.official, KeyError)
    assert (str(error.official), error.code, error.argument) == ("'hood'", "unknown_door", "door")
    assert error.details == {"door": "hood", "known": list(LOCKED)}
    assert (car.doorStatus["driver"], car.doorStatus["passenger"]) == ("locked", "unlocked")


def test_climate_is_kept_in_celsius_and_reported_as_given():
    car = VehicleControlAPI({})
    result = car.adjustClimateControl(68, "fahrenheit", 30, "cool")
    assert result == {"currentACTemperature": 68, "climateMode": "cool", "humidityLevel": 50.0}
    assert car.displayCarStatus("climate") == {
        "currentACTemperature": 20.0,
        "fanSpeed": 30,
        "climateMode": "cool",
        "humidityLevel": 50.0,
    }


def test_brakes_and_lights():
    car = VehicleControlAPI({})
    assert car.activateParkingBrake("engage")["_parkingBrakeForce"] == 500.0
    assert car.displayCarStatus("parkingBrake") == {
        "parkingBrakeStatus": "engaged",
        "parkingBrakeForce": 500.0,
        "slopeAngle": 10.0,
    }
    assert car.activateParkingBrake("release") == {
        "parkingBrakeStatus": "released",
        "_parkingBrakeForce": 0.0,
        "_slopeAngle": 10.0,
    }
    car.pressBrakePedal(0.5)
    assert car.displayCarStatus("brakePedal") == {"brakePedalStatus": "pressed", "brakePedalForce": 500.0}
    assert car.pressBrakePedal(0) == car.releaseBrakePedal() == {"brakePedalStatus": "released", "brakePedalForce": 0.0}
    assert (car.setHeadlights("on"), car.setHeadlights("auto")) == (
        {"headlightStatus": "on"},
        {"headlightStatus": "off"},
    )


@pytest.mark.parametrize(
    ("pressures", "healthy"),
    [((30, 30, 30, 30), True), ((35, 35, 35, 35.1), False), ((20, 40, 20, 40), True), ((29, 29, 29, 30), False)],
)
def test_tires_are_healthy_by_their_mean_pressure(pressures, healthy):
    names = ("frontLeftTirePressure", "frontRightTirePressure", "rearLeftTirePressure", "rearRightTirePressure")
    readings = dict(zip(names, pressures, strict=True))
    assert VehicleControlAPI(readings).check_tire_pressure() == {
        **readings,
        "healthy_tire_pressure": healthy,
        "car_info": {},
    }


def test_trips_are_estimated_from_zip_codes_and_fuel():
    car = VehicleControlAPI({"fuelLevel": 10.0})
    assert car.get_zipcode_based_on_city("San Francisco") == {"zipcode": "94016"}
    assert car.estimate_distance("94016", "83214") == car.estimate_distance("83214", "94016") == {"distance": 980.0}
    assert car.estimate_drive_feasibility_by_mileage(200) == {"canDrive": True}
    assert car.estimate_drive_feasibility_by_mileage(200.5) == {"canDrive": False}
    assert (car.gallon_to_liter(2), car.liter_to_gallon(2)) == ({"liter": 7.57082}, {"gallon": 0.528344})
    assert car.set_navigation("1 Elm St, Rome, GA") == {"status": "Navigating to 1 Elm St, Rome, GA"}
    assert car.destination == "1 Elm St, Rome, GA"


def test_an_unknown_city_is_a_silent_mistake():
    error = failure(VehicleControlAPI({}), "get_zipcode_based_on_city", city="Atlantis")
    assert (error.silent, error.official, error.code) == (True, {"zipcode": "00000"}, "unknown_city")


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("fillFuelTank", {"fuelAmount": "5"}, "'<' not supported between instances of 'str' and 'int'"),
        ("set_navigation", {"destination": 5}, 'can only concatenate str (not "int") to str'),
        ("liter_to_gallon", {"liter": "5"}, "can't multiply sequence by non-int of type 'float'"),
        ("lockDoors", {"unlock": False, "door": 3}, "'int' object is not iterable"),
        (
            "setCruiseControl",
            {"speed": "fast", "activate": True, "distanceToNextVehicle": 1},
            "could not convert string to float: 'fast'",
        ),
        ("startEngine", {}, "VehicleControlAPI.startEngine() missing 1 required positional argument: 'ignitionMode'"),
    ],
)
def test_ill_typed_arguments_get_pythons_own_words(name, arguments, text):
    car = VehicleControlAPI({})
    with pytest.raises((TypeError, ValueError)) as caught:
        car.tools[name].function(car, **arguments)
    assert str(caught.value) == text


def test_readings_come_from_the_seed_in_the_order_of_the_calls():
    car = VehicleControlAPI({})
    speed, temperature = car.get_current_speed(), car.get_outside_temperature_from_google()
    assert speed == {"currentSpeed": 111.92365689097284}
    assert temperature == {"outsideTemperature": 31.29968928699752}


def test_long_context_puts_the_filler_itself_into_results_and_never_changes_it():
    filler = copy.deepcopy(FILLER)
    car = VehicleControlAPI({}, filler)
    assert car.long_context is True
    assert car.displayCarStatus("fuel") == {"metadata": "Model: A6", "fuelLevel": 0.0}
    assert failure(car, "displayCarStatus", option="x").official == {"metadata": "Model: A6", "error": "Invalid option"}
    assert next(iter(car.activateParkingBrake("engage"))) == "parkingBrakeInstruction"
    assert car.check_tire_pressure()["car_info"] == "Model: A6"
    cities = car.fork().estimate_distance("83214", "74532")["intermediaryCities"]
    assert cities is filler["INTERMEDIARY_CITIES"]
    assert list(failure(car, "estimate_distance", cityA="1", cityB="2").official) == ["error", "intermediaryCities"]
    assert list(car.get_outside_temperature_from_google()) == ["-1_day", "outsideTemperature"]
    assert filler == FILLER


def test_a_fork_goes_its_own_way_with_the_same_random_numbers():
    config = copy.deepcopy(READY)
    car = VehicleControlAPI(config)
    car.get_current_speed()
    fork = car.fork()
    assert fork.same_state(car)
    fork.lockDoors(True, ["driver"])
    assert not fork.same_state(car)
    assert (car.doorStatus["driver"], config) == ("locked", READY)
    assert fork.get_current_speed() == car.get_current_speed()


class TestSuites(DomainSuite, TaskSuite, HintSuite):
    domain = "VehicleControlAPI"
    configs = (READY, {})
    failing_changes = frozenset({"lockDoors", "setCruiseControl", "set_navigation"})  # as officially
