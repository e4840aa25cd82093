"""Goals of VehicleControlAPI about trips: distances, tires, navigation and what the display says."""

from __future__ import annotations

import json

from envtune_gym.domains._vehicle_tables import DISTANCES, ZIPCODES
from envtune_gym.tasks.goals.base import goal
from envtune_gym.tasks.goals.people import notes
from envtune_gym.tasks.goals.plan import Plan, Thing, Unfit
from envtune_gym.tasks.goals.vehicle_car import Car

# fmt: off
_STREETS = (
    "Harbour Road", "Linden Avenue", "Mill Lane", "Station Street", "Chapel Hill", "Quarry Way", "Canal Walk",
    "Orchard Close", "Tannery Row", "Lighthouse Drive", "Weaver Street", "Granary Square",
)
_STATES = ("Oregon", "Vermont", "Ohio", "Maine", "Utah", "Iowa")
_WHO = ("the dentist", "my sister", "our new customer", "the architect", "an old friend", "the notary", "my accountant")
_CITY_OF = {zipcode: city for city, zipcode in ZIPCODES.items()}
_NEIGHBOURS = {
    city: tuple(_CITY_OF[other] for one, other in DISTANCES if one == zipcode and other in _CITY_OF)
    for city, zipcode in ZIPCODES.items()
}
_TOWNS = tuple(city for city in ZIPCODES if city != "San Francisco")  # the others are in no state that anyone knows
_STARTS = tuple(city for city, others in _NEIGHBOURS.items() if others)
_HOMES = tuple(dict.fromkeys(one for one, _ in DISTANCES if one not in _CITY_OF))
# fmt: on


@goal("VehicleControlAPI", weight=2.0)
def navigate_to_an_address(plan: Plan) -> None:
    """State an address and ask for navigation."""
    rng, state = plan.rng, plan.book(Car)
    if plan.lately_called("set_navigation"):
        raise Unfit("just set")
    address = f"{rng.between(2, 380)} {rng.pick(_STREETS)}, {rng.pick(_TOWNS)}, {rng.pick(_STATES)}"
    who = rng.pick(_WHO)
    plan.ask(
        "[Navigate|Please navigate|Take me|Guide me] to {address}.",
        "[Set|Please set] the navigation to {address}[; it's where I meet {who}|, where I meet {who}|].",
        "[I have an appointment with|I'm on my way to|We're visiting] {who}, so [please |]start the navigation to "
        "{address}.",
        "[Could|Can] you set the navigation to {address}[ for me|, please|]?",
        vague=(
            "[Navigate|Please navigate|Take me|Guide me] to {who}.",
            "[I'm on my way to|We're visiting] {who}[. Please start|; start] the navigation.",
        ),
        answer=("[The address is|It's|You'll find them at] {address}.", "{address}[ is the address|]."),
        withhold=("set_navigation",),
        address=address,
        who=who,
    )
    plan.call("set_navigation", destination=address)
    state.destination = address
    plan.give("address", address, ("that address", "the same address"), address=address)


@goal("VehicleControlAPI", needs=("address",), weight=2.0)
def navigate_to_a_known_address(plan: Plan) -> None:
    """Ask for navigation to an address that came up before."""
    state = plan.book(Car)
    address = plan.take("address")
    if address["address"] == state.destination or plan.lately_called("set_navigation"):
        raise Unfit("on the way there")
    plan.ask(
        "[Navigate|Please navigate|Take me|Guide me] to {address}[, exactly as it is written|].",
        "[Change of plan|Something has come up|I've changed my mind]: [set|switch] the navigation to {address}.",
        "[Could|Can] you [set|start] the navigation to {address}[ now|]?",
        withhold=("set_navigation",),
        address=address,
    )
    plan.call("set_navigation", destination=address["address"])
    state.destination = address["address"]


@goal("VehicleControlAPI", needs=("address",), once=True)
def show_an_address(plan: Plan) -> None:
    """Ask to put an address that came up before on the display."""
    address = plan.take("address")
    plan.ask(
        "[Show|Please show|Put] {address} on the car's display, as a message [of its own|with nothing else in it].",
        "[My passenger doesn't know it yet|I'd like to have it in front of me|I keep forgetting it], so log "
        "{address} on the display, "
        "as one message and [without any other words|exactly as written].",
        "[Could|Can] you display a message that [consists of|has] just {address}, [word for word|as it is written]?",
        withhold=("display_log",),
        address=address,
    )
    plan.call("display_log", messages=[address["address"]])


