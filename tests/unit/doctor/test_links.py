"""Checks of links, by the rows that the daemon gives."""

from pathlib import Path

from msgspec.structs import replace

from homi.doctor.check import Grade
from homi.doctor.links import CHECKS
from homi.linked import LinkRow, Turned
from tests.unit.doctor.breaks import shown
from tests.unit.doctor.kit import AT, bad, fine, told


def test_a_link_that_needs_a_person_fails_and_one_that_waits_is_told(
    root: Path,
) -> None:
    fine(CHECKS, "links", told(root))
    fine(CHECKS, "links", told(root, links=[LinkRow("mini", "up")]))
    stuck = LinkRow("mini", "host-key", "it changed", fix="ssh-keygen -R mini")
    shown("links: stuck", bad(CHECKS, "links", told(root, links=[stuck])))
    words = LinkRow("mini", "unreachable", "x", fix="ssh mini true shows more")
    row = bad(CHECKS, "links", told(root, links=[words]))
    assert (row.fix, row.hand) == ("", "ssh mini true shows more")
    away = told(root, links=[LinkRow("mini", "unreachable", "no route")])
    assert bad(CHECKS, "links", away).grade is Grade.WARN
    rests = told(root, links=[LinkRow("mini", "paused")])
    assert bad(CHECKS, "links", rests).fix == "homi link resume mini"
    behind = LinkRow("attic", "paused", via="mini", fix="homi link resume mini")
    found = bad(CHECKS, "links", told(root, links=[behind]))
    assert found.fix == "homi link resume mini"


def test_who_dials_in_vain_is_told_with_why_linked_or_not(root: Path) -> None:
    away = Turned(
        at=AT,
        since=AT,
        tries=3,
        reason="auth",
        text="no pair",
        fix="here: x",
        origin="::1",
    )
    for row in (LinkRow("mini", "up"), LinkRow("mini", "turned-away", "no pair")):
        found = bad(CHECKS, "links", told(root, links=[replace(row, turned=away)]))
        words = "mini dials this device from ::1 and is turned away: no pair"
        assert found.text == f"{words} (3 tries, the last at {AT})"
        assert found.hand == "here: x"
    rests = LinkRow("mini", "paused", turned=replace(away, reason="paused"))
    assert bad(CHECKS, "links", told(root, links=[rests])).fix  # and told once


def test_clocks_that_differ_are_told(root: Path) -> None:
    near = LinkRow("mini", "up", offset_s=-4.0)
    fine(CHECKS, "clocks", told(root, links=[near]))
    far = LinkRow("mini", "up", offset_s=-7200.0)
    shown("clocks", bad(CHECKS, "clocks", told(root, links=[far])))
