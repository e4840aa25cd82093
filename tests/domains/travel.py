"""A traveller with cards and bookings, on whom the tests of TravelAPI act."""

from envtune_gym.domains.travel_api import TravelAPI

CARD = {"card_number": "4111", "cardholder_name": "Ann Lee", "balance": 5000.0}
BOOKING = {
    "card_id": "visa",
    "travel_date": "2024-05-01",
    "travel_from": "SFO",
    "travel_to": "LAX",
    "travel_class": "economy",
    "travel_cost": 400.0,
    "transaction_id": "77",
}
CONFIG = {
    "random_seed": 7,
    "credit_card_list": {"visa": CARD, "poor": {**CARD, "balance": 50.0}, "blank": {}},
    "booking_record": {
        "b1": BOOKING,
        "old": {"flight_number": "X1", "cost": 3.0},
        "lost": {**BOOKING, "card_id": "gone"},
    },
    "access_token": "tok",
    "token_type": "Bearer",
    "token_expires_in": 2,
    "token_scope": "read_write",
    "user_first_name": "Ann",
    "user_last_name": "Lee",
    "budget_limit": 100.0,
}
FILLER = {
    "CREDIT_CARD_EXTENSION": {"visa": {"balance": 1.0}, "extra": {"balance": 900.0}},
    "BOOKING_RECORD_EXTENSION": {"b9": {**BOOKING, "card_id": "extra"}},
}
FLIGHT = {"travel_date": "2024-05-01", "travel_from": "SFO", "travel_to": "LAX", "travel_class": "economy"}
TRAVELER = {
    "first_name": "Ann",
    "last_name": "Lee",
    "date_of_birth": "1990-01-01",
    "passport_number": "US1",
}
INSURANCE = {
    "access_token": "tok",
    "insurance_type": "basic",
    "booking_id": "b1",
    "insurance_cost": 60,
    "card_id": "visa",
}
NEW_CARD = {
    "access_token": "tok",
    "card_number": "42",
    "expiration_date": "01/2030",
    "cardholder_name": "Ann Lee",
    "card_verification_number": 123,
}
BOOK = {"access_token": "tok", "card_id": "visa", **FLIGHT}


def travel(filler=None, **changes):
    return TravelAPI({**CONFIG, **changes}, filler)
