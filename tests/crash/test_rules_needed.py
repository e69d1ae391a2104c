"""Each rule of the commit protocol, dropped from the real code, breaks a promise.

A simulation that cannot see a missing rule would prove nothing about the rest.
"""

from functools import cache

import pytest

from tests.crash.powercut import history
from tests.crash.rules import RULES, Rule

# Within so many histories the missing rule must show; most show in a few dozen.
BOUND = 6000


@cache
def sound(seed: int) -> bool:
    """Whether the code as it is keeps every promise in this history."""
    return history(seed)[0] is None


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_rule_is_needed(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it a promise breaks; with it, over the same histories, none does."""
    with monkeypatch.context() as patch:
        patch.setattr(rule.owner, rule.name, rule.variant)
        broken = next((seed for seed in range(BOUND) if history(seed)[0]), None)
    assert broken is not None, f"nothing broke in {BOUND} histories"
    assert all(sound(seed) for seed in range(broken + 1))
