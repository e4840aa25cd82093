"""Goals of VehicleControlAPI about fuel: whether it lasts, filling some in, and liters against gallons."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.plan import Plan, Unfit
from envtune_gym.tasks.goals.vehicle_car import Car


@goal("VehicleControlAPI", weight=1.5)
def refuel_if_needed(plan: Plan) -> None:
    """Ask whether the fuel lasts for a number of miles, and to fill some in if it does not."""
    state, rng = plan.book(Car), plan.rng
    outcomes = [lasts for lasts in (True, False) if lasts not in state.lasts]
    if not outcomes:
        raise Unfit("both answers were given")
    lasts = rng.pick(outcomes)
    miles = int(state.miles * (rng.between(30, 90) if lasts else rng.between(115, 240)) / 100)
    gallons = rng.between(35, 160) / 10
    if not lasts:
        state.check_refuel(plan, gallons)
    plan.ask(
        "[Will the fuel last|Is there enough fuel|Do we have the fuel] for {miles} miles? If "
        "[it won't|there isn't enough|not], add {gallons} gallons.",
        "[I have|There are|We've got] {miles} miles [ahead|to go]. [Check|Estimate] whether the fuel lasts, and "
        "[only if it doesn't|if it "
        "doesn't], add {gallons} gallons.",
        "[Estimate|Check|Find out] whether the car can drive {miles} miles on what's in the tank; "
        "[if it can't|if not], put in {gallons} gallons.",
        vague=(
            "[Will the fuel last|Is there enough fuel] for [my trip|the way home]? If not, refuel.",
            "[Estimate|Check] whether the fuel lasts for [my trip|the way home], and if it doesn't, "
            "[refuel|put some in].",
        ),
        answer=(
            "[It's|The trip is] {miles} miles, and [if need be, |]I'd add {gallons} gallons.",
            "{miles} miles[ to drive|], and {gallons} gallons [if it comes to that|if they're needed].",
        ),
        withhold=("estimate_drive_feasibility_by_mileage",),
        miles=miles,
        gallons=gallons,
    )
    plan.call("estimate_drive_feasibility_by_mileage", distance=miles)
    state.lasts.add(lasts)
    if not lasts:
        state.refuel(plan, gallons)


@goal("VehicleControlAPI")
def refuel_in_liters(plan: Plan) -> None:
    """State liters to be filled into a tank that counts in gallons."""
    state = plan.book(Car)
    liters = plan.rng.between(12, 80) + plan.rng.pick((0, 0.5))
    state.check_refuel(plan, liters / 3)
    plan.ask(
        "[I'm at the pump|We've stopped for fuel|The pump counts in liters]. Convert {liters} liters to gallons and "
        "[put that much in|put that into the tank].",
        "[Pour|Put|Please put] {liters} liters of fuel into the tank; you have to convert them to gallons first.",
        "[Could|Can] you put {liters} liters of fuel in[ for me|]? The tank [counts in|takes] gallons, so convert the "
        "amount [first|beforehand].",
        vague=(
            "[I'm at the pump|We've stopped for fuel]. Convert my liters to gallons and "
            "[put that much in|put that into the tank].",
            "[Pour|Put|Please put] some fuel into the tank. I know the liters, so convert them to gallons first.",
        ),
        answer=("[It's|It is|That's] {liters} liters.", "{liters} liters[, please|]."),
        withhold=("fillFuelTank",),
        liters=liters,
    )
    gallons = plan.call("liter_to_gallon", liter=liters)["gallon"]
    state.refuel(plan, gallons)


@goal("VehicleControlAPI", weight=0.8, once=True)
def convert_a_can(plan: Plan) -> None:
    """Ask how many gallons are in a can whose liters the user states."""
    rng = plan.rng
    can = rng.pick(("the spare can", "the green canister", "the jerrycan", "the red can"))
    liters = rng.between(105, 395) / 10
    plan.ask(
        "[How many gallons are|What are, in gallons,] the {liters} liters in {can}?",
        "[There are|I have] {liters} liters in {can}. [How many gallons is that|What is that in gallons]?",
        "[Convert|Please convert|Turn] the {liters} liters in {can} [to|into] gallons.",
        vague=(
            "[Convert|Please convert] what's in {can} from liters to gallons.",
            "How many gallons are in {can}? I [have|know] it in liters.",
        ),
        answer=("[It holds|There are|It's] {liters} liters.", "{liters} liters[, it says|]."),
        withhold=("liter_to_gallon",),
        can=can,
        liters=liters,
    )
    gallons = plan.call("liter_to_gallon", liter=liters)["gallon"]
    plan.give("figure", f"the gallons in {can}", value=gallons)
    plan.give("can of fuel", f"the fuel in {can}", gallons=gallons)


@goal("VehicleControlAPI", needs=("can of fuel",), weight=2.0)
def refuel_from_the_can(plan: Plan) -> None:
    """Ask to fill what was converted before into the tank."""
    state = plan.book(Car)
    can = plan.take("can of fuel")
    state.check_refuel(plan, can["gallons"])
    plan.ask(
        "[Pour|Please pour|Put] {can} into the tank[, down to the last drop|].",
        "[Let's not waste time at a pump|The next pump is far away|I want an empty can]: pour {can} into the tank.",
        "[Could|Can] you pour {can} into the car's tank[, unrounded|, without rounding|]?",
        withhold=("fillFuelTank",),
        can=can,
    )
    state.refuel(plan, can["gallons"])
    plan.drop(can)


@goal("VehicleControlAPI", once=True, weight=0.7)
def tank_in_liters(plan: Plan) -> None:
    """Ask for the fuel level in liters; the reading itself comes first unless a result has shown it."""
    state = plan.book(Car)
    if plan.has_shown("gallon_to_liter", gallon=state.fuel):
        raise Unfit("shown already")
    plan.ask(
        "[How many liters of fuel are|How much fuel, in liters, is] in the "
        "tank[ right now|]?[| Convert the car's own reading.]",
        "[What's|What is] the fuel level[ now|] in liters?[| The car counts in gallons, so convert it.]",
        "[I can't think in gallons|Gallons mean nothing to me|My logbook is in liters]. Convert the [current |]fuel "
        "level [to|into] liters[ for me|].",
    )
    if "fuel" not in state.shown:
        plan.call("displayCarStatus", option="fuel")
        state.shown.add("fuel")
    liters = plan.call("gallon_to_liter", gallon=state.fuel)["liter"]
    plan.give("figure", "the liters that you converted the fuel level to", ("those liters",), value=liters)
