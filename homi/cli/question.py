"""Questions and answers as the commands ask and give them.

Owns what `homi ask` waits for and prints, over lost connections and restarts, and
where `homi reply` goes.  Part of the fast path: standard library only.  homi-ask(1).
"""

import os
import sys
import time
from _json import encode_basestring as quote

from homi.cli.fast import complain, load
from homi.cli.submission import (
    REDIAL,
    Plan,
    _json,
    compose,
    deliver,
    mint,
    permit,
    read_text,
    sender,
)
from homi.dial import Absent, Dial, Json, Late, Lost, outcome
from homi.errors import HomiError, NotReached, StorageFailed, TimedOut, Usage

GRACE = 10.0  # s beyond the time that was asked for: the daemon answers by then
LIST_MAX = 64  # names of one question: all wait on one connection


class Question:
    """What one name is asked; its id was minted before the first try."""

    __slots__ = ("answer", "error", "id", "to")

    def __init__(self, to: str) -> None:
        """Not asked yet."""
        self.to = to
        self.id = mint()
        self.answer: Json | None = None
        self.error: HomiError | None = None

    @property
    def open(self) -> bool:
        """Whether an answer may still come."""
        return self.answer is None and self.error is None


class Round:
    """One text asked of some names, until enough have answered."""

    def __init__(self, plan: Plan) -> None:
        """Usage (64) where the names or the numbers cannot be meant."""
        names = plan.to.split(",")
        if len(names) > LIST_MAX or not all(names) or len(set(names)) < len(names):
            raise Usage(
                f"{plan.to[:64]!r} is no list of names, each once, {LIST_MAX} at most",
                hint="homi ask ada,bob TEXT",
            )
        self.wanted = plan.gather or len(names)
        if self.wanted > len(names):
            raise Usage(
                f"--gather {plan.gather} of {len(names)}: so many cannot answer"
            )
        self._plan = plan
        self._asked = [Question(name) for name in names]
        self._got = 0
        self._many = len(names) > 1
        self._deadline = time.monotonic() + plan.timeout

    @property
    def over(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self._got >= self.wanted or not any(one.open for one in self._asked)

    @property
    def left(self) -> float:
        """Seconds that are left of the time."""
        return max(0.0, self._deadline - time.monotonic())

    def exchange(self, dial: Dial) -> None:
        """Ask whatever is open, all at once, and take what comes; Lost in between
        leaves the rest open."""
        plan = self._plan
        signed = sender(plan, dial)
        lines = []
        for number, one in enumerate(self._asked):
            if one.open:
                plan.id, plan.to = one.id, one.to
                msg = compose(plan, signed)
                head = f'{{"verb":"ask","i":{number},"msg":{msg}{permit(plan)}'
                lines.append(f'{head},"timeout":{self.left:.3f}}}\n')
        dial.put("".join(lines).encode())
        while not self.over:
            dial.settimeout(self.left + GRACE)
            self._take(dial, dial.answer())

    def end(self) -> int:
        """The exit status, once it is over or its time is."""
        if self._got >= self.wanted:
            return 0
        if not self._many:
            raise self._asked[0].error or _unknown(self._asked[0].id, "no answer")
        status = 0
        late = [one for one in self._asked if isinstance(one.error, TimedOut)]
        for one in self._asked:
            if one.error is not None and one not in late:
                status = status or one.error.exit_status
        if late:
            names = ", ".join(one.to for one in late)
            short = TimedOut(
                f"{self._got} of {self.wanted} answers in time; open: {names}",
                hint="do not ask again: late answers come into your mailbox",
            )
            told = complain(short)
            status = status or told
        return status

    def give_up(self, why: str) -> None:
        """The daemon is away, and the time over."""
        for one in self._asked:
            if one.open:
                self._fail(one, _unknown(one.id, why))

    def _take(self, dial: Dial, raw: Json) -> None:
        """One answer of the daemon's: to a question, or of an ack that nobody needs."""
        number = raw.get("i")
        if not isinstance(number, int) or not 0 <= number < len(self._asked):
            return
        one = self._asked[number]
        if not one.open:
            return
        try:
            one.answer = outcome(raw)
        except HomiError as error:
            self._fail(one, error)
            return
        self._got += 1
        self._print(one, one.answer)
        _seen(dial, one.answer, self.over)

    def _fail(self, one: Question, error: HomiError) -> None:
        """It is not answered; of several the others go on."""
        one.error = error
        if self._many and not isinstance(error, TimedOut):
            named = type(error)(f"{one.to}: {error.text}", hint=error.hint)
            complain(named)

    def _print(self, one: Question, answer: Json) -> None:
        """The answer, and of one alone nothing else."""
        text = str(answer.get("text", ""))
        try:
            if self._plan.as_json:
                said = answer | {"to": one.to}
                said.setdefault("verified", False)
                said.setdefault("default", False)
                print(
                    "{" + ",".join(f'"{k}":{_json(v)}' for k, v in said.items()) + "}",
                    flush=True,
                )
            elif self._many:
                load("homi.cli.answered", "named", one.to, text)
            elif sys.stdout is not None and sys.stdout.isatty():
                load("homi.cli.answered", "shown", text)
            else:
                sys.stdout.buffer.write(text.encode())
                sys.stdout.buffer.write(b"" if text.endswith("\n") else b"\n")
                sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StorageFailed(
                f"cannot write the answer: {error.strerror}",
                hint=f"homi read {answer.get('answer')}",
            ) from None
        if answer.get("default") and sys.stderr is not None:
            print("homi: nobody answered in time: this is the default", file=sys.stderr)


def ask(plan: Plan, path: str | None) -> int:
    """Ask, wait and print; the exit status.  Absent (69) where no daemon runs."""
    if path is None:
        return load("homi.cli.spool", "ask", plan)
    waiting = Round(plan)
    plan.body = read_text(plan)
    first = True
    while True:
        try:
            with Dial(path) as dial:
                first = False
                waiting.exchange(dial)
            break
        except Late:
            waiting.give_up("the daemon gave no answer in time")
            break
        except (Absent, Lost) as error:
            if first:
                raise
            if waiting.left < REDIAL:
                waiting.give_up(error.text)
                break
            time.sleep(REDIAL)
    return waiting.end()


def reply(plan: Plan, path: str | None) -> int:
    """Answer the message whose id stands as plan.to; the exit status."""
    try:
        if path is not None:
            return answer(plan, path)
    except Absent:
        pass
    return load("homi.cli.spool", "reply", plan)


def answer(plan: Plan, path: str) -> int:
    """As reply(); Absent (69) where no daemon runs."""
    plan.body = read_text(plan) if plan.body is None else plan.body
    name = f',"name":{quote(plan.sender)}' if plan.sender else ""
    line = f'{{"verb":"about","i":1,"id":{quote(plan.to.lower())}{name}}}\n'
    with Dial(path) as dial:
        found = dial.ask(os.fsencode(line))
    plan.to, plan.reply_to = str(found["to"]), str(found["id"])
    plan.sender = str(found["name"])
    return deliver(plan, path)


def _seen(dial: Dial, answer: Json, last: bool) -> None:
    """Record that it was printed, so that it comes in no turn; to be harmless, that
    may fail: it is then read twice."""
    name, message = str(answer.get("name", "")), str(answer.get("answer", ""))
    line = (
        f'{{"verb":"ack","i":-1,"ids":[{quote(message)}],"name":{quote(name)}'
        ',"proof":"read"}\n'
    )
    try:
        dial.put(line.encode())
        while last and dial.answer().get("i") != -1:
            pass
    except Lost:
        return


def _unknown(message: str, why: str) -> NotReached:
    """The time is over, and nobody was there to tell."""
    return NotReached(
        f"not known to be answered: {why}",
        hint=f"homi trace {message} tells; an answer comes into your mailbox",
    )
