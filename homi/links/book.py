"""The devices this one is linked with, as links.json keeps them.

Owns the fields of the file, what of them cannot be, and which link leads to which
device; knows nothing of connections.  homi-mailbox(5) lists the fields.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from homi.address import Device, is_name, parse_name, show
from homi.config import HOPS_MAX
from homi.errors import Usage, not_linked
from homi.links import keys
from homi.links.host import is_host
from homi.store.lines import Finding
from homi.store.state import StateFile
from homi.store.whole import read_plain

FILE = "links.json"


class Peering(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of one other device."""

    device: Device
    key: str = ""  # ssh-ed25519 AAAA…: nobody else is that device; empty: only via
    host: str | None = None  # what ssh dials; None: it dials this device
    via: Device | None = None  # the linked device its mail goes over
    home: str = ""  # its state root, as it said when it was paired
    exe: str = ""  # its homi, as it said when it was paired
    mirror: bool = False  # its names are listed here as if they were local
    seats: bool = False  # it may look at the seats here, and drive them
    paused: bool = False  # by a person
    at: str = ""  # RFC 3339: when it was linked

    @property
    def dials(self) -> bool:
        """Whether this device opens connections to that one."""
        return self.host is not None and self.via is None and bool(self.key)


class Peerings(msgspec.Struct, kw_only=True):
    """The whole of links.json."""

    devices: dict[str, Peering] = {}

    def __post_init__(self) -> None:
        """ValueError for what no save of ours wrote: a device under another's name
        would get its mail."""
        for name, peering in self.devices.items():
            if name != peering.device or not is_name(name):
                raise ValueError("a device is not under its name")
            if peering.key and keys.blob(peering.key) is None:
                raise ValueError("a device's key is none")
            if peering.host is not None and not is_host(peering.host):
                raise ValueError("a host cannot be one")


Subscriber = Callable[[Device, Peering | None], None]


class Book:
    """Every linked device by name.  Each change is on disk before its call returns."""

    def __init__(self, device: Device, file: StateFile[Peerings]) -> None:
        """Read the file; device is this one.  VersionMismatch (76) of a newer file."""
        self.device = device
        self._file = file
        found, self.findings = _read(file)
        self._devices = dict(found.devices)
        self._subscribers: list[Subscriber] = []

    @staticmethod
    def read(root: Path) -> list[Peering]:
        """The linked devices of a root without a daemon, by name; changes nothing."""
        try:
            data = read_plain(root / FILE)
            found = msgspec.json.decode(data, type=Peerings)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return []
        return [found.devices[name] for name in sorted(found.devices)]

    def subscribe(self, told: Subscriber) -> None:
        """Call told with each device that changed; None where it was removed."""
        self._subscribers.append(told)

    def get(self, device: str) -> Peering | None:
        """What is kept of that device; None: it is not linked."""
        return self._devices.get(device)

    def need(self, given: str) -> Peering:
        """The same for a device as a person wrote it; 64 no name, 68 not linked."""
        device = parse_name(given)
        found = self._devices.get(device)
        if found is None:
            linked = ", ".join(sorted(self._devices))
            hint = f"linked: {linked}" if linked else "homi pair USER@HOST links one"
            raise not_linked(device, hint)
        return found

    def all(self) -> list[Peering]:
        """Every linked device, by name."""
        return [self._devices[name] for name in sorted(self._devices)]

    def route(self, device: Device) -> Device | None:
        """The linked device whose connection leads to device; None: none does."""
        way = _way(self._devices, device)
        return way[-1] if way and self._devices[way[-1]].via is None else None

    def put(self, peering: Peering) -> None:
        """Keep peering, durably, in place of what was; 64 what cannot be, 74."""
        self._check(peering)
        devices = self._devices | {peering.device: peering}
        self._save(devices)
        self._tell(peering.device, peering)

    def drop(self, device: Device) -> None:
        """Forget device, durably; 68 where it is not linked."""
        self.need(device)
        devices = {name: one for name, one in self._devices.items() if name != device}
        self._save(devices)
        self._tell(device, None)

    def _check(self, peering: Peering) -> None:
        """Usage (64) for a peering that would lead nowhere."""
        device = peering.device
        if device == self.device:
            raise Usage(
                f"{device} is this device itself",
                hint="device = NAME in homi.toml gives one of the two another name",
            )
        if peering.key and keys.blob(peering.key) is None:
            raise Usage(
                f"{show(peering.key)} is no device key",
                hint="homi link card on the other device shows its own",
            )
        if peering.host is not None and not is_host(peering.host):
            raise Usage(f"{show(peering.host)} is no host", hint="USER@HOST")
        if peering.via is not None:
            self._check_way(peering)
        elif not peering.key:
            raise Usage(
                f"the key of {device} is not known",
                hint="homi pair USER@HOST asks for it",
            )

    def _check_way(self, peering: Peering) -> None:
        """Usage (64) where a way ends nowhere, or leads back to its start."""
        at = peering.via
        for _ in range(HOPS_MAX):
            if at is None:
                return
            if at == peering.device:
                raise Usage(f"the way to {at} would lead over {at} itself")
            at = self.need(at).via
        raise Usage(f"the way to {peering.device} has over {HOPS_MAX} links")

    def _save(self, devices: dict[str, Peering]) -> None:
        """On disk first, then in memory."""
        self._file.save(Peerings(devices=devices))
        self._devices = devices

    def _tell(self, device: Device, peering: Peering | None) -> None:
        for told in self._subscribers:
            told(device, peering)


def behind(peerings: Iterable[Peering], device: Device) -> list[Device]:
    """Those whose mail goes to device first, or over it: itself, if it is linked."""
    devices: dict[str, Peering] = {one.device: one for one in peerings}
    return [
        Device(one) for one in sorted(devices) if device in _way(devices, Device(one))
    ]


def over(peerings: Iterable[Peering]) -> dict[Device, Device]:
    """Of each device that is linked over another: that whose connection leads to it."""
    devices: dict[str, Peering] = {one.device: one for one in peerings}
    ways = {one.device: _way(devices, one.device)[-1] for one in devices.values()}
    return {device: way for device, way in ways.items() if device != way}


def _way(devices: Mapping[str, Peering], device: Device) -> list[Device]:
    """The linked devices from device back to the one that is linked directly."""
    way: list[Device] = []
    at: Device | None = device
    while at in devices and at is not None and len(way) < HOPS_MAX:
        way.append(at)
        at = devices[at].via
    return way


def _read(file: StateFile[Peerings]) -> tuple[Peerings, list[Finding]]:
    """What the file holds; nothing where it is absent or was set aside."""
    found, findings = file.load()
    return found or Peerings(), findings
