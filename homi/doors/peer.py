"""The peer door: where agent sessions write to names, in their own frames.

Owns what a line at a socket means and keeps sockets and records in step with the
names and their owners; nobody calls it for that.  When bytes are read is look's,
listening is entrance's.  homi-protocol(7) has the rules.
"""

import asyncio
import logging
import os
import random
import socket
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from homi.address import OWNER, Name
from homi.claims import Claim
from homi.clock import Clock, parse_rfc3339
from homi.config import PEER_CONNECTIONS, SWEEP
from homi.doors.entrance import Entrance, Listener
from homi.doors.look import Bench, Connection, Terms
from homi.doors.notice import Notice
from homi.doors.plant import Records
from homi.doors.receipts import Receipts
from homi.doors.repeats import Repeats
from homi.doors.sender import Senders, repeated, write
from homi.doors.sockets import Sockets, clear_leftover
from homi.doors.turn import Turn
from homi.envelope import SessionRef, encode
from homi.errors import BadMessage, StorageFailed
from homi.legs.base import Receipt
from homi.names import Names
from homi.owners import Owners
from homi.peers.credentials import peer_credentials
from homi.peers.frame import Bad, Control, Message, parse_line, parse_tag
from homi.peers.registry import Planter
from homi.peers.sockets import socket_folder
from homi.postmaster import Postmaster, Submission
from homi.sessions import Session, Sessions
from homi.store.mailbox import Mailbox
from homi.store.quarantine import Quarantine

log = logging.getLogger("homi.peer")

PLANTED_A_TURN = 32
DRAIN = 1.0  # s a stop waits for commits in flight
# Connections under which resting listeners are woken: not at each one that goes.
ROOM = PEER_CONNECTIONS * 3 // 4


