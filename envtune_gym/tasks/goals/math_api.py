"""Goals of MathAPI: lists of measurements and what can be said of them, single figures, units, powers, logarithms."""

from __future__ import annotations

from envtune_gym.tasks.goals.base import goal, scenario
from envtune_gym.tasks.goals.people import number_list
from envtune_gym.tasks.goals.plan import Plan, Unfit

_SERIES = (
    "scores of the morning class", "rents in our street", "visitors of the museum by day", "heights of the seedlings",
    "takings of the kiosk", "times of the relay team", "prices of the prizes", "rainfall figures of last week",
    "weights of the parcels", "ages of the volunteers", "lengths of the boards", "marks of the evening course",
)  # fmt: skip
_IMPERIAL = (
    ("ft", "m"), ("yd", "m"), ("miles", "km"), ("lb", "kg"), ("in", "cm"), ("km", "miles"), ("kg", "lb"), ("cm", "in"),
    ("m", "ft"), ("m", "yd"),
)  # fmt: skip
_METRIC = (("km", "m"), ("m", "km"), ("cm", "m"), ("m", "cm"), ("mm", "m"), ("m", "mm"))
_OWNERS = ("the reference probe", "the spare part", "the outer ring", "the garden fence", "the shelf", "the old sail")
_COUNTED = ("particles", "visitors", "clicks", "bacteria", "tickets", "kernels", "ballots", "steps")


@scenario("MathAPI")
def calculator(plan: Plan) -> dict[str, object]:
    """A calculator has no state."""
    return {}


def _figure(plan: Plan, value: float, label: str, *short: str) -> None:
    """Leave a number behind for later goals."""
    plan.give("figure", label, (*short, "that figure", "the result"), value=value)


def _number(plan: Plan) -> tuple[float, object, str]:
    """Return a number to calculate with and words for it: an earlier result, often, or one that the user says."""
    if plan.has("figure") and plan.rng.chance(0.7):
        thing = plan.take("figure")
        return thing["value"], thing, thing.label
    value = plan.rng.between(13, 4_800)
    return value, value, str(value)


@goal("MathAPI", weight=1.5)
def average_a_series(plan: Plan) -> None:
    """State a list of numbers and ask for its mean."""
    rng = plan.rng
    subject = rng.pick(_SERIES)
    numbers = [rng.between(11, 960) for _ in range(rng.between(4, 8))]
    plan.ask(
        "[Work out|Calculate|Give me|I need] the [mean|average] of the {subject}: {listed}.",
        "[Here are the|These are the] {subject}: {listed}. What is their [mean|average]?",
        "[What's|What is] the [average|mean] of {listed}? [They are the|Those are the] {subject}.",
        vague=(
            "[Work out|Calculate|Give me] the [mean|average] of the {subject}[, please|].",
            "[What's|What is] the [average|mean] of the {subject}?",
        ),
        answer=("[The numbers are|They are|Here they are:] {listed}.", "[Sorry, |]{listed}[, in that order|]."),
        withhold=("mean",),
        subject=subject,
        listed=number_list(numbers),
    )
    result = plan.call("mean", numbers=numbers)["result"]
    plan.give("series", f"the {subject}", ("those numbers", "these figures", "that list"), numbers=numbers)
    _figure(plan, result, f"the mean of the {subject}", "that mean", "the average")


@goal("MathAPI")
def add_up_a_series(plan: Plan) -> None:
    """State a list of numbers and ask for its sum."""
    rng = plan.rng
    subject = rng.pick(_SERIES)
    numbers = [rng.between(11, 960) for _ in range(rng.between(4, 8))]
    plan.ask(
        "[Add up|Sum up|Total] the {subject}[ for me|]: {listed}.",
        "[The|Our] {subject} [are|were] {listed}. What [is the sum|do they add up to]?",
        "What [do|would] {listed} [come to|add up to|make in total]? [They are|It is about] the {subject}.",
        vague=("[Add up|Sum up|Total] the {subject}[ for me|, please|].", "What do the {subject} add up to?"),
        answer=("[They are|The numbers are|It's] {listed}.", "[Of course: |]{listed}."),
        withhold=("sum_values",),
        subject=subject,
        listed=number_list(numbers),
    )
    result = plan.call("sum_values", numbers=numbers)["result"]
    plan.give("series", f"the {subject}", ("those numbers", "these figures", "that list"), numbers=numbers)
    _figure(plan, result, f"the sum of the {subject}", "that sum", "the total")


