"""The hook leg: sheets, and what the transcript proves of what stood on one."""

import asyncio
import json
from pathlib import Path

import pytest

from homi.envelope import Reason, Rung
from homi.legs import render
from homi.legs.base import Deferred, Held, Ignored, Offered, Outcome, Seen, Taken
from homi.legs.hook import SHEET_MAX, WHOLE_MAX, HookLeg, Sheet
from homi.legs.transcript import What, read_line
from homi.legs.verdict import IDLE, Case, View
from homi.sessions import Session
from tests.unit.legs.lines import letter, new_id, session


class Learnt:
    """A witness that proves everything."""

    def proofs(self, _session: Session) -> frozenset[Rung]:
        return frozenset({Rung.OFFERED, Rung.SEEN})


def hooked(text: str, kind: str = "hook_additional_context") -> bytes:
    """The client's line of a hook's context."""
    given = {"type": kind, "content": [text], "hookEvent": "UserPromptSubmit"}
    line = {"type": "attachment", "attachment": given, "uuid": "u1"}
    return json.dumps(line | {"entrypoint": "cli", "isSidechain": False}).encode()


ANSWER = json.dumps(
    {
        "type": "assistant",
        "message": {"model": "claude-x", "content": []},
        "uuid": "u2",
        "entrypoint": "cli",
    }
).encode()


def test_a_sheet_takes_what_fits_and_says_who_wrote_it() -> None:
    """In bytes, its own first line included."""

    async def main() -> None:
        sheet = Sheet(session(Path("/x"), socket=""))
        assert sheet.text == ""
        assert not sheet.add("é" * (WHOLE_MAX // 2), WHOLE_MAX)
        assert sheet.add("x" * (WHOLE_MAX // 2), WHOLE_MAX)
        assert not sheet.add("y" * (WHOLE_MAX // 2), WHOLE_MAX)
        assert sheet.add("y" * (WHOLE_MAX // 2), SHEET_MAX)
        assert sheet.text.startswith("[homi brief: ")
        assert len(sheet.text.encode()) <= SHEET_MAX
        sheet.settle(printed=False)

    asyncio.run(main())


def test_a_letter_is_offered_when_the_hook_says_it_printed() -> None:
    """Without that word it is not; while no hook asks, it is held."""

    async def offer(*, printed: bool) -> Outcome:
        leg, asking = HookLeg(Learnt()), session(Path("/x"), socket="")
        assert await leg.offer(letter(), asking) == Held(Reason.UNREACHABLE)
        sheet = leg.open(asking)
        assert sheet is not None
        assert leg.open(asking) is None  # one hook at a time
        offered = asyncio.ensure_future(leg.offer(letter(), asking))
        await asyncio.sleep(0)
        assert not offered.done()
        sheet.settle(printed=printed)
        found = await offered
        again = leg.open(asking)
        assert again is not None
        again.settle(printed=False)
        return found

    assert asyncio.run(offer(printed=True)) == Offered()
    lost = asyncio.run(offer(printed=False))
    assert lost == Deferred(Reason.INTERRUPTED, 0.0)


def test_it_serves_only_who_has_no_socket() -> None:
    """A socket is the better way."""
    leg = HookLeg(Learnt())
    assert leg.serves(session(Path("/x"), socket=""))
    assert not leg.serves(session(Path("/x"), socket="/run/5.sock"))


def test_a_hooks_line_takes_in_every_letter_on_it() -> None:
    """Their first lines name them; what a body quotes does not."""
    first, second, quoted = letter("one"), letter("two"), letter("x")
    body = letter(f"> see\n{render.turn(quoted)}")
    text = render.brief([render.turn(one) for one in (first, second, body)])
    (fact,) = read_line(hooked(text))
    assert fact.what is What.TAKEN
    assert fact.briefed == {first.msg.id, second.msg.id, body.msg.id}


@pytest.mark.parametrize("kind", ["hook_success", "queued_command"])
def test_no_other_line_with_that_text_takes_anything_in(kind: str) -> None:
    """Neither what a hook printed, nor a text that only has our letters in it."""
    text = render.brief([render.turn(letter())])
    assert all(not fact.briefed for fact in read_line(hooked(text, kind)))
    cut = text.partition("\n")[2]
    assert all(not fact.briefed for fact in read_line(hooked(cut)))
    spoken = json.dumps({"type": "assistant", "message": {"model": "m", "t": text}})
    assert all(not fact.briefed for fact in read_line(spoken.encode()))


def _case(offered: float) -> tuple[Case, str]:
    """A letter that a hook printed, and the sheet's text."""
    given = letter()
    made = Case(given.msg.id, "", lambda _pid, _start: True, offered - 1, pulled=True)
    made.offered = offered
    return made, render.brief([render.turn(given)])


def _view(*, idle: bool) -> View:
    return View(
        conversation="c",
        since=0.0,
        idle_since=0.0 if idle else None,
        busy_at=None,
        has_file=True,
        matched=True,
    )


def test_an_answer_behind_the_line_proves_it_read() -> None:
    """Taken, then seen."""
    case, text = _case(100.0)
    found = [case.learn(f, "c") for f in read_line(hooked(text)) + read_line(ANSWER)]
    assert found == [Taken(case.id), Seen(case.id)]


@pytest.mark.parametrize("idle", [True, False])
def test_only_an_answer_without_it_says_that_it_is_lost(idle: bool) -> None:
    """A session may rest for hours before its first prompt."""
    case, _ = _case(100.0)
    assert case.conclude(_view(idle=idle), 100_000.0) is None
    for fact in read_line(ANSWER):
        case.learn(fact, "c")
    assert case.conclude(_view(idle=idle), 100.0 + IDLE - 0.1) is None
    assert case.conclude(_view(idle=idle), 100.0 + IDLE) == Ignored(case.id)


def test_a_first_line_that_is_no_letters_names_nothing() -> None:
    """The control of the parser."""
    assert render.briefed(f"{render.BRIEF}\n[homi {new_id()} to ada]") == frozenset()
