"""Domains that each make one mistake which the suites are to find."""

import time
from itertools import count

from envtune_gym.domains import Domain
from envtune_gym.domains.base import LazyRandom, ToolFailure, copy_plain, tool

BOOKED = []
NUMBERS = count()


class Counter(Domain):
    """A counter without mistakes; the others are made of it."""

    state_fields = ("numbers",)
    hidden_fields = ("_random",)

    def __init__(self, config, filler=None):
        self.numbers = copy_plain(config.get("numbers", [1]))
        self._random = LazyRandom(config.get("seed", 0))


class SoundCounter(Counter):
    """A counter without mistakes, with tools."""

    random_tools = frozenset({"sound_draw"})

    @tool
    def sound_add(self, number: int) -> dict[str, int]:
        """Add a number.

        Args:
            number: The number.
        """
        if type(number) is not int:
            raise ToolFailure("no_number", "Not a number.", argument="number", value=number)
        self.numbers.append(number)
        return {"count": len(self.numbers)}

    @tool
    def sound_draw(self) -> dict[str, int]:
        """Draw a number."""
        return {"drawn": self._random.generator.randrange(1000)}


class AliasedConfig(Counter):
    """Keeps the configuration by reference."""

    def __init__(self, config, filler=None):
        super().__init__(config)
        self.numbers = config.get("numbers", [1])

    @tool
    def aliased_add(self, number: int) -> dict[str, int]:
        """Add a number.

        Args:
            number: The number.
        """
        self.numbers.append(number)
        return {"count": len(self.numbers)}


class SharedModule(Counter):
    """Writes into its module."""

    @tool
    def shared_add(self, number: int) -> dict[str, int]:
        """Add a number.

        Args:
            number: The number.
        """
        BOOKED.append(number)
        return {"added": 1}


class ForgottenField(Counter):
    """Has an attribute that no copy gets."""

    def __init__(self, config, filler=None):
        super().__init__(config)
        self.last = 0

    @tool
    def forgotten_last(self) -> dict[str, int]:
        """Show a number."""
        return {"last": self.__dict__.get("last", -1)}


class SharedGenerator(Counter):
    """Draws from a generator that all worlds share."""

    @tool
    def generator_draw(self) -> dict[str, int]:
        """Draw a number."""
        return {"drawn": next(NUMBERS)}


class HashOrder(Counter):
    """Shows a set in the order of its hashes."""

    @tool
    def hash_words(self) -> dict[str, list[str]]:
        """List some words."""
        return {"words": list({"one", "two", "three", "four", "five", "six", "seven"})}


class TimeZone(Counter):
    """Shows the local time of a fixed moment."""

    @tool
    def zone_time(self) -> dict[str, str]:
        """Tell the time."""
        return {"time": time.strftime("%H:%M", time.localtime(0))}


class HalfDone(Counter):
    """Changes its state before it fails."""

    @tool
    def half_add(self, number: int) -> dict[str, int]:
        """Add a number.

        Args:
            number: The number.
        """
        self.numbers.append(0)
        return {"sum": number + 1}


class OpaqueState(Counter):
    """Lets an argument into its state that JSON cannot have as a key."""

    @tool
    def opaque_keep(self, number: int) -> dict[str, int]:
        """Keep a number.

        Args:
            number: The number.
        """
        raise ToolFailure("", "No code.")


class Undocumented(Counter):
    """Has a tool without a description."""

    @tool
    def undocumented(self) -> dict[str, int]:
        return {}


class WrongDefault(Counter):
    """Has a default of another type than its argument."""

    @tool
    def wrong_default(self, number: int = "one") -> dict[str, int]:
        """Do nothing.

        Args:
            number: The number.
        """
        return {}


class TakenName(Counter):
    """Has a tool of the name of another domain's."""

    @tool
    def get_ticket(self, ticket_id: int) -> dict[str, int]:
        """Show nothing.

        Args:
            ticket_id: Any number.
        """
        return {}


class Unhinted(Counter):
    """Raises an error for which there is no rule."""

    @tool
    def unhinted_add(self, number: int) -> dict[str, int]:
        """Add a number.

        Args:
            number: The number.
        """
        raise ToolFailure("full", "No room.", argument="number", value=number)
