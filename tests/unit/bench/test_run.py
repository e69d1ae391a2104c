"""The benchmark itself, on tiny sizes: every line is there; no figure is judged."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import kit, links, run, twenty
from tests.bench.report import Figure
from tests.bench.setup import TINY, Loads, Setup, frozen, machine
from tests.standin import sshd, verbs

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None, reason="no C compiler for the reference"
)


def test_the_command_gives_its_lines_as_a_table_and_as_json(tmp_path: Path) -> None:
    """On tiny sizes; no figure of theirs means anything."""
    target = tmp_path / "figures.json"
    program = [sys.executable, str(kit.HERE / "run.py"), "--tiny", "--only", "turns"]
    done = subprocess.run(
        [*program, "--json", str(target)],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(target.read_text())["figures"]
    assert [one["value"] is not None for one in figures] == [True, True], done.stderr
    for one in figures:
        assert one["label"] in done.stdout


def test_the_large_root_gives_start_memory_and_verbs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What a verb cannot do is a missed line, what homi does not have a skipped one."""
    asked = [
        verbs.Asked(("inbox", verbs.BIG)),
        verbs.Asked(("inbox", "nobody")),
        verbs.Asked(("dance",)),
    ]
    monkeypatch.setattr(verbs, "asked", lambda _messages: asked)
    setup = Setup(kit.Tools(tmp_path, tmp_path), tmp_path, 1, 0.1, TINY)
    figures = run.big(setup)
    groups = [one.group for one in figures]
    assert groups.count("start") == 3
    assert groups.count("memory") == 3
    assert all(one.value is not None for one in figures[:6])
    for first in (6, 10):  # with a daemon and without: three verbs and their memory
        answered, failed, unknown, memory = figures[first : first + 4]
        assert answered.value not in (None, float("inf"))
        assert (failed.verdict, failed.note[:9]) == ("MISSED", "status 67")
        assert unknown.verdict == "skipped"
        assert memory.value is not None


def test_load_and_reference_are_measured_side_by_side(tmp_path: Path) -> None:
    """The generator drives homi and the C server with the same options."""
    setup = Setup(kit.build(tmp_path), tmp_path, 1, 0.1, TINY)
    loads = Loads(setup)
    with machine(TINY) as place:
        loads.warm(place)
        ours = loads.homi(place, "-c", "4", "-k", "5")
        with frozen(place.pid):
            theirs = loads.reference("-c", "4", "-k", "5")
    for load in (ours, theirs):
        assert load.msgs > 0
        assert load.server_cpu_us > 0


def test_a_group_that_breaks_is_a_line_and_not_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An hour of figures is not lost with the last."""

    def broken(_setup: Setup) -> list[Figure]:
        raise RuntimeError("loadgen: stalled")

    def fine(_setup: Setup) -> list[Figure]:
        return [Figure("g", "l", 1.0)]

    monkeypatch.setitem(run.GROUPS, "slow", broken)
    monkeypatch.setitem(run.GROUPS, "turns", fine)
    setup = Setup(kit.Tools(tmp_path, tmp_path), tmp_path)
    first, second = run.measure(setup, ["slow", "turns"])
    assert (first.verdict, first.note) == ("skipped", "loadgen: stalled")
    assert second.value == 1.0


def test_an_unknown_group_is_refused() -> None:
    """64-like; the control: those there are."""
    assert run.parse([]).groups == list(run.GROUPS)
    with pytest.raises(SystemExit):
        run.parse(["--only", "everything"])


@pytest.mark.skipif(bool(sshd.missing()), reason="no OpenSSH server")
def test_two_linked_daemons_give_every_line_of_a_round(tmp_path: Path) -> None:
    """Over a real sshd; no figure of theirs means anything."""
    setup = Setup(kit.build(tmp_path), tmp_path, 1, 0.1, TINY)
    figures = list(links._figures([links._round(setup)]))
    assert len(figures) == 6
    assert all(one.value and one.goal for one in figures)


@pytest.mark.soak
def test_links_get_all_of_theirs_beside_three_in_trouble(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The far ends share a process."""
    few = ["good"] * 3
    monkeypatch.setattr(twenty, "GOOD", len(few))
    monkeypatch.setattr(twenty, "CALM", [*few, *["idle"] * 3])
    monkeypatch.setattr(twenty, "TROUBLED", [*few, "dead", "refusing", "slow"])
    setup = Setup(kit.build(tmp_path), tmp_path, 1, 0.1, TINY)
    assert min(got.rate for got in twenty._round(setup, 1)) > 0
