"""The grammar of names and addresses, the same at every door.

Owns what a name may look like, which names are reserved and how a session's
free-form name folds into one.  Knows nothing of which names exist.
homi-address(7) is the grammar.
"""

import difflib
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple, NewType

from homi.errors import Usage

Name = NewType("Name", str)
Device = NewType("Device", str)

OWNER = Name("owner")
SELF = Device("self")  # this device, whatever it is called
POSTMASTER = Name("postmaster")
BUILT_IN = frozenset({OWNER, POSTMASTER})
RESERVED = frozenset(
    [
        "self",
        "all",
        "homi",
        "pm",
        "postmaster",
        "root",
        "owner",
        "user",
        "human",
        "me",
        "main",
        "here",
        "room",
        "local",
        "daemon",
        "hub",
        "system",
    ]
)
MAX_NAME = 64

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_OUTSIDE = re.compile(r"[^a-z0-9._-]+")


class Address(NamedTuple):
    """A name, and the device it lives on; None means this device."""

    name: Name
    device: Device | None = None

    def __str__(self) -> str:
        """The form a person types: name or name@device."""
        return self.name if self.device is None else f"{self.name}@{self.device}"


def is_name(text: str) -> bool:
    """Whether text is a name by the grammar, matched whole, reserved or not."""
    return _NAME.fullmatch(text) is not None and ".." not in text and text[-1:] != "."


def parse_name(text: str) -> Name:
    """The name in text, case folded; Usage (64) with the rule when it is none."""
    folded = text.lower() if text.isascii() else text
    if not is_name(folded):
        raise Usage(
            f"{show(text)} is not a name",
            hint="a name is 1 to 64 of a-z 0-9 . _ -, starts with a letter or digit,"
            " holds no '..' and ends in no '.'",
        )
    return Name(folded)


def parse_claimable(text: str) -> Name:
    """A name one may claim: by the grammar and not reserved (else 64)."""
    name = parse_name(text)
    if name in RESERVED:
        raise Usage(f"{name} is reserved", hint="choose another name")
    return name


def parse_address(text: str) -> Address:
    """name or name@device; Usage (64) when either part breaks the grammar."""
    name, at, device = text.partition("@")
    return Address(parse_name(name), Device(parse_name(device)) if at else None)


def fold(session_name: str) -> Name | None:
    """The address of a session's own free-form name, None when nothing is left.

    Agent clients compare names without case and with blanks as hyphens
    (measured on Claude Code 2.1.332), so 'My Agent' and 'my-agent' are one.
    """
    text = unicodedata.normalize("NFKC", session_name).lower()
    text = _OUTSIDE.sub("-", text).strip("-._")
    text = re.sub(r"\.\.+", ".", text)[:MAX_NAME].rstrip(".-_")
    return Name(text) if is_name(text) else None


def nearest(text: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """The known name closest to text, None when nothing is close; least: how alike
    they are at least, of 1.0."""
    found = difflib.get_close_matches(text.lower(), list(known), n=1, cutoff=least)
    return found[0] if found else None


def spelled(text: str) -> str:
    """A name as it is, and what is none as show() has it."""
    return text if is_name(text) else show(text)


def local(address: Address) -> Address:
    """The same without a device that is this one by its general name."""
    return Address(address.name) if address.device == SELF else address


def show(text: str, limit: int = 80) -> str:
    """Untrusted text as it may stand in an error line: quoted, escaped, cut."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return ascii(cut) if not cut.isprintable() else f"'{cut}'"
