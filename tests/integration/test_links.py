"""Links between two real daemons over a real sshd."""

import json
from collections.abc import Iterator

import pytest

from tests.integration.linked import Pair
from tests.standin import sshd


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two daemons and an ssh server."""
    sshd.need()
    with Pair() as made:
        yield made


def test_a_link_comes_up_and_is_measured(pair: Pair) -> None:
    """Both ends know who is there; probes are kept on both disks."""
    pair.link()
    pair.both_up()
    for one, other in ((pair.laptop, "mini"), (pair.mini, "laptop")):
        row = json.loads(one.ok("link", "ls", "--json"))
        assert row["ms"] > 0
        assert row["software"].startswith("homi ")
        found = json.loads(one.ok("link", "check", "--json", other))
        assert (found["kept"], len(found["ms"]), found["state"]) == (3, 3, "up")
