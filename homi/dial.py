"""The control socket from the caller's side: one line out, one answer back.

Owns connecting, the hello and the reading of answers, by bare socket and JSON
calls: `homi send` starts in the time of an empty Python program because nothing
heavier stands here.  Knows no verb but hello.  homi-protocol(7) is the format.
"""

import _socket
import os
import sys
from _json import make_scanner

from homi import __version__
from homi.errors import RESTART, HomiError, Unavailable, VersionMismatch, from_wire

PROTOCOL = 1  # homi.requests.PROTOCOL; a test keeps the two equal
SUN_PATH_MAX = 107 if sys.platform.startswith("linux") else 103  # homi.paths has why
ANSWER_TIMEOUT = 60.0  # s: a full ring makes the daemon wait for its disk
TRIES = 3  # of what nobody did: two restarts, one behind the other, are waited out

Json = dict[str, object]


class Absent(Unavailable):
    """Nobody listens at the control socket: the daemon is not running."""


class Lost(Unavailable):
    """The connection ended before the answer: whether it was done is not known."""


class NotDone(Lost):
    """The same, and it is known: the daemon left the request alone."""


class Late(Lost):
    """No answer came in time; the daemon may still be at it."""


class Dial:
    """One blocking connection, closed at the end of its with block.

    A daemon that restarts leaves a request alone, or says hello to nobody: that is
    asked again of the homi that follows, which the new connection waits for.
    """

    def __init__(self, path: str, timeout: float | None = ANSWER_TIMEOUT) -> None:
        """Connect and say hello; Absent where nobody listens, 76 on a version."""
        self._path = path
        self._rest = b""
        self._undone = False  # some request was left alone
        self._socket: _socket.socket
        self._open(timeout)

    def __enter__(self) -> "Dial":
        """The connection itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def ask(self, line: bytes, *, looks: bool = False) -> Json:
        """What the daemon answered to line, the one that is under way; its error as
        one of homi.errors.  looks: to do it twice is harmless, so that it is asked
        again even where the first time may have been done."""
        for _ in range(TRIES - 1):
            try:
                return self._exchange(line)
            except Lost as lost:
                if isinstance(lost, Late) or not (looks or isinstance(lost, NotDone)):
                    raise
                self.close()
                try:
                    self._open(self._socket.gettimeout())
                except Absent:
                    raise absent(self._path) if looks else lost from None
        return self._exchange(line)

    def put(self, lines: bytes) -> None:
        """Write requests; Late where the daemon reads none of it in time."""
        try:
            self._socket.sendall(lines)
        except (BrokenPipeError, ConnectionResetError):
            self._undone = True
            return  # the other end closed over it: it may have said why
        except OSError as error:
            raise _lost(error) from error

    def answer(self) -> Json:
        """The next answer as it came, in whatever order they come; Lost at the end."""
        try:
            while leaves(answer := decode(self._line())):
                self._undone = True  # others may be answered yet
            return answer
        except ConnectionResetError as error:
            raise NotDone(_GONE) from error  # closed over what it had not read
        except OSError as error:
            raise _lost(error) from error

    def answered(self) -> bool:
        """Whether answer() has one to give without waiting."""
        return b"\n" in self._rest

    def rest(self) -> bytes:
        """What came behind the last answer and was not read; once."""
        rest, self._rest = self._rest, b""
        return rest

    @property
    def socket(self) -> _socket.socket:
        """The socket, for who goes on in another language."""
        return self._socket

    def fileno(self) -> int:
        """The descriptor that is readable when more of an answer came."""
        return self._socket.fileno()

    def settimeout(self, seconds: float | None) -> None:
        """How long ask() waits for an answer from now on; None waits for ever."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        """End the connection; harmless when it has ended."""
        self._socket.close()

    def _open(self, timeout: float | None) -> None:
        """Connect and say hello, to the next homi where one restarts."""
        lost: Lost | None = None
        for left in range(TRIES, 0, -1):
            self._rest, self._undone = b"", False
            self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            self._socket.settimeout(timeout)
            try:
                self._connect(self._path)
                self.welcome = self._hello()
                return
            except Absent:
                self.close()
                raise lost or absent(self._path) from None  # it died as it greeted
            except HomiError as error:
                self.close()
                if left == 1 or isinstance(error, Late) or not isinstance(error, Lost):
                    raise
                lost = error

    def _exchange(self, line: bytes) -> Json:
        """One line out, one answer back."""
        self.put(line)
        return outcome(self.answer())

    def _hello(self) -> Json:
        """The daemon's welcome, of a version that this homi speaks."""
        hello = f'{{"verb":"hello","v":{PROTOCOL},"software":"homi {__version__}"}}\n'
        welcome = self._exchange(hello.encode())
        check_version(welcome.get("v"))
        return welcome

    def _connect(self, path: str) -> None:
        """Connect to path, and make sure that who listens is of our own uid."""
        try:
            self._socket.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            raise absent(path) from None
        except OSError as error:
            why = error.strerror or "no answer in time"
            raise Unavailable(f"cannot connect to {path}: {why}") from error
        if (uid := self._peer_uid()) != os.geteuid():
            raise Unavailable(
                f"who listens at {path} is uid {uid}, not {os.geteuid()}",
                hint="name a folder of your own in HOMI_HOME",
            )

    def _peer_uid(self) -> int:
        """The uid at the other end; our own where the system does not tell."""
        option = getattr(_socket, "SO_PEERCRED", None)
        if option is None:
            return os.geteuid()
        raw = self._socket.getsockopt(_socket.SOL_SOCKET, option, 12)
        return int.from_bytes(raw[4:8], sys.byteorder)

    def _line(self) -> bytes:
        """The next whole line."""
        parts = [self._rest]
        while b"\n" not in parts[-1]:
            data = self._socket.recv(1 << 16)
            if not data:
                raise (NotDone if self._undone else Lost)(_GONE)
            parts.append(data)
        line, _, self._rest = b"".join(parts).partition(b"\n")
        return line


