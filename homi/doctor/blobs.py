"""The check of bulk data: what mail names is there and whole, what nobody names goes.

Owns the reading for that; homi.store.unnamed has the rule.  homi-doctor(1).
"""

import hashlib
import os
from collections.abc import Iterator

from homi.doctor.check import Check, Verdict, warn, well
from homi.doctor.facts import Facts
from homi.errors import NoInput
from homi.store.blobs import FOLDER, PIECE, Blobs
from homi.store.disk import RealDisk
from homi.store.prune import USUAL
from homi.store.unnamed import named, unnamed
from homi.store.whole import aside_by_hand

SHOWN = 5  # of a kind
READ = 4 << 30  # bytes that are compared with their names: some seconds


def _blobs(facts: Facts) -> Iterator[Verdict]:
    """Those that mail names are there and whole; no old ones lie about."""
    if not facts.there:
        return
    disk, root = RealDisk(), os.fspath(facts.root)
    blobs, wanted = Blobs(root, disk), set(named(disk, root))
    missing = sorted(name for name in wanted if blobs.size(name) is None)
    for name in missing[:SHOWN]:
        text = f"{facts.root / FOLDER / name} is not there, and mail names it"
        yield warn(text, hand="have its sender send it again")
    if len(missing) > SHOWN:
        yield warn(f"{len(missing) - SHOWN} more", hand="have them sent again")
    left = READ
    for name in sorted(wanted - set(missing)):
        left -= blobs.size(name) or 0
        if left >= 0 and _digest(blobs, disk, name) != name:
            path = facts.root / FOLDER / name
            yield warn(
                f"{path} is damaged",
                aside_by_hand(path),
                "it is no use",
            )
    old = unnamed(disk, root, facts.machine.now() - USUAL)
    if old:
        size = sum(one.size for one in old) / (1 << 20)
        text = f"{len(old)} old blobs, {size:.1f} MiB, that no mail names"
        hand = "homi prune removes them and old mail, --dry-run shows which"
        yield warn(text, hand=hand)
    elif not missing:
        yield well(f"{len(wanted)} are named by mail, and there")


def _digest(blobs: Blobs, disk: RealDisk, name: str) -> str:
    """What a blob should be called; empty where it just went."""
    try:
        fd, _ = blobs.open(name)
    except NoInput:
        return name
    hashed, at = hashlib.sha256(), 0
    try:
        while data := disk.pread(fd, PIECE, at):
            hashed.update(data)
            at += len(data)
    finally:
        disk.close(fd)
    return hashed.hexdigest()


CHECKS = (
    Check(
        "blobs",
        "bulk data is there and whole",
        _blobs,
        "there are none yet",
        slow=True,
    ),
)
