"""Families of MathAPI: a laboratory's measurements, and the results of a class."""

from __future__ import annotations

from envtune_gym.tasks.families.base import Draft, family

_CONVERSIONS = (("ft", "m"), ("yd", "m"), ("miles", "km"), ("lb", "kg"), ("in", "cm"), ("km", "miles"), ("kg", "lb"))
_SAMPLES = ("the reference probe", "sample B", "the control strip", "the spare part", "the outer ring", "the test bar")
_CLASSES = ("the morning class", "group C", "the beginners' course", "the evening class", "year nine", "my seminar")


@family("MathAPI")
def laboratory(draft: Draft) -> None:
    """A logarithm, a conversion, a rounding of it, a power."""
    rng = draft.rng
    value, base, precision = rng.between(120, 98_000), rng.pick((2, 3, 5, 7, 10)), rng.between(6, 18)
    length, (unit_in, unit_out) = rng.price(12, 900), rng.pick(_CONVERSIONS)
    sample, places = rng.pick(_SAMPLES), rng.between(2, 3)
    number, exponent = rng.between(12, 60), rng.between(3, 6)
    draft.start(MathAPI={})

    draft.ask(
        f"Take the logarithm of {value} to base {base}, with a precision of {precision} digits.",
        f"We counted {value} particles. What is the base-{base} logarithm of that, with precision {precision}?",
        f"With a precision of {precision}, compute the logarithm of {value} to the base {base}.",
        vague=(
            f"What is the base-{base} logarithm of our last count, with precision {precision}?",
            f"With a precision of {precision}, compute the logarithm of my count to the base {base}.",
        ),
        answer=(f"The count was {value}.", f"We counted {value}."),
        withhold=("logarithm",),
    )
    draft.call("logarithm", value=value, base=base, precision=precision)

    draft.ask(
        f"For {sample} we have {length} {unit_in}. Convert that to {unit_out}.",
        f"Convert {length} {unit_in}, the figure of {sample}, into {unit_out}.",
        f"How much is {length} {unit_in} in {unit_out}? It is for {sample}.",
        vague=(f"Convert the figure of {sample} from {unit_in} into {unit_out}.", f"I need {sample} in {unit_out}."),
        answer=(f"It is {length} {unit_in}.", f"{length} {unit_in}."),
    )
    converted = draft.call("imperial_si_conversion", value=length, unit_in=unit_in, unit_out=unit_out)["result"]

    draft.ask(
        f"Round that figure to {places} decimal places.",
        f"Please round the converted value, keeping {places} decimal places.",
        f"The table takes {places} decimal places only. Round the result accordingly.",
        vague=("Please round that figure to fit my table.",),
        answer=(f"To {places} decimal places.", f"The table has {places} decimal places."),
    )
    draft.call("round_number", number=converted, decimal_places=places)

    draft.ask(
        f"Raise {number} to the power of {exponent}.",
        f"Last, compute {number} to the power {exponent}.",
        f"What is {number} to the power of {exponent}? Use the tool for powers.",
        vague=(f"Raise {number} to a power.",),
        answer=(f"To the power of {exponent}.", f"The exponent is {exponent}."),
    )
    draft.call("power", base=number, exponent=exponent)


@family("MathAPI", categories=("base", "miss_param"))
def class_results(draft: Draft) -> None:
    """Mean and spread of scores, the best as a percentage, the weakest, a sum of prices."""
    rng = draft.rng
    scores = [rng.between(31, 97) for _ in range(rng.between(6, 9))]
    full_marks, course = rng.between(98, 140), rng.pick(_CLASSES)
    best = max(scores)
    prices = [rng.between(105, 490) for _ in range(rng.between(3, 5))]
    listed, costs = ", ".join(map(str, scores)), ", ".join(map(str, prices))
    draft.start(MathAPI={})

    draft.ask(
        f"The scores of {course} are {listed}. I need their mean and their standard deviation.",
        f"Work out the mean and the standard deviation of these scores of {course}: {listed}.",
        f"In {course} they scored {listed}. What are mean and standard deviation?",
        vague=(
            f"I have the scores of {course} here. What are their mean and their standard deviation?",
            f"Work out the mean and the standard deviation for {course}, please.",
        ),
        answer=(f"The scores are {listed}.", f"Here they are: {listed}."),
    )
    draft.call("mean", numbers=scores)
    draft.call("standard_deviation", numbers=scores)

    draft.ask(
        f"Find the largest of the scores, and give it as a percentage of the {full_marks} marks there were.",
        f"What is the maximum score, and which percentage of the full {full_marks} marks is it?",
        f"Take the maximum of the scores, then tell me its percentage, {full_marks} marks being the whole.",
        vague=(
            "Find the largest of the scores, and give it as a percentage of the full marks.",
            "What is the maximum score, and which percentage of all the marks is that?",
        ),
        answer=(f"There were {full_marks} marks.", f"Full marks are {full_marks}."),
    )
    draft.call("max_value", numbers=scores)
    draft.call("percentage", part=best, whole=full_marks)

    draft.ask(
        "And the smallest of the scores? Use the tool for the minimum.",
        "Find the minimum of the scores as well.",
        "I also want the lowest of these scores; look for the minimum.",
    )
    draft.call("min_value", numbers=scores)

    draft.ask(
        f"The prizes cost {costs} dollars. Sum that up.",
        f"Add up what the prizes cost: {costs} dollars.",
        f"We spent {costs} dollars on prizes. What is the sum of these values?",
        vague=("Sum up what we spent on prizes.", "Add up the prices of the prizes."),
        answer=(f"They cost {costs} dollars.", f"{costs} dollars."),
    )
    draft.call("sum_values", numbers=prices)
