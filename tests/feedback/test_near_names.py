import pytest

from envtune_gym.feedback.near_names import NameIndex

NAMES = ("find", "get_ticket", "close_ticket", "create_ticket", "lockDoors", "ls", "cd", "min_value", "max_value")
INDEX = NameIndex(NAMES)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("create_tickets", "create_ticket"),
        ("cretae_ticket", "create_ticket"),
        ("GetTicket", "get_ticket"),
        ("lock_doors", "lockDoors"),
        ("min_value", "min_value"),
        ("fidn", "find"),
        ("sl", None),
        ("cp", None),
        ("delete_ticket", None),
        ("", None),
        ("x" * 20_000, None),
    ],
)
def test_a_slip_is_told_from_another_name(name, meant):
    assert INDEX.slip(name) == meant


@pytest.mark.parametrize(
    ("name", "near"),
    [("ticket_close", ["close_ticket"]), ("value", ["min_value", "max_value"]), ("brew", [])],
)
def test_the_nearest_names_come_first(name, near):
    assert INDEX.near(name)[: len(near)] == near
    assert bool(INDEX.near(name)) is bool(near)
