"""Families of VehicleControlAPI: setting off, preparing a trip, and being late for a meeting."""

from __future__ import annotations

from typing import Any

from envtune_gym.domains._vehicle_tables import ALL_UNLOCKED, DISTANCES, ZIPCODES
from envtune_gym.tasks.families.base import Draft, family
from envtune_gym.tasks.families.message_api import workspace
from envtune_gym.tasks.families.phrases import FIRST_NAMES, notes
from envtune_gym.tasks.families.rng import Rng

_DOORS = tuple(ALL_UNLOCKED)
_STREETS = ("Harbour Road", "Linden Avenue", "Mill Lane", "Station Street", "Chapel Hill", "Quarry Way", "Canal Walk")
_STATES = ("Oregon", "Vermont", "Ohio", "Maine", "Utah", "Iowa")
_KNOWN_ZIPCODES = frozenset(ZIPCODES.values())
_CITY_OF_ZIPCODE = {zipcode: city for city, zipcode in ZIPCODES.items()}
_TRIPS = tuple(pair for pair in DISTANCES if set(pair) <= _KNOWN_ZIPCODES)


def _car(rng: Rng) -> dict[str, Any]:
    """Return a parked car with little fuel and at least one unlocked door."""
    unlocked = rng.sample(_DOORS, rng.between(1, 3))
    return {
        "fuelLevel": rng.between(30, 150) / 10,
        "batteryVoltage": rng.between(121, 129) / 10,
        "engineState": "stopped",
        "doorStatus": {door: "unlocked" if door in unlocked else "locked" for door in _DOORS},
        "acTemperature": rng.between(260, 300) / 10,
        "fanSpeed": rng.between(60, 95, 5),
        "humidityLevel": float(rng.between(30, 70)),
        "distanceToNextVehicle": float(rng.between(20, 40)),
        "frontLeftTirePressure": rng.between(281, 349) / 10,
        "frontRightTirePressure": rng.between(281, 349) / 10,
        "rearLeftTirePressure": rng.between(281, 349) / 10,
        "rearRightTirePressure": rng.between(281, 349) / 10,
    }


def _address(rng: Rng) -> str:
    return f"{rng.between(2, 380)} {rng.pick(_STREETS)}, {rng.pick(tuple(ZIPCODES))}, {rng.pick(_STATES)}"


def _ask_navigation(draft: Draft, address: str) -> None:
    """Open a turn that asks for navigation to an address, and start it."""
    draft.ask(
        f"Navigate to {address}.",
        f"Set the navigation to {address}.",
        f"I have to get to {address}. Please start the navigation.",
        vague=("Please start the navigation.", "Set the navigation to my next appointment."),
        answer=(f"The address is {address}.", f"I'm going to {address}."),
        withhold=("set_navigation",),
    )
    draft.call("set_navigation", destination=address)


@family("VehicleControlAPI")
def set_off(draft: Draft) -> None:
    """Refuel, start the engine, set the navigation, switch on cruise control."""
    rng = draft.rng
    liters = rng.between(15, 90)
    speed, distance = rng.between(40, 110, 5), rng.between(45, 150, 5)
    draft.start(VehicleControlAPI=_car(rng))

    draft.ask(
        f"I'm at the pump. Convert {liters} liters to gallons and fill that much fuel into the tank.",
        f"Fill {liters} liters of fuel into the tank; you have to convert them to gallons first.",
        f"Put {liters} liters of fuel in. The tank counts in gallons, so convert the amount before you fill it in.",
        vague=(
            "I'm at the pump. Convert my liters to gallons and fill that much fuel into the tank.",
            "Put some fuel in. I know the amount in liters only, so convert it to gallons first.",
        ),
        answer=(f"{liters} liters.", f"It is {liters} liters."),
        withhold=("fillFuelTank",),
    )
    gallons = draft.call("liter_to_gallon", liter=liters)["gallon"]
    draft.call("fillFuelTank", fuelAmount=gallons)

    draft.ask(
        "Lock all four doors, press the brake all the way down and start the engine.",
        "Get the engine running. All doors must be locked and the brake pedal fully pressed for that.",
        "Please start the car: doors locked, every one of them, foot fully on the brake, then the ignition.",
        withhold=("lockDoors", "pressBrakePedal", "startEngine"),
    )
    draft.call("lockDoors", unlock=False, door=list(_DOORS))
    draft.call("pressBrakePedal", pedalPosition=1)
    draft.call("startEngine", ignitionMode="START")

    _ask_navigation(draft, _address(rng))

    draft.ask(
        f"Activate cruise control at a speed of {speed}, {distance} meters behind the next vehicle.",
        f"Switch cruise control on: speed {speed}, and keep {distance} meters to the car in front.",
        f"Cruise at {speed} from here and keep a distance of {distance} meters to the next vehicle.",
        vague=(f"Switch cruise control on and keep {distance} meters to the car in front.",),
        answer=(f"At a speed of {speed}, with {distance} meters.", f"Speed {speed}, distance {distance} meters."),
        withhold=("setCruiseControl",),
    )
    draft.call("setCruiseControl", speed=speed, activate=True, distanceToNextVehicle=distance)


