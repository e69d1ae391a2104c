"""The leg to commands: one letter, one run; and what its end proves.

Owns what an end means for a letter.  How a run begins and is watched is
homi.commands'.  homi-legs(7) has the outcomes.
"""

import asyncio
import logging
from collections.abc import Callable

from msgspec.structs import replace

from homi.clock import Clock
from homi.commands import binding
from homi.commands.binding import CLIENT, Command
from homi.commands.run import Plan, Run
from homi.commands.runs import Runs
from homi.commands.start import Unclear
from homi.commands.template import filled
from homi.commands.verdict import Broken, Busy, Done, Failed, Unbegun, Verdict
from homi.envelope import Kind, MessageId, Msg, Reason, Rung, SessionRef
from homi.errors import BadConfig, HomiError, StorageFailed
from homi.ids import new
from homi.legs import render
from homi.legs.base import (
    Deferred,
    EvidenceSink,
    GivenBack,
    Held,
    Letter,
    Offered,
    Outcome,
    Seen,
    Stopped,
)
from homi.names import Names
from homi.seats import launch
from homi.sessions import Session

log = logging.getLogger("homi.commands")

AGAIN = 30.0  # s: a program that is missing, a command that says it is busy
FAILED_AGAIN = 60.0  # s, doubled with each failure
STORE_AGAIN = 30.0  # s until an answer is stored once more
SILENT = "[it ended well and said nothing]"  # else who asked waits for nothing

# What a run answers, the text, told whether it is kept.
Answer = Callable[[Plan, str, Callable[[bool], None]], None]


class CommandLeg:
    """The leg to a command, one run at a time."""

    name = CLIENT
    client = CLIENT

    def __init__(self, names: Names, runs: Runs, clock: Clock) -> None:
        """names: what a command was bound with."""
        self._names = names
        self._runs = runs
        self._clock = clock

    def serves(self, session: Session) -> bool:
        """Whether it is a command that a name is bound to."""
        return session.client == CLIENT

    def proofs(self, session: Session) -> frozenset[Rung]:
        """Seen, by an exit status that says so."""
        return frozenset({Rung.OFFERED, Rung.SEEN})

    async def offer(self, letter: Letter, session: Session) -> Outcome:
        """Offered once the command began with it; never two at a time."""
        claim = self._names.get(letter.place)
        body = None if claim is None else claim.body
        if body is None or body.ref.start != session.start:
            return Deferred(Reason.UNREACHABLE, AGAIN)
        if self._runs.busy(body.id):
            return Held(Reason.BUSY)
        try:
            command = binding.read(body)
            plan = self._plan(letter, body.id, command)
            text = render.turn(_told(letter, command), command.template.max_body)
            why = await self._runs.begin(plan, text, command.path)
        except Unclear:
            return Deferred(Reason.UNREACHABLE, AGAIN, unclear=True)
        except BadConfig as error:
            log.warning("%s to=%s %s", letter.msg.id, letter.place, error.text)
            return Held(Reason.UNREACHABLE)
        except StorageFailed as error:
            log.error("%s to=%s %s", letter.msg.id, letter.place, error.text)
            return Deferred(Reason.DISK, AGAIN)
        except HomiError as error:
            # A missing program: its text names the PATH it was looked for in.
            log.warning("%s to=%s %s", letter.msg.id, letter.place, error.text)
            return Deferred(Reason.UNREACHABLE, AGAIN)
        return Deferred(Reason.UNREACHABLE, AGAIN) if why else Offered()

    def _plan(self, letter: Letter, body: str, command: Command) -> Plan:
        """What is to be run for the letter."""
        template, n = command.template, self._runs.number()
        session = self._runs.known.of(body).session or command.session
        words = template.argv
        if template.new and not session:
            words, session = template.new, new() if template.mint else ""
        values = {
            "session": session,
            "cwd": command.cwd,
            "out": self._runs.file(n, "answer"),
            "id": letter.msg.id,
            "file": self._runs.file(n, "letter"),
            "name": letter.place,
        }
        argv = filled(words, values)
        argv[0] = launch.program(argv, command.path, launch.folder(command.cwd))
        return Plan(
            n=n,
            name=letter.place,
            body=body,
            message=letter.msg.id,
            argv=argv,
            cwd=command.cwd,
            template=template,
            at=self._clock.wall(),
            kind=letter.msg.kind,
            to=_answered(letter) if _wants(letter.msg, command) else "",
            session=session,
            repeat=letter.repeat,
        )


class CommandWitness:
    """The Witness of commands: what they leave when they end.  On the loop's thread."""

    def __init__(self, sink: EvidenceSink, runs: Runs) -> None:
        """answer is to be set: it stores what a run said as the answer."""
        self._sink = sink
        self._runs = runs
        self.answer: Answer = lambda _plan, _text, told: told(True)
        runs.ended = self._ended

    def taken_before(self, session: Session, message: MessageId) -> bool:
        """Whether a run has it that an earlier homi began."""
        return self._runs.has(session.session_id, message)

    def watch(self, session: Session, letter: Letter) -> None:
        """Every run is watched anyway."""

    def offered(self, session: Session, message: MessageId) -> None:
        """Its silence says nothing: it works."""

    def changed(self, session: Session) -> None:
        """Its end is told."""

    def forget(self, session: SessionRef, message: MessageId) -> None:
        """The letter is finished, and the ledger has it."""
        self._runs.settle(session.start.removeprefix(f"{CLIENT}:"), message)

    async def finish(self, session: Session) -> None:
        """What still runs is told of at its end."""

    def _ended(self, run: Run, verdict: Verdict) -> None:
        """Tell what the end of a run means."""
        plan = run.plan
        ref = SessionRef(0, f"{CLIENT}:{plan.body}", plan.body)
        message = plan.message
        match verdict:
            case Done(answer=text):
                self._done(plan, ref, text)
            case Busy(why=why):
                self._sink(ref, GivenBack(message, Reason.BUSY, AGAIN, why))
            case Failed(why=why):
                told = f"the command that has it failed ({why}); it is tried again"
                reason = Reason.SPAWN_FAILING
                self._sink(ref, GivenBack(message, reason, FAILED_AGAIN, why, told))
            case Broken():
                self._sink(ref, Stopped(message, Reason.INTERRUPTED))
            case Unbegun(why=why):
                self._sink(
                    ref,
                    GivenBack(message, Reason.UNREACHABLE, AGAIN, why, repeat=False),
                )

    def _done(self, plan: Plan, ref: SessionRef, text: str) -> None:
        """It has read the letter; what it said is stored before that counts."""

        def kept(done: bool) -> None:
            if done:
                self._runs.meet("run-answered")
                self._sink(ref, Seen(plan.message, proof="exit status"))
            else:
                loop = asyncio.get_running_loop()
                loop.call_later(STORE_AGAIN, self._done, plan, ref, text)

        if plan.to and not text and plan.kind is Kind.ASK:
            text = SILENT
        if plan.to and text:
            self.answer(plan, text, kept)
        else:
            kept(True)


def _wants(msg: Msg, command: Command) -> bool:
    """Whether what the command says is an answer to that."""
    if command.template.answer is None or msg.auto:
        return False
    always = command.template.reply == "always" and msg.kind is Kind.MAIL
    return always or msg.kind is Kind.ASK


def _answered(letter: Letter) -> str:
    """Whom an answer goes to."""
    device = letter.envelope.via.device
    return letter.msg.from_ if device is None else f"{letter.msg.from_}@{device}"


def _told(letter: Letter, command: Command) -> Letter:
    """The letter as the command reads it."""
    return replace(letter, by_turn=command.template.answer is not None)
