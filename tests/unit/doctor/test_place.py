"""Checks of the root, each failing on what it is for, and healed by its fix."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from homi.doctor.check import Grade, Row, examine
from homi.doctor.place import CHECKS
from tests.unit.doctor.breaks import shown
from tests.unit.doctor.kit import Given, bad, facts, fine, look


def do(row: Row) -> None:
    """The fix, as it is printed."""
    subprocess.run(["sh", "-c", row.fix], check=True)


def test_a_root_that_others_can_read_fails_until_it_is_closed(root: Path) -> None:
    root.chmod(0o755)
    do(shown("root: open", bad(CHECKS, "root", facts(root))))
    fine(CHECKS, "root", facts(root))


def test_a_root_that_is_not_there_yet_is_told(tmp_path: Path) -> None:
    """The script of the command types the fix."""
    shown("root: absent", bad(CHECKS, "root", facts(tmp_path / "none")))


def test_fix_closes_the_root_and_its_files_and_says_so(root: Path) -> None:
    (root / "names.json").write_text("{}")
    (root / "names.json").chmod(0o644)
    root.chmod(0o750)
    rows = {row.check: row for row in examine(CHECKS, facts(root), fix=True)}
    assert rows["root"].grade is rows["files"].grade is Grade.OK
    assert rows["root"].done.startswith("chmod 700")
    assert "names.json" in rows["files"].done
    assert (root / "names.json").stat().st_mode & 0o777 == 0o600


def test_a_file_that_others_can_read_is_told_until_it_is_closed(root: Path) -> None:
    key = root / "a key"
    key.write_text("")
    key.chmod(0o640)
    do(shown("files", bad(CHECKS, "files", facts(root))))
    fine(CHECKS, "files", facts(root))


def test_a_root_that_is_no_folder_of_ours_fails(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    assert "symbolic link" in bad(CHECKS, "root", facts(link)).text


def test_settings_that_cannot_be_read_fail_with_the_key(root: Path) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "homi" / "homi.toml"
    fine(CHECKS, "settings", facts(root))
    file.write_text("rign = 3\n")
    shown("settings", bad(CHECKS, "settings", facts(root)))
    file.write_text("ring = 3\n")  # by hand
    fine(CHECKS, "settings", facts(root))


def test_a_socket_path_that_nothing_can_bind_fails(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fine(CHECKS, "sockets", facts(Path("/tmp/x")))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp/" + "x" * 100)
    deep = facts(root / ("y" * 100))
    shown("sockets", bad(CHECKS, "sockets", deep))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp/x")
    fine(CHECKS, "sockets", deep)


def test_a_file_system_of_the_network_is_told(root: Path) -> None:
    nfs = facts(root, Given(run="nfs"))
    shown("file-system", bad(CHECKS, "file-system", nfs))
    fine(CHECKS, "file-system", facts(root, Given(run="ext2/ext3")))


def test_a_disk_that_is_nearly_full_is_told_before_it_is(root: Path) -> None:
    def seen(mib: int) -> Row:
        (row,) = look(CHECKS, "space", facts(root, Given(free=mib << 20)))
        return row

    assert seen(1000).grade is Grade.OK
    assert seen(200).grade is Grade.WARN
    shown("space", seen(10))


def test_a_file_of_any_name_is_told_and_its_fix_is_one_that_a_shell_takes(
    root: Path,
) -> None:
    """As JSON, too, which holds no half character."""
    for name in (b"no\xfe utf", b"a\nline", b"it's"):
        path = root / os.fsdecode(name)
        path.write_text("")
        path.chmod(0o644)
        row = bad(CHECKS, "files", facts(root))
        msgspec.json.encode(row)
        do(row)
        fine(CHECKS, "files", facts(root))