@goal("VehicleControlAPI", needs=("figure",), once=True)
def show_a_figure(plan: Plan) -> None:
    """Ask to put a number from an earlier result on the display."""
    # A round number with a point is written with it by some, and without by others.
    figure = plan.take("figure", where=lambda figure: isinstance(figure["value"], int) or figure["value"] % 1 != 0)
    plan.ask(
        "[Show|Please show|Put] {figure} on the car's display, as a message with [only the number|the bare number], "
        "[unrounded|just as you got it].",
        "[I'd like to have it in front of me|My passenger doesn't believe me|I'll forget it otherwise]: log {figure} "
        "on the display, the number "
        "alone and [unrounded|with all its digits].",
        "[Could|Can] you display a message that consists of {figure}, [the plain number|the number and nothing else], "
        "exactly as [you got it|it was given]?",
        withhold=("display_log",),
        figure=figure,
    )
    plan.call("display_log", messages=[json.dumps(figure["value"])])


@goal("VehicleControlAPI", weight=0.6)
def show_notes(plan: Plan) -> None:
    """Dictate one or two messages for the display."""
    texts = notes(plan.rng, plan.rng.between(1, 2))
    quoted = " and ".join(f"'{text}'" for text in texts)
    these = "this message" if len(texts) == 1 else "these two messages"
    plan.ask(
        "[Show|Please show|Put] {these} on the car's display: {quoted}",
        "[So that I don't forget|As a reminder for me|For whoever drives next], [log|put] {these} on the display: "
        "{quoted}",
        "[Could|Can] you put {quoted} on the car's display[, please|]? "
        "[Use exactly {these}|Just {these}, nothing else].",
        vague=(
            "[Show|Please show|Put] {these} of mine on the car's display.",
            "[I need|I'd like] {these} on the car's display[, for whoever drives next|].",
        ),
        answer=("[Here you are|Sorry, I forgot the text|The wording]: {quoted}", "[It should say|Make it] {quoted}"),
        withhold=("display_log",),
        quoted=quoted,
        these=these,
    )
    plan.call("display_log", messages=texts)


@goal("VehicleControlAPI", weight=2.0)
def distance_between_cities(plan: Plan) -> None:
    """Ask how far it is between two cities, whose zip codes are to be looked up."""
    origin = plan.rng.pick(_STARTS)
    target = plan.rng.pick(_NEIGHBOURS[origin])
    if _distance_shown(plan, origin, target):
        raise Unfit("shown already")
    plan.ask(
        "[How far is it|What's the distance|How many kilometers is it] from {origin} to "
        "{target}?[| You'll need their zip codes.]",
        "[Estimate|Please estimate|Get me] the distance "
        "[between {origin} and {target}|from {origin} to {target}][; look up what zip codes you need|].",
        "[We're thinking of a drive|I might move|My cousin is moving] from {origin} to {target}. "
        "[Look up their zip codes and estimate|Find out via "
        "their zip codes] how far [that|it] is.",
        vague=(
            "[How far|How many kilometers] do I have to drive tomorrow? "
            "[Estimate it by zip code|You'll need zip codes for that].",
            "[Estimate|Please estimate] the distance of [my trip|our next trip] from the zip codes of the two cities.",
        ),
        answer=(
            "[I'm driving|The trip goes|It's] from {origin} to {target}.",
            "[The cities are {origin} and {target}|{origin} and {target}].",
        ),
        withhold=("estimate_distance", "get_zipcode_based_on_city"),
        origin=origin,
        target=target,
    )
    _estimate(plan, origin, target)


@goal("VehicleControlAPI", needs=("stop",), weight=2.0)
def distance_of_the_next_leg(plan: Plan) -> None:
    """Ask how far it is from where the last distance ended."""
    stop = plan.take("stop")
    origin = stop["city"]
    targets = [city for city in _NEIGHBOURS[origin] if not _distance_shown(plan, origin, city)]
    if not targets:
        raise Unfit("no way onwards")
    target = plan.rng.pick(targets)
    there = stop if not plan.just_called("estimate_distance") else "there"  # elsewhere may be meant by it later
    plan.ask(
        "[How far is it|What's the distance|And how far would it be] from {stop} [on |]to {target}?",
        "[Estimate|Please estimate|Get me] the distance from {stop} to {target}[ too| as well|].",
        "From {stop} we [may|might|want to] [go|drive|travel] [on |]to {target}. "
        "[How far would that be|What distance is that]?",
        stop=there,
        target=target,
    )
    plan.drop(stop)
    _estimate(plan, origin, target)


@goal("VehicleControlAPI", needs=("stop",))
def navigate_to_the_last_city(plan: Plan) -> None:
    """Ask for navigation to the city that the last distance led to."""
    state = plan.book(Car)
    stop = plan.take("stop")
    if stop["city"] == state.destination or plan.lately_called("set_navigation"):
        raise Unfit("on the way there")
    plan.ask(
        "[Navigate|Please navigate|Take me] to the city that you [last|most recently] estimated the distance to[; its "
        "bare name will do as the destination|, with just its name as the destination].",
        "[It's settled|We'll do it|That isn't too far]: set the navigation to the [second|latter] of the two places "
        "whose distance you estimated last; [the city's name is|its name is] all the destination needs.",
        "[Could|Can] you start the navigation to the city that the [latest|last] distance led to? "
        "[Enter just the name of the city|The city's "
        "name alone is enough].",
        withhold=("set_navigation",),
    )
    plan.call("set_navigation", destination=stop["city"])
    state.destination = stop["city"]