@family("VehicleControlAPI")
def before_the_trip(draft: Draft) -> None:
    """Estimate a distance, set the climate, have the tires looked after, lights and brake."""
    rng = draft.rng
    start, end = rng.pick(_TRIPS)
    origin, target = _CITY_OF_ZIPCODE[start], _CITY_OF_ZIPCODE[end]
    degrees, fan = rng.between(17, 25), rng.between(10, 55, 5)
    mode = rng.pick(("cool", "heat", "defrost"))
    draft.start(VehicleControlAPI=_car(rng))

    draft.ask(
        f"Look up the zip codes of {origin} and {target} and estimate the distance between them.",
        f"How far is it from {origin} to {target}? You need the zip codes of both for the estimate.",
        f"Estimate the distance from {origin} to {target}; get their zip codes first.",
        vague=(
            "Look up the zip codes for my trip and estimate the distance.",
            "How far do I have to drive tomorrow? You need zip codes for the estimate.",
        ),
        answer=(f"From {origin} to {target}.", f"The trip goes from {origin} to {target}."),
        withhold=("get_zipcode_based_on_city", "estimate_distance"),
    )
    draft.call("get_zipcode_based_on_city", city=origin)
    draft.call("get_zipcode_based_on_city", city=target)
    draft.call("estimate_distance", cityA=start, cityB=end)

    draft.ask(
        f"Set the climate control to {degrees} degrees celsius, mode {mode}, fan speed {fan}.",
        f"I'd like {degrees} degrees celsius in the car. Fan at {fan}, climate mode {mode}.",
        f"Adjust the climate: {mode} mode, a fan speed of {fan} and {degrees} degrees celsius.",
        vague=(
            "Adjust the climate control to my liking.",
            f"Set the climate control to mode {mode} with the fan at {fan}; I want another temperature.",
        ),
        answer=(f"{degrees} degrees celsius, {mode} mode, fan speed {fan}.",),
        withhold=("adjustClimateControl",),
    )
    draft.call("adjustClimateControl", temperature=degrees, unit="celsius", fanSpeed=fan, mode=mode)

    draft.ask(
        "Check the tire pressure, then find the nearest tire shop and navigate there.",
        "Read the tire pressures. Find the nearest tire shop as well and set the navigation to it.",
        "The tires need a look: check their pressure, find the nearest tire shop and take me there by navigation.",
        withhold=("check_tire_pressure", "find_nearest_tire_shop", "set_navigation"),
    )
    draft.call("check_tire_pressure")
    shop = draft.call("find_nearest_tire_shop")["shopLocation"]
    draft.call("set_navigation", destination=shop)

    draft.ask(
        "Switch the headlights on and engage the parking brake.",
        "Headlights on, please, and the parking brake engaged.",
        "Engage the parking brake and turn on the headlights.",
        withhold=("setHeadlights", "activateParkingBrake"),
    )
    draft.call("setHeadlights", mode="on")
    draft.call("activateParkingBrake", mode="engage")


@family("MessageAPI", "VehicleControlAPI")
def running_late(draft: Draft) -> None:
    """Navigate to a meeting, tell a colleague, estimate the distance, tell another."""
    rng = draft.rng
    me, friend, boss, *others = rng.sample(FIRST_NAMES, 6)
    first_text, second_text = notes(rng, 2)
    start, end = rng.pick(_TRIPS)
    draft.start(MessageAPI=workspace(rng, [me, friend, boss, *others]), VehicleControlAPI=_car(rng))

    _ask_navigation(draft, _address(rng))

    draft.ask(
        f"I'll be late. Send {friend} the message '{first_text}'",
        f"Write to {friend} that I have news: '{first_text}' Send exactly that sentence.",
        f"Message {friend}: '{first_text}'",
        vague=("I'll be late. Send somebody a message.", f"Send '{first_text}' to a colleague."),
        answer=(f"To {friend}, and it reads '{first_text}'", f"{friend} should get '{first_text}'"),
        withhold=("get_user_id", "send_message"),
    )
    friend_id = draft.call("get_user_id", user=friend)["user_id"]
    draft.call("send_message", receiver_id=friend_id, message=first_text)

    draft.ask(
        f"Estimate the distance between the zip codes {start} and {end}.",
        f"How far is it from zip code {start} to zip code {end}?",
        f"I need an estimate of the distance from {start} to {end}; these are zip codes.",
        vague=("Estimate the distance between two zip codes.",),
        answer=(f"{start} and {end}.", f"From {start} to {end}."),
        withhold=("estimate_distance",),
    )
    draft.call("estimate_distance", cityA=start, cityB=end)

    draft.ask(
        f"Send {boss} a message too: '{second_text}'",
        f"{boss} should also hear from me: '{second_text}'",
        f"Tell {boss} '{second_text}'",
        vague=("Send another colleague a message too.",),
        answer=(f"To {boss}: '{second_text}'", f"{boss}, with the text '{second_text}'"),
    )
    boss_id = draft.call("get_user_id", user=boss)["user_id"]
    draft.call("send_message", receiver_id=boss_id, message=second_text)
