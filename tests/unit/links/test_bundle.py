"""A bundle is read whole, for this device, by its writer's key; or nothing of it is."""

from collections.abc import Callable

import msgspec
import pytest

from homi import ids
from homi.address import Device
from homi.config import LINE_MAX_ALONE
from homi.envelope import MessageId
from homi.errors import (
    BadMessage,
    HomiError,
    NoSuchDevice,
    NotAllowed,
    VersionMismatch,
)
from homi.links.bundle import Check, Seal, Stored, head_of, read, sealed
from homi.links.frames import Mail, Tail, encode, mail_line, mail_tail
from homi.links.identity import verify
from tests.unit.links.kit import IDENTITIES, KEYS

Lines = list[bytes]


def bundle(to: str = "mini", signer: str = "laptop") -> Lines:
    """Three messages and what the writer has, signed."""
    bodies = [msgspec.Raw(b'{"id":"%d"}' % n) for n in range(3)]
    tails = [
        Tail(to="ada@mini", hops=["laptop"], verified=True, msg=body) for body in bodies
    ]
    mails = [mail_line(n, mail_tail(tail)) for n, tail in enumerate(tails, 1)]
    stored = encode(Stored([MessageId(ids.shape(7))]))
    head = head_of(Device("laptop"), Device(to), KEYS["laptop"], "", 3)
    return list(sealed(head, [*mails, stored], IDENTITIES[signer].sign))


def checked(lines: Lines, pinned: str | None = KEYS["laptop"]) -> int:
    """How many messages a reader on mini lets in."""
    check = Check(Device("mini"), lambda device: pinned, verify)
    for line in lines:
        check.line(line)
    check.end()
    return check.mails


def test_what_was_written_is_read() -> None:
    """Its messages, byte for byte, and what the writer has."""
    lines = bundle()
    assert checked(lines) == 3
    found = [read(line) for line in lines]
    mails = [one for one in found if isinstance(one, Mail)]
    assert [bytes(mail.msg) for mail in mails] == [b'{"id":"%d"}' % n for n in range(3)]
    assert isinstance(found[-2], Stored)
    assert found[0] is found[-1] is None


def test_lines_and_fields_of_a_later_homi_are_passed_over() -> None:
    """They are signed like the others."""
    head = head_of(Device("laptop"), Device("mini"), KEYS["laptop"], "", 0)
    more = [b'{"f":"weather","is":"fine"}\n', b'{"f":"stored","ids":[],"x":1}\n']
    lines = list(sealed(head, more, IDENTITIES["laptop"].sign))
    assert checked(lines) == 0
    assert read(lines[1]) is None


def _cut(lines: Lines, size: int) -> Lines:
    """The first bytes of a bundle."""
    return b"".join(lines)[:size].splitlines(keepends=True)


DAMAGED: dict[str, tuple[Callable[[Lines], Lines], type[HomiError], str]] = {
    "empty": (lambda _: [], BadMessage, "empty"),
    "no bundle": (lambda _: [b"hello\n"], BadMessage, "no bundle"),
    "binary": (lambda _: [b"\x00\xff\xfe\n"], BadMessage, "no bundle"),
    "no end": (lambda b: b[:-1], BadMessage, "cut short behind line 5: 3 of 3"),
    "cut in a line": (lambda b: _cut(b, len(b[0]) + 20), BadMessage, "cut short"),
    "one is missing": (lambda b: [*b[:2], *b[3:]], BadMessage, "3 where 2 is due"),
    "the last is missing": (lambda b: [*b[:3], *b[4:]], BadMessage, "changed"),
    "reordered": (lambda b: [b[0], b[2], b[1], *b[3:]], BadMessage, "reordered"),
    "one is twice": (lambda b: [*b[:2], *b[1:]], BadMessage, "1 where 2 is due"),
    "changed": (
        lambda b: [b[0], b[1].replace(b"ada@", b"bob@"), *b[2:]],
        BadMessage,
        "changed on its way",
    ),
    "other line ends": (
        lambda b: [line.replace(b"\n", b"\r\n") for line in b],
        BadMessage,
        "changed on its way",
    ),
    "a signature that is none": (
        lambda b: [*b[:-1], encode(Seal(sig="!"))],
        BadMessage,
        "changed on its way",
    ),
    "more behind the end": (lambda b: [*b, b[1]], BadMessage, "behind its signature"),
    "two in one": (lambda b: [*b[:-1], *b], BadMessage, "none of a bundle"),
    "a line of another kind": (
        lambda b: [b[0], b"[]\n", *b[1:]],
        BadMessage,
        "line 2 is none",
    ),
    "a huge line": (
        lambda b: [b[0], b" " * (LINE_MAX_ALONE + 1)],
        BadMessage,
        "line 2 has over",
    ),
    "a huge first line": (
        lambda b: [b[0].replace(b"homi", b"h" * 9000)],
        BadMessage,
        "no bundle",
    ),
    "a later version": (
        lambda b: [b[0].replace(b'"v":1', b'"v":2'), *b[1:]],
        VersionMismatch,
        "version 2",
    ),
    "for another device": (lambda _: bundle("attic"), BadMessage, "for 'attic'"),
    "by another key": (lambda _: bundle(signer="mini"), BadMessage, "did not write"),
    "a name that is a path": (
        lambda b: [b[0].replace(b'"laptop"', b'"../x"'), *b[1:]],
        BadMessage,
        "no device",
    ),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_what_is_damaged_is_refused_in_one_line(what: str) -> None:
    """With what was measured; the control is read."""
    assert checked(bundle()) == 3
    damage, kind, text = DAMAGED[what]
    with pytest.raises(kind) as caught:
        checked(damage(bundle()))
    assert text in caught.value.text
    assert "\n" not in caught.value.text


def test_strangers_and_changed_keys_are_told_apart() -> None:
    """Nothing of theirs is looked at behind the first line."""
    with pytest.raises(NoSuchDevice, match="not paired"):
        checked(bundle(), None)
    with pytest.raises(NoSuchDevice, match="not known"):
        checked(bundle(), "")
    with pytest.raises(NotAllowed, match="paired with"):
        checked(bundle(), KEYS["mini"])
