"""The links of one daemon, put together.

Owns what is loaded with the first link only; the rest is in the parts.  homid(8).
"""

import importlib
import os
import random
from pathlib import Path
from typing import NamedTuple

from homi.address import Device
from homi.clock import Clock
from homi.config import Config
from homi.links.book import FILE, Book, Peerings
from homi.links.checks import Probes
from homi.links.clerk import Clerk, Waiting
from homi.links.links import Engine, Links
from homi.links.traffic import Junction
from homi.store.base import Store
from homi.store.disk import Disk
from homi.store.state import StateFile


class Linkage(NamedTuple):
    """The parts that others meet."""

    book: Book
    links: Links
    clerk: Clerk
    junction: Junction


def build(
    root: Path, settings: Config, store: Store, disk: Disk, clock: Clock
) -> Linkage:
    """Read links.json; nothing is dialled before Links.start().

    VersionMismatch (76) where a newer homi wrote that file.
    """
    file = StateFile(os.fspath(root / FILE), disk, Peerings)
    book = Book(settings.device_name(), file)
    probes = Probes(os.fspath(root), disk, store.closed)
    junction = Junction(probes)
    links = Links(
        book,
        clock,
        lambda: _engine(root, settings.keepalive, disk),
        random.random,
        junction,
        keepalive=settings.keepalive,
    )
    return Linkage(book, links, Clerk(links, probes, clock, _nothing), junction)


def _engine(root: Path, keepalive: float, disk: Disk) -> Engine:
    """The key of this device and the library that dials: a tenth of a second to load,
    and 20 MB, that a device without links does without."""
    identity = importlib.import_module("homi.links.identity").Identity.load(root, disk)
    ssh = importlib.import_module("homi.links.ssh")
    dialler = ssh.Dialler(identity.path, keepalive)
    return Engine(identity, dialler.dial)


def _nothing(_device: Device) -> Waiting:
    """What waits for a device."""
    return Waiting(0, "")