@goal("MathAPI", needs=("series",))
def spread_of_a_series(plan: Plan) -> None:
    """Ask for the standard deviation of a list that was stated before."""
    series = plan.take("series")
    plan.ask(
        "[How much do|By how much do] {series} vary? [Give me|I need] the standard deviation.",
        "[Compute|Work out|Find|Get me] the standard deviation of {series}[, please|].",
        "[What's|What is] the standard deviation of {series}?",
        withhold=("standard_deviation",),
        series=series,
    )
    result = plan.call("standard_deviation", numbers=series["numbers"])["result"]
    _figure(plan, result, f"the standard deviation of {series.label}", "that deviation")


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
    _figure(plan, result, f"the largest of {series.label}", "that maximum")


@goal("MathAPI", needs=("series",))
def smallest_of_a_series(plan: Plan) -> None:
    """Ask for the smallest number of a list that was stated before."""
    series = plan.take("series")
    plan.ask(
        "[Which|What] is the [smallest|lowest|least] of {series}?",
        "[Find|Pick out|Get me|Tell me] the [minimum|smallest value|lowest value] of {series}[, please|].",
        series=series,
    )
    result = plan.call("min_value", numbers=series["numbers"])["result"]
    _figure(plan, result, f"the smallest of {series.label}", "that minimum")


@goal("MathAPI")
def share_of_a_whole(plan: Plan) -> None:
    """Ask which percentage of a whole a figure is."""
    part, said, _ = _number(plan)
    whole = int(part * plan.rng.between(12, 60) / 10) + plan.rng.between(10, 400)
    plan.ask(
        "[What|Which] percentage of {whole} is {part}?",
        "[If|Suppose] the whole is {whole}[, what|: what] percentage [of it is|does] {part}[| make up]?",
        "[Express|Give|Show] {part} as a percentage of {whole}[, please|].",
        vague=(
            "[Express|Give] {part} as a percentage of the whole.",
            "[What|Which] percentage of the whole is {part}?",
        ),
        answer=("The whole is {whole}.", "[It's {whole} in all|{whole} altogether]."),
        withhold=("percentage",),
        part=said,
        whole=whole,
    )
    result = plan.call("percentage", part=part, whole=whole)["result"]
    _figure(plan, result, f"the percentage of {whole}", "that percentage")


@goal("MathAPI", needs=("figure",))
def round_a_figure(plan: Plan) -> None:
    """Ask to round an earlier result."""
    figure = plan.take("figure")
    places = plan.rng.between(1, 3)
    if round(figure["value"], places) == figure["value"]:
        raise Unfit("nothing to round")
    plan.ask(
        "[Round|Please round] {figure} to {places} decimal place{s}[, please|].",
        "[Could|Can|Would] you round {figure} to {places} decimal place{s}?",
        "[My table has|The form takes] {places} decimal place{s} only[, so round|: please round] {figure} accordingly.",
        "[Give me|I'd like] {figure} rounded to {places} decimal place{s}.",
        vague=("[Round|Please round] {figure} so that it fits my table.", "[I'd like|Give me] {figure} rounded."),
        answer=("[To|Make it] {places} decimal place{s}.", "{places} decimal place{s}[, please|]."),
        figure=figure,
        places=places,
        s="" if places == 1 else "s",
    )
    result = plan.call("round_number", number=figure["value"], decimal_places=places)["result"]
    _figure(plan, result, f"{figure.label}, rounded", "the rounded figure")


