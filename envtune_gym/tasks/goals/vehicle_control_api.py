"""Goals of VehicleControlAPI about the car itself: engine, brakes, doors, lights and what the car reports.

Climate and cruise control are in `vehicle_driving`, fuel is in `vehicle_fuel`, trips and tires are in `vehicle_trips`.
"""

from __future__ import annotations

from typing import Any

from envtune_gym.tasks.goals import vehicle_driving, vehicle_fuel, vehicle_trips
from envtune_gym.tasks.goals.base import goal, scenario
from envtune_gym.tasks.goals.plan import Plan, Unfit
from envtune_gym.tasks.goals.vehicle_car import DOORS, MODES, PARTS, Car, list_words

__all__ = ["vehicle_driving", "vehicle_fuel", "vehicle_trips"]

_DARK = "[It's getting dark|There's fog ahead|A tunnel is coming up|I can hardly see the road]"
_BRIGHT = "[The sun is up|The fog has lifted|We're out of the tunnel|It's bright enough now]"


@scenario("VehicleControlAPI")
def car(plan: Plan) -> dict[str, Any]:
    """A car that stands with its doors unlocked, or one that is on its way."""
    rng = plan.rng
    running = rng.chance(0.4)
    unlocked = [] if running else rng.sample(tuple(DOORS), rng.between(1, 4))
    parked, lights = not running and rng.chance(0.7), rng.chance(0.3)
    tires = [rng.between(*rng.pick(((262, 298), (301, 349)))) / 10 for _ in range(4)]
    fuel = rng.between(30, 190) / 10
    plan.keep(
        Car(
            fuel=fuel,
            unlocked=[door for door in DOORS if door in unlocked],
            running=running,
            pedal=0.0,
            parked=parked,
            lights=lights,
        )
    )
    if running:
        plan.give("running engine", "the engine")
    return {
        "random_seed": rng.between(1, 999_999),
        "fuelLevel": fuel,
        "batteryVoltage": rng.between(121, 129) / 10,
        "engineState": "running" if running else "stopped",
        "doorStatus": {door: "unlocked" if door in unlocked else "locked" for door in DOORS},
        "acTemperature": rng.between(260, 300) / 10,
        "fanSpeed": rng.between(60, 95, 5),
        "acMode": rng.pick(MODES),
        "humidityLevel": rng.between(301, 699) / 10,
        "headLightStatus": "on" if lights else "off",
        "parkingBrakeStatus": "engaged" if parked else "released",
        "parkingBrakeForce": 500.0 if parked else 0.0,
        "slopeAngle": float(rng.between(0, 8)),
        "brakePedalStatus": "released",
        "brakePedalForce": 0.0,
        "distanceToNextVehicle": float(rng.between(20, 40)),
        "cruiseStatus": "inactive",
        "destination": "None",
        "frontLeftTirePressure": tires[0],
        "frontRightTirePressure": tires[1],
        "rearLeftTirePressure": tires[2],
        "rearRightTirePressure": tires[3],
    }


@goal("VehicleControlAPI", weight=1.4)
def start_the_engine(plan: Plan) -> None:
    """Ask for a running engine; doors that are open and the pedal come first."""
    state = plan.book(Car)
    if state.running:
        raise Unfit("runs already")
    locking = ["lock all four doors"] if state.unlocked else []
    plan.ask(
        "[Start the engine|Get the engine running|Start the car][ for me|], [please, |]"
        "and [do whatever it takes beforehand|take care of everything that has to be done first].",
        "[It's time to go|We're ready to leave|Everybody is in]: {prepare} and then "
        "[start the engine|turn the ignition on|get the engine running].",
        "[Could you|Can you|Would you] {prepare} and [then|after that] start the [engine|car]?",
        "[I want|I'd like] the engine running. [Before you start it|Before that], {prepare}[, please|].",
        withhold=("startEngine", "pressBrakePedal", *(["lockDoors"] if locking else ())),
        prepare=" and ".join([*locking, "press the brake pedal all the way down"]),
    )
    if locking:
        plan.call("lockDoors", unlock=False, door=list(DOORS))
    plan.call("pressBrakePedal", pedalPosition=1.0)
    result = plan.call("startEngine", ignitionMode="START")
    state.unlocked, state.running, state.pedal = [], True, 1.0
    if "battery" not in state.shown:
        plan.give("figure", "the battery voltage", ("that voltage",), value=result["batteryVoltage"])
    state.shown |= {"fuel", "battery", "doors", "engine", "brakePedal"}
    plan.give("running engine", "the engine")
    plan.give("pressed pedal", "the brake pedal")


