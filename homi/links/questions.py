"""The questions that are open on one connection, in each direction.

Owns their numbers and their bound; knows no verb.  homi-protocol(7).
"""

from collections.abc import Callable, Mapping

import msgspec

from homi.envelope import encode
from homi.errors import HomiError
from homi.links import frames
from homi.links.frames import TEXT_MAX, Refusal, Req, Res

QUESTIONS = 64  # open in one direction


class Questions:
    """Ours that wait for an answer, and theirs that wait for ours."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        """send takes a line to the other end."""
        self._send = send
        self._i = 0
        self._ours: dict[int, Callable[[Res | None], None]] = {}
        self._theirs: set[int] = set()

    def ask(
        self,
        verb: str,
        fields: Mapping[str, object],
        answered: Callable[[Res | None], None],
    ) -> None:
        """Ask; answered comes once, with None where there is no answer."""
        if len(self._ours) >= QUESTIONS:
            answered(None)
            return
        self._i += 1
        self._ours[self._i] = answered
        req = {**fields, "f": "req", "i": self._i, "verb": verb}
        self._send(encode(req) + b"\n")

    def answered(self, res: Res) -> None:
        """Hand up what they answer; ValueError where nothing was asked."""
        answered = self._ours.pop(res.i, None)
        if answered is None:
            raise ValueError(f"res {res.i}: nothing was asked")
        answered(res)

    def asked(self, req: Req) -> None:
        """They ask; ValueError for a number that is open, or one question too many."""
        if req.i in self._theirs or len(self._theirs) >= QUESTIONS:
            raise ValueError(f"req {req.i}: {len(self._theirs)} are open")
        self._theirs.add(req.i)

    def reply(self, i: int, answer: msgspec.Struct | HomiError) -> None:
        """Answer their question i; nothing happens where it is answered already."""
        if i not in self._theirs:
            return
        self._theirs.discard(i)
        if isinstance(answer, HomiError):
            res = Res(i=i, error=refusal(answer))
        else:
            res = Res(i=i, ok=msgspec.Raw(encode(answer)))
        self._send(frames.encode(res))

    def abandon(self) -> None:
        """It is over: nobody waits any longer."""
        self._theirs.clear()
        ours, self._ours = self._ours, {}
        for answered in ours.values():
            answered(None)


def refusal(error: HomiError, *, permanent: bool = False) -> Refusal:
    """The error as it crosses a link."""
    return Refusal(
        code=error.code,
        text=error.text[: 4 * TEXT_MAX],
        hint=error.hint[:TEXT_MAX],
        reason=error.reason,
        permanent=permanent,
    )
