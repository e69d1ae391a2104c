"""What a check is, whatever it looks at."""

from collections.abc import Iterator
from pathlib import Path

from homi.doctor.check import Check, Grade, Verdict, examine, status, warn
from homi.doctor.facts import Facts
from homi.doctor.table import CHECKS
from tests.unit.doctor.kit import facts, told


def _breaks(_facts: Facts) -> Iterator[Verdict]:
    raise KeyError("a bug")


def _warns(_facts: Facts) -> Iterator[Verdict]:
    yield warn("it is odd", "mend it")


def test_a_check_that_fails_itself_keeps_no_other_from_running(root: Path) -> None:
    """A person who is in trouble needs all the others."""
    checks = [Check("one", "a", _breaks), Check("two", "b", _warns)]
    one, two = examine(checks, facts(root))
    assert (one.grade, two.grade) == (Grade.FAIL, Grade.WARN)
    assert "KeyError" in one.text


def test_what_needs_a_daemon_is_not_looked_at_without_one(root: Path) -> None:
    """And with one it is."""
    check = Check("one", "a", _warns, daemon=True)
    assert [row.grade for row in examine([check], facts(root))] == [Grade.SKIP]
    assert [row.grade for row in examine([check], told(root))] == [Grade.WARN]


def test_what_is_worst_makes_the_status(root: Path) -> None:
    """0, 1 and 2."""
    well = Check("one", "a", lambda _: [])
    odd, broken = Check("two", "b", _warns), Check("three", "c", _breaks)
    seen = facts(root)
    assert status(examine([well], seen)) == 0
    assert status(examine([well, odd], seen)) == 1
    assert status(examine([broken, odd], seen)) == 2


def test_what_is_well_is_told_in_words_that_stand_alone(root: Path) -> None:
    """What a check proves, where it has no words of its own."""
    plain = Check("one", "mail is taken", lambda _: [])
    own = Check("two", "b", lambda _: [], "it is empty")
    rows = examine([plain, own], facts(root))
    assert [row.text for row in rows] == ["mail is taken", "it is empty"]


def test_quick_leaves_out_what_is_slow(root: Path) -> None:
    """And says nothing of it."""
    check = Check("one", "a", _warns, slow=True)
    assert list(examine([check], facts(root), quick=True)) == []
    assert list(examine([check], facts(root)))


def test_every_check_has_a_name_of_its_own_and_says_what_it_proves() -> None:
    """The page lists them by name."""
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.proves for check in CHECKS)


def test_a_root_that_nothing_may_use_stops_no_check(root: Path) -> None:
    """Everything that cannot be asked over it is told, and the rest is looked at."""
    root.chmod(0o755)
    quick = list(examine(CHECKS, facts(root), quick=True))
    assert {row.check for row in quick} == {one.name for one in CHECKS if not one.slow}
    (daemon,) = (row for row in quick if row.check == "daemon")
    assert (daemon.grade, daemon.fix) == (Grade.FAIL, f"chmod 700 {root}")


def test_settings_that_cannot_be_read_are_told_once(root: Path) -> None:
    """Whatever needs them says where to look."""
    file = root.parent / "config" / "homi" / "homi.toml"
    file.write_text("ring = 3\n")
    assert "homi.toml cannot" not in str(list(examine(CHECKS, told(root), quick=True)))
    file.write_text("rign = 3\n")
    rows = list(examine(CHECKS, told(root), quick=True))
    assert [row.check for row in rows if "rign" in row.text] == ["settings"]
    skipped = [row for row in rows if row.grade is Grade.SKIP]
    assert [row.check for row in skipped] == ["space", "ring", "domains"]
    assert {row.text for row in skipped} == {"homi.toml cannot be read: see settings"}
