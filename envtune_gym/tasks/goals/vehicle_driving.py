"""Goals of VehicleControlAPI on the road: climate, the temperature outside, speed and cruise control."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.plan import Plan, Unfit
from envtune_gym.tasks.goals.vehicle_car import MODES, Car


@goal("VehicleControlAPI", weight=1.5)
def set_the_climate(plan: Plan) -> None:
    """Ask for a temperature, a mode and a fan speed."""
    rng = plan.rng
    if plan.lately_called("adjustClimateControl", steps=1):
        raise Unfit("just set")
    unit, degrees = rng.pick(
        (("celsius", rng.between(16, 25) + 0.5), ("celsius", rng.between(17, 25)), ("fahrenheit", rng.between(62, 80)))
    )
    mode, fan = rng.pick(MODES), rng.between(10, 55, 5)
    plan.ask(
        "[Set|Please set] the climate control to {degrees} degrees {unit}, mode {mode}, [with the fan|fan speed] at "
        "{fan}.",
        "[I'm not comfortable|The air in here is bad|The kids are complaining]. "
        "[I'd like|Give me|Make it] {degrees} "
        "degrees {unit} in {mode} mode with a fan speed of {fan}.",
        "[Could|Can|Would] you [adjust|change] the climate control[ for me|]? {mode_first} mode, {degrees} degrees "
        "{unit}, fan speed {fan}.",
        vague=(
            "[Set|Please set|Adjust] the climate control [to my liking|the way I like it].",
            "[I'm not comfortable|The air in here is bad|The kids are complaining]. [Please change|Change] the climate "
            "control.",
        ),
        answer=(
            "[I'd like|Make it|Set it to] {degrees} degrees {unit}, {mode} mode, fan speed {fan}.",
            "{mode_first} mode[, please|], with {degrees} degrees {unit} and the fan at {fan}.",
        ),
        withhold=("adjustClimateControl",),
        degrees=degrees,
        unit=unit.capitalize(),
        mode=mode,
        mode_first=mode.capitalize(),
        fan=fan,
    )
    plan.call("adjustClimateControl", temperature=degrees, unit=unit, fanSpeed=fan, mode=mode)
    plan.book(Car).shown.add("climate")


@goal("VehicleControlAPI", once=True, weight=0.7)
def temperature_outside(plan: Plan) -> None:
    """Ask how warm it is outside."""
    plan.ask(
        "[How warm is it outside|How cold is it out there|What's the temperature outside]? "
        "[Ask Google|Look it up on Google|Google knows it].",
        "[Look up|Check|Find|Find out] the outside temperature on Google[ for me|, please|].",
        "[I can't decide on a jacket|I wonder whether the road is icy|We'd like to eat outdoors]. "
        "[What does Google say about the outside temperature?|Check Google for the outside temperature.]",
    )
    value = plan.call("get_outside_temperature_from_google")["outsideTemperature"]
    plan.give("figure", "the outside temperature", ("that temperature",), value=value)
    if 8 < value < 30:  # nobody wants it colder or warmer in a car
        plan.give("outside temperature", "the outside temperature that Google gave", ("that temperature",), value=value)


@goal("VehicleControlAPI", needs=("outside temperature",), weight=3.0)
def climate_as_outside(plan: Plan) -> None:
    """Ask to have it as warm inside as outside."""
    if plan.lately_called("adjustClimateControl", steps=1):
        raise Unfit("just set")
    rng = plan.rng
    outside = plan.take("outside temperature")
    mode, fan = rng.pick(MODES), rng.between(10, 55, 5)
    plan.ask(
        "[Set|Please set] the climate control to exactly {outside}, in degrees Celsius, mode {mode}, fan speed {fan}.",
        "[I want it in here|Make it] as warm as outside: [take|use] {outside}, unrounded and in Celsius, "
        "for the climate "
        "control, with {mode} mode and the fan at {fan}.",
        "[Could|Can] you set the climate control to {outside} [as you read it|without rounding it], in degrees "
        "Celsius, "
        "in {mode} mode with fan speed {fan}?",
        withhold=("adjustClimateControl",),
        outside=outside,
        mode=mode,
        fan=fan,
    )
    plan.call("adjustClimateControl", temperature=outside["value"], unit="celsius", fanSpeed=fan, mode=mode)
    plan.book(Car).shown.add("climate")
    plan.drop(outside)


@goal("VehicleControlAPI", needs=("running engine",), once=True, weight=0.7)
def read_the_speedometer(plan: Plan) -> None:
    """Ask how fast the car goes."""
    if plan.book(Car).parked or plan.book(Car).pedal > 0:
        raise Unfit("the car stands")
    plan.take("running engine")
    plan.ask(
        "[How fast am I going|How fast are we going|What's my speed|What does the speedometer say][ right now|, at "
        "this moment|]?",
        "[Tell me|Read me|Give me] [the current speed|what the speedometer shows][, please|].",
        "[There's a speed limit here|I think I saw a camera|The sign said to slow down]. "
        "[What is our current speed|How fast are we]?",
        withhold=("get_current_speed",),
    )
    value = plan.call("get_current_speed")["currentSpeed"]
    plan.give("figure", "the speed on the speedometer", ("that speed",), value=value)


@goal("VehicleControlAPI", needs=("running engine",), weight=3.0)
def switch_cruise_on(plan: Plan) -> None:
    """Ask for cruise control at a speed and a distance."""
    rng, state = plan.rng, plan.book(Car)
    if (
        plan.has("cruise")
        or state.parked
        or state.pedal > 0
        or state.unlocked
        or plan.lately_called("setCruiseControl")
    ):
        raise Unfit("on already, or the car stands")
    plan.take("running engine")
    speed, distance = rng.between(40, 115, 5), rng.between(45, 150)
    plan.ask(
        "[Activate|Switch on|Turn on] cruise control at [a speed of |]{speed}, {distance} meters behind the next "
        "vehicle.",
        "[The road is clear|We're on the motorway now|My foot is getting tired]. Switch cruise control on: speed "
        "{speed}, and "
        "keep {distance} meters to the [car|vehicle] in front.",
        "[Could|Can] you [cruise|hold the car] at {speed} from here and keep a distance of {distance} "
        "meters to the next vehicle? "
        "[Use cruise control for that|Cruise control can do that].",
        vague=(
            "[Activate|Switch on|Turn on|Please turn on] cruise control[ for me|].",
            "[The road is clear|We're on the motorway now|My foot is getting tired][. Switch|, so switch] cruise "
            "control on.",
        ),
        answer=(
            "[At a speed of|Speed] {speed}, [with|and keep] {distance} meters to the next vehicle.",
            "[Hold|Go] {speed}[, please|], and the distance to the next vehicle [is|should be] {distance} meters.",
        ),
        withhold=("setCruiseControl",),
        speed=speed,
        distance=distance,
    )
    plan.call("setCruiseControl", speed=speed, activate=True, distanceToNextVehicle=distance)
    plan.give("cruise", "cruise control", speed=speed, distance=distance)


@goal("VehicleControlAPI", needs=("cruise",), weight=2.0)
def change_cruise_speed(plan: Plan) -> None:
    """Ask for another speed at the distance that was set before."""
    if plan.lately_called("setCruiseControl", steps=1):
        raise Unfit("just set")
    cruise = plan.take("cruise")
    speed = plan.rng.pick([speed for speed in range(30, 121, 5) if speed != cruise["speed"]])
    plan.ask(
        "[Change|Adjust|Please change] the cruise control speed to "
        "{speed}[; the distance to the next vehicle stays as it is| at the "
        "same distance to the next vehicle].",
        "[The limit is different here|The traffic has changed|I saw a new sign]. [Cruise at|Set cruise control to] "
        "{speed} and leave the "
        "distance to the vehicle in front [unchanged|as it was].",
        "[Could|Can] you set cruise control to {speed} [instead|now], with the distance to the next vehicle as before?",
        vague=(
            "[Change|Adjust|Please change] the cruise control speed; the distance to the next vehicle stays as it is.",
            "[The limit is different here|I saw a new sign]. Set cruise control to [the new speed|that], at the same "
            "distance.",
        ),
        answer=("[It should be|Make it|The new speed is] {speed}.", "{speed}[, please|], at the same distance."),
        withhold=("setCruiseControl",),
        speed=speed,
    )
    plan.call("setCruiseControl", speed=speed, activate=True, distanceToNextVehicle=cruise["distance"])
    cruise["speed"] = speed


@goal("VehicleControlAPI", needs=("cruise",), weight=2.0)
def switch_cruise_off(plan: Plan) -> None:
    """Ask to switch cruise control off, its settings left alone."""
    if plan.lately_called("setCruiseControl", steps=1):
        raise Unfit("just set")
    cruise = plan.take("cruise")
    plan.ask(
        "[Switch|Turn|Please turn] cruise control off[ again|], but [leave|keep] its speed and distance "
        "as they are[ set|].",
        "[I'd rather drive myself|Our exit is coming up|There's a traffic jam ahead]. [Deactivate|Switch off] cruise "
        "control with the same "
        "speed and distance as [before|you set them last].",
        "[Could|Can] you [deactivate|switch off] cruise control? [Speed and distance stay|Leave speed and distance] as "
        "they are.",
        withhold=("setCruiseControl",),
    )
    plan.call("setCruiseControl", speed=cruise["speed"], activate=False, distanceToNextVehicle=cruise["distance"])
    plan.drop(cruise)
