"""Conversations for tests of engines: they go on after each reply, in the call or in a later one."""

import random

from envtune_gym.integrations.engine import Continuation

_VOCABULARY = 200


class Conversations:
    """Conversations that go on with tokens of a test's choice, in the calls that reply to them or in later ones."""

    def __init__(self, prompts, turns, seed, most=25):
        rng = random.Random(seed)
        self.limits = [[rng.randint(1, most) for _ in range(number)] for number in turns]
        self.added = [[some(rng, rng.randint(1, most)) for _ in range(number)] for number in turns]
        self.prompts = [list(prompt) for prompt in prompts]
        self.replies = [[] for _ in prompts]
        self.calls = 0

    def take(self, row, reply):
        """Take a reply; return what the conversation goes on with, if it does."""
        self.replies[row].append(reply)
        turn = len(self.replies[row])
        if not self.goes_on(row):
            return None
        self.prompts[row] = [*self.prompts[row], *reply.ids, *self.added[row][turn]]
        return Continuation(self.prompts[row], self.limits[row][turn])

    def goes_on(self, row):
        """Tell whether a conversation that has been replied to has not ended."""
        return len(self.replies[row]) < len(self.limits[row]) and not self.replies[row][-1].error

    def play(self, engine):
        """Play all to their ends, and return the tokens of the replies."""
        waiting = list(range(len(self.prompts)))
        while waiting:
            self.calls += 1
            seen = {}

            def on_reply(place, reply, waiting=waiting, seen=seen):
                seen[place] = reply
                return self.take(waiting[place], reply)

            prompts = [self.prompts[row] for row in waiting]
            limits = [self.limits[row][len(self.replies[row])] for row in waiting]
            for place, reply in enumerate(engine.generate(prompts, limits, on_reply)):
                if seen.get(place) is not reply:
                    self.take(waiting[place], reply)
            waiting = [row for row in waiting if self.goes_on(row)]
        return [[reply.ids for reply in replies] for replies in self.replies]


def some(rng, number):
    """Return tokens."""
    return [rng.randrange(5, _VOCABULARY) for _ in range(number)]