@goal("MathAPI")
def convert_to_or_from_imperial(plan: Plan) -> None:
    """Ask for a measure in other units, imperial or metric."""
    rng = plan.rng
    (unit_in, unit_out), owner, value = rng.pick(_IMPERIAL), rng.pick(_OWNERS), rng.price(12, 900)
    plan.ask(
        "[Convert|Turn|Please convert] {value} {unit_in} [to|into] {unit_out}[; it's for {owner}|, for {owner}|].",
        "[How much is|How many {unit_out} are|What is] {value} {unit_in}[ in {unit_out}|, given in {unit_out}]?",
        "[I have|We have|There's] {value} {unit_in} for {owner}[. I|, and I] need it in {unit_out}.",
        vague=(
            "[Convert|Turn] the measure of {owner} from {unit_in} [to|into] {unit_out}.",
            "I need the figure for {owner} in {unit_out}[; I have it in {unit_in}|, please].",
        ),
        answer=("[It is|It's|That would be] {value} {unit_in}.", "{owner_has} {value} {unit_in}."),
        withhold=("imperial_si_conversion",),
        value=value,
        unit_in=unit_in,
        unit_out=unit_out,
        owner=owner,
        owner_has=f"{owner.capitalize()} has",
    )
    result = plan.call("imperial_si_conversion", value=value, unit_in=unit_in, unit_out=unit_out)["result"]
    _figure(plan, result, f"the {unit_out} of {owner}", "the converted value")


@goal("MathAPI")
def convert_within_metric(plan: Plan) -> None:
    """Ask for a length in another metric unit."""
    rng = plan.rng
    (unit_in, unit_out), owner, value = rng.pick(_METRIC), rng.pick(_OWNERS), rng.price(3, 900)
    plan.ask(
        "[How long|What length] is {owner} in {unit_out}[ if|, given that] it [is|measures] {value} {unit_in}?",
        "[Convert|Change|Please convert] {value} {unit_in} [to|into] {unit_out}[ for {owner}|].",
        "[The drawing|My note] says {value} {unit_in} for {owner}. [What is that|How much is that] in {unit_out}?",
        vague=("[How long|What length] is {owner} in {unit_out}? I [know|have] it in {unit_in}.",),
        answer=("[It is|It's] {value} {unit_in}.", "{value} {unit_in}[, as I said in my note|]."),
        withhold=("si_unit_conversion",),
        value=value,
        unit_in=unit_in,
        unit_out=unit_out,
        owner=owner,
    )
    result = plan.call("si_unit_conversion", value=value, unit_in=unit_in, unit_out=unit_out)["result"]
    _figure(plan, result, f"the length of {owner} in {unit_out}", "the converted length")


@goal("MathAPI")
def take_a_logarithm(plan: Plan) -> None:
    """Ask for the logarithm of a count; what it prints is not a number that other tools take."""
    rng = plan.rng
    value, base, digits = rng.between(120, 98_000), rng.pick((2, 3, 5, 7, 10)), rng.between(6, 18)
    plan.ask(
        "[Take|Compute|Calculate] the logarithm of {value} to base {base}, [with a precision of|to] {digits} digits.",
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
        things=rng.pick(_COUNTED),
    )
    plan.call("logarithm", value=value, base=base, precision=digits)


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
        withhold=("power",),
        number=number,
        exponent=exponent,
    )
    result = plan.call("power", base=number, exponent=exponent)["result"]
    _figure(plan, result, f"{number} to the power {exponent}", "that power")


@goal("MathAPI")
def take_a_square_root(plan: Plan) -> None:
    """Ask for the side of a square, as its area is known."""
    rng = plan.rng
    area, digits = rng.between(310, 98_000), rng.between(5, 12)
    plan.ask(
        "[A|Our] square [plot|field|hall] [has|covers] {area} square metres. I need its root, precision {digits}.",
        "[Compute|Take|Give me] the square root of {area} [with a precision of|to] {digits} digits.",
        "[What's|What is] the square root of {area}, with precision {digits}?",
        vague=("[Compute|Take] the square root of the area of our plot, precision {digits}.",),
        answer=("[The area is|It has|It's] {area} square metres.", "{area} square metres."),
        withhold=("square_root",),
        area=area,
        digits=digits,
    )
    plan.call("square_root", number=area, precision=digits)


