"""One connection between two devices, from hello to bye, in both directions.

Owns what may come when.  Does no IO: lines come in by line() and leave by the wire;
what they mean is the port's to say.  homi-protocol(7) is the format.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from homi.address import Device
from homi.errors import HomiError
from homi.links import frames
from homi.links.frames import (
    TEXT_MAX,
    Ack,
    Bye,
    End,
    Frame,
    Hello,
    Mail,
    Names,
    Not,
    Ping,
    Pong,
    Proof,
    Refusal,
    Req,
    Res,
    Rung,
    Unknown,
)
from homi.links.greeting import Greeting, Here, Peer
from homi.links.pulse import Parted, Pulse
from homi.links.questions import Questions
from homi.links.window import Inbound, Outbound

GREETING_MAX = 8192  # bytes a line before the proof

Answered = Callable[[Refusal | None], None]  # None: stored and durable


class Wire(Protocol):
    """The way out; what is given in one turn of the loop leaves as one write."""

    def answer(self, line: bytes) -> None:
        """Send line, line feed included."""
        ...

    def close(self) -> None:
        """End behind what was given; lost() of the handler may follow."""
        ...


class Port(Protocol):
    """What stands above one exchange."""

    def known(self, device: str) -> str | None:
        """The pinned public key of device; None: not paired."""
        ...

    def met(self, exchange: "Exchange", peer: Peer) -> None:
        """The other end is proven; exchange.close() refuses it all the same."""
        ...

    def take(self, exchange: "Exchange", mail: Mail, answered: Answered) -> None:
        """Store mail, unless exchange.take is another's; answered comes once."""
        ...

    def acked(self, exchange: "Exchange", upto: int, refused: list[Not]) -> None:
        """All sent up to upto are settled there; refused are not stored."""
        ...

    def asked(self, exchange: "Exchange", req: Req, line: bytes) -> None:
        """A question, its fields in line; exchange.reply() once, now or later."""
        ...

    def names(self, exchange: "Exchange", names: Names) -> None:
        """Names over there changed."""
        ...

    def rung(self, exchange: "Exchange", rung: Rung) -> None:
        """How far an envelope got over there."""
        ...

    def ended(self, exchange: "Exchange", reason: str, text: str) -> None:
        """It is over; called once, whoever ended it.  reason is one of End."""
        ...


