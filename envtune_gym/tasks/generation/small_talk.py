"""What people say beside their requests: why they ask, what else is going on. It never bears on what is to be done."""

from __future__ import annotations

from envtune_gym.tasks.generation.rng import Rng
from envtune_gym.tasks.goals.wording import word

__all__ = ["aside"]

# fmt: off
_WHO = (
    "my sister", "my brother", "my neighbour", "our landlord", "my old teacher", "the new trainee", "our accountant",
    "my uncle", "the caretaker", "my flatmate", "our supplier", "the choir leader", "my grandmother", "our manager",
    "the plumber", "my cousin", "our trainer", "the editor", "my boss", "the whole team",
)
_DOES = (
    "comes over this evening", "moves house next week", "starts a new job soon", "is waiting downstairs", "turns fifty",
    "wants everything in writing", "asked me twice already", "is back from leave", "runs a marathon on Sunday",
    "keeps bees now", "is learning the cello", "has opened a bakery", "forgets everything", "is stuck in traffic",
    "would love to see this done", "called in the middle of lunch", "needs an answer before noon", "left early again",
)
_DOING = (
    "getting ready for", "in the middle of", "putting together", "clearing up after", "helping out with",
    "looking forward to", "late for", "rehearsing for", "taking notes for",
)
_EVENTS = (
    "a wedding in the mountains", "the school play", "the spring clean", "a long weekend away", "the village fair",
    "our yearly inspection", "an evening class", "a house viewing", "the flea market", "a charity dinner",
    "the harvest festival", "a photo exhibition", "the regatta", "a garden party", "the budget round", "a quiz night",
    "the football season", "a tax return", "the attic sale", "a book launch", "the annual report", "a bicycle tour",
)
_STATES = (
    "the coffee machine broke", "it has rained all morning", "the lift is out of order", "my phone is nearly flat",
    "the kids are asleep at last", "the office is empty", "the printer jammed again", "my train was late",
    "the cat sat on the keyboard", "the heating is off", "there is a drill going next door", "I slept badly",
    "the meeting ran over", "my glasses are upstairs", "somebody parked across the gate", "the bread is in the oven",
)
# fmt: on
_TEMPLATES = (
    "[I should say|You should know|By the way], {who} {does}.",
    "I'm {doing} {event}[ just now|, you see| at the moment|].",
    "[We're|We are] {doing} {event}[ here|], [and time is short|so bear with me|and it shows].",
    "[Sorry if I'm brief|Excuse the rush|Forgive the typos]: {state}.",
    "{State}, [so here I am|but never mind|and now this].",
    "[It's all because of|This is about|I need this for] {event}.",
    "{Who} {does}, [so this matters|so I'd rather be quick|hence my message].",
)


def aside(rng: Rng) -> str:
    """Return a sentence of small talk."""
    who, state = rng.pick(_WHO), rng.pick(_STATES)
    values = {
        "who": who,
        "Who": who[0].upper() + who[1:],
        "does": rng.pick(_DOES),
        "doing": rng.pick(_DOING),
        "event": rng.pick(_EVENTS),
        "state": state,
        "State": state[0].upper() + state[1:],
    }
    return word(rng, _TEMPLATES, values)