@goal("VehicleControlAPI", needs=("pressed pedal",), once=True, weight=3.0)
def drive_off(plan: Plan) -> None:
    """Ask to let the brakes go after a start."""
    state = plan.book(Car)
    if plan.lately_called("activateParkingBrake"):
        raise Unfit("just set")
    plan.take("pressed pedal")
    plan.ask(
        *(
            (
                "[We can roll|Off we go|Let's go|Everyone is ready]: release the parking brake and "
                "[take your foot off|let go of] "
                "the brake pedal.",
                "[Release|Let go of|Please release] [the parking brake and the brake pedal|both the brake pedal and "
                "the parking brake].",
                "[Could you|Can you|Would you] release the parking brake and [then |]the brake "
                "pedal[, so that we can pull out|]?",
            )
            if state.parked
            else (
                "[We can roll|Off we go|Let's go|Everyone is ready]: [take your foot off|let go of|release] the brake "
                "pedal.",
                "[Release|Let go of|Please release|You can release] the brake pedal[ now|].",
                "[Could you|Can you|Would you] release the brake pedal[, so that we can pull out|]?",
            )
        ),
        withhold=("activateParkingBrake",) if state.parked else (),
    )
    if state.parked:
        plan.call("activateParkingBrake", mode="release")
    plan.call("releaseBrakePedal")
    state.parked, state.pedal = False, 0.0
    state.shown |= {"parkingBrake", "brakePedal"}


@goal("VehicleControlAPI", weight=0.7)
def set_the_parking_brake(plan: Plan) -> None:
    """Ask to engage the parking brake."""
    state = plan.book(Car)
    if state.parked or plan.has("cruise") or plan.lately_called("activateParkingBrake", "setCruiseControl"):
        raise Unfit("parked already")
    plan.ask(
        "[Engage|Put on|Please engage] the parking brake[; we stop here for a while|, we're on a slope|].",
        "[The road is steep here|I'm pulling over|We stop here for a moment|There's a barrier in front of us][. "
        "Engage|, so engage] "
        "the parking brake[, please|].",
        "[Could|Can] you [engage|put on] the parking brake[ while we wait|]?",
        withhold=("activateParkingBrake",),
    )
    plan.call("activateParkingBrake", mode="engage")
    state.parked = True
    state.shown.add("parkingBrake")


@goal("VehicleControlAPI")
def press_the_brake_pedal(plan: Plan) -> None:
    """Ask to put the brake pedal into a position."""
    state = plan.book(Car)
    if state.pedal > 0 or plan.has("cruise") or plan.lately_called("releaseBrakePedal", "setCruiseControl"):
        raise Unfit("pressed already")
    state.pedal = plan.rng.between(15, 85, 5) / 100
    plan.ask(
        "[Press|Please press|Push] the brake pedal to "
        "[position {position}|a position of {position}][ and hold it there|].",
        "[I want to feel how the brakes bite|I'm testing the brakes|The brakes need a test][. Put|: put] the brake "
        "pedal "
        "at [position |]{position}.",
        "[Could|Can] you [press|push] the brake pedal to [position |]{position}[, where 1 is all the way down|]?",
        vague=(
            "[Press|Please press|Push] the brake pedal [down |]as far as the test sheet says.",
            "[I want to feel how the brakes bite|I'm testing the brakes][. Press|: press] the brake pedal as "
            "far as my list says.",
        ),
        answer=("[To|Make it] position {position}.", "[The position is|The pedal should be at|Put it at] {position}."),
        withhold=("pressBrakePedal",),
        position=state.pedal,
    )
    plan.call("pressBrakePedal", pedalPosition=state.pedal)
    state.shown.add("brakePedal")


