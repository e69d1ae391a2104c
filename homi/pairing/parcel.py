"""This homi as something to carry to another machine.

Owns which files belong to it: its package, and what its distribution needs.  Where
they go is pairing.install's.
"""

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from homi.errors import Unavailable

NAME = "homi-postmaster"
_PACKAGE = Path(__file__).parents[1]
_REQUIRED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def archive() -> bytes:
    """A gzipped tar of homi and all it needs, to be put on a path as it is; only for
    the same platform and Python."""
    out = io.BytesIO()
    # Level 1: over any network it is sent once, and packing is waited for.
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as tar:
        for name, path in _own():
            tar.add(path, name, recursive=False)
        for name, data in _papers(_distribution(NAME)):
            tar.addfile(_entry(name, data), io.BytesIO(data))
        for distribution in needed():
            for name, path in _files(distribution):
                tar.add(path, name, recursive=False)
    return out.getvalue()


def wheel() -> tuple[str, bytes]:
    """The name and the bytes of a wheel of homi alone, for any platform."""
    distribution = _distribution(NAME)
    stem = f"{NAME.replace('-', '_')}-{distribution.version}"
    info = f"{stem}.dist-info"
    members = [(name, path.read_bytes()) for name, path in _own()]
    members += _papers(distribution, info)
    members.append(
        (
            f"{info}/WHEEL",
            b"Wheel-Version: 1.0\nGenerator: homi\nRoot-Is-Purelib: true\n"
            b"Tag: py3-none-any\n",
        )
    )
    record = "".join(f"{name},{_digest(data)},{len(data)}\n" for name, data in members)
    members.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members:
            file.writestr(name, data)
    return f"{stem}-py3-none-any.whl", out.getvalue()


def needed(name: str = NAME) -> list[metadata.Distribution]:
    """The installed distributions that name needs, and those that they need.

    One under a condition that does not hold here is not installed, or does no harm.
    """
    found: dict[str, metadata.Distribution] = {}
    left = [name]
    while left:
        for requirement in _distribution(left.pop()).requires or ():
            match = _REQUIRED.match(requirement)
            if match is None or "extra ==" in requirement:
                continue
            wanted = re.sub(r"[-_.]+", "-", match[0]).lower()
            if wanted not in found and wanted != name:
                try:
                    found[wanted] = metadata.distribution(wanted)
                except metadata.PackageNotFoundError:
                    continue
                left.append(wanted)
    return [found[key] for key in sorted(found)]


def _distribution(name: str) -> metadata.Distribution:
    """What is installed under name; Unavailable (69) where nothing is."""
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise Unavailable(
            f"this homi does not know its own parts: {name} is not installed",
            hint="install homi on the other machine by hand; or here: pip install .",
        ) from None


def _own() -> Iterator[tuple[str, Path]]:
    """The files of this package, wherever it runs from."""
    for path in sorted(_PACKAGE.rglob("*")):
        name = path.relative_to(_PACKAGE.parent)
        if path.is_file() and "__pycache__" not in name.parts:
            yield str(name), path


def _papers(
    distribution: metadata.Distribution, folder: str = ""
) -> list[tuple[str, bytes]]:
    """What says which distribution this is, and which command it has."""
    folder = folder or f"{NAME.replace('-', '_')}-{distribution.version}.dist-info"
    found = []
    for name in ("METADATA", "entry_points.txt"):
        if text := distribution.read_text(name):
            found.append((f"{folder}/{name}", text.encode()))
    return found


def _files(distribution: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """The files of a distribution that are imported, not its commands and pages."""
    for file in distribution.files or ():
        path = Path(str(distribution.locate_file(file)))
        outside = file.parts[0] == ".." or file.is_absolute()
        if not outside and file.suffix != ".pyc" and path.is_file():
            yield file.as_posix(), path


def _entry(name: str, data: bytes) -> tarfile.TarInfo:
    """The head of a file in a tar."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o644
    return entry


def _digest(data: bytes) -> str:
    """A digest as RECORD has it."""
    raw = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return "sha256=" + raw.rstrip(b"=").decode()
