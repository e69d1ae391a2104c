"""The pickup door: submissions that were made while the daemon was down.

Owns their intake: a file goes only after the commit of what it holds, and what is
refused comes back to its sender as mail.  homi-mailbox(5) has the folder.
"""

import asyncio
import logging
import os
import stat
from functools import partial
from pathlib import Path

from homi.address import OWNER, RESERVED, is_name, show, spelled
from homi.config import LINE_MAX_ALONE
from homi.envelope import Kind, Msg, Via
from homi.errors import BadMessage, HomiError, NoSuchName, NotReached, StorageFailed
from homi.folders import FolderWatch
from homi.names import Names
from homi.outward import shown_to
from homi.paths import make_private
from homi.postmaster import Postmaster, Result, Stamp, Submission
from homi.store import pickup
from homi.store.lines import Unreadable
from homi.store.quarantine import Quarantine
from homi.strict import parse_msg

log = logging.getLogger("homi.pickup")

# Refusals that may end by themselves: the file waits for the next look.
TEMPORARY = (NotReached, StorageFailed)
# Never through a link, and never waiting for the other end of a pipe.
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PickupDoor:
    """Looks into pickup/ at the start, at each notice and at each sweep."""

    def __init__(
        self, root: Path, names: Names, postmaster: Postmaster, quarantine: Quarantine
    ) -> None:
        """Nothing is read before start()."""
        self._root = root
        self._names = names
        self._postmaster = postmaster
        self._quarantine = quarantine
        self._busy: set[Path] = set()
        self._trouble = ""  # why the folder cannot be looked into, told once
        folder = os.fspath(root / pickup.FOLDER)
        self._watch = FolderWatch([folder], lambda _folder, _names: self.sweep())

    def start(self) -> None:
        """Take what is there, and watch for what comes in beside the socket."""
        make_private(self._root / pickup.FOLDER)
        self._watch.attach(asyncio.get_running_loop())
        self.sweep()

    def stop(self) -> None:
        """Take no more; files stay for the next start."""
        self._watch.detach()

    def sweep(self) -> None:
        """Take every whole file that is not under way already."""
        for path, spooled in self._scan():
            if path in self._busy:
                continue
            self._busy.add(path)
            if not isinstance(spooled, Unreadable):
                self._take(path, spooled)
            elif spooled.text == pickup.UNFINISHED:
                self._busy.discard(path)  # its writer may still be at it
            else:
                self._set_aside(path, spooled.text)

    def _scan(self) -> list[tuple[Path, pickup.Spooled | Unreadable]]:
        """What lies in the folder; nothing while it is not ours alone."""
        trouble = ""
        try:
            return pickup.scan(self._root)
        except HomiError as error:
            # Whoever sweeps has more to look at than this folder.
            trouble = error.text
            if trouble != self._trouble:
                log.warning("pickup/ is not looked into: %s", trouble)
            return []
        finally:
            self._trouble = trouble

    def _take(self, path: Path, spooled: pickup.Spooled) -> None:
        """Submit one file's message as a service's, unverified."""
        raw = bytes(spooled.msg)
        try:
            head = parse_msg(raw)
        except BadMessage as error:
            self._set_aside(path, error.text)
            return
        # A client that lost its answer and then its daemon left the same message
        # here; this door cannot prove the session it came from, so the key of the
        # first copy is another.
        held = self._postmaster.holds(head, raw)
        if held:
            log.info("%s was stored already", head.id)
            self._busy.discard(path)
            pickup.done(path)
            return
        via = Via(
            door="pickup",
            uid=spooled.uid,
            pid=spooled.pid,
            session=spooled.session,
            repeat=held is None,
        )

        def done(result: Result) -> None:
            self._settle(path, head, result)

        sub = Submission(head, raw, Stamp(via), head.to, done)
        refusal = self._stranger(head, spooled)
        if refusal is not None:
            self._postmaster.refuse(sub, refusal)
        else:
            self._postmaster.accept(sub)

    def _stranger(self, head: Msg, spooled: pickup.Spooled) -> HomiError | None:
        """Why nobody here may have signed so; None when it may be.

        A session that found no daemon signs with its own name, claimed or not; of
        the reserved names only a person's is ever signed with.
        """
        free = head.from_ not in RESERVED
        known = free and self._names.get(head.from_) is not None
        own = free and spooled.session is not None and is_name(head.from_)
        if known or own or head.from_ == OWNER:
            return None
        return NoSuchName(f"no name {spelled(head.from_)} on this device to send as")

    def _settle(self, path: Path, head: Msg, result: Result) -> None:
        """The file goes when its message is stored, or refused for good."""
        self._busy.discard(path)
        error = result.error
        if isinstance(error, TEMPORARY):
            log.warning("%s stays in pickup (%s)", head.id, error.text)
            return
        if error is not None:
            to = shown_to(head.to, error)
            text = f"Your message {head.id} to {to} was refused: {error.text}."
            self._postmaster.tell(
                head.from_, head.id, Kind.MAIL, "refused", text, partial(_told, path)
            )
        else:
            pickup.done(path)

    def _set_aside(self, path: Path, why: str) -> None:
        """Keep an unusable file where a person finds it, with the reason."""
        name = show(path.name)
        log.warning("%s is unusable and set aside (%s)", name, why)
        try:
            data = _content(path)
            self._quarantine.keep(f"pickup-{path.name}", data)
        except OSError as error:
            # It stays, and is not looked at again before the next start.
            log.warning("%s cannot be set aside and stays: %s", name, error.strerror)
            return
        self._quarantine.refuse("unreadable", data, {"path": path.name, "text": why})
        pickup.done(path)
        self._busy.discard(path)


def _told(path: Path, kept: bool) -> None:
    """The sender knows of the refusal: the file may go.  Else the next look tries."""
    if kept:
        pickup.done(path)


def _content(path: Path) -> bytes:
    """The bytes of a file; OSError where it is none, or is too large to be one."""
    fd = os.open(path, _OPEN)
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LINE_MAX_ALONE:
            raise OSError(0, "no file of a submission's size")
        return file.read()
