"""What chance rarely finds: whole lookup tables, and sequences that lead to an edge."""

# ruff: noqa: SIM905 (words are read more easily than quoted lists)

import itertools

import pytest

from envtune_gym import World

from .oracle import assert_same_state, official_world

AIRPORTS = "RMS SBK MPC SVP SHD CDG LHR SSV OKD WLB PEK HND HKG CIA CRH ATV PHV GFD SFO LAX JFK ORD BOS PVG XXX".split()
CITIES = (
    "Rivermist, Stonebrook, Maplecrest, Silverpine, Shadowridge, London, Paris, Sunset Valley, Oakendale, Willowbend, "
    "Crescent Hollow, Autumnville, Pinehaven, Greenfield, San Francisco, Los Angeles, New York, Chicago, Boston, "
    "Beijing, Hong Kong, Rome, Tokyo, Nowhere"
).split(", ")
COMPANIES = (
    "Apple, Google, Tesla, Microsoft, Nvidia, Zeta Corp, Alpha Tech, Omega Industries, Quasar Ltd., Neptune Systems, "
    "Synex Solutions, Amazon, Gorilla, apple"
).split(", ")
ZIP_CODES = "83214 74532 56108 62947 71354 83462 47329 52013 69238 51479 94016 94704 08540 00000".split()
CURRENCIES = "USD RMB EUR JPY GBP CAD AUD INR RUB BRL MXN CHF".split()
UNITS = "km m cm mm um nm in ft yd miles kg lb celsius fahrenheit".split()
BIRTHDAYS = ("2008-03-22", "2008-03-23", "2008-03-24", "2008-02-29", "2008-04-01", "1926-1-1", "2009-02-29", "1.1.1990")
LOCKED = dict.fromkeys(["driver", "passenger", "rear_left", "rear_right"], "locked")
TREE = {"root": {"top": {"type": "directory", "contents": {"a": {"type": "directory", "contents": {}}}}}}


def calls(tool, **values):
    """Return the calls of a tool with all combinations of values."""
    return [
        f"{tool}({', '.join(f'{name}={value!r}' for name, value in zip(values, combination, strict=True))})"
        for combination in itertools.product(*values.values())
    ]


PROGRAMS = {
    "fares": (
        "TravelAPI",
        {},
        calls("get_flight_cost", travel_from=AIRPORTS, travel_to=AIRPORTS, travel_date=["1"], travel_class=["economy"])
        + calls(
            "get_flight_cost",
            travel_from=["SFO"],
            travel_to=["LAX"],
            travel_date=["2026-01-01", "2026-01-02", "", "\u00b2", "\u0663"],
            travel_class=["economy", "business", "first", "second"],
        ),
    ),
    "exchange rates": (
        "TravelAPI",
        {},
        calls("compute_exchange_rate", base_currency=CURRENCIES, target_currency=CURRENCIES, value=[12.345]),
    ),
    "airports of cities": ("TravelAPI", {}, calls("get_nearest_airport_by_city", location=CITIES)),
    "age": (
        "TravelAPI",
        {"user_first_name": "Ann", "user_last_name": "Lee"},
        calls(
            "verify_traveler_information",
            first_name=["Ann", "Bob"],
            last_name=["Lee"],
            date_of_birth=BIRTHDAYS,
            passport_number=["US1", "DE1"],
        ),
    ),
    "budget and balance": (
        "TravelAPI",
        {"access_token": "t", "token_expires_in": 2, "credit_card_list": {"c": {"balance": 1000}}},
        [
            "book_flight('t', 'c', '2026-01-01', 'SFO', 'LAX', 'first')",
            "set_budget_limit('t', 900)",
            "book_flight('t', 'c', '2026-01-01', 'SFO', 'LAX', 'economy')",
            "book_flight('t', 'c', '2026-01-01', 'SFO', 'LAX', 'economy')",
            "get_all_credit_cards()",
            "get_booking_history('t')",
        ],
    ),
    "expired token": ("TravelAPI", {"token_expires_in": 0}, ["get_booking_history(None)", "travel_get_login_status()"]),
    "distances": ("VehicleControlAPI", {}, calls("estimate_distance", cityA=ZIP_CODES, cityB=ZIP_CODES)),
    "zip codes": ("VehicleControlAPI", {}, calls("get_zipcode_based_on_city", city=CITIES)),
    "engine": (
        "VehicleControlAPI",
        {"fuelLevel": 10.0, "doorStatus": LOCKED},
        [
            "startEngine('START')",
            "pressBrakePedal(0.5)",
            "startEngine('START')",
            "pressBrakePedal(1)",
            "startEngine('GO')",
            *calls("setCruiseControl", speed=[65], activate=[True], distanceToNextVehicle=[10]),
            "startEngine('START')",
            *calls(
                "setCruiseControl", speed=[-5, 0, 62.5, 65, 120, 125], activate=[True, False], distanceToNextVehicle=[9]
            ),
            *calls("displayCarStatus", option=["engine", "brakePedal", "doors", "fuel", "battery", "climate", "none"]),
            "startEngine('STOP')",
            "displayCarStatus('engine')",
        ],
    ),
    "companies": ("TradingBot", {}, calls("get_symbol_by_name", name=COMPANIES)),
    "sectors": ("TradingBot", {}, calls("get_available_stocks", sector=["Technology", "Automobile", "Energy"])),
    "metric units": ("MathAPI", {}, calls("si_unit_conversion", value=[7, 0.1], unit_in=UNITS, unit_out=UNITS)),
    "imperial units": ("MathAPI", {}, calls("imperial_si_conversion", value=[7, 0.1], unit_in=UNITS, unit_out=UNITS)),
    "precision": (
        "MathAPI",
        {},
        calls("logarithm", value=[2, 0.1, 10**30, 0, -1, "7"], base=[10, 2.5, 1, 0], precision=[-1, 0, 1, 15, 200])
        + calls("square_root", number=[2, 0.1, 10**30, 0, -1, "7"], precision=[-1, 0, 1, 15, 200]),
    ),
    "directory inside itself": (
        "GorillaFileSystem",
        TREE,
        [
            *["cp('a', 'a')", "find()", "du()", "ls()", "cd('a')", "pwd()", "cd('a')", "pwd()", "touch('f')", "ls()"],
            *["cd('..')", "ls()", "cd('..')", "mv('a', 'b')", "cd('b')", "cd('a')", "cd('..')", "pwd()", "ls()"],
        ],
    ),
    "moved away under one's feet": (
        "GorillaFileSystem",
        TREE,
        [
            *["cd('a')", "mkdir('c')", "cd('c')", "touch('f')", "cd('..')", "cd('..')", "mkdir('d')", "mv('a', 'd')"],
            *["cd('d')", "cd('a')", "cd('c')", "cd('..')", "pwd()", "cd('..')", "pwd()", "ls()", "cd('..')", "cd('/')"],
            *["cp('d', 'e')", "cd('e')", "cd('a')", "cd('c')", "echo('x', 'f')", "cd('/')", "find()", "du(True)"],
        ],
    ),
}


@pytest.mark.parametrize("long_context", [False, True], ids=["plain", "long_context"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_state_are_the_official_ones(name, long_context):
    domain, config, program = PROGRAMS[name]
    config = {domain: config} if config else {}
    ours = World([domain], config, long_context)
    with official_world([domain], config, long_context) as theirs:
        for call in program:
            assert ours.execute(call) == theirs.execute(call)[0], call
        assert_same_state(theirs, ours)
