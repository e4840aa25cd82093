"""MathAPI: results, error texts, typed causes, and bounds on work."""

import decimal
import math
import subprocess
import sys

import pytest

from envtune_gym.domains.base import ToolFailure
from envtune_gym.domains.math_api import MAX_OPERAND_TEXT, MAX_POWER_BITS, MAX_PRECISION, MathAPI
from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

NOT_NUMBERS = "Both inputs must be numbers"
NOT_ALL_NUMBERS = "All elements in the list must be numbers"


@pytest.fixture
def api():
    return MathAPI({})


def fail(function, *args):
    with pytest.raises(ToolFailure) as failure:
        function(*args)
    return failure.value


@pytest.mark.parametrize(
    ("tool", "args", "result"),
    [
        ("mean", ([1, 2, 6],), 3.0),
        ("standard_deviation", ([2, 4, 4, 4, 5, 5, 7, 9],), 2.0),
        ("si_unit_conversion", (3, "km", "m"), 3000.0),
        ("imperial_si_conversion", (100, "celsius", "fahrenheit"), 212.0),
        ("imperial_si_conversion", (212, "fahrenheit", "celsius"), 100.0),
        ("imperial_si_conversion", (2, "km", "miles"), 1.242742),
        ("imperial_si_conversion", (7, "parsec", "parsec"), 7),
        ("add", (2, 3), 5),
        ("add", ("a", "b"), "ab"),
        ("subtract", (2, 3.5), -1.5),
        ("multiply", (4, 2.5), 10.0),
        ("divide", (7, 2), 3.5),
        ("power", (2, 100), 2**100),
        ("power", (2, -1), 0.5),
        ("power", (-1, 10**30), 1),
        ("absolute_value", (-3,), 3),
        ("round_number", (2.5,), 2),
        ("round_number", (2.345, 2), 2.35),
        ("round_number", (1250, -2), 1200),
        ("percentage", (1, 8), 12.5),
        ("min_value", ([3, 1, 2],), 1),
        ("max_value", ([3, 1, 2],), 3),
        ("sum_values", ([0.5, 1, 2],), 3.5),
    ],
)
def test_results(api, tool, args, result):
    assert getattr(api, tool)(*args) == {"result": result}


@pytest.mark.parametrize(
    ("precision", "text"),
    [
        (5, "mpf('1.4649734')"),
        (15, "mpf('1.4649735207179269')"),
        (40, "mpf('1.464973520717927167197040407678640396307935')"),
        (0, "mpf('1.5')"),
    ],
)
def test_a_logarithm_prints_with_its_own_precision(api, precision, text):
    result = api.logarithm(5, 3, precision)
    api.logarithm(2, 10, 60)
    assert str(result) == f"{{'result': {text}}}"


def test_a_square_root_has_the_digits_asked_for(api):
    assert str(api.square_root(2, 12)) == "{'result': Decimal('1.41421356237')}"


def test_no_precision_is_left_behind(api):
    import mpmath

    before = mpmath.mp.dps, decimal.getcontext().prec
    api.logarithm(2, 10, 77)
    api.square_root(2, 77)
    assert (mpmath.mp.dps, decimal.getcontext().prec) == before