_GONE = "the daemon closed the connection before it answered"


class _Plain:
    """What the C scanner of json asks its decoder for: the defaults."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def absent(path: str) -> Absent:
    """What is said where nobody listens at path."""
    return Absent(f"no daemon answers at {path}", hint="homi start starts it")


def check_version(spoken: object) -> None:
    """VersionMismatch (76) where the daemon speaks another protocol."""
    if spoken != PROTOCOL:
        raise VersionMismatch(
            f"the daemon speaks protocol {spoken}, this homi {PROTOCOL}",
            hint="stop the daemon and start it again with this homi",
        )


def decode(line: bytes) -> Json:
    """The JSON object in line; VersionMismatch (76) where it is none."""
    try:
        # The scanner reads the attributes of any object, whatever its stub says.
        scan = make_scanner(_Plain)  # type: ignore[arg-type]
        value, _end = scan(line.decode(), 0)
    except (ValueError, StopIteration, RecursionError, SystemError):
        # SystemError: Python 3.11's scanner where nobody imported json.decoder.
        value = None
    if not isinstance(value, dict):
        raise VersionMismatch("the daemon gave an answer this homi cannot read")
    return value


def leaves(answer: Json) -> bool:
    """Whether answer says that the request is left to the homi that follows; the end
    of the connection follows, too."""
    failure = answer.get("error")
    return isinstance(failure, dict) and failure.get("reason") == RESTART


def outcome(answer: Json) -> Json:
    """What was done, by an answer; its error as one of homi.errors."""
    failure = answer.get("error")
    if isinstance(failure, dict):
        raise _failure(failure)
    done = answer.get("ok")
    if not isinstance(done, dict):
        raise VersionMismatch("the daemon gave an answer this homi cannot read")
    return done


def _lost(error: OSError) -> Lost:
    """What the end of a connection means to who waits for an answer."""
    if isinstance(error, TimeoutError):
        return Late("the daemon gave no answer in time")
    return Lost(f"connection to the daemon lost: {error.strerror}")


def _failure(fields: Json) -> HomiError:
    """The error an answer names."""
    return from_wire(
        str(fields.get("code", "")),
        str(fields.get("text", "")),
        str(fields.get("hint", "")),
        str(fields.get("reason") or ""),
    )
