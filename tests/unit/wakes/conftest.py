"""Fixtures of the wakes' tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from homi.store.disk import RealDisk
from tests.unit.wakes.kit import Scenario, play


@pytest.fixture(autouse=True)
def _steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is cut here, and a sync takes as long as all the rest."""
    monkeypatch.setattr(RealDisk, "sync", staticmethod(lambda _fd: None))
    monkeypatch.setattr(RealDisk, "sync_dir", lambda _disk, _path: None)


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Scenario], None]:
    """Run a scenario over fresh wakes."""
    return lambda scenario: play(tmp_path, scenario)