@goal("MathAPI")
def add_to_a_figure(plan: Plan) -> None:
    """Ask to add a number to a figure."""
    figure, said, _ = _number(plan)
    other = plan.rng.between(12, 980)
    plan.ask(
        "[Add|Please add] {other} to {figure}.",
        "[What is|What's] {figure} plus {other}?",
        "[There are|We got] {other} more on top of {figure}. [Add them|What does that make? Use addition].",
        vague=(
            "[Add|Please add] what came in today to {figure}.",
            "[Something|A bit] comes on top of {figure}; add it.",
        ),
        answer=("[It's|That's|It is] {other}.", "{other}[ came in today|]."),
        figure=said,
        other=other,
    )
    result = plan.call("add", a=figure, b=other)["result"]
    _figure(plan, result, f"the figure with {other} added", "that sum")


@goal("MathAPI")
def take_from_a_figure(plan: Plan) -> None:
    """Ask to subtract a number from a figure."""
    figure, said, _ = _number(plan)
    other = plan.rng.between(12, 980)
    plan.ask(
        "[Subtract|Take|Deduct|Please subtract] {other} from {figure}.",
        "[What is|What's] {figure} minus {other}?",
        "[How much|What] is {other} less than {figure}?",
        vague=("[Subtract|Deduct] the usual fee from {figure}.", "[What is|What's] {figure} without the fee?"),
        answer=("[The fee is|It's] {other}.", "{other}[ is the fee|]."),
        figure=said,
        other=other,
    )
    result = plan.call("subtract", a=figure, b=other)["result"]
    _figure(plan, result, f"the figure less {other}", "that difference")


@goal("MathAPI")
def multiply_a_figure(plan: Plan) -> None:
    """Ask to multiply a figure."""
    figure, said, _ = _number(plan)
    factor = plan.rng.between(12, 95)
    plan.ask(
        "[Multiply|Please multiply] {figure} by {factor}.",
        "[What is|What's] {figure} times {factor}?",
        "[There are|We have] {factor} [boxes|crates] of {figure} each. [Multiply|Work out the product of] the two.",
        vague=("[Multiply|Please multiply] {figure} by the number of our branches.",),
        answer=("[We have|There are] {factor} branches.", "{factor} of them."),
        withhold=("multiply",),
        figure=said,
        factor=factor,
    )
    result = plan.call("multiply", a=figure, b=factor)["result"]
    _figure(plan, result, f"{factor} times the figure", "that product")


@goal("MathAPI")
def divide_a_figure(plan: Plan) -> None:
    """Ask to divide a figure among some."""
    figure, said, _ = _number(plan)
    parts = plan.rng.between(12, 48)
    plan.ask(
        "[Divide|Please divide|Split] {figure} by {parts}.",
        "[If|Suppose] {parts} people share {figure} equally[, what|: what] does each get?",
        "[What is|What's] {figure} divided by {parts}?",
        vague=(
            "[Divide|Split] {figure} equally among the members.",
            "What does each get if all members share {figure}?",
        ),
        answer=("[We are|There are] {parts} members.", "{parts} members."),
        withhold=("divide",),
        figure=said,
        parts=parts,
    )
    result = plan.call("divide", a=figure, b=parts)["result"]
    _figure(plan, result, f"a {parts}th of the figure", "that quotient")


@goal("MathAPI")
def size_of_a_loss(plan: Plan) -> None:
    """Ask for the absolute value of a negative number."""
    loss = -plan.rng.price(20, 9_000)
    plan.ask(
        "[The balance|My account|The drift] [shows|stands at] {loss}. [What is|What's] its absolute value?",
        "[Compute|Take|Give me] the absolute value of {loss}[, please|].",
        "[What's|What is] the absolute value of {loss}?",
        vague=("[The balance|My account] is negative[. Give|, give] me its absolute value.",),
        answer=("[It stands at|It's|The value is] {loss}.",),
        withhold=("absolute_value",),
        loss=loss,
    )
    result = plan.call("absolute_value", number=loss)["result"]
    _figure(plan, result, f"the absolute value of {loss}", "that amount")
