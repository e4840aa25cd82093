"""Goals of MathAPI: lists of measurements and what can be said of them, single figures, units, powers, logarithms."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal, scenario
from envtune_gym.tasks.goals.math_notes import (
    COUNTED,
    IMPERIAL,
    METRIC,
    ORDINALS,
    UNIT_WORDS,
    give_figure,
    give_series,
    new_series,
    pass_over,
    pick_measure,
    pick_number,
)
from envtune_gym.tasks.goals.people import number_list
from envtune_gym.tasks.goals.plan import Plan, Unfit


@scenario("MathAPI")
def calculator(plan: Plan) -> dict[str, object]:
    """A calculator has no state."""
    return {}


@goal("MathAPI", weight=1.5)
def average_a_series(plan: Plan) -> None:
    """State a list of numbers and ask for its mean."""
    subject, numbers = new_series(plan)
    plan.ask(
        "[Work out|Calculate|Give me|I need] the [mean|average] of the {subject}: {listed}.",
        "[Here are the|These are the] {subject}: {listed}. What is their [mean|average]?",
        "[What's|What is] the [average|mean] of {listed}? [They are the|Those are the] {subject}.",
        vague=(
            "[Work out|Calculate|Give me] the [mean|average] of the {subject}[, please|].",
            "[What's|What is] the [average|mean] of the {subject}?",
        ),
        answer=("[The numbers are|They are|Here they are:] {listed}.", "[Sorry, |]{listed}[, as far as I know|]."),
        subject=subject,
        listed=number_list(numbers),
    )
    result = plan.call("mean", numbers=numbers)["result"]
    give_series(plan, subject, numbers)
    give_figure(plan, result, f"the mean of the {subject}", "that mean", "that average")


@goal("MathAPI")
def add_up_a_series(plan: Plan) -> None:
    """State a list of numbers and ask for its sum."""
    subject, numbers = new_series(plan)
    plan.ask(
        "[Add up|Sum up|Total] the {subject}[ for me|]: {listed}.",
        "The {subject} [are|were] {listed}. What [is the sum|do they add up to]?",
        "What [do|would] {listed} [come to|add up to|make in total]? [They are|Those are] the {subject}.",
        vague=("[Add up|Sum up|Total] the {subject}[ for me|, please|].", "What do the {subject} add up to?"),
        answer=("[They are|The numbers are] {listed}.", "[Of course: |]{listed}."),
        subject=subject,
        listed=number_list(numbers),
    )
    result = plan.call("sum_values", numbers=numbers)["result"]
    give_series(plan, subject, numbers)
    give_figure(plan, result, f"the sum of the {subject}", "that sum", "that total")


@goal("MathAPI", needs=("series",))
def spread_of_a_series(plan: Plan) -> None:
    """Ask for the standard deviation of a list that was stated before."""
    series = plan.take("series")
    plan.ask(
        "[How much do|How widely do] {series} vary? [Give me|I need] the standard deviation.",
        "[Compute|Work out|Find|Get me] the standard deviation of {series}[, please|].",
        "[What's|What is] the standard deviation of {series}?",
        withhold=("standard_deviation",),
        series=series,
    )
    result = plan.call("standard_deviation", numbers=series["numbers"])["result"]
    give_figure(plan, result, f"the standard deviation of {series.label}", "that deviation")


@goal("MathAPI", needs=("series",))
def largest_of_a_series(plan: Plan) -> None:
    """Ask for the largest number of a list that was stated before."""
    series = plan.take("series")
    plan.ask(
        "[Which|What] is the [largest|highest|greatest] of {series}?",
        "[Find|Pick out|Get me|Tell me] the [maximum|largest value|highest value] of {series}[, please|].",
        series=series,
    )
    result = plan.call("max_value", numbers=series["numbers"])["result"]
    give_figure(plan, result, f"the largest of {series.label}", "that maximum")


@goal("MathAPI", needs=("series",))
def smallest_of_a_series(plan: Plan) -> None:
    """Ask for the smallest number of a list that was stated before."""
    series = plan.take("series")
    plan.ask(
        "[Which|What] is the [smallest|lowest] of {series}?",
        "[Find|Pick out|Get me|Tell me] the [minimum|smallest value|lowest value] of {series}[, please|].",
        series=series,
    )
    result = plan.call("min_value", numbers=series["numbers"])["result"]
    give_figure(plan, result, f"the smallest of {series.label}", "that minimum")


@goal("MathAPI")
def share_of_a_whole(plan: Plan) -> None:
    """Ask which percentage of a whole a figure is."""
    part, said = pick_number(plan)
    if part <= 0:
        raise Unfit("no part of a whole")
    whole = int(part * plan.rng.between(12, 60) / 10) + plan.rng.between(10, 400)
    plan.ask(
        "What percentage of {whole} is {part}?",
        "[If the whole is {whole}, what|Suppose the whole is {whole}. What] percentage [of it is {part}|does {part} "
        "make up]?",
        "[Express|Give|Show] {part} as a percentage of {whole}[, please|].",
        vague=(
            "[Express|Give] {part} as a percentage of the whole.",
            "What percentage of the whole is {part}?",
        ),
        answer=("The whole is {whole}.", "[It's {whole} in all|{whole} altogether]."),
        part=said,
        whole=whole,
    )
    result = plan.call("percentage", part=part, whole=whole)["result"]
    give_figure(plan, result, f"the percentage with {whole} as the whole", "that percentage")


@goal("MathAPI", needs=("figure",))
def round_a_figure(plan: Plan) -> None:
    """Ask to round an earlier result."""
    figure = plan.take("figure")
    places = plan.rng.between(1, 3)
    if "round" in figure.label or round(figure["value"], places) == figure["value"]:
        raise Unfit("nothing to round")
    plan.ask(
        "[Round|Please round] {figure} to {places} decimal place{s}.",
        "[Could|Can|Would] you round {figure} to {places} decimal place{s}?",
        "[My table has|The form takes] only {places} decimal place{s}[, so round|: please round] {figure} accordingly.",
        "[Give me|I'd like] {figure} rounded to {places} decimal place{s}.",
        vague=(
            "[Round|Please round] {figure} so that it fits my table.",
            "[I'd like|Give me] {figure} with fewer decimal places.",
        ),
        answer=("[To|Make it] {places} decimal place{s}.", "{places} decimal place{s}[, please|]."),
        figure=figure,
        places=places,
        s="" if places == 1 else "s",
    )
    result = plan.call("round_number", number=figure["value"], decimal_places=places)["result"]
    label = figure.label
    rounded = label.replace("the ", "the rounded ", 1) if label.startswith("the ") else f"{label} after rounding"
    give_figure(plan, result, rounded, "the rounded figure")


@goal("MathAPI")
def convert_to_or_from_imperial(plan: Plan) -> None:
    """Ask for a measure in other units, imperial or metric."""
    (unit_in, unit_out), owner, value = pick_measure(plan, IMPERIAL)
    said_in, said_out = (UNIT_WORDS.get(unit, unit) for unit in (unit_in, unit_out))
    plan.ask(
        "[Convert|Turn|Please convert] {value} {unit_in} [to|into] {unit_out}[; it's for {owner}|, for {owner}|].",
        "[How much is|What is] {value} {unit_in} in {unit_out}?",
        "How many {unit_out} are {value} {unit_in}?",
        "[I have|We have|I've noted] {value} {unit_in} for {owner}[. I|, and I] need it in {unit_out}.",
        vague=(
            "[Convert|Turn] the measure of {owner} from {unit_in} [to|into] {unit_out}.",
            "I need the figure for {owner} in {unit_out}[; I have it in {unit_in}|, please].",
        ),
        answer=("[It is|It's|That would be] {value} {unit_in}.", "[My note says|Take] {value} {unit_in}."),
        withhold=("imperial_si_conversion",),
        value=value,
        unit_in=said_in,
        unit_out=said_out,
        owner=owner,
    )
    result = plan.call("imperial_si_conversion", value=value, unit_in=unit_in, unit_out=unit_out)["result"]
    give_figure(plan, result, f"the {said_out} in {value} {said_in}", "the converted value")


@goal("MathAPI")
def convert_within_metric(plan: Plan) -> None:
    """Ask for a length in another metric unit."""
    (unit_in, unit_out), owner, value = pick_measure(plan, METRIC)
    said_in, said_out = (UNIT_WORDS.get(unit, unit) for unit in (unit_in, unit_out))
    plan.ask(
        "[How long is|What is the length of] {owner} in {unit_out}[ if|, given that] it [is|measures] {value} "
        "{unit_in}?",
        "[Convert|Change|Please convert] {value} {unit_in} [to|into] {unit_out}[ for {owner}|].",
        "[The drawing|My note] says {value} {unit_in} for {owner}. [What is that|How much is that] in {unit_out}?",
        vague=("[How long is|What is the length of] {owner} in {unit_out}? I [know|have] it in {unit_in}.",),
        answer=("[It is|It's] {value} {unit_in}.", "{value} {unit_in}[, says my note|]."),
        value=value,
        unit_in=said_in,
        unit_out=said_out,
        owner=owner,
    )
    result = plan.call("si_unit_conversion", value=value, unit_in=unit_in, unit_out=unit_out)["result"]
    give_figure(plan, result, f"the {said_out} in {value} {said_in}", "the converted length")


@goal("MathAPI")
def take_a_logarithm(plan: Plan) -> None:
    """Ask for the logarithm of a count; what it prints is not a number that other tools take."""
    rng = plan.rng
    value, base, digits = rng.between(120, 98_000), rng.pick((2, 3, 5, 7, 10)), rng.between(6, 18)
    plan.ask(
        "[Take|Compute|Calculate] the logarithm of {value} to base {base}, [with a precision of|to] {digits} "
        "significant digits.",
        "We counted {value} {things}. What is the base-{base} logarithm[ of that|], precision {digits}?",
        "[We counted|There were] {value} {things}. I need the base-{base} logarithm[ of that|], precision {digits}.",
        "With [a precision of {digits}|precision {digits}], what is the logarithm of {value} to [the |]base {base}?",
        vague=(
            "[Take|Compute] the logarithm of our count of {things} to base {base}, precision {digits}.",
            "[Give me|I need] the base-{base} logarithm of how many {things} we counted, precision {digits}.",
        ),
        answer=("[We counted|There were|It was] {value}.", "{value} {things}."),
        withhold=("logarithm",),
        value=value,
        base=base,
        digits=digits,
        things=rng.pick(COUNTED),
    )
    plan.call("logarithm", value=value, base=base, precision=digits)
    pass_over(plan, "the logarithm")


@goal("MathAPI")
def raise_to_a_power(plan: Plan) -> None:
    """Ask for a power of a number."""
    rng = plan.rng
    number, exponent = rng.between(12, 60), rng.between(3, 6)
    plan.ask(
        "[Raise|Please raise] {number} to the power of {exponent}.",
        "[What is|What's] {number} to the power [of |]{exponent}?",
        "[Compute|Work out|Give me] {number} to the power [of |]{exponent}[, please|].",
        "There are {exponent} dials with {number} settings each. [Compute|Give me] {number} to the power {exponent}.",
        vague=("[Raise|Please raise] {number} to a power[ for me|].", "I need a power of {number}[, please|]."),
        answer=("[The exponent is|To the power of] {exponent}.", "{exponent} is the exponent."),
        number=number,
        exponent=exponent,
    )
    result = plan.call("power", base=number, exponent=exponent)["result"]
    give_figure(plan, result, f"the {ORDINALS[exponent]} power of {number}", "that power")


@goal("MathAPI")
def take_a_square_root(plan: Plan) -> None:
    """Ask for the side of a square, as its area is known."""
    rng = plan.rng
    area, digits = rng.between(310, 98_000), rng.between(5, 12)
    plan.ask(
        "[A|Our] square [plot|field|hall] [measures|covers] {area} square meters. I need its root, precision {digits}.",
        "[Compute|Take|Give me] the square root of {area} [with a precision of|to] {digits} significant digits.",
        "[What's|What is] the square root of {area}, with precision {digits}?",
        vague=("[Compute|Take] the square root of the area of our plot, precision {digits}.",),
        answer=("[The area is|It covers|It's] {area} square meters.", "{area} square meters."),
        withhold=("square_root",),
        area=area,
        digits=digits,
    )
    plan.call("square_root", number=area, precision=digits)
    pass_over(plan, "the square root")


@goal("MathAPI")
def add_to_a_figure(plan: Plan) -> None:
    """Ask to add a number to a figure."""
    value, said = pick_number(plan)
    other = plan.rng.between(12, 980)
    plan.ask(
        "[Add|Please add] {other} to {figure}.",
        "[What is|What's] {figure} plus {other}?",
        "[There are|We got] {other} more on top of {figure}. [Add them.|What does that make in all?|What is the sum?]",
        vague=(
            "[Add|Please add] what came in today to {figure}.",
            "[Something|A bit] comes on top of {figure}; add it.",
        ),
        answer=("[It's|That's|It is] {other}.", "{other}[ came in today|]."),
        figure=said,
        other=other,
    )
    result = plan.call("add", a=value, b=other)["result"]
    give_figure(plan, result, f"the 'plus {other}' result", "that sum")


@goal("MathAPI")
def take_from_a_figure(plan: Plan) -> None:
    """Ask to subtract a number from a figure."""
    value, said = pick_number(plan)
    if value < 40:
        raise Unfit("not much to take from")
    other = plan.rng.between(12, min(980, int(value * 0.8)))
    plan.ask(
        "[Subtract|Take|Deduct|Please subtract] {other} from {figure}.",
        "[What is|What's] {figure} minus {other}?",
        "What is {other} less than {figure}?",
        "[What remains|What is left] of {figure} after taking off {other}?",
        vague=("[Subtract|Deduct] the usual fee from {figure}.", "[What is|What's] {figure} without the fee?"),
        answer=("[The fee is|It's] {other}.", "{other}[ is the fee|]."),
        figure=said,
        other=other,
    )
    result = plan.call("subtract", a=value, b=other)["result"]
    give_figure(plan, result, f"the 'minus {other}' result", "that difference")


@goal("MathAPI")
def multiply_a_figure(plan: Plan) -> None:
    """Ask to multiply a figure."""
    value, said = pick_number(plan)
    factor = plan.rng.between(12, 95)
    plan.ask(
        "[Multiply|Please multiply] {figure} by {factor}.",
        "[What is|What's] {figure} times {factor}?",
        "[What does|How much does] {figure} come to, [multiplied by {factor}|{factor} times over]?",
        vague=("[Multiply|Please multiply] {figure} by the number of our branches.",),
        answer=("[We have|There are] {factor} branches.", "{factor} of them."),
        withhold=("multiply",),
        figure=said,
        factor=factor,
    )
    result = plan.call("multiply", a=value, b=factor)["result"]
    give_figure(plan, result, f"the 'times {factor}' result", "that product")


@goal("MathAPI")
def divide_a_figure(plan: Plan) -> None:
    """Ask to divide a figure among some."""
    value, said = pick_number(plan)
    parts = plan.rng.between(12, 48)
    plan.ask(
        "[Divide|Please divide] {figure} by {parts}.",
        "[I have to|We have to] divide {figure} by {parts}. What [does that give|comes out]?",
        "[What is|What's] {figure} divided by {parts}?",
        vague=(
            "[Divide|Please divide] {figure} by the number of our members.",
            "What is {figure} divided by the number of our members?",
        ),
        answer=("[We have|There are] {parts} members.", "{parts} members."),
        withhold=("divide",),
        figure=said,
        parts=parts,
    )
    result = plan.call("divide", a=value, b=parts)["result"]
    give_figure(plan, result, f"the 'divided by {parts}' result", "that quotient")


@goal("MathAPI")
def size_of_a_loss(plan: Plan) -> None:
    """Ask for the absolute value of a negative number."""
    loss = -plan.rng.price(20, 9_000)
    plan.ask(
        "[The balance|My account|The drift] [shows|stands at] {loss}. [What is|What's] its absolute value?",
        "[Compute|Take|Give me] the absolute value of {loss}[, please|].",
        "[What's|What is] the absolute value of {loss}?",
        vague=("[The balance|My account] is negative[. Give|, so give] me its absolute value.",),
        answer=("[It stands at|It's|The value is] {loss}.",),
        loss=loss,
    )
    result = plan.call("absolute_value", number=loss)["result"]
    give_figure(plan, result, f"the absolute value of {loss}", "that absolute value")
