"""What homi put into a client's files, so that it can be taken out again.

Owns the file homi-setup.json in the client's folder; knows nothing of the files it
tells of.  homi-setup(1) has its fields.
"""

import hashlib
from pathlib import Path

import msgspec

from homi import foreign
from homi.errors import BadConfig

NAME = "homi-setup.json"
SIZE_MAX = 1 << 20


class Kept(msgspec.Struct, omit_defaults=True):
    """What is known of one file."""

    existed: bool  # before homi came to it
    before: str = ""  # the digest of what it was then
    after: str = ""  # of what homi made of it; empty: others wrote in between
    backup: str = ""  # the path of what it was; empty where it was not there
    made: list[list[str]] = []  # the containers that homi made in it
    folders: list[str] = []  # those that homi made for it
    added: list[str] = []  # the permissions that homi gave


class Record(msgspec.Struct):
    """The whole: one entry for each file homi is in."""

    v: int = 1
    files: dict[str, Kept] = msgspec.field(default_factory=dict)


def digest(data: bytes) -> str:
    """What tells whether a file is still as it was."""
    return hashlib.sha256(data).hexdigest()


def load(folder: Path) -> Record:
    """The record in folder, an empty one where there is none; BadConfig (78) where it
    cannot be read."""
    path = folder / NAME
    seen = foreign.look(path, SIZE_MAX)
    if seen.before is None:
        return Record()
    try:
        found = msgspec.json.decode(seen.data, type=Record)
    except msgspec.MsgspecError as error:
        raise BadConfig(
            f"{path} is no record of homi: {error}", hint=_hint(path)
        ) from None
    if found.v != 1:
        raise BadConfig(f"{path} is of version {found.v}, not 1", hint=_hint(path))
    return found


def save(folder: Path, record: Record) -> None:
    """Keep record, durably; an empty one leaves no file."""
    seen = foreign.look(folder / NAME, SIZE_MAX)
    if record.files:
        foreign.replace(seen, msgspec.json.encode(record) + b"\n")
    elif seen.before is not None:
        foreign.remove(seen)


def _hint(path: Path) -> str:
    """Without a record all of homi is still known by its own words."""
    return f"move {path} away: homi is taken out without it as well, if less exactly"
