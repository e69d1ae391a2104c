"""What a person types where a file cannot be used."""

import errno
import os
from pathlib import Path

import pytest

from homi.store.whole import remedy

DENIED = PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_what_is_opened_to_us_is_the_folder_where_the_way_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the file itself, where the way to it is open."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    file = folder / "ring"
    file.touch()
    assert remedy(str(file), DENIED) == f"chmod u+rwX '{file}'"
    assert remedy(str(folder / "none"), DENIED) == f"chmod u+rwX '{folder}'"
    real = os.lstat

    def closed(path: str) -> os.stat_result:
        if path == str(file):
            raise DENIED
        return real(path)

    monkeypatch.setattr(os, "lstat", closed)
    assert remedy(str(file), DENIED) == f"chmod u+rwX '{folder}'"


def test_what_is_another_users_is_not_ours_to_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is a place of which nobody knows anything."""
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.lstat().st_uid + 1)
    assert remedy(str(tmp_path), DENIED) == ""
    monkeypatch.undo()
    assert remedy(str(tmp_path), DENIED).startswith("chmod ")
    assert remedy("", DENIED) == ""
