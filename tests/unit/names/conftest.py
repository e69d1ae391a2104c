"""Fixtures of the tests of names, owners and callers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.sessions.place import Registry, registries


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    """A registry folder with real processes in it."""
    yield from registries(tmp_path)
