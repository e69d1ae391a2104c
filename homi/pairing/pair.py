"""The course of a pairing and of its end, one measured step after another.

Owns the order: nothing is changed before both devices are known, and what is found
right already stays.  homi-pair(1) is the page.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from homi.address import Device, parse_name
from homi.amount import amount
from homi.connection import Connection
from homi.errors import (
    HomiError,
    NoSuchDevice,
    NotAllowed,
    Unavailable,
    Usage,
    not_linked,
)
from homi.linked import Checked
from homi.links import keys
from homi.links.book import Book, Peering
from homi.links.host import typed
from homi.pairing import admission
from homi.pairing.card import Card, own
from homi.pairing.install import install
from homi.pairing.ssh import Ssh
from homi.pairing.there import Look, There
from homi.reports import Done
from homi.requests import AddLink, CheckLink

CHECK = 75.0  # s: a dial and three probes


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step that is done; its fields are those of the JSON form."""

    step: str  # ssh homi daemon devices there here out in
    text: str
    changed: bool = False
    ms: list[float] = []  # what was measured
    note: str = ""  # what a person should know beside it
    left: str = ""  # what could not be removed, and how it can


class Wanted(NamedTuple):
    """What a person asked for."""

    host: str
    name: str | None = None  # what the other device is to be called
    exe: str | None = None  # where homi is there
    install: bool = True


def pair(root: Path, wanted: Wanted) -> Iterator[Step]:
    """Link this device with the one at wanted.host; each step when it is done."""
    if wanted.name is not None:
        parse_name(wanted.name)
    with Connection(root) as client:
        admission.refuse_session(client.welcome.caller)
    mine = own(root)
    with Ssh(wanted.host) as ssh:
        there = There(ssh)
        began = time.monotonic()
        found = there.look(wanted.exe)
        took = _ms(began)
        yield Step("ssh", f"{wanted.host} is a {found.machine}", ms=[took])
        yield _homi(ssh, there, found, wanted)
        if wanted.name is not None:
            there.name(wanted.name)
        running = there.start()
        what = "started" if running.fresh else "runs"
        yield Step("daemon", f"{what} there (pid {running.pid})", running.fresh)
        card = there.card()
        _judge(root, mine, card, wanted)
        yield Step("devices", f"{mine.device} here, {card.device} there")
        yield _admitted(there, mine)
        yield _linked(root, card, wanted.host)
        yield _check_out(root, mine, card)
        yield _checked("in", there.check(mine.device), card.device, mine.device)


def unpair(root: Path, given: str) -> Iterator[Step]:
    """End what pair() made, there and here; there only as far as it can be reached."""
    with Connection(root) as client:
        admission.refuse_session(client.welcome.caller)
        mine = client.welcome.device
    device = Device(parse_name(given))
    peering = _peering(root, device)
    if peering is None:
        raise not_linked(device, "homi link ls")
    yield _expelled_there(peering, mine)
    done = admission.expel(root, device)
    line = f", and its line in {done.file}" if done.line else ""
    note = ""
    if done.pending:
        left = amount(done.pending, "message stays", "messages stay")
        note = f"{left} in the queue (homi queue)"
    yield Step("here", f"the link to {device} is removed{line}", True, note=note)


def _homi(ssh: Ssh, there: There, found: Look, wanted: Wanted) -> Step:
    """The homi there: the one that was found, else one that is put there."""
    if found.exe:
        return Step("homi", f"{found.exe}, {found.version}")
    if not wanted.install:
        raise Unavailable(
            f"there is no homi on {wanted.host}",
            hint=f"homi pair {wanted.host} installs this one; --homi PATH names one",
        )
    began = time.monotonic()
    there.exe, way = install(ssh)
    return Step("homi", f"{there.exe}, {way}", True, [_ms(began)])


