"""Hints for VehicleControlAPI."""

from __future__ import annotations

from envtune_gym.feedback.rules import HintRule

__all__ = ["RULES"]

_STOPPED = "The engine is stopped now. What the result complains about matters only for starting it."
_NO_REPEAT = ("Do not repeat the call; go on with what was asked.",)


def _stopped(code: str) -> HintRule:
    """Return the rule for a complaint about starting when the engine was to be stopped, and was."""
    return HintRule(
        code=code,
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error=_STOPPED,
        actionable=_NO_REPEAT,
        when={"mode": "STOP"},
    )


RULES = (
    *map(_stopped, ("doors_unlocked", "brake_not_pressed", "brake_not_fully_pressed", "fuel_empty")),
    HintRule(
        code="doors_unlocked",
        category="state_prerequisite",
        augmentation="suggest_prerequisite",
        error="The engine starts only when all doors are locked, and {unlocked_doors} are not.",
        actionable=(
            "Lock the doors that are still unlocked with `lockDoors`; then start the engine again.",
            "Lock the doors that are still unlocked; then start the engine again.",
        ),
    ),
    HintRule(
        code="brake_not_pressed",
        category="state_prerequisite",
        augmentation="suggest_prerequisite",
        error="The engine starts only while the brake pedal is pressed, and it is released.",
        actionable=(
            "Press the pedal fully with `pressBrakePedal`; then start the engine again.",
            "Press the brake pedal fully; then start the engine again.",
        ),
    ),
    HintRule(
        code="brake_not_fully_pressed",
        category="state_prerequisite",
        augmentation="suggest_prerequisite",
        error="The engine starts only while the brake pedal is pressed all the way, and it is pressed in part.",
        actionable=(
            "Press the pedal all the way with `pressBrakePedal`; then start the engine again.",
            "Press the brake pedal all the way; then start the engine again.",
        ),
    ),
    HintRule(
        code="fuel_empty",
        category="state_prerequisite",
        augmentation="suggest_prerequisite",
        error="The amount of fuel in the tank is below nothing, and the engine starts only when it is not.",
        actionable=(
            "Add fuel with `fillFuelTank`; then start the engine again.",
            "Add fuel; then start the engine again.",
        ),
        tool="startEngine",
    ),
    HintRule(
        code="fuel_empty",
        category="state_prerequisite",
        augmentation="clarify_constraint",
        error="With {value} added the tank would still be below empty.",
        actionable=(
            "Read the fuel level with `displayCarStatus`, and add enough to come above empty.",
            "Add enough to come above empty.",
        ),
    ),
    HintRule(
        code="stopped_as_error",
        category="format_mismatch",
        augmentation="clarify_constraint",
        error="The engine is stopped now. The tool reports an error although stopping has worked.",
        actionable=_NO_REPEAT,
    ),
    HintRule(
        code="invalid_ignition_mode",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not an ignition mode. The modes are the two that the documentation lists, in capitals.",
        actionable=("Use the documented mode for what was asked.",),
    ),
    HintRule(
        code="negative_fuel_amount",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is a negative amount. Fuel can be added, never taken out.",
        actionable=("Give the amount to add to what is in the tank.",),
    ),
    HintRule(
        code="tank_overflow",
        category="parameter_constraint",
        augmentation="explain_dependency",
        error="{value} gallons and what is in the tank are together more than the tank holds. The amount is what is "
        "added, not the level to reach.",
        actionable=(
            "Read the fuel level with `displayCarStatus`, and add at most what is missing; amounts in litres are "
            "converted first with `liter_to_gallon`.",
            "Read the fuel level with `displayCarStatus`, and add at most what is missing.",
            "Add at most what is missing, in gallons.",
        ),
    ),
    HintRule(
        code="unknown_door",
        category="parameter_constraint",
        augmentation="correct_format",
        error="{door}, in {argument}, is not a door of this car. Doors listed before it have been dealt with, those "
        "after it have not.",
        actionable=(
            "See how the doors are named with `displayCarStatus`; then go on with the doors that are left.",
            "Name the doors as the documentation does, and go on with those that are left.",
        ),
    ),
    HintRule(
        code="invalid_fan_speed",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a fan speed. It is a percentage of full speed. Nothing was adjusted.",
        actionable=("Give all settings again, with a fan speed in the documented range.",),
    ),
    HintRule(
        code="service_unavailable",
        category="resource_unavailable",
        augmentation="suggest_prerequisite",
        error="This service does not answer, whatever it is asked; trying again does not help.",
        actionable=(
            "Ask the other source instead: `get_outside_temperature_from_google`.",
            "Tell the user that the service is out of reach.",
        ),
    ),
    HintRule(
        code="invalid_headlight_mode",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a mode of the headlights. The documentation lists the modes, in lower case.",
        actionable=("Use the documented mode for what was asked.",),
    ),
    HintRule(
        code="invalid_option",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a part of the car that can be shown. The documentation lists the parts, letter for "
        "letter, and one call shows one part.",
        actionable=("Make one call for each part that you need, with its documented name.",),
    ),
    HintRule(
        code="invalid_parking_brake_mode",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a mode of the parking brake. The documentation lists the modes, which are verbs.",
        actionable=("Use the documented mode for what was asked.",),
    ),
    HintRule(
        code="invalid_pedal_position",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a position of the pedal. The position is a fraction of the way down, not a percentage.",
        actionable=("Give the fraction that was asked for.",),
    ),
    HintRule(
        code="engine_not_running",
        category="dependency_missing",
        augmentation="suggest_prerequisite",
        error="Cruise control works only while the engine is running, and the engine is stopped.",
        actionable=(
            "Start the engine first with `startEngine`, which has conditions of its own; then set it again.",
            "Start the engine first; then set it again.",
        ),
    ),
    HintRule(
        code="invalid_speed",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="Cruise control cannot hold a speed of {value}. The documentation says in what range and steps it works.",
        actionable=("Give a speed that it can hold, and tell the user if that is not what was asked for.",),
    ),
    HintRule(
        code="unknown_zipcode",
        category="format_mismatch",
        augmentation="correct_format",
        error="{value}, given as {argument}, is the name of a city. Distances are looked up by zip code.",
        actionable=(
            "Look up the zip codes of both cities first with `get_zipcode_based_on_city`.",
            "Give the zip codes of both cities, not their names.",
        ),
        when={"is_city_name": True},
    ),
    HintRule(
        code="unknown_zipcode",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value}, given as {argument}, is not a zip code for which distances are known. Both cities are given "
        "by zip code, as a string.",
        actionable=(
            "Look up the zip codes of both cities with `get_zipcode_based_on_city`.",
            "Give the zip codes of both cities.",
        ),
    ),
    HintRule(
        code="no_distance",
        category="resource_unavailable",
        augmentation="clarify_constraint",
        error="Both zip codes are known, but not the distance from {cityA} to {value}, in either direction.",
        actionable=(
            "Check that these are the right zip codes with `get_zipcode_based_on_city`; if they are, tell the user.",
            "Check that these are the right zip codes; if they are, tell the user.",
        ),
    ),
    HintRule(
        code="unknown_city",
        category="parameter_constraint",
        augmentation="clarify_constraint",
        error="{value} is not a city that this tool knows; the zip code in the result stands for none. Cities are "
        "matched letter for letter.",
        actionable=("Give the bare name of the city, without state or country.",),
    ),
)
