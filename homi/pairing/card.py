"""What a device says of itself to one that pairs with it.

Owns the fields of a card and where this device finds them.  homi-link(1) lists them.
"""

import platform
import sysconfig
from pathlib import Path

import msgspec

from homi import __version__
from homi.connection import Connection
from homi.links.identity import Identity
from homi.pairing.program import program


class Card(msgspec.Struct, frozen=True):
    """Who a device is; its fields are those of the JSON form."""

    device: str
    key: str  # ssh-ed25519 AAAA…
    software: str
    home: str  # its state root
    exe: str  # its homi
    python: str
    platform: str


def own(root: Path) -> Card:
    """The card of this device, whose daemon runs; its key is made where it has none."""
    with Connection(root) as client:
        device = client.welcome.device
    return Card(
        device=device,
        key=Identity.load(root).public,
        software=f"homi {__version__}",
        home=str(root),
        exe=program(),
        python=platform.python_version(),
        platform=sysconfig.get_platform(),
    )
