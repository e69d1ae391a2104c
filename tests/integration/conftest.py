"""A private machine with a running daemon, for each test."""

from collections.abc import Iterator

import pytest

from tests.standin.place import Place


@pytest.fixture
def place() -> Iterator[Place]:
    """The daemon is up, and svc is claimed: a name for services to sign with."""
    with Place() as made:
        made.start()
        made.ok("claim", "svc")
        yield made
