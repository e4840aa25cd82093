"""Hints: every failure has one, none gives anything away, and they can be switched off without a trace."""

from __future__ import annotations

from typing import ClassVar

from envtune_gym.evaluation.coverage import Coverage, measure_coverage
from envtune_gym.feedback.book import domain_rules
from envtune_gym.feedback.general import RULES as GENERAL_RULES
from envtune_gym.feedback.rules import named_tools
from envtune_gym.testing.base import Suite
from envtune_gym.testing.codes import raised_codes

__all__ = ["HintSuite"]

_SHOWN = 5


class HintSuite(Suite):
    """The rules of a domain, held against the errors in its source and against many failing calls."""

    _measured: ClassVar[Coverage]

    def test_every_code_has_a_rule_and_every_rule_a_code(self) -> None:
        """The codes are read from the source of the domain."""
        codes = raised_codes(self.domain_class())
        assert codes, "no ToolFailure is raised anywhere"
        ruled = {rule.code for rule in domain_rules(self.domain)}
        assert codes - ruled - {rule.code for rule in GENERAL_RULES} == set()
        assert ruled - codes == set()

    def test_rules_name_only_tools_of_their_domain(self) -> None:
        """Advice to use a tool that does not exist is worse than none."""
        tools = set(self.domain_class().tools)
        for rule in domain_rules(self.domain):
            assert rule.tool is None or rule.tool in tools
            for text in rule.actionable:
                assert set(named_tools(text)) <= tools, text

    def test_every_failing_call_is_explained(self) -> None:
        """Ground truths altered in many ways, random calls and unreadable messages all get a hint."""
        coverage = self._coverage()
        assert coverage.total.failures > 0
        assert coverage.missed[:_SHOWN] == []

    def test_no_hint_gives_anything_away(self) -> None:
        """No hint holds a call, an unseen value or a withheld tool of the ground truth."""
        assert self._coverage().leaked[:_SHOWN] == []

    def test_off_is_the_text_of_the_domain_byte_for_byte(self) -> None:
        """Nor does any level change what is scored."""
        coverage = self._coverage()
        assert (coverage.off_differences, coverage.score_differences) == (0, 0)

    @classmethod
    def _coverage(cls) -> Coverage:
        """Return what hints say of the failing calls of the tasks that are played; measured once for each class."""
        if "_measured" not in vars(cls):
            cls._measured = measure_coverage(list(cls.played_tasks()))
        return cls._measured
