"""Fixtures of the doors."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.doors.peer_kit import short_root


@pytest.fixture
def root() -> Iterator[Path]:
    """A state root with room for socket paths."""
    with short_root() as found:
        yield found
