"""Checks of the programs around homi."""

import os
from pathlib import Path

import pytest

from homi import paths
from homi.doctor.check import Grade
from homi.doctor.machine import numbers
from homi.doctor.tools import CHECKS
from homi.pairing import program
from homi.setup import unit
from tests.unit.doctor.breaks import shown
from tests.unit.doctor.kit import Given, bad, facts, fine, look


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The homi that runs, as a file."""
    made = script(tmp_path / "own", "exit 0")
    monkeypatch.setattr(program.sys, "argv", [str(made)])
    return made


def script(folder: Path, text: str) -> Path:
    """A program called homi."""
    folder.mkdir()
    made = folder / "homi"
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return made


def test_another_program_of_that_name_in_path_is_told_until_path_is_mended(
    root: Path, tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "other", "echo homi the smart home")
    rest = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{tmp_path}/other:{rest}")
    found = shown("program", bad(CHECKS, "program", facts(root)))
    assert "smart home" in found.text
    assert found.hand.endswith(f"export PATH={own.parent}:$PATH")
    monkeypatch.setenv("PATH", f"{own.parent}:{tmp_path}/other:{rest}")
    fine(CHECKS, "program", facts(root))
    monkeypatch.setenv("PATH", str(root))
    assert "no homi is in PATH" in bad(CHECKS, "program", facts(root)).text


def test_an_old_python_or_library_fails_with_what_installs_it(root: Path) -> None:
    fine(CHECKS, "python", facts(root, Given(requirements=["click>=8.1"])))
    old = look(CHECKS, "python", facts(root, Given(python=(3, 9, 1))))
    assert [row.grade for row in old] == [Grade.FAIL, Grade.OK]
    shown("python: old", old[0])
    needs = ["click>=99.2", "nowhere-to-be>=1,<4", 'x>=9; extra == "dev"']
    rows = look(CHECKS, "python", facts(root, Given(requirements=needs)))
    assert [row.grade for row in rows] == [Grade.FAIL, Grade.FAIL, Grade.OK]
    shown("python: library", rows[0])
    assert "nowhere-to-be is not installed" in rows[1].text


def test_seats_need_a_tmux_that_is_new_enough(root: Path) -> None:
    fine(CHECKS, "tmux", facts(root, Given(tmux="")))  # no seat is used
    paths.seat_socket(root).parent.mkdir(parents=True, exist_ok=True)
    paths.seat_socket(root).touch()
    try:
        assert "no tmux" in bad(CHECKS, "tmux", facts(root, Given(tmux=""))).text
        old = facts(root, Given(tmux="/x/tmux", run="tmux 3.1c"))
        shown("tmux", bad(CHECKS, "tmux", old))
        new = facts(root, Given(tmux="/x/tmux", run="tmux next-3.6"))
        fine(CHECKS, "tmux", new)
    finally:
        paths.seat_socket(root).unlink()


def test_a_service_that_ends_with_the_login_is_told(root: Path) -> None:
    fine(CHECKS, "lingering", facts(root, Given(run="no")))  # it is no service
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"
    folder.mkdir(parents=True)
    (folder / unit.NAME).write_text("")
    no = facts(root, Given(run="no"))
    shown("lingering", bad(CHECKS, "lingering", no))
    fine(CHECKS, "lingering", facts(root, Given(run="yes\n")))


def test_versions_are_compared_by_their_numbers() -> None:
    assert numbers("3.10") > numbers("3.2")
    assert numbers("3.1c") == (3, 1)
    assert numbers("odd") == ()
