"""Places of mail: the mailbox of a name, and the out queue of another device.

Owns where each stands under the state root and what its journals are called; reads
no file.  homi-mailbox(5) is the format.
"""

import os
import re

from homi.address import Device, Name, is_name
from homi.store.disk import Disk

MAIL = "mail"
OUT = "out"
TOPS = (MAIL, OUT)
INBOX = "inbox.jsonl"
QUEUE = "queue.jsonl"
LEDGER = "ledger.jsonl"

_MARK = "@"  # no name begins with it
_JOURNAL = re.compile(
    r"(?:mail/([^/]+)/(?:inbox|ledger)|out/([^/]+)/(?:queue|ledger))\.jsonl"
)


def queue_of(device: Device) -> Name:
    """The place of what waits for another device: @mini."""
    return Name(_MARK + device)


def device_of(place: Name) -> Device | None:
    """The device whose out queue that place is; None: it is a mailbox."""
    return Device(place[1:]) if place[0] == _MARK else None


def is_queue(text: str) -> bool:
    """Whether text is the place of an out queue."""
    return text[:1] == _MARK and is_name(text[1:])


def is_place(text: str) -> bool:
    """Whether text is a mailbox's name or the place of an out queue."""
    return is_name(text.removeprefix(_MARK))


def titled(place: Name) -> str:
    """A place as a sentence names it: the mailbox of ada, the queue for mini."""
    device = device_of(place)
    return f"the mailbox of {place}" if device is None else f"the queue for {device}"


def folder_of(place: Name) -> str:
    """Its folder under the state root: mail/ada, out/mini."""
    device = device_of(place)
    return f"{MAIL}/{place}" if device is None else f"{OUT}/{device}"


def inbox_in(folder: str) -> str:
    """What the journal of envelopes in the folder of a place is called."""
    top = os.path.basename(os.path.dirname(folder))
    return QUEUE if top == OUT else INBOX


def inbox_of(place: Name) -> str:
    """The journal that holds its envelopes, from the state root."""
    return f"{folder_of(place)}/{inbox_in(folder_of(place))}"


def ledger_of(place: Name) -> str:
    """The journal that tells what became of them, from the state root."""
    return f"{folder_of(place)}/{LEDGER}"


def place_of(journal: str) -> Name:
    """The place of a journal that is named from the state root."""
    top, name, _ = journal.split("/")
    return placed(top, name)


def placed(top: str, folder: str) -> Name:
    """The place whose folder has that name under mail/ or out/."""
    return Name(folder) if top == MAIL else queue_of(Device(folder))


def places(disk: Disk, root: str) -> list[Name]:
    """Every mailbox and out queue that has a folder, in order."""
    found: list[Name] = []
    for top in TOPS:
        base = os.path.join(root, top)
        if disk.exists(base):
            names = sorted(name for name in disk.listdir(base) if is_name(name))
            found += [placed(top, name) for name in names]
    return found


def is_journal(name: str) -> bool:
    """Whether name is the path of a journal of ours, from the state root."""
    found = _JOURNAL.fullmatch(name)
    return found is not None and is_name(found[1] or found[2])
