"""Stamps as a person and as a program has them."""

import io
import sys
import time

import pytest

from homi.cli import output
from homi.clock import rfc3339


class Screen(io.StringIO):
    """Somebody looks."""

    def isatty(self) -> bool:
        return True


def test_what_is_ahead_is_said_by_how_long_it_is_until_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As an age it would be nothing at all."""
    ahead = rfc3339(time.time() + 7_200.5)
    assert output.until(ahead) == ahead  # a program is told the moment
    monkeypatch.setattr(sys, "stdout", Screen())
    assert output.until(ahead) in ("in 2h", "in 1h")
    assert output.when(ahead) == "0s"
    assert output.until("") == ""
    assert output.until("at no time") == "at no time"
