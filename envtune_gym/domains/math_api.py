"""MathAPI: arithmetic, statistics, logarithms and unit conversion. It has no state."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from envtune_gym.domains.base import Domain, ToolFailure, tool

__all__ = ["MAX_OPERAND_TEXT", "MAX_POWER_BITS", "MAX_PRECISION", "MathAPI"]

MAX_PRECISION = 1_000
"""Most significant digits that `logarithm` and `square_root` compute."""

MAX_POWER_BITS = 100_000
"""Longest integer that `power` computes, in bits; Python itself prints none of more than 4,300 digits."""

MAX_OPERAND_TEXT = 1_000
"""Longest text that `logarithm` reads as a number."""

_SI_METRES: Mapping[str, float] = {"km": 1000, "m": 1, "cm": 0.01, "mm": 0.001, "um": 1e-6, "nm": 1e-9}
_METRES_SI: Mapping[str, float] = {unit: 1 / metres for unit, metres in _SI_METRES.items()}

_IMPERIAL_FACTORS: Mapping[str, float] = {
    "cm_to_in": 0.393701,
    "in_to_cm": 2.54,
    "m_to_ft": 3.28084,
    "ft_to_m": 0.3048,
    "m_to_yd": 1.09361,
    "yd_to_m": 0.9144,
    "km_to_miles": 0.621371,
    "miles_to_km": 1.60934,
    "kg_to_lb": 2.20462,
    "lb_to_kg": 0.453592,
    "celsius_to_fahrenheit": 1.8,
    "fahrenheit_to_celsius": 5 / 9,
}


class MathAPI(Domain):
    """A calculator.

    Numbers are Python's: integers stay exact, `logarithm` answers with an mpmath number and `square_root` with a
    `Decimal`. Neither leaves its precision behind for later calls or other worlds. Work is bounded: what
    exceeds `MAX_PRECISION`, `MAX_POWER_BITS` or `MAX_OPERAND_TEXT` fails with the code `too_large`.
    """

    @tool
    def logarithm(self, value: float, base: float, precision: int) -> dict[str, Any]:
        """Take the logarithm of a number to any base, with as many significant digits as wanted.

        Args:
            value: Number whose logarithm is wanted; positive for a real result.
            base: Base of the logarithm; positive and other than 1.
            precision: Significant digits to compute with.

        Returns:
            `result`: the logarithm, as an mpmath number.
        """
        try:
            result = _logarithm(value, base, precision)
        except ToolFailure:
            raise
        except ZeroDivisionError as error:
            raise ToolFailure("division_by_zero", str(error), argument="base", value=base) from None
        except Exception as error:
            # The benchmark reports whatever goes wrong in mpmath by its text.
            failed = _not_a_number(value=value, base=base, precision=precision)
            raise ToolFailure("not_a_number", str(error), **failed) from None
        for name, operand in (("value", value), ("base", base)):
            if isinstance(operand, (int, float)) and operand <= 0:
                raise ToolFailure("not_positive", {"result": result}, argument=name, value=operand, silent=True)
        return {"result": result}

    @tool
    def mean(self, numbers: list[float]) -> dict[str, Any]:
        """Average a list of numbers.

        Args:
            numbers: Numbers to average; at least one.

        Returns:
            `result`: their arithmetic mean.
        """
        return _reduce(_mean, numbers, "calculate mean")

    @tool
    def standard_deviation(self, numbers: list[float]) -> dict[str, Any]:
        """Measure how far numbers spread around their mean, as the standard deviation of a whole population.

        Args:
            numbers: Numbers to measure; at least one.

        Returns:
            `result`: the population standard deviation.
        """
        return _reduce(_standard_deviation, numbers, "calculate standard deviation")

    @tool
    def si_unit_conversion(self, value: float, unit_in: str, unit_out: str) -> dict[str, Any]:
        """Convert a length from one metric unit to another.

        Args:
            value: Length to convert.
            unit_in: Unit it is given in: km, m, cm, mm, um or nm.
            unit_out: Unit wanted, one of the same.

        Returns:
            `result`: the length in the unit wanted.
        """
        if not isinstance(value, (int, float)):
            raise ToolFailure("not_a_number", "Value must be a number", argument="value", value=value)
        if unit_in not in _SI_METRES or unit_out not in _METRES_SI:
            argument, unit = ("unit_out", unit_out) if unit_in in _SI_METRES else ("unit_in", unit_in)
            raise ToolFailure(
                "unsupported_unit",
                f"Conversion from '{unit_in}' to '{unit_out}' is not supported",
                argument=argument,
                value=unit,
                supported=list(_SI_METRES),
            )
        try:
            return {"result": value * _SI_METRES[unit_in] * _METRES_SI[unit_out]}
        except OverflowError:
            raise _overflow(value) from None

    @tool
    def imperial_si_conversion(self, value: float, unit_in: str, unit_out: str) -> dict[str, Any]:
        """Convert a quantity between a metric and an imperial unit.

        Args:
            value: Quantity to convert.
            unit_in: Unit it is given in: cm, in, m, ft, yd, km, miles, kg, lb, celsius or fahrenheit.
            unit_out: Unit wanted: the counterpart (cm-in, m-ft, m-yd, km-miles, kg-lb, celsius-fahrenheit).

        Returns:
            `result`: the quantity in the unit wanted.
        """
        if not isinstance(value, (int, float)):
            raise ToolFailure("not_a_number", "Value must be a number", argument="value", value=value)
        if unit_in == unit_out:
            return {"result": value}
        conversion = f"{unit_in}_to_{unit_out}"
        if conversion not in _IMPERIAL_FACTORS:
            raise ToolFailure(
                "unsupported_conversion",
                f"Conversion from '{unit_in}' to '{unit_out}' is not supported",
                argument="unit_out",
                value=unit_out,
                unit_in=unit_in,
                supported=[name.split("_to_") for name in _IMPERIAL_FACTORS],
            )
        factor = _IMPERIAL_FACTORS[conversion]
        try:
            if conversion == "celsius_to_fahrenheit":
                return {"result": value * factor + 32}
            if conversion == "fahrenheit_to_celsius":
                return {"result": (value - 32) * factor}
            return {"result": value * factor}
        except OverflowError:
            raise _overflow(value) from None

    @tool
    def add(self, a: float, b: float) -> dict[str, Any]:
        """Sum up two numbers.

        Args:
            a: First summand.
            b: Second summand.

        Returns:
            `result`: the sum.
        """
        return _combine(operator.add, a=a, b=b)

    @tool
    def subtract(self, a: float, b: float) -> dict[str, Any]:
        """Subtract a number from another.

        Args:
            a: Number to take from.
            b: Number to take away.

        Returns:
            `result`: the difference `a - b`.
        """
        return _combine(operator.sub, a=a, b=b)

    @tool
    def multiply(self, a: float, b: float) -> dict[str, Any]:
        """Compute the product of two numbers.

        Args:
            a: First factor.
            b: Second factor.

        Returns:
            `result`: the product.
        """
        if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
            raise ToolFailure("not_a_number", "Both inputs must be numbers", **_not_a_number(a=a, b=b))
        return {"result": a * b}

    @tool
    def divide(self, a: float, b: float) -> dict[str, Any]:
        """Divide a number by another.

        Args:
            a: Dividend.
            b: Divisor; not zero.

        Returns:
            `result`: the quotient `a / b`.
        """
        if b == 0:
            raise ToolFailure("division_by_zero", "Cannot divide by zero", argument="b", value=b)
        return _combine(operator.truediv, a=a, b=b)

    @tool
    def power(self, base: float, exponent: float) -> dict[str, Any]:
        """Compute a power of a number.

        Args:
            base: Number to raise.
            exponent: Power to raise it to.

        Returns:
            `result`: the power; a complex number if a negative base has a fractional exponent.
        """
        whole = isinstance(base, int) and isinstance(exponent, int)
        if whole and abs(base) > 1 and exponent * int(base).bit_length() > MAX_POWER_BITS:
            raise _too_large("exponent", MAX_POWER_BITS, value=exponent)
        answer = _combine(operator.pow, base=base, exponent=exponent)
        if isinstance(answer["result"], complex):
            raise ToolFailure("complex_result", answer, argument="base", value=base, silent=True, exponent=exponent)
        return answer

    @tool
    def square_root(self, number: float, precision: int) -> dict[str, Any]:
        """Take the square root of a number, with as many significant digits as wanted.

        Args:
            number: Number whose root is wanted; not negative.
            precision: Significant digits of the root; at least 1.

        Returns:
            `result`: the root, as a decimal number.
        """
        context = Context()
        try:
            if number < 0:
                message = "Cannot calculate square root of a negative number"
                raise ToolFailure("negative_number", message, argument="number", value=number)
            context.prec = precision
            if precision > MAX_PRECISION:
                raise _too_large("precision", MAX_PRECISION, value=precision)
            return {"result": Decimal(number).sqrt(context)}
        except (TypeError, InvalidOperation):
            message = "Input must be a number or computation resulted in an invalid operation"
            failed = _not_a_number(number=number, precision=precision)
            raise ToolFailure("not_a_number", message, **failed) from None

    @tool
    def absolute_value(self, number: float) -> dict[str, Any]:
        """Drop the sign of a number.

        Args:
            number: Any number.

        Returns:
            `result`: its absolute value.
        """
        try:
            return {"result": abs(number)}
        except TypeError:
            raise ToolFailure("not_a_number", "Input must be a number", argument="number", value=number) from None

    @tool
    def round_number(self, number: float, decimal_places: int = 0) -> dict[str, Any]:
        """Round a number, ties to even.

        Args:
            number: Number to round.
            decimal_places: Digits to keep after the decimal point; negative to round before it.

        Returns:
            `result`: the rounded number.
        """
        try:
            if isinstance(number, int) and isinstance(decimal_places, int):
                # Further left than every digit the result is 0; computing it would build 10 ** -decimal_places.
                decimal_places = max(decimal_places, -number.bit_length() - 2)
            return {"result": round(number, decimal_places)}
        except TypeError:
            message = "First input must be a number, second input must be an integer"
            failed = _not_a_number(number=number, decimal_places=decimal_places)
            raise ToolFailure("not_a_number", message, **failed) from None

    @tool
    def percentage(self, part: float, whole: float) -> dict[str, Any]:
        """Express a part as a percentage of the whole.

        Args:
            part: Size of the part.
            whole: Size of the whole; not zero.

        Returns:
            `result`: the percentage, 100 if both are equal.
        """
        if whole == 0:
            raise ToolFailure("division_by_zero", "Whole value cannot be zero", argument="whole", value=whole)
        return {"result": _combine(operator.truediv, part=part, whole=whole)["result"] * 100}

    @tool
    def min_value(self, numbers: list[float]) -> dict[str, Any]:
        """Find the smallest of a list of numbers.

        Args:
            numbers: Numbers to compare; at least one.

        Returns:
            `result`: the smallest.
        """
        return _reduce(min, numbers, "find minimum")

    @tool
    def max_value(self, numbers: list[float]) -> dict[str, Any]:
        """Find the largest of a list of numbers.

        Args:
            numbers: Numbers to compare; at least one.

        Returns:
            `result`: the largest.
        """
        return _reduce(max, numbers, "find maximum")

    @tool
    def sum_values(self, numbers: list[float]) -> dict[str, Any]:
        """Add up a list of numbers.

        Args:
            numbers: Numbers to add; at least one.

        Returns:
            `result`: their sum.
        """
        return _reduce(sum, numbers, "calculate sum")


def _combine(operation: Callable[[Any, Any], Any], **operands: Any) -> dict[str, Any]:
    """Apply an operator to two named operands."""
    try:
        return {"result": operation(*operands.values())}
    except TypeError:
        raise ToolFailure("not_a_number", "Both inputs must be numbers", **_not_a_number(**operands)) from None


def _reduce(function: Callable[[Any], Any], numbers: Any, purpose: str) -> dict[str, Any]:
    """Apply a function of a list of numbers."""
    if not numbers:
        raise ToolFailure("empty_list", f"Cannot {purpose} of an empty list", argument="numbers", value=numbers)
    try:
        return {"result": function(numbers)}
    except TypeError:
        message = "All elements in the list must be numbers"
        raise ToolFailure("not_a_number", message, argument="numbers", value=numbers) from None


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def _standard_deviation(numbers: list[float]) -> float:
    centre = _mean(numbers)
    return math.sqrt(sum((number - centre) ** 2 for number in numbers) / len(numbers))


def _logarithm(value: Any, base: Any, precision: Any) -> Any:
    """Return the quotient of two natural logarithms; raises whatever mpmath does."""
    digits = int(precision)
    if digits > MAX_PRECISION:
        raise _too_large("precision", MAX_PRECISION, value=digits)
    for name, operand in (("value", value), ("base", base)):
        if isinstance(operand, str) and len(operand) > MAX_OPERAND_TEXT:
            raise _too_large(name, MAX_OPERAND_TEXT)
    context = _mpmath_context(digits)
    return context.log(value) / context.log(base)


@lru_cache(maxsize=16)
def _mpmath_context(digits: int) -> Any:
    """Return mpmath working at a precision of its own.

    A number prints with the precision that its context has at that moment, so each precision needs its context.
    """
    import mpmath

    context = mpmath.MPContext()
    context.dps = digits
    return context


def _not_a_number(**operands: Any) -> dict[str, Any]:
    """Name the first operand that is no number (else the first), as keywords of a `ToolFailure`."""
    wrong = [name for name, operand in operands.items() if not isinstance(operand, (int, float))]
    argument = wrong[0] if wrong else next(iter(operands))
    return {"argument": argument, "value": operands[argument]}


def _overflow(value: Any) -> ToolFailure:
    return ToolFailure(
        "overflow", "Conversion resulted in a value too large to represent", argument="value", value=value
    )


def _too_large(argument: str, limit: int, value: Any = None) -> ToolFailure:
    return ToolFailure("too_large", f"Argument '{argument}' is too large.", argument=argument, value=value, limit=limit)
