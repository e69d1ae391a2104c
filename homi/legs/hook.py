"""The leg to sessions without a socket: their own hook comes and asks for mail.

Owns the sheet a hook is given and when that counts as handed over; what becomes of
it afterwards is the witness's.  homi-legs(7) has the measurements.
"""

import asyncio

from homi.envelope import CLAUDE, Reason, Rung
from homi.legs import render
from homi.legs.base import Deferred, Held, Letter, Offered, Outcome
from homi.legs.claude import Learnt
from homi.sessions import Session

# A client shows 10,000 characters of a hook's text, of a longer one the first 2,000
# (measured on Claude Code 2.1.332).  In bytes, so that any unit of it fits.
SHEET_MAX = 9_000
WHOLE_MAX = 5_000  # bytes of whole letters; the rest is room to list the others
PRINTED = 2.0  # s from the answer to the hook's word that it was printed

Process = tuple[int, str]


class Sheet:
    """What one hook is about to print."""

    def __init__(self, session: Session) -> None:
        """Empty; printed is settled by whoever gave it to the hook."""
        self.session = session
        self.printed: asyncio.Future[bool] = asyncio.Future()
        self._texts: list[str] = []
        self._size = 0

    @property
    def text(self) -> str:
        """All of it; empty where nothing is to be told."""
        return render.brief(self._texts) if self._texts else ""

    def add(self, text: str, limit: int) -> bool:
        """Put text on it, unless it would be over limit bytes then."""
        size = len(text.encode("utf-8", "surrogatepass")) + 1
        if self._size + size > limit - len(render.BRIEF):
            return False
        self._texts.append(text)
        self._size += size
        return True

    def settle(self, *, printed: bool) -> None:
        """Say once whether the hook printed it."""
        if not self.printed.done():
            self.printed.set_result(printed)


class HookLeg:
    """Hands letters to sessions that have no socket, when they ask."""

    name = "hook"
    client = CLAUDE

    def __init__(self, learnt: Learnt) -> None:
        """learnt: the witness, which finds out what a session proves."""
        self._learnt = learnt
        self._sheets: dict[Process, Sheet] = {}

    def serves(self, session: Session) -> bool:
        """Whether it has no better way: a session with a socket is written to."""
        return session.listed and not session.socket

    def proofs(self, session: Session) -> frozenset[Rung]:
        """OFFERED always; SEEN unless the witness found no way to prove it."""
        return self._learnt.proofs(session)

    def open(self, session: Session) -> Sheet | None:
        """A sheet for a hook of session; None while another hook of it has one."""
        process = (session.pid, session.start)
        old = self._sheets.get(process)
        if old is not None and not old.printed.done():
            return None
        sheet = self._sheets[process] = Sheet(session)
        sheet.printed.add_done_callback(lambda _: self._sheets.pop(process, None))
        return sheet

    async def offer(self, letter: Letter, session: Session) -> Outcome:
        """Offered once a hook printed the sheet that the letter is on."""
        sheet = self._sheets.get((session.pid, session.start))
        if sheet is None:
            return Held(Reason.UNREACHABLE)  # until a hook asks
        try:
            async with asyncio.timeout(PRINTED):
                printed = await asyncio.shield(sheet.printed)
        except TimeoutError:
            printed = False
        # What a killed hook printed may count or not: the transcript will tell.
        return Offered() if printed else Deferred(Reason.INTERRUPTED, 0.0)