def _judge(root: Path, mine: Card, card: Card, wanted: Wanted) -> None:
    """Refuse two devices that cannot be linked, before anything is changed."""
    if card.key == mine.key:
        raise Usage(
            f"{wanted.host} is this device itself",
            hint="a copy of a state root needs a key of its own: remove its keys/",
        )
    # A name that is given there counts when the daemon starts anew.
    stop = f"ssh {typed(wanted.host)} {card.exe} stop"
    if wanted.name is not None and card.device != wanted.name:
        raise Usage(
            f"the device there is called {card.device}, not {wanted.name}",
            hint=f"{stop}, then this again; else the homi.toml there names it",
        )
    if card.device == mine.device:
        raise Usage(
            f"both devices are called {mine.device}",
            hint=f"{stop}, then homi pair --name NAME {wanted.host} names that one",
        )
    before = _peering(root, Device(card.device))
    other = before is not None and before.host not in (None, wanted.host)
    if before is not None and other and not keys.same(before.key, card.key):
        raise NotAllowed(
            f"{card.device} is linked already, at {before.host} and with another key",
            hint=f"homi unpair {card.device} first, if that is the same device",
        )


def _admitted(there: There, mine: Card) -> Step:
    """This device may come in there."""
    done = there.admit(mine)
    what = "admitted" if done.changed else "already admitted"
    note = ""
    if done.foreign:
        lines = ", ".join(map(str, done.foreign))
        note = (
            f"line {lines} of {done.file} there has the same key and is not homi's:"
            " sshd takes the first that fits"
        )
    return Step("there", f"{mine.device} is {what}", done.changed, note=note)


def _linked(root: Path, card: Card, host: str) -> Step:
    """That device is linked here, with its key."""
    before = _peering(root, Device(card.device))
    request = AddLink(
        i=1,
        device=card.device,
        key=card.key,
        host=host,
        home=card.home,
        exe=card.exe,
        via="",
    )
    with Connection(root) as client:
        done = client.call(request, Done)
    note = ""
    if before is not None and not keys.same(before.key, card.key):
        was = keys.fingerprint(before.key) if before.key else "none"
        note = f"its key was {was}, and is {keys.fingerprint(card.key)} now"
    changed = before != _peering(root, Device(card.device))
    return Step("here", done.text, changed, note=note)


def _check_out(root: Path, mine: Card, card: Card) -> Step:
    """The link is up, measured from here."""
    with Connection(root) as client:
        request = CheckLink(i=1, device=card.device)
        found = client.wait(request, Checked, CHECK)
    return _checked("out", found, mine.device, card.device)


def _checked(step: str, found: Checked, one: str, other: str) -> Step:
    """What a check found; Unavailable (69) where no probe came back."""
    way = f"{one} to {other}"
    if not found.kept:
        raise Unavailable(
            f"{way}: the link is {found.state}: {found.text}",
            hint=found.fix or "homi link ls",
        )
    best = min(found.ms)
    text = f"{way}: {found.kept} of {found.probes} probes, {best:.1f} ms"
    return Step(step, text, ms=found.ms)


def _expelled_there(peering: Peering, mine: str) -> Step:
    """This device's line and link are gone there; else what is left of them."""
    left = (
        f"the line homi:{mine} in authorized_keys on {peering.device}, and its link:"
        f" homi link expel {mine} there removes both"
    )
    if peering.host is None:
        return Step("there", f"{peering.device} dials this device", left=left)
    try:
        with Ssh(peering.host) as ssh:
            there = There(ssh)
            there.look(peering.exe or None)
            if not there.exe:
                raise Unavailable(f"there is no homi on {peering.host}")
            there.home = peering.home
            there.expel(mine)
    except NoSuchDevice:
        return Step("there", f"{peering.device} knows nothing of {mine}")
    except HomiError as error:
        return Step("there", error.text, left=left)
    return Step("there", f"{mine} is expelled", True)


def _peering(root: Path, device: Device) -> Peering | None:
    """What is kept of a device here, as the file has it."""
    found = [one for one in Book.read(root) if one.device == device]
    return found[0] if found else None


def _ms(began: float) -> float:
    """Milliseconds since a moment."""
    return round((time.monotonic() - began) * 1000, 1)
