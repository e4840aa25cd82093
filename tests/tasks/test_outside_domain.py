"""A domain of an outside package brings its goals; tasks are generated of them and proven."""

import pytest

from envtune_gym import domains, score_trajectory
from envtune_gym.tasks import Task, load_tasks
from envtune_gym.tasks.generation.proof import harmless_reads, prove
from envtune_gym.tasks.goals import Discarded
from envtune_gym.world import World

COFFEE = '''
from envtune_gym.domains import Domain
from envtune_gym.domains.base import tool
from envtune_gym.tasks.goals import goal, scenario


class CoffeeAPI(Domain):
    """A machine that brews with the mug that it is turned to."""

    state_fields = ("cups", "is_on")
    hidden_fields = ("_mug", "_looks")
    moving_tools = frozenset({"turn"})

    def __init__(self, config, filler=None):
        self.cups = [0, 0]
        self.is_on = config.get("is_on", True)
        self._mug = 0
        self._looks = 0

    @tool
    def brew(self, cups: int) -> dict[str, int]:
        """Brew into the present mug.

        Args:
            cups: How many cups.
        """
        self.cups[self._mug] += cups
        return {"brewed": cups}

    @tool
    def turn(self) -> dict[str, str]:
        """Turn to the other mug."""
        self._mug = 1 - self._mug
        return {"status": "turned"}

    @tool
    def switch_on(self) -> dict[str, bool]:
        """Switch the machine on."""
        self.is_on = True
        return {"is_on": True}

    @tool
    def switch_off(self) -> dict[str, bool]:
        """Switch the machine off."""
        self.is_on = False
        return {"is_on": False}

    @tool
    def look(self) -> dict[str, str]:
        """Look at the machine."""
        return {"machine": "on" if self.is_on else "off"}


class GrumpyAPI(CoffeeAPI):
    """A machine that brews nothing once it has been looked at."""

    @tool
    def look(self) -> dict[str, str]:
        """Look at the machine, which it hates, though it shows nothing."""
        self._looks += 1
        return {"machine": "on"}

    @tool
    def brew(self, cups: int) -> dict[str, int]:
        """Brew into the present mug.

        Args:
            cups: How many cups.
        """
        self.cups[self._mug] += 0 if self._looks else cups
        return {"brewed": cups}


@scenario("CoffeeAPI")
def a_machine(plan):
    return {"is_on": True, "owner": plan.rng.below(10**6)}


@goal("CoffeeAPI")
def brew_some(plan):
    cups = 2 + plan.rng.below(1000)
    plan.ask("[Brew|Please brew] {cups} cups.", cups=cups)
    plan.call("brew", cups=cups)
'''
POINTS = "[envtune_gym.domains]\nCoffeeAPI = outside_coffee:CoffeeAPI\nGrumpyAPI = outside_coffee:GrumpyAPI\n"


@pytest.fixture(scope="module", autouse=True)
def outside(tmp_path_factory):
    """Install a package with two domains, one of which is not fair."""
    folder = tmp_path_factory.mktemp("coffee")
    (folder / "outside_coffee.py").write_text(COFFEE)
    info = folder / "coffee_domains-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: coffee_domains\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        domains._outside.cache_clear()
        yield
    domains._outside.cache_clear()
    domains.domain_class.cache_clear()


def coffee(domain, calls, is_on=True):
    return Task(
        id="coffee",
        category="base",
        domains=(domain,),
        initial_config={domain: {"is_on": is_on}},
        turns=list(calls),
        ground_truth=[[call] for call in calls.values()],
    )


def test_its_tasks_are_generated_though_a_tool_without_arguments_changes_something():
    for task in load_tasks("generated", domains="CoffeeAPI", difficulty=[1, 2], categories="base")[:6]:
        assert task.domains == ("CoffeeAPI",)
        assert score_trajectory(task, [[list(calls)] for calls in task.ground_truth]).valid


@pytest.mark.parametrize(("is_on", "reads"), [(True, ["switch_on", "look"]), (False, ["switch_off", "look"])])
def test_a_change_that_shows_is_found_and_of_one_that_does_not_the_domain_tells(is_on, reads):
    assert harmless_reads(World(("CoffeeAPI",), {"CoffeeAPI": {"is_on": is_on}})) == reads


def test_what_changes_nothing_may_do_so_in_a_later_turn():
    prove(coffee("CoffeeAPI", {"Switch it on.": "switch_on()", "Brew 4 cups.": "brew(cups=4)"}, is_on=False))


def test_a_read_that_does_harm_unseen_is_told():
    with pytest.raises(Discarded) as caught:
        prove(coffee("GrumpyAPI", {"Brew 4 cups.": "brew(cups=4)"}))
    assert (caught.value.reason, caught.value.detail) == ("reading harms", "switch_on, look")
