"""The peer door: where agent sessions write to names, in their own frames.

Owns what a line at a socket means.  When bytes are read is look's, listening is
entrance's, what is bound and listed is numbers'.  homi-protocol(7) has the rules.
"""

import asyncio
import logging
import os
import random
import socket
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from homi.address import OWNER, Name
from homi.clock import Clock
from homi.config import PEER_CONNECTIONS, SWEEP
from homi.doors.entrance import Entrance, Listener
from homi.doors.look import Bench, Connection, Terms
from homi.doors.notice import Notice
from homi.doors.numbers import Numbers
from homi.doors.receipts import Receipts
from homi.doors.repeats import Repeats
from homi.doors.sender import Mark, Senders, repeated, write
from homi.doors.sockets import Sockets
from homi.doors.turn import Turn
from homi.envelope import MessageId, SessionRef, encode
from homi.errors import BadMessage, StorageFailed
from homi.inheritance import Bequest, Inherited, Sender
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
        """Nothing is bound before start().

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
        self._numbers = Numbers(names, owners, planters, clock)
        self._senders = Senders(names, owners, sessions)
        self._receipts = Receipts(sessions, on_receipt)
        self._repeats = Repeats(doubtful)
        self._connections: set[Connection] = set()
        self._running = False
        self.inherited = Inherited()
        self.heir: Bequest | None = None  # who goes on with all of it after stop()

    async def start(self) -> None:
        """Take leftovers away, bind every number, then plant what has no owner.

        BadConfig (78) where the socket folder is not private.
        """
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._bench = Bench(loop, self, self._terms)
        self._entrance = Entrance(
            loop, self._admit, self._full, inherited=self.inherited
        )
        live = [each.socket for each in self._sessions.live.values()]
        folder = self._folder or socket_folder(live)
        self._sockets = Sockets(self._entrance, folder)
        self._turn = Turn(loop, self._postmaster.accept)
        self._numbers.open(self._sockets, goes_on=self.inherited.any)
        self._sockets.keep_lines(self.inherited.lines())
        self.inherited.senders(self._go_on)
        self._running = True
        await self._numbers.show_all()
        folders = [self._sockets.folder, *(each.folder for each in self._planters)]
        ours = self._numbers.address.__contains__
        self._notice = Notice(folders, self._numbers.check, ours)
        self._notice.attach(loop)
        self._sweep_later()
        bound = len(self._sockets.bound)
        log.info("peer door: %d sockets in %s", bound, folder)

    async def stop(self) -> None:
        """Withdraw, finish what is in flight and answer it, refuse the rest, unlink;
        where there is an heir, leave it all but what is in flight."""
        if not self._running:
            return
        self._running = False
        self._sweeper.cancel()
        self._notice.close()
        if self.heir is not None:
            await self._leave(self.heir)
            return
        self._numbers.close()
        self._entrance.shut()
        await self._turn.finish(DRAIN)
        for connection in list(self._connections):
            connection.close()
        self._sockets.close_all()
        log.info("peer door closed")

    async def _leave(self, heir: Bequest) -> None:
        """Answer what is in flight; names stay listed and connections open."""
        self._numbers.leave()
        self._entrance.shut()
        self._bench.paused = True
        await self._turn.finish(DRAIN, refuse=False)
        for connection in list(self._connections):
            connection.leave(heir)
        self._sockets.leave_all(heir)

    # -- what others ask of the door ------------------------------------------

    @property
    def unlisted(self) -> dict[str, str]:
        """Names whose record does not stand where sessions look, and why not."""
        return self._numbers.unlisted

    @property
    def unbound(self) -> dict[int, str]:
        """Numbers that could not be bound, with the reason; tried again each sweep."""
        return self._sockets.failed

    def socket_for(self, address: str, ask: str = "") -> str:
        """A socket of ours that stands for address: what is written to it is mail to
        that address, and the answer to ask if one is named.  A name's own, else a desk
        number's, bound at once; the owner's where there can be none."""
        claim = None if ask else self._names.get(address)
        try:
            number = claim.number if claim else self._desk(address, ask)
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

    def reply_sockets(
        self, address: str, session: Session, ask: str = ""
    ) -> tuple[str, str]:
        """(socket that stands for address, or for the answer to its ask; socket for the
        receipts of session, by which its client counts the sender's letters)."""
        reply = self.socket_for(address)
        line = self.line_socket(session, reply)
        return self.socket_for(address, ask) if ask else reply, line

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
        self._connected(sock, listener.number, pid, uid).look()

    def _go_on(self, sock: socket.socket, sender: Sender) -> None:
        """A connection from before a restart."""
        pid, uid = peer_credentials(sock)
        connection = self._connected(sock, sender.number, pid, uid)
        connection.go_on(sender.line, doomed=sender.doomed)

    def _connected(
        self, sock: socket.socket, number: int, pid: int, uid: int
    ) -> Connection:
        """One connection more."""
        connection = self.connection_type(self._bench, sock, number, pid, uid)
        connection.stood_for = self._meant(number)
        self._connections.add(connection)
        return connection

    def _message(self, connection: Connection, frame: Message, line: bytes) -> None:
        """Submit a message to whoever its socket stands for."""
        to, ask = self._meant(connection.number)
        if not to:  # retired since; what was under way is still for who it was for
            to, ask = connection.stood_for
        if not to:
            self._refuse(connection, line, "nobody is behind this socket")
            return
        tag = parse_tag(frame.content)
        mark = self._senders.mark(connection.pid, connection.uid, tag)
        try:
            head = write(frame, tag, to, self._signs(mark, ask), ask)
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

    def _meant(self, number: int) -> tuple[str, str]:
        """The address a number stands for, and the ask that mail to it answers."""
        return self._numbers.address.get(number, ""), self._names.ask_of(number)

    def _refuse(self, connection: Connection, line: bytes, reason: str) -> None:
        """Keep a line that cannot be mail, tell its sender that it failed."""
        pid = connection.pid
        log.warning("peer pid=%d status=refused (%s)", pid, reason)
        to = self._numbers.address.get(connection.number)
        about = {"door": "peer", "to": to, "uid": connection.uid, "pid": pid}
        self._quarantine.refuse(reason, line, about)
        connection.refuse()

    def _signs(self, mark: Mark, ask: str) -> Name:
        """The name a line is from: of a session's several the one that was asked."""
        if not ask or mark.session is None:
            return mark.from_
        owned = self._owners.names_of(mark.session.ref)
        received = self._postmaster.received
        return next((n for n in owned if received(n, MessageId(ask))), mark.from_)

    def _desk(self, address: str, ask: str) -> int:
        """The desk number of an address, or of an ask of its."""
        return self._names.desk(address, self._clock.wall(), ask)

    def _sweep(self) -> None:
        """Find what a lost notice would have told."""
        self._sweep_later()
        self._notice.verify()
        self._numbers.check(None)

    def _sweep_later(self) -> None:
        """The next sweep, not at the same moment as everyone's."""
        after = SWEEP * random.uniform(0.9, 1.1)
        self._sweeper = self._loop.call_later(after, self._sweep)