@goal("VehicleControlAPI", once=True)
def distance_from_home(plan: Plan) -> None:
    """Ask how far a city is from a zip code that the user states."""
    home, city = plan.rng.pick(_HOMES), "San Francisco"
    plan.ask(
        "[How far is|What's the distance to] {city} from [my place|home], zip code "
        "{home}?[| Look up the other zip code.]",
        "[I live|Our house is|I'm starting out] in zip code {home}. [Estimate|Please estimate|Find out] the distance "
        "to {city}[; you'll need its "
        "zip code|].",
        "[Get me|Give me|I need] the distance from the zip code {home} to {city}.",
        vague=(
            "[How far is|What's the distance to] {city} from [my place|home]?",
            "[Get me|Give me|I need] the distance from where I live to {city}.",
        ),
        answer=("[My zip code is|I live in|It's] {home}.", "[The zip code here is|We're in zip code] {home}."),
        withhold=("estimate_distance",),
        home=home,
        city=city,
    )
    _look_up(plan, city)
    distance = plan.call("estimate_distance", cityA=home, cityB=ZIPCODES[city])["distance"]
    plan.give("figure", f"the distance from {home} to {city}", ("that distance",), value=distance)
    _arrive(plan, city)


@goal("VehicleControlAPI", once=True)
def see_to_the_tires(plan: Plan) -> None:
    """Ask for the tire pressures, and to be led to a shop if they are not healthy."""
    state = plan.book(Car)
    if state.shop or plan.lately_called("set_navigation"):
        raise Unfit("just set")
    plan.ask(
        "[Check the tire pressure|How are the tires? Check their pressure|Read the tire pressures]. If "
        "[it's not|the car says it isn't] healthy, "
        "find the nearest tire shop and set the navigation to [it|its address].",
        "[The steering feels odd|The car pulls to one side|We have a long way to go]: [check|read] the tire pressure, "
        "and [only if|if] it's not in a "
        "healthy state find the nearest tire shop and navigate there.",
        "[Could|Can] you check the pressure of the tires[ for me|]? "
        "[Should it not be healthy|If it turns out not to be healthy], find the nearest "
        "tire shop and take me there by navigation.",
        withhold=("check_tire_pressure",),
    )
    pressures = plan.call("check_tire_pressure")
    for place, name in (("front left", "frontLeft"), ("rear right", "rearRight")):
        plan.give("figure", f"the pressure of the {place} tire", value=pressures[f"{name}TirePressure"])
    if not pressures["healthy_tire_pressure"]:
        state.destination = _find_shop(plan)["address"]
        plan.call("set_navigation", destination=state.destination)


@goal("VehicleControlAPI", weight=0.7)
def find_a_tire_shop(plan: Plan) -> None:
    """Ask for the nearest tire shop."""
    if plan.book(Car).shop:
        raise Unfit("found already")
    plan.ask(
        "[Where is|Where's] the nearest tire shop[ from here|]?",
        "[Find|Look up|Please find] the nearest tire shop[ for me|].",
        "[I think we've picked up a nail|Winter tires are due|There's a strange noise at the back][. Find|; find] the "
        "nearest tire shop.",
        "[Could|Can] you [find|look up] the nearest tire shop[ for me|]?",
        withhold=("find_nearest_tire_shop",),
    )
    _find_shop(plan)


def _find_shop(plan: Plan) -> Thing:
    address = plan.call("find_nearest_tire_shop")["shopLocation"]
    plan.book(Car).shop = address
    return plan.give(
        "address", "the address of the tire shop", ("that address", "the address of that shop"), address=address
    )


def _distance_shown(plan: Plan, origin: str, target: str) -> bool:
    return plan.has_shown("estimate_distance", cityA=ZIPCODES[origin], cityB=ZIPCODES[target])


def _look_up(plan: Plan, city: str) -> None:
    """Look the zip code of a city up, unless a result has shown it."""
    codes = plan.book(Car).zipcodes
    if city not in codes:
        codes[city] = plan.call("get_zipcode_based_on_city", city=city)["zipcode"]


def _estimate(plan: Plan, origin: str, target: str) -> None:
    """Look up what zip codes are missing, estimate the distance of two cities and leave both for later goals."""
    _look_up(plan, origin)
    _look_up(plan, target)
    distance = plan.call("estimate_distance", cityA=ZIPCODES[origin], cityB=ZIPCODES[target])["distance"]
    plan.give("figure", f"the distance from {origin} to {target}", ("that distance",), value=distance)
    _arrive(plan, target)


def _arrive(plan: Plan, city: str) -> None:
    for stop in plan.things("stop"):
        plan.drop(stop)
    plan.give("stop", city, city=city)
