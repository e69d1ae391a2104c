"""The round trip, where homi cannot even start."""

import sys
from pathlib import Path

import pytest

from homi.doctor.trip import CHECKS
from tests.unit.doctor.breaks import shown
from tests.unit.doctor.kit import bad, facts


def test_a_homi_that_does_not_start_fails_the_round_trip(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the step; the positive control is the doctor's own script."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/bin/false")
        shown("round-trip", bad(CHECKS, "round-trip", facts(root)))
