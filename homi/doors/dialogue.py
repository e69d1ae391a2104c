"""One caller of the control socket: hello, then verbs, answered as they are done.

Owns what is said to a line that is no request; who listens, and for how many, is in
doors.control, and what a verb does in doors.verbs.  homi-protocol(7) is the page.
"""

import contextlib
import functools
import operator
import os
from collections.abc import Callable
from typing import Protocol

import msgspec

from homi import __version__
from homi.callers import Caller
from homi.config import LINE_MAX, LINE_MAX_ALONE
from homi.doors.answers import Answer, Doer, Reply
from homi.doors.verbs import Verbs
from homi.doors.wire import LineHandler, LineProtocol
from homi.envelope import encode
from homi.errors import (
    RESTART,
    BadMessage,
    HomiError,
    NotAllowed,
    NotReached,
    Usage,
    VersionMismatch,
)
from homi.inheritance import Bequest
from homi.reports import Done, Failure, Welcome
from homi.requests import PROTOCOL, VERBS, CallerClass, Hello, Link, Request


class Talker(LineHandler, Protocol):
    """What takes a connection over, and speaks first."""

    def start(self) -> None:
        """The way is open."""
        ...


class House(Protocol):
    """What a caller is let into."""

    device: str
    verbs: Callable[[int, int, str | None], Verbs]
    link: Callable[[LineProtocol, str, str], Talker]
    heir: Bequest | None

    def lost(self, wire: LineProtocol) -> None:
        """A connection ended."""
        ...


class _Glance(msgspec.Struct, gc=False):
    """The fields read from a request that did not decode."""

    i: int = 0
    verb: str = ""


def _decoder(caller: CallerClass) -> Callable[[bytes], Request]:
    """Decodes only what this class may ask; the rest is unknown to it."""
    allowed = tuple(verb for verb in VERBS if caller in verb.callers)
    return msgspec.json.Decoder(functools.reduce(operator.or_, allowed)).decode


_HELLO = msgspec.json.Decoder(Hello).decode
_GLANCE = msgspec.json.Decoder(_Glance).decode
_DECODERS = {caller: _decoder(caller) for caller in CallerClass}
_ABOVE = {
    caller: {verb.__struct_config__.tag for verb in VERBS if caller not in verb.callers}
    for caller in CallerClass
}


class Connection:
    """One caller: who it is by its credentials, and its requests."""

    def __init__(self, door: House, wire: LineProtocol, pid: int, uid: int) -> None:
        """Nothing but hello is understood before hello."""
        self._door = door
        self._wire = wire
        self._pid = pid
        self._uid = uid
        self._decode: Callable[[bytes], Request] = _HELLO
        self._caller: Caller | None = None
        self._verbs: Verbs | None = None
        self._doers: dict[type[Request], Doer] = {}

    def line(self, line: bytes) -> None:
        """Decode and do one request; what comes while another homi takes over is left
        to that: its caller asks again."""
        if self._door.heir is not None:
            self._leave(line)
            return
        try:
            request = self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._unusable(line, error)
            return
        if self._verbs is None:
            self._hello(request)
            return
        try:
            self._doers[type(request)](request, self._answer)
        except HomiError as error:
            self._answer(request.i, error)

    def _hello(self, request: Request) -> None:
        """Meet or part: the versions, then who is calling."""
        if not isinstance(request, Hello):
            raise TypeError(request)
        if request.v != PROTOCOL:
            self._answer(
                request.i,
                VersionMismatch(
                    f"{request.software} speaks protocol {request.v}, the daemon"
                    f" (homi {__version__}) {PROTOCOL}",
                    hint="homi stop, then homi start, with the newer homi",
                ),
            )
            self._wire.close()
            return
        self._verbs = self._door.verbs(self._pid, self._uid, request.thread)
        self._caller = self._verbs.caller
        self._doers = {**self._verbs.doers, Link: self._link}
        self._decode = _DECODERS[self._caller.caller]
        self._answer(
            request.i,
            Welcome(
                v=PROTOCOL,
                software=f"homi {__version__}",
                device=self._door.device,
                caller=self._caller.caller,
                name=self._caller.name,
                pid=os.getpid(),
            ),
        )

    def _link(self, request: Link, reply: Reply) -> None:
        """From the answer on the connection carries an exchange."""
        taken = self._door.link(self._wire, request.peer, request.origin)
        reply(request.i, Done(text=f"an exchange with {request.peer}"))
        self._wire.hand_over(_Taken(self, taken))
        taken.start()

    def _leave(self, line: bytes) -> None:
        """Say that nothing was done for line, if it can be told which that is."""
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            text = "the daemon restarts"
            self._answer(_GLANCE(line).i, NotReached(text, reason=RESTART))

    def _unusable(self, line: bytes, error: Exception) -> None:
        """Name what is wrong with a line nobody could decode."""
        try:
            glance = _GLANCE(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            glance = _Glance()
        text = str(error).splitlines()[0][:200] if str(error) else "not JSON"
        failure: HomiError
        if self._caller is None:
            failure = VersionMismatch(
                f"the first line must be hello: {text}",
                hint='{"verb":"hello","v":1,"software":"…"}',
            )
        elif glance.verb in _ABOVE[self._caller.caller]:
            failure = NotAllowed(
                f"{glance.verb} is not for a {self._caller.caller}",
                hint="homi-address(7) says who may do what",
            )
        else:
            failure = Usage(f"request not understood: {text}")
        self._answer(glance.i, failure)
        if self._verbs is None:
            self._wire.close()

    def overlong(self, length: int) -> None:
        """A line passed the bound."""
        if length > LINE_MAX_ALONE:
            self._answer(
                0,
                BadMessage(
                    f"a line of over {length} bytes, the limit is {LINE_MAX_ALONE}",
                    reason="too-large",
                ),
            )
        else:
            self._answer(
                0,
                NotReached(
                    f"a line over {LINE_MAX} bytes while another is under way",
                    hint="try again",
                    reason="busy",
                ),
            )

    def _answer(self, i: int, answer: Answer) -> None:
        """Queue one answer line."""
        self._wire.answer(answer_line(i, answer))

    def lost(self) -> None:
        """End what still waits for this connection."""
        if self._verbs is not None:
            self._verbs.abandon()
        self._door.lost(self._wire)


class _Taken:
    """A connection that something else has taken over, still counted here."""

    def __init__(self, connection: Connection, talker: Talker) -> None:
        """Lines go to talker alone."""
        self._connection = connection
        self._talker = talker
        self.line = talker.line
        self.overlong = talker.overlong

    def lost(self) -> None:
        """Tell both."""
        self._talker.lost()
        self._connection.lost()


def answer_line(i: int, answer: Answer) -> bytes:
    """One answer as a line: ok with its struct, or error with its code."""
    if isinstance(answer, HomiError):
        failure = Failure(answer.code, answer.text, answer.hint, answer.reason)
        return b'{"i":%d,"error":%b}\n' % (i, encode(failure))
    return b'{"i":%d,"ok":%b}\n' % (i, encode(answer))
