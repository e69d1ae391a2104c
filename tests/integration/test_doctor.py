"""The doctor at links that are real, and what a selftest leaves that is told to end."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from homi.doctor import links
from homi.doctor.check import Grade, Row, examine
from homi.doctor.facts import Facts
from homi.doctor.machine import Machine
from tests.integration.linked import Pair
from tests.standin.place import PATIENCE, Place, homi_command, until
from tests.unit.doctor.breaks import shown


def looked(root: Path) -> dict[str, Row]:
    """What is found of the links of a root."""
    rows = examine(links.CHECKS, Facts(root, Machine()))
    return {row.check: row for row in rows}


def lies(root: Path) -> Row | None:
    """What is said of the link once it knows why it is down."""
    row = looked(root)["links"]
    return row if "no daemon answers" in row.text else None


def test_a_link_is_tried_and_one_that_rests_is_told_until_its_fix_is_typed() -> None:
    """Three probes are kept over there; then it is paused, and resumed as told."""
    with Pair() as pair:
        pair.link()
        pair.is_(pair.laptop, "mini", "up")
        found = looked(pair.laptop.state)
        assert {row.grade for row in found.values()} == {Grade.OK}
        assert found["link-trip"].text.startswith("mini kept 3 of 3 probes")
        pair.laptop.ok("link", "pause", "mini")
        row = shown("links: paused", looked(pair.laptop.state)["links"])
        pair.laptop.ok(*row.fix.split()[1:])
        pair.is_(pair.laptop, "mini", "up")
        assert looked(pair.laptop.state)["links"].grade is Grade.OK
        seen = Facts(pair.laptop.state, Machine())
        assert seen.daemon is not None  # the link is up by what it says
        pair.mini.kill()
        [trip] = (one for one in links.CHECKS if one.name == "link-trip")
        shown("link-trip", *examine([trip], seen))
        pair.laptop.homi("link", "check", "mini")
        down = until(lambda: lies(pair.laptop.state), "no daemon is found there")
        shown("links: down", down)
        pair.mini.start()
        pair.laptop.homi("link", "check", "mini")
        pair.is_(pair.laptop, "mini", "up")
        assert looked(pair.laptop.state)["link-trip"].grade is Grade.OK


def test_a_selftest_that_is_told_to_end_leaves_nothing() -> None:
    """Its daemon runs by then."""
    with Place() as place:
        test = subprocess.Popen(
            [*homi_command(), "selftest", "--json"],
            env=place.env(),
            cwd=place.work,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert test.stdout is not None
        with test.stdout as out:
            daemon = int(json.loads(out.readline())["text"].split()[-1])
            os.kill(daemon, 0)
            home = Path(f"/proc/{daemon}/cwd").resolve()
            test.send_signal(signal.SIGTERM)
            assert test.wait(PATIENCE) == -signal.SIGINT  # a shell counts 130
        with pytest.raises(ProcessLookupError):
            os.kill(daemon, 0)
        assert not home.exists()
