"""Checks of the state files, and of what stands in the place of files and folders."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.doctor.check import Grade, Row, examine
from homi.doctor.mail import CHECKS as MAIL
from homi.doctor.state import CHECKS
from tests.unit.doctor.breaks import shown
from tests.unit.doctor.kit import bad, facts, fine, look, told

NOBODY = 65534


def test_a_damaged_file_of_the_state_fails_with_its_name(root: Path) -> None:
    (root / "names.json").write_text('{"v":1}')
    fine(CHECKS, "state", facts(root))
    (root / "links.json").write_text('{"v":1,"dev')
    assert "links.json" in bad(CHECKS, "state", facts(root)).text
    shown("state: damaged beside a daemon", bad(CHECKS, "state", told(root)))


def test_a_file_of_a_newer_homi_fails_with_both_versions(root: Path) -> None:
    """Nothing on this machine reads it: it is not set aside either."""
    (root / "names.json").write_text('{"v":9,"claims":{}}')
    shown("state: newer", bad(CHECKS, "state", facts(root)))
    fine(CHECKS, "layout", facts(root))


def test_what_is_no_folder_is_told_until_it_is_moved(root: Path) -> None:
    """As the fix has it; what a daemon moves itself is its own to move."""
    [well] = look(CHECKS, "layout", facts(root))
    assert (well.grade, "aside" in well.text) == (Grade.OK, False)
    (root / "mail").write_text("")
    row = shown("layout: folder", bad(CHECKS, "layout", facts(root)))
    subprocess.run(["sh", "-c", row.fix], check=True)
    [well] = look(CHECKS, "layout", facts(root))
    assert (well.grade, well.text.endswith("mail.aside")) == (Grade.OK, True)
    (root / "mail").symlink_to("an unmounted disk")
    row = bad(CHECKS, "layout", facts(root))
    assert (row.fix, "bring back" in row.hand) == ("", True)


@pytest.mark.parametrize("name", ["homi.lock", "homi.sock", "mail/ada/inbox.jsonl"])
def test_a_pipe_in_the_place_of_a_file_is_told_and_not_waited_for(
    root: Path, name: str
) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(root / name)
    row = bad(CHECKS, "layout", facts(root))
    assert "is a pipe" in row.text
    subprocess.run(["sh", "-c", row.fix], check=True)
    fine(CHECKS, "layout", facts(root))
    (root / "names.json").symlink_to("nowhere")
    fine(CHECKS, "state", facts(root))
    assert "a link to nothing" in bad(CHECKS, "layout", facts(root)).text


@pytest.fixture
def nobody() -> Iterator[Path]:
    """A root, and this process as somebody whom a mode bars: it bars no root user."""
    users = os.getresuid()
    with tempfile.TemporaryDirectory(prefix="hm") as name:
        made = Path(name) / "root"
        made.mkdir(mode=0o700)
        if users[1] == 0:
            os.chmod(name, 0o755)
            os.chown(made, NOBODY, -1)
            os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield made
        finally:
            os.setresuid(*users)


@pytest.mark.parametrize(
    "name", ["links.json", "held.jsonl", "homi.lock", "mail/ada/inbox.jsonl"]
)
def test_a_file_that_may_not_be_read_is_told_until_it_may(
    nobody: Path, name: str
) -> None:
    """And keeps nobody from its neighbours, before it and behind it."""
    file, around = nobody / name, [nobody / "aliases.json", nobody / "names.json"]
    file.parent.mkdir(parents=True, exist_ok=True)
    for each in (file, *around):
        each.write_text('{"v":1' if each in around else '{"v":1}')

    def told() -> list[Row]:
        rows = examine([*CHECKS, *(one for one in MAIL if one.slow)], facts(nobody))
        return [row for row in rows if row.grade is Grade.FAIL]

    damaged = told()
    assert [row.text for row in damaged] == [f"{path} is damaged" for path in around]
    file.chmod(0)
    [row] = [row for row in told() if row not in damaged]
    assert row.fix == f"chmod u+rwX {file}"
    subprocess.run(["sh", "-c", row.fix], check=True)
    assert told() == damaged


def test_a_folder_that_may_not_be_read_is_told_until_it_may(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its mail would look like none at all."""
    box = root / "mail" / "ada"
    box.mkdir(parents=True)
    fine(CHECKS, "layout", facts(root))
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, _mode: Path(path) != box)
        row = bad(CHECKS, "layout", facts(root))
    assert row.fix == f"chmod u+rwX {box}"
    subprocess.run(["sh", "-c", row.fix], check=True)
    fine(CHECKS, "layout", facts(root))