@goal("VehicleControlAPI", weight=0.7)
def switch_the_headlights(plan: Plan) -> None:
    """Ask for the headlights to be on, or off if they are on."""
    state = plan.book(Car)
    if plan.lately_called("setHeadlights"):
        raise Unfit("just switched")
    mode = "off" if state.lights else "on"
    plan.ask(
        "[Switch|Turn] the headlights {mode}[, please| for me|].",
        (_BRIGHT if state.lights else _DARK) + "[. Turn|, so turn|: switch] the headlights {mode}[, please|].",
        "[Could|Can|Would] you [switch|turn] {mode} the headlights[ for me|]?",
        withhold=("setHeadlights",),
        mode=mode,
    )
    plan.call("setHeadlights", mode=mode)
    state.lights = mode == "on"
    state.shown.add("headlights")


@goal("VehicleControlAPI", weight=0.5)
def unlock_some_doors(plan: Plan) -> None:
    """Ask to unlock doors by name."""
    state = plan.book(Car)
    locked = [door for door in DOORS if door not in state.unlocked]
    if len(locked) < 2 or plan.has("cruise") or plan.lately_called("lockDoors"):
        raise Unfit("driving, or hardly any door is locked")
    chosen = plan.rng.sample(locked, plan.rng.between(1, 2))
    plan.ask(
        "[Unlock|Please unlock] the {doors}[; leave the others as they are|, nothing else|].",
        "[Someone has to get out|There's luggage to load|I have to fetch my bag|We're picking up a friend][. Unlock|, "
        "so please unlock|: "
        "unlock] the {doors}.",
        "[Could|Can|Would] you unlock the {doors}[ for a moment|, please|]?",
        withhold=("lockDoors",),
        doors=list_words([DOORS[chosen[0]], *(f"the {DOORS[door]}" for door in chosen[1:])]),
    )
    plan.call("lockDoors", unlock=True, door=chosen)
    state.unlocked += chosen
    state.shown.discard("doors")


@goal("VehicleControlAPI", weight=0.7)
def lock_what_is_open(plan: Plan) -> None:
    """Ask which doors are unlocked, and to lock those."""
    state = plan.book(Car)
    if not state.unlocked or "doors" in state.shown or plan.has("cruise") or plan.lately_called("lockDoors"):
        raise Unfit("nothing to find out about the doors")
    plan.ask(
        "[Show|Tell|Let] me [which doors are unlocked|the status of the doors], [then|and then] lock "
        "[the open ones|those that aren't locked].",
        "[Which doors are unlocked|Is any door unlocked|What does the car say about the doors]? "
        "[Have a look and lock|Check and then lock] "
        "[every one that is open|whichever is not locked].",
        "[We're going for a walk|I'm leaving the car here for a bit|I always forget a door]. Check the status of the "
        "doors and lock "
        "[all that are open|any that are unlocked].",
        withhold=("displayCarStatus", "lockDoors"),
    )
    plan.call("displayCarStatus", option="doors")
    plan.call("lockDoors", unlock=False, door=state.unlocked)
    state.unlocked = []
    state.shown.add("doors")


@goal("VehicleControlAPI", weight=0.7)
def show_a_part(plan: Plan) -> None:
    """Ask for the readings of a part that no result has shown."""
    state = plan.book(Car)
    part = plan.rng.pick(tuple(PARTS))
    if part in state.shown or plan.has_shown("displayCarStatus", option=part):
        raise Unfit("shown already")
    plan.ask(
        "[Show me|Pull up|I'd like to see|Let me see] the car's [status|status readings|readings] for "
        "{part}[, please|].",
        "[What does the car report|What do the readings say|What does the status display say] about {part}?",
        "[How do things stand with|What is the status of] {part}[ right now|]? [Check|Look at] the car's status "
        "display.",
        part=PARTS[part],
    )
    result = plan.call("displayCarStatus", option=part)
    state.shown.add(part)
    if part == "battery":
        plan.give("figure", "the battery voltage", ("that voltage",), value=result["batteryVoltage"])
    if part == "climate":
        plan.give("figure", "the humidity in the car", ("that humidity",), value=result["humidityLevel"])
