"""What the end of a run means for its letter.  Pure, but for what the run left.

Owns the order of the questions and how an answer is found in what a command said.
homi-command(1) has the table.
"""

import json
import re
import signal
from typing import assert_never

import msgspec

from homi.commands.binding import is_session
from homi.commands.run import ANSWER, ERR, OUT, End, Run
from homi.commands.template import Source, Template

ANSWER_MAX = 1_000_000  # characters: what a letter may have, less what says it was cut
CRASHES = 3  # in a row hold a name
_HALVES = re.compile("[\ud800-\udfff]")  # JSON may name them; no text has them
_SHOWN = 200  # characters of what a command said last


class Done(msgspec.Struct, frozen=True, tag=True):
    """It has read the letter."""

    answer: str = ""
    session: str = ""  # it went on with; empty: not told


class Busy(msgspec.Struct, frozen=True, tag=True):
    """It says that it did nothing, and may be asked again."""

    why: str
    said: str = ""  # last on standard error


class Failed(msgspec.Struct, frozen=True, tag=True):
    """It says that it failed."""

    why: str
    said: str = ""  # last on standard error


class Broken(msgspec.Struct, frozen=True, tag=True):
    """It came to no end of its own: it may have done half of it."""

    why: str


class Unbegun(msgspec.Struct, frozen=True, tag=True):
    """It never began."""

    why: str
    tried: bool = True  # else whoever was to begin it had not come to that


Verdict = Done | Busy | Failed | Broken | Unbegun


def judge(run: Run) -> Verdict:
    """What became of a run that goes on no more."""
    end, template = run.end, run.plan.template
    if end is None:
        if run.started is None:
            return Unbegun("it was not begun", tried=False)
        return Broken("its supervisor was killed")
    if end.failed:
        return Unbegun(end.failed)
    if end.timed_out:
        return Broken(f"its time of {template.timeout_s:g} s was over")
    if end.stopped:
        return Broken("it was stopped")
    if end.signal is not None:
        return Broken(f"it was ended by {_signal(end.signal)}")
    return _exited(run, end, template)


def crashed(verdict: Verdict) -> bool:
    """Whether it counts among those that hold a name."""
    if isinstance(verdict, Unbegun):
        return verdict.tried
    return isinstance(verdict, Failed | Broken)


def shown(run: Run) -> str:
    """How a run ended, in a few words; empty while it goes on."""
    if run.end is None and run.goes_on:
        return ""
    verdict = judge(run)
    match verdict:
        case Busy(said=said) | Failed(said=said) if said:
            return f"{brief(verdict)}: {said}"
        case _:
            return brief(verdict)


def brief(verdict: Verdict) -> str:
    """The same without a word of what the command said."""
    match verdict:
        case Done():
            return "ok"
        case Busy(why=why):
            return f"busy, {why}"
        case Failed(why=why) | Broken(why=why) | Unbegun(why=why):
            return why
        case _:
            assert_never(verdict)


def said(run: Run, source: Source | None) -> str:
    """What stands at that place in what the run left; empty: nothing."""
    if source is None:
        return ""
    text = run.text(ANSWER if source.from_ == "file" else OUT)
    if source.event is not None:
        found = _of_events(text, source)
    else:
        found = _at(_decoded(text), source.pointer) if source.pointer else text.strip()
    return _HALVES.sub("\ufffd", found)


def _exited(run: Run, end: End, template: Template) -> Verdict:
    """What an exit status means."""
    errors = run.text(ERR)
    status = end.status if end.status is not None else -1
    why, last = f"exit {status}", _last(errors)
    if status in template.ok_codes:
        session = said(run, template.session_from)
        if not is_session(session):
            session = run.plan.session
        answer = said(run, template.answer)
        if template.answer is not None and template.answer.from_ == "stdout":
            return Done(_cut(answer, run, lost=end.cut), session)
        return Done(_cut(answer, run), session)
    if status in template.retry_codes or end.busy:
        return Busy(why, last)
    return Failed(why, last)


def _of_events(text: str, source: Source) -> str:
    """What the last line of JSON of that type has there; * is any type."""
    for line in reversed(text.split("\n")):  # U+2028 and its like end no line of JSON
        event = _decoded(line)
        if not isinstance(event, dict):
            continue
        if source.event in ("*", event.get("type")):
            found = _at(event, source.pointer)
            if found:
                return found
    return ""


def _decoded(text: str) -> object:
    """The JSON in text; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _at(value: object, pointer: str) -> str:
    """The text or number at a pointer; empty: there is none."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).strip()


def _cut(text: str, run: Run, *, lost: bool = False) -> str:
    """An answer that a letter can hold.  lost: the command said more than is kept."""
    if len(text) <= ANSWER_MAX:
        note = "[it said more than was kept, or than the disk took]"
        return f"{text}\n{note}".strip() if lost else text
    return f"{text[:ANSWER_MAX]}\n[cut here: the whole is in {run.folder}]"


def _last(errors: str) -> str:
    """What a command said last on standard error."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return lines[-1][:_SHOWN] if lines else ""


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