class PeerDoor:
    """All peer sockets of one postmaster."""

    connection_type = Connection

    def __init__(  # noqa: PLR0913 - built once, by the daemon, with names
        self,
        names: Names,
        owners: Owners,
        sessions: Sessions,
        planters: Sequence[Planter],
        postmaster: Postmaster,
        quarantine: Quarantine,
        clock: Clock,
        on_receipt: Callable[[SessionRef, Receipt], None],
        *,
        folder: str | None = None,
        terms: Terms | None = None,
        doubtful: Iterable[Mailbox] = (),
    ) -> None:
        """Subscribes to names and owners; nothing is bound before start().

        folder: where the sockets go, None for the sessions' own.  doubtful: the
        mailboxes, where the last run did not end in order.
        """
        self._names = names
        self._owners = owners
        self._sessions = sessions
        self._postmaster = postmaster
        self._quarantine = quarantine
        self._clock = clock
        self._folder = folder
        self._terms = terms or Terms()
        self._planters = planters
        self._records = Records(planters, clock.monotonic)
        self._senders = Senders(names, owners, sessions)
        self._receipts = Receipts(sessions, on_receipt)
        self._repeats = Repeats(doubtful)
        self._claims: dict[Name, Claim] = {}
        self._address: dict[int, str] = {}  # whom a number stands for
        self._connections: set[Connection] = set()
        self._running = False
        names.subscribe(self._on_name)
        names.subscribe_desk(self._on_desk)
        owners.subscribe(self._on_owner)

    async def start(self) -> None:
        """Take leftovers away, bind every number, then plant what has no owner.

        BadConfig (78) where the socket folder is not private.
        """
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._bench = Bench(loop, self, self._terms)
        self._entrance = Entrance(loop, self._admit, self._full)
        live = [each.socket for each in self._sessions.live.values()]
        folder = self._folder or socket_folder(live)
        self._sockets = Sockets(self._entrance, folder)
        self._turn = Turn(loop, self._postmaster.accept)
        swept = self._records.sweep()
        self._claims = {claim.name: claim for claim in self._names.all()}
        self._address = self._names.desk_numbers()
        self._address |= {claim.number: claim.name for claim in self._claims.values()}
        for number in self._address:
            self._sockets.open(number)
        bound = {listener.path for listener in self._sockets.bound.values()}
        for path in swept.values():
            if path not in bound:
                clear_leftover(path)
        self._running = True
        await self._show_all()
        folders = [self._sockets.folder, *(each.folder for each in self._planters)]
        ours = self._address.__contains__
        self._notice = Notice(folders, self._taken_away, ours)
        self._notice.attach(loop)
        self._sweep_later()
        log.info("peer door: %d sockets in %s", len(bound), folder)

    async def stop(self) -> None:
        """Withdraw, finish what is in flight and answer it, refuse the rest, unlink."""
        if not self._running:
            return
        self._running = False
        self._sweeper.cancel()
        self._notice.close()
        self._records.hide_all()
        self._entrance.shut()
        await self._turn.finish(DRAIN)
        for connection in list(self._connections):
            connection.close()
        self._sockets.close_all()
        log.info("peer door closed")

    # -- what others ask of the door ------------------------------------------

    @property
    def fights(self) -> dict[str, str]:
        """Names whose record someone keeps taking away, with what was tried."""
        return self._records.fights

    @property
    def unbound(self) -> dict[int, str]:
        """Numbers that could not be bound, with the reason; tried again each sweep."""
        return self._sockets.failed

    def socket_for(self, address: str) -> str:
        """A socket of ours that stands for address: what is written to it is mail to
        that address.  A name's own, else a desk number's, bound at once; the owner's
        where there can be none."""
        claim = self._names.get(address)
        try:
            number = claim.number if claim else self._desk(address)
        except StorageFailed as error:
            # What is stored must go out on a full disk, too.
            log.error("no desk number for %s: %s", address, error.text)
            number = self._names.require(OWNER).number
        if not self._sockets.open(number):
            number = self._names.require(OWNER).number
        return self._sockets.path(number)

    def line_socket(self, session: Session, reply: str = "") -> str:
        """A socket of ours in the session's own socket folder, where alone receipts
        come: reply itself if it is there (owner's where none is given), else one kept
        for this; empty where there can be none."""
        folder = os.path.dirname(session.socket)
        owner = self._names.require(OWNER).number
        if folder != self._sockets.folder:
            return self._sockets.line(folder, owner) if folder else ""
        return reply or self._sockets.path(owner)

    def reply_sockets(self, address: str, session: Session) -> tuple[str, str]:
        """(socket that stands for address, socket for the receipts of session)."""
        reply = self.socket_for(address)
        return reply, self.line_socket(session, reply)

    # -- what connections tell ------------------------------------------------

    def line(self, connection: Connection, line: bytes) -> None:
        """Take one line of a connection: store a message, pass an event on."""
        frame = parse_line(line)
        match frame:
            case Message():
                self._message(connection, frame, line)
            case Control():
                self._receipts.take(frame, connection.pid)
                connection.settle()
            case Bad(reason=reason):
                # Read past, it would look stored to its sender.
                self._refuse(connection, line, reason)
            case _:
                connection.settle()

    def gone(self, connection: Connection) -> None:
        """One connection less."""
        self._connections.discard(connection)
        if len(self._connections) == ROOM:
            self._entrance.room()

    def _full(self) -> bool:
        """Whether the next connection must wait in its backlog, after those that only
        hold their places gave way."""
        if len(self._connections) >= PEER_CONNECTIONS:
            for connection in [each for each in self._connections if each.dawdles()]:
                connection.close()
        return len(self._connections) >= PEER_CONNECTIONS

    def _admit(self, sock: socket.socket, listener: Listener) -> None:
        """A new connection: note who it is, look at once."""
        try:
            pid, uid = peer_credentials(sock)
        except OSError:
            sock.close()  # some systems forget who it was when it is gone already
            return
        number = listener.number
        connection = self.connection_type(self._bench, sock, number, pid, uid)
        self._connections.add(connection)
        connection.look()

    def _message(self, connection: Connection, frame: Message, line: bytes) -> None:
        """Submit a message to whoever its socket stands for."""
        to = self._address.get(connection.number)
        if to is None:
            self._refuse(connection, line, "nobody is behind this socket")
            return
        tag = parse_tag(frame.content)
        mark = self._senders.mark(connection.pid, connection.uid, tag)
        try:
            head = write(frame, tag, to, mark.from_)
        except BadMessage as error:
            self._refuse(connection, line, error.text)
            return
        stamp = mark.stamp
        if self._repeats.is_repeat(mark.via.session, to, head.text):
            stamp = repeated(stamp)
            log.info("%s likely a repeat of the letter before", head.id)
        done = partial(self._turn.done, connection)
        submission = Submission(head, encode(head), stamp, to, done)
        self._turn.take(connection, submission)

    def _refuse(self, connection: Connection, line: bytes, reason: str) -> None:
        """Keep a line that cannot be mail, tell its sender that it failed."""
        pid = connection.pid
        log.warning("peer pid=%d status=refused (%s)", pid, reason)
        to = self._address.get(connection.number)
        about = {"door": "peer", "to": to, "uid": connection.uid, "pid": pid}
        self._quarantine.refuse(reason, line, about)
        connection.refuse()

    # -- what names, owners and folders tell ----------------------------------

    def _on_name(self, name: Name, claim: Claim | None) -> None:
        """A claim was made, changed or ended."""
        if not self._running:
            return
        before = self._claims.pop(name, None)
        if before is not None and (claim is None or claim.number != before.number):
            self._records.hide(before.number)
            self._sockets.close(before.number)
            del self._address[before.number]
        elif before is not None and claim is not None and before.cwd != claim.cwd:
            self._records.hide(claim.number)  # its record says the folder
        if claim is not None:
            self._claims[name] = claim
            self._address[claim.number] = name
            self._sockets.open(claim.number)
            self._show(claim)

    def _on_owner(self, name: Name, _old: Session | None, new: Session | None) -> None:
        """Step aside for an owner, come back when it is gone; keep listening."""
        claim = self._claims.get(name)
        if not self._running or claim is None or self._names.get(name) is None:
            return
        if new is not None:
            self._records.hide(claim.number)
        else:
            self._show(claim)

    async def _show_all(self) -> None:
        """Plant what has no owner, and let the loop have its turns: who connects
        while a slow disk takes a thousand records must not wait for the last."""
        for count, name in enumerate(list(self._claims)):
            if (claim := self._claims.get(name)) is not None:
                self._show(claim)
            if count % PLANTED_A_TURN == 0:
                await asyncio.sleep(0)

    def _on_desk(self, number: int, address: str | None) -> None:
        """A desk number was allotted or retired."""
        if not self._running:
            return
        if address is None:
            self._sockets.close(number)
            self._address.pop(number, None)
        else:
            self._address[number] = address
            self._sockets.open(number)

    def _show(self, claim: Claim) -> None:
        """Plant the claim's record if it may be listed: bound, and no owner lives."""
        if claim.built_in or claim.number not in self._sockets.bound:
            return
        if self._owners.owner(claim.name) is None:
            started = _wall(claim.at, self._clock.wall())
            self._records.show(claim, self._sockets.path(claim.number), started)

    def _desk(self, address: str) -> int:
        """The desk number of an address."""
        return self._names.desk(address, self._clock.wall())

    def _taken_away(self, numbers: set[int] | None) -> None:
        """Files of ours changed: put right what is missing."""
        if not self._running:
            return
        concerned = self._address.keys() if numbers is None else numbers
        self._sockets.repair(concerned)
        for number in concerned:
            self._records.check(number)

    def _sweep(self) -> None:
        """Find what a lost notice would have told."""
        self._sweep_later()
        self._notice.verify()
        self._taken_away(None)
        for claim in self._claims.values():
            self._show(claim)

    def _sweep_later(self) -> None:
        """The next sweep, not at the same moment as everyone's."""
        after = SWEEP * random.uniform(0.9, 1.1)
        self._sweeper = self._loop.call_later(after, self._sweep)


def _wall(at: str, default: float) -> float:
    """An RFC 3339 time as wall seconds, the default where it is none."""
    try:
        return parse_rfc3339(at)
    except ValueError:
        return default
