"""What a name is beside its mail, gathered on the device that it leaves.

Owns what goes along and what stays; all of it beside the loop.  homi-move(1).
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from homi.address import Name
from homi.claims import Claim
from homi.envelope import decode_ledger
from homi.moving import conversation, workspace
from homi.moving.conversation import Found
from homi.moving.parcel import Packed, Parcels
from homi.moving.said import Manifest, Workspace
from homi.store.places import ledger_of

LOOKED = 4 << 20  # bytes of a ledger's end in which its last sessions stand

History = Callable[[Name], Iterator[bytes]]


class Gathered(NamedTuple):
    """What is known of a name before it moves."""

    cwd: str
    found: Found | None
    workspace: Workspace | None
    finished: int  # messages
    notes: list[str]


class Packing:
    """The names of one device, as they are gathered and packed."""

    def __init__(
        self,
        root: str,
        folders: Iterable[str],
        history: History,
        counts: Callable[[Name], int],
        parcels: Parcels,
    ) -> None:
        """folders: where the clients keep transcripts; history: exported lines of what
        is finished; counts: how many these are."""
        self._root = root
        self._projects = list(folders)
        self._history = history
        self._counts = counts
        self._parcels = parcels
        self.drop = parcels.drop

    def gather(self, claim: Claim, session: str) -> Gathered:
        """What there is of a claim; session: whose conversation, if not the last."""
        notes = list[str]()
        wanted = [session] if session else self._sessions(claim)
        found = conversation.last(self._projects, wanted)
        if found is None:
            which = f"session {session}" if session else "a session of it"
            notes.append(f"no transcript of {which} is known: none is copied")
        cwd = claim.cwd or ("" if found is None else found.cwd)
        space = workspace.look(cwd) if cwd and os.path.isdir(cwd) else None
        if cwd and space is None:
            notes.append(f"{cwd} is no git repository: its files are not looked at")
        if claim.body is not None:
            words = f"the {claim.body.client} it is bound to stays here"
            notes.append(f"{words}: bind another there")
        return Gathered(cwd, found, space, self._counts(claim.name), notes)

    def pack(self, claim: Claim, base: Manifest, session: str, fork: bool) -> Packed:
        """Make blobs of it.  fork: without its mail."""
        got = self.gather(claim, session)
        whole = replace(
            base,
            settings={key: str(value) for key, value in claim.settings.items()},
            front=claim.front,
            workspace=got.workspace,
        )
        history = None if fork else self._history(claim.name)
        return self._parcels.pack(whole, history, got.found)

    def _sessions(self, claim: Claim) -> list[str]:
        """The conversations that had mail of the name, the last one first."""
        found = dict[str, None]()
        if claim.bound is not None and claim.bound.id:
            found[claim.bound.id] = None
        path = os.path.join(self._root, ledger_of(claim.name))
        for line in reversed(_end(path)):
            try:
                told = decode_ledger(line).session
            except (msgspec.DecodeError, RecursionError):
                continue
            if told is not None and told.pid and told.id:
                found[told.id] = None
        return list(found)


def _end(path: str) -> list[bytes]:
    """The last lines of a file; none where it is not there."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LOOKED))
            return file.read().splitlines()
    except OSError:
        return []
