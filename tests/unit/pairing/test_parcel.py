"""This homi packed: all that belongs to it, and nothing that does not."""

import base64
import hashlib
import io
import tarfile
import zipfile

import pytest

from homi.errors import Unavailable
from homi.pairing import parcel
from homi.pairing.install import Python


def test_the_archive_holds_homi_and_what_it_needs() -> None:
    """Plain files inside the folder it is unpacked in, no commands, no caches."""
    with tarfile.open(fileobj=io.BytesIO(parcel.archive())) as tar:
        members = tar.getmembers()
    names = {member.name for member in members}
    assert {"homi/daemon.py", "msgspec/__init__.py", "click/__init__.py"} <= names
    assert any(name.endswith(".dist-info/METADATA") for name in names)
    assert all(member.isfile() for member in members)
    assert not [name for name in names if ".." in name or name.startswith(("/", "bin"))]
    assert not [name for name in names if name.endswith(".pyc")]


def test_what_is_needed_is_followed_to_the_end_and_no_tool_with_it() -> None:
    """rich needs pygments; pytest is an extra."""
    names = {found.metadata["Name"].lower() for found in parcel.needed()}
    assert {"click", "msgspec", "rich", "pygments", "asyncssh"} <= names
    assert not names & {"pytest", "ruff", "mypy"}


def test_the_wheel_is_one() -> None:
    """Its record fits its files, and it has the command."""
    name, data = parcel.wheel()
    assert name.startswith("homi_postmaster-")
    with zipfile.ZipFile(io.BytesIO(data)) as wheel:
        files = {each: wheel.read(each) for each in wheel.namelist()}
    (record,) = (each for each in files if each.endswith("RECORD"))
    info = record.removesuffix("/RECORD")
    assert b"homi.cli.fast:main" in files[f"{info}/entry_points.txt"]
    assert b"Tag: py3-none-any" in files[f"{info}/WHEEL"]
    for line in files.pop(record).decode().splitlines()[:-1]:
        path, digest, size = line.split(",")
        sha = hashlib.sha256(files[path]).digest()
        assert digest == f"sha256={base64.urlsafe_b64encode(sha).decode().rstrip('=')}"
        assert int(size) == len(files.pop(path))
    assert not files


def test_a_homi_without_papers_cannot_be_packed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It says so, and what to do."""
    monkeypatch.setattr(parcel, "NAME", "homi-that-nobody-installed")
    with pytest.raises(Unavailable, match="does not know its own parts"):
        parcel.archive()


def python(
    libc: str, tag: str = "cpython-311", platform: str = "linux-x86_64"
) -> Python:
    """A Python with that C library."""
    return Python(exe="/usr/bin/python3", tag=tag, platform=platform, libc=libc)


@pytest.mark.parametrize(
    ("there", "fits"),
    [
        (python("glibc 2.36"), True),
        (python("glibc 2.41"), True),
        (python("glibc 2.9"), False),
        (python(""), False),
        (python("glibc 2.36", tag="cpython-312"), False),
        (python("glibc 2.36", platform="linux-aarch64"), False),
    ],
)
def test_what_was_compiled_here_goes_only_where_it_runs(
    there: Python, fits: bool
) -> None:
    """The same Python and platform, and no older C library."""
    assert python("glibc 2.36").serves(there) is fits


def test_a_machine_of_another_c_library_gets_a_wheel() -> None:
    """musl has no name for itself; it is not what glibc is."""
    assert python("").serves(python(""))
    assert not python("").serves(python("glibc 2.36"))
