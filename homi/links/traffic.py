"""What crosses the exchanges that are up, by its kind, to who deals with it.

Owns the closed list of questions another device may ask.  homi-protocol(7).
"""

import asyncio
from collections.abc import Callable

from homi.address import show
from homi.errors import NotReached, Usage
from homi.links.checks import VERB, Probes
from homi.links.exchange import Answered, Exchange
from homi.links.frames import Mail, Names, Not, Refusal, Req, Rung
from homi.links.greeting import Peer

Question = Callable[[Exchange, Req, bytes], None]  # exchange.reply() once


class Junction:
    """Fits links.links.Traffic.  Who deals with a kind is added by the daemon."""

    def __init__(self, probes: Probes) -> None:
        """Nobody deals with anything but probes yet."""
        self._probes = probes
        self.questions: dict[str, Question] = {VERB: self._probe}
        self.on_met: list[Callable[[Exchange, Peer], None]] = []
        self.on_ended: list[Callable[[Exchange], None]] = []
        self.on_names: Callable[[Exchange, Names], None] = _nobody
        self.on_rung: Callable[[Exchange, Rung], None] = _nobody
        self.on_acked: Callable[[Exchange, int, list[Not]], None] = _unsent

    def met(self, exchange: Exchange, peer: Peer) -> None:
        """It carries the mail of its device from now on."""
        for told in self.on_met:
            told(exchange, peer)

    def ended(self, exchange: Exchange) -> None:
        """It carries nothing any more."""
        for told in self.on_ended:
            told(exchange)

    def take(self, _exchange: Exchange, _mail: Mail, answered: Answered) -> None:
        """Mail for which nobody is there, as who is has it from the exchange: it stays
        where it is."""
        refusal = NotReached("the daemon is starting", reason="busy")
        answered(Refusal(code=refusal.code, text=refusal.text, reason=refusal.reason))

    def acked(self, exchange: Exchange, upto: int, refused: list[Not]) -> None:
        """Mail of ours is settled there."""
        self.on_acked(exchange, upto, refused)

    def asked(self, exchange: Exchange, req: Req, line: bytes) -> None:
        """A question from there; one that nobody here knows is refused."""
        question = self.questions.get(req.verb)
        if question is None:
            refusal = Usage(f"no question {show(req.verb)} is known here")
            exchange.reply(req.i, refusal)
            return
        question(exchange, req, line)

    def names(self, exchange: Exchange, names: Names) -> None:
        """Names there changed."""
        self.on_names(exchange, names)

    def rung(self, exchange: Exchange, rung: Rung) -> None:
        """How far a message got there."""
        self.on_rung(exchange, rung)

    def _probe(self, exchange: Exchange, req: Req, _line: bytes) -> None:
        """Keep a probe, then answer."""
        self._probes.asked(exchange, req, asyncio.get_running_loop())


def _nobody(_exchange: Exchange, _frame: Names | Rung) -> None:
    """A hint nobody waits for."""


def _unsent(_exchange: Exchange, _upto: int, _refused: list[Not]) -> None:
    """Nothing was sent."""
