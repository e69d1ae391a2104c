"""What a device says of itself to one that pairs with it.

Owns the fields of a card and where this device finds them.  homi-link(1) lists them.
"""

import os
import platform
import shutil
import sys
import sysconfig
from pathlib import Path

import msgspec

from homi import __version__
from homi.connection import Connection
from homi.errors import Unavailable
from homi.links.identity import Identity


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


def program() -> str:
    """The absolute path of the homi that runs; Unavailable (69) where it has none."""
    beside = os.path.join(os.path.dirname(sys.executable), "homi")
    for path in (sys.argv[0], beside, shutil.which("homi") or ""):
        if os.path.basename(path) == "homi" and os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise Unavailable("this homi is no command that sshd could run", hint="--exe PATH")