def test_mpmath_is_imported_by_the_first_logarithm_only():
    program = (
        "import sys; from envtune_gym.domains.math_api import MathAPI; api = MathAPI({}); api.power(2, 3)\n"
        "assert 'mpmath' not in sys.modules; api.logarithm(2, 3, 5); assert 'mpmath' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("tool", "args", "code", "argument", "text"),
    [
        ("mean", ([],), "empty_list", "numbers", "Cannot calculate mean of an empty list"),
        ("mean", ([1, "2"],), "not_a_number", "numbers", NOT_ALL_NUMBERS),
        ("standard_deviation", ([],), "empty_list", "numbers", "Cannot calculate standard deviation of an empty list"),
        ("standard_deviation", (["a"],), "not_a_number", "numbers", NOT_ALL_NUMBERS),
        ("min_value", ([],), "empty_list", "numbers", "Cannot find minimum of an empty list"),
        ("max_value", ([1, "a"],), "not_a_number", "numbers", NOT_ALL_NUMBERS),
        ("sum_values", ([],), "empty_list", "numbers", "Cannot calculate sum of an empty list"),
        ("si_unit_conversion", ("3", "m", "cm"), "not_a_number", "value", "Value must be a number"),
        (
            "si_unit_conversion",
            (3, "m", "ft"),
            "unsupported_unit",
            "unit_out",
            "Conversion from 'm' to 'ft' is not supported",
        ),
        (
            "si_unit_conversion",
            (10**400, "km", "cm"),
            "overflow",
            "value",
            "Conversion resulted in a value too large to represent",
        ),
        (
            "imperial_si_conversion",
            (3, "km", "ft"),
            "unsupported_conversion",
            "unit_out",
            "Conversion from 'km' to 'ft' is not supported",
        ),
        ("add", (1, "2"), "not_a_number", "b", NOT_NUMBERS),
        ("subtract", ("1", 2), "not_a_number", "a", NOT_NUMBERS),
        ("multiply", ("ab", 3), "not_a_number", "a", NOT_NUMBERS),
        ("divide", (1, 0), "division_by_zero", "b", "Cannot divide by zero"),
        ("power", ("2", 3), "not_a_number", "base", NOT_NUMBERS),
        ("percentage", (1, 0), "division_by_zero", "whole", "Whole value cannot be zero"),
        ("absolute_value", ("1",), "not_a_number", "number", "Input must be a number"),
        (
            "round_number",
            (1.5, "1"),
            "not_a_number",
            "decimal_places",
            "First input must be a number, second input must be an integer",
        ),
        ("square_root", (-1, 5), "negative_number", "number", "Cannot calculate square root of a negative number"),
        (
            "square_root",
            ("4", 5),
            "not_a_number",
            "number",
            "Input must be a number or computation resulted in an invalid operation",
        ),
        ("logarithm", (5, 1, 10), "division_by_zero", "base", ""),
        ("logarithm", ("x", 10, 5), "not_a_number", "value", "cannot create mpf from 'x'"),
    ],
)
def test_failures_have_the_official_text_and_a_cause(api, tool, args, code, argument, text):
    failure = fail(getattr(api, tool), *args)
    assert (failure.code, failure.argument, failure.official) == (code, argument, {"error": text})
    assert not failure.silent


@pytest.mark.parametrize(
    ("tool", "args", "code", "result"),
    [
        ("logarithm", (0, 10, 5), "not_positive", "mpf('-inf')"),
        ("power", (-8, 0.5), "complex_result", repr((-8) ** 0.5)),
    ],
)
def test_answers_that_cannot_have_been_meant_are_marked(api, tool, args, code, result):
    failure = fail(getattr(api, tool), *args)
    assert failure.silent
    assert failure.code == code
    assert str(failure.official) == f"{{'result': {result}}}"


@pytest.mark.parametrize(
    ("tool", "args", "error", "text"),
    [
        ("power", (2.5, 10_000), OverflowError, "(34, 'Numerical result out of range')"),
        ("square_root", (2, 0), ValueError, r"valid range for prec is [1, MAX_PREC]"),
        ("si_unit_conversion", (1, ["m"], "cm"), TypeError, "unhashable type: 'list'"),
    ],
)
def test_python_errors_that_the_benchmark_lets_through(api, tool, args, error, text):
    with pytest.raises(error) as raised:
        getattr(api, tool)(*args)
    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("tool", "args", "argument"),
    [
        ("power", (2, 10**30), "exponent"),
        ("power", (-(10**4000), MAX_POWER_BITS), "exponent"),
        ("square_root", (2, 10**9), "precision"),
        ("square_root", (2, MAX_PRECISION + 1), "precision"),
        ("logarithm", (2, 3, 10**9), "precision"),
        ("logarithm", (2, 3, "1000000"), "precision"),
        ("logarithm", ("1" * MAX_OPERAND_TEXT + "jx", 3, 5), "value"),
    ],
)
def test_work_without_bounds_is_refused(api, tool, args, argument):
    failure = fail(getattr(api, tool), *args)
    assert (failure.code, failure.argument) == ("too_large", argument)


def test_rounding_far_beyond_the_digits_needs_no_large_power(api):
    assert api.round_number(5, -(10**18)) == {"result": 0}
    assert api.round_number(999, -3) == {"result": 1000}
    assert api.round_number(500, -3) == {"result": 0}


def test_as_many_digits_as_python_prints_are_computed(api):
    assert len(str(api.power(10, 4299)["result"])) == 4300
    assert math.isclose(float(api.logarithm(10, math.e, MAX_PRECISION)["result"]), math.log(10))


def test_there_is_no_state(api):
    assert api.state() == {}
    assert api.fork().same_state(api)


class TestSuites(DomainSuite, TaskSuite, HintSuite):
    domain = "MathAPI"