class Exchange:
    """One connection.  All calls on the loop's thread; fits doors.wire.LineHandler."""

    def __init__(
        self,
        here: Here,
        wire: Wire,
        port: Port,
        *,
        dialled: bool,
        peer: Device | None = None,
    ) -> None:
        """dialled: this end opened it; peer: who must be at the other end, if known."""
        self.here = here
        self.dialled = dialled
        self.peer: Peer | None = None  # set when it is proven
        self._wire = wire
        self._port = port
        self.take: Callable[[Mail, Answered], None] = partial(port.take, self)
        self._greeting = Greeting(here, port.known, dialled=dialled, peer=peer)
        self._out = Outbound()
        self._in = Inbound()
        self._pulse = Pulse(here.loop, self._send_ping, self.close, here.keepalive)
        self._questions = Questions(self._say)
        self._ack_due = False
        self._begun = False
        self._ended = False
        self._doers: dict[type, Callable[[Any, bytes], None]] = {
            Hello: self._hello,
            Proof: self._proof,
            Bye: self._bye,
        }

    @property
    def heard(self) -> float:
        """When a line came last, by the loop's clock."""
        return self._pulse.heard

    @property
    def room(self) -> bool:
        """Whether a mail may be sent now."""
        return self._out.room and self.peer is not None and not self._ended

    def start(self) -> None:
        """Say hello; the other end has ten seconds for its part.  Its hello starts this
        end too, so that a quick one loses nothing."""
        if self._begun:
            return
        self._begun = True
        self._wire.answer(self._greeting.hello())
        self._pulse.start()

    def mail(self, tail: bytes) -> int:
        """Send one envelope (frames.mail_tail) and return its number; needs room."""
        n = self._out.sent + 1
        line = frames.mail_line(n, tail)
        self._out.count(len(line) - 1)
        self._wire.answer(line)
        return n

    def tell(self, frame: Names | Rung) -> None:
        """Send a frame nobody answers."""
        if self._open():
            self._send(frame)

    def ask(
        self,
        verb: str,
        fields: Mapping[str, object],
        answered: Callable[[Res | None], None],
    ) -> None:
        """Ask; answered comes once, with None if the exchange ends before, or if
        too many questions are open already."""
        if self._open():
            self._questions.ask(verb, fields, answered)
        else:
            answered(None)

    def reply(self, i: int, answer: msgspec.Struct | HomiError) -> None:
        """Answer their question i; nothing happens where it is answered already."""
        self._questions.reply(i, answer)

    def ping(self, answered: Callable[[float | None], None]) -> None:
        """Measure a round trip in seconds; None if the exchange ends before."""
        if self._open():
            self._pulse.ping(answered)
        else:
            answered(None)

    def probe(self, within: float) -> None:
        """End as silent unless something is heard within so many seconds."""
        if self._open():
            self._pulse.probe(within)

    def close(self, reason: str, text: str = "") -> None:
        """Say bye and end; the port is told.  A second call does nothing."""
        if self._ended:
            return
        self._ended = True
        self._send(Bye(reason=reason, text=text[:TEXT_MAX]))
        self._end(reason, text)

    def line(self, line: bytes) -> None:
        """One line of the other end."""
        if self._ended:
            return
        self._pulse.heard = self.here.loop.time()
        try:
            if self.peer is None and len(line) > GREETING_MAX:
                raise ValueError(f"a line of {len(line)} bytes before the proof")
            frame = frames.decode(line)
            doer = self._doers.get(type(frame))
            if doer is None:
                raise ValueError(f"{_name(frame)} is out of place")
            doer(frame, line)
        except ValueError as error:
            self.close(End.PROTOCOL, str(error))
        except Parted as parted:
            self.close(parted.reason, parted.text)

    def overlong(self, length: int) -> None:
        """A line passed the bound of the framing."""
        self.close(End.BUSY, f"a line of over {length} bytes")

    def lost(self) -> None:
        """The connection is gone."""
        if not self._ended:
            self._end(End.CLOSED, "the connection ended")

    # What may come before the proof

    def _hello(self, hello: Hello, line: bytes) -> None:
        """Prove our key to whom we know."""
        self.start()
        self._wire.answer(self._greeting.answer(line, hello))

    def _proof(self, proof: Proof, _line: bytes) -> None:
        """The other end is who it says: open."""
        self.peer = self._greeting.proven(proof)
        self._doers = {
            Mail: self._mail,
            Ack: self._acked,
            Req: self._req,
            Res: self._res,
            Names: self._names,
            Rung: self._rung,
            Ping: self._ping,
            Pong: self._pong,
            Bye: self._bye,
            Unknown: self._unknown,
        }
        self._pulse.met()
        self._port.met(self, self.peer)

    def _bye(self, bye: Bye, _line: bytes) -> None:
        """The other end ends it."""
        known = bye.reason in End.__members__.values()
        # Its "here" is not ours: who reads it must know whose words these are.
        said = f"it says: {bye.text[:TEXT_MAX]}" if bye.text else ""
        self._end(bye.reason if known else End.CLOSED, said)

    # Mail, in both directions

    def _mail(self, mail: Mail, line: bytes) -> None:
        """Hand it up; its ack follows when it is settled."""
        n = mail.n
        self._in.came(n, len(line))
        self.take(mail, partial(self._settled, n))

    def _settled(self, n: int, refused: Refusal | None) -> None:
        """One ack for all that is settled in this turn of the loop."""
        if self._in.settle(n, refused) and not self._ack_due:
            self._ack_due = True
            self.here.loop.call_soon(self._send_ack)

    def _send_ack(self) -> None:
        """Ack what is settled."""
        self._ack_due = False
        if not self._ended:
            self._send(self._in.ack())

    def _acked(self, ack: Ack, _line: bytes) -> None:
        """Our mail is settled."""
        self._out.acked(ack)
        self._port.acked(self, ack.upto, ack.not_)

    # Questions, hints and signs of life

    def _req(self, req: Req, line: bytes) -> None:
        """Hand up what they ask."""
        self._pulse.count()
        self._questions.asked(req)
        self._port.asked(self, req, line)

    def _res(self, res: Res, _line: bytes) -> None:
        """Hand up what they answer."""
        self._questions.answered(res)

    def _names(self, names: Names, _line: bytes) -> None:
        """Hand up what changed."""
        self._pulse.count()
        self._port.names(self, names)

    def _rung(self, rung: Rung, _line: bytes) -> None:
        """Hand up the hint."""
        self._port.rung(self, rung)

    def _ping(self, ping: Ping, _line: bytes) -> None:
        """Answer at once, if nothing was lost before it."""
        self._pulse.count()
        if ping.sent != self._in.last or ping.upto != self._out.upto:
            raise ValueError(
                f"lost on the way: {ping.sent} mails were sent, {self._in.last} came;"
                f" {ping.upto} are acked, {self._out.upto} by what came"
            )
        self._send(Pong(t=ping.t))

    def _pong(self, pong: Pong, _line: bytes) -> None:
        """One of ours came back."""
        self._pulse.count()
        self._pulse.pong(pong)

    def _unknown(self, _frame: Unknown, _line: bytes) -> None:
        """A later version says more than we understand."""
        self._pulse.count()

    def _open(self) -> bool:
        """Whether the other end is proven, and still there."""
        return self.peer is not None and not self._ended

    def _send_ping(self, t: float) -> None:
        """Ask for a sign of life, and say how far we are."""
        self._send(Ping(t=t, sent=self._out.sent, upto=self._in.told))

    def _send(self, frame: Frame) -> None:
        """Send it behind what was sent."""
        self._say(frames.encode(frame))

    def _say(self, line: bytes) -> None:
        """Send a line that is no mail; the other end has to read what it is told."""
        self._wire.answer(line)
        if not self._ended:
            self._pulse.said(len(line))

    def _end(self, reason: str, text: str) -> None:
        """Over: nobody waits any longer."""
        self._ended = True
        self._wire.close()
        self._pulse.stop()
        self._questions.abandon()
        self._port.ended(self, reason, text)


def _name(frame: Frame | Unknown) -> str:
    """What a frame is called."""
    if isinstance(frame, Unknown):
        return frame.f[:20]
    return str(frame.__struct_config__.tag)
