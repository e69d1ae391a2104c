"""Letting another device in, and putting it out again: the near half of a pairing.

Owns the order: the daemon judges a device before its line is written, and a line is
taken away before anything else.  homi-link(1) is the page.
"""

from contextlib import suppress
from pathlib import Path

import msgspec

from homi.address import Device, parse_name
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import NoSuchDevice, NotAllowed, Usage
from homi.links import keys
from homi.pairing import authorized, keyfile
from homi.reports import Done
from homi.requests import AddLink, OrderLink


class Admitted(msgspec.Struct, frozen=True):
    """What admit did."""

    device: str
    key: str  # SHA256:…
    file: str
    changed: bool  # the line or what links.json keeps
    foreign: list[int]  # other lines of the file with the same key


class Expelled(msgspec.Struct, frozen=True):
    """What expel did."""

    device: str
    file: str
    line: bool  # it was there and is gone
    link: bool  # likewise
    pending: int  # messages for it that stay here


def admit(root: Path, given: str, key: str, exe: str) -> Admitted:
    """Pin the key of a device and let its holder in; exe: the homi that sshd runs."""
    device = Device(parse_name(given))
    if keys.blob(key) is None:
        raise Usage(
            "the key is no ssh-ed25519 key",
            hint="homi link card on the other device shows its own",
        )
    text = " ".join(key.split()[:2])
    with Connection(root) as client:
        refuse_session(client.welcome.caller)
        done = client.call(AddLink(i=1, device=device, key=text), Done)
    file = keyfile.place()
    line = authorized.line_for(device, text, exe, str(root))
    made = keyfile.rewrite(file, lambda data: authorized.admit(data, device, line))
    return Admitted(
        device=device,
        key=keys.fingerprint(text),
        file=str(file),
        changed=made.changed or "already" not in done.text,
        foreign=made.foreign,
    )


def expel(root: Path, given: str) -> Expelled:
    """Take the line of a device away, and its link; 68 where there was neither."""
    device = Device(parse_name(given))
    with suppress(Absent), Connection(root) as client:
        refuse_session(client.welcome.caller)
    file = keyfile.place()
    line = file.exists() and (
        keyfile.rewrite(file, lambda data: authorized.expel(data, device)).changed
    )
    pending, link = 0, True
    try:
        with Connection(root) as client:
            order = OrderLink(i=1, do="rm", device=device)
            pending = client.call(order, Done).pending
    except NoSuchDevice:
        if not line:
            raise
        link = False
    return Expelled(
        device=device, file=str(file), line=line, link=link, pending=pending
    )


def refuse_session(caller: str) -> None:
    """NotAllowed (77) for an agent's session: who may log in is a person's affair."""
    if caller not in ("person", "service"):
        raise NotAllowed(
            f"a {caller} pairs no devices", hint="ask the person at this device to"
        )
