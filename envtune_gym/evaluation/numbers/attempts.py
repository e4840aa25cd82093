"""Several attempts at a task: how likely is it that one of k succeeds, and how likely that all do.

pass@k is the unbiased estimator of *Evaluating Large Language Models Trained on Code* (Chen et al., arXiv 2107.03374),
pass^k that of *tau-bench* (Yao et al., arXiv 2406.12045): of n attempts c succeeded, and k of them are drawn.
"""

from __future__ import annotations

from math import comb

from envtune_gym.errors import ConfigurationError

__all__ = ["pass_all", "pass_any", "reported_ks"]


def pass_any(attempts: int, successes: int, k: int) -> float:
    """Return pass@k of a task: the probability that at least one of k attempts succeeds.

    Raises:
        ConfigurationError: If there are fewer than k attempts, or the counts contradict each other.

    Example:
        >>> round(pass_any(4, 1, 2), 3)
        0.5
    """
    _check(attempts, successes, k)
    return 1 - comb(attempts - successes, k) / comb(attempts, k)


def pass_all(attempts: int, successes: int, k: int) -> float:
    """Return pass^k of a task: the probability that all of k attempts succeed.

    Raises:
        ConfigurationError: As `pass_any` does.

    Example:
        >>> round(pass_all(4, 3, 2), 3)
        0.5
    """
    _check(attempts, successes, k)
    return comb(successes, k) / comb(attempts, k)


def reported_ks(attempts: int) -> list[int]:
    """Return the k that a report has for tasks of so many attempts: powers of two, and all attempts."""
    powers = [2**power for power in range(attempts.bit_length()) if 2**power <= attempts]
    return powers if attempts in powers else [*powers, attempts]


def _check(attempts: int, successes: int, k: int) -> None:
    if not 1 <= k <= attempts or not 0 <= successes <= attempts:
        raise ConfigurationError(f"no k = {k} with {successes} successes in {attempts} attempts; 1 <= k <= attempts")
