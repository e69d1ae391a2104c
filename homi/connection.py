"""The daemon over one blocking connection: typed requests in, typed answers out.

Owns the pairing of a request with its answer.  Imports no asyncio.
homi-protocol(7) lists the verbs.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from homi.dial import ANSWER_TIMEOUT, Absent, Dial, Lost, outcome
from homi.envelope import encode
from homi.errors import HomiError, VersionMismatch
from homi.paths import check_private, control_socket
from homi.reports import Welcome
from homi.requests import Request

Answer = TypeVar("Answer", bound=msgspec.Struct)
LOOK = "it may have been done: look before you ask again"
GRACE = 10.0  # s beyond the time a long verb was given: the daemon answers then


class Connection:
    """One connection to the daemon of a state root."""

    def __init__(self, root: Path, patience: float = ANSWER_TIMEOUT) -> None:
        """Connect and say hello; dial.Absent (69) where no daemon runs.  patience: s
        that it may take for an answer."""
        self._patience = patience
        try:
            self._dial = Dial(str(control_socket(root)), patience)
        except Absent:
            # A daemon would not start over a root that is not private.
            if root.is_dir():
                check_private(root)
            raise
        self.welcome = typed(self._dial.welcome, Welcome)

    def call(self, request: Request, answer: type[Answer]) -> Answer:
        """The answer to request; dial.Lost (69) if the connection ends before it, and
        it may have been done."""
        self._dial.settimeout(self._patience)
        return self._ask(request, answer)

    def wait(
        self, request: Request, answer: type[Answer], seconds: float | None
    ) -> Answer:
        """As call(), for a verb that may take seconds to answer; None: any time."""
        self._dial.settimeout(None if seconds is None else seconds + GRACE)
        return self._ask(request, answer)

    def put(self, requests: Iterable[Request], seconds: float = ANSWER_TIMEOUT) -> None:
        """Write requests whose answers are taken one by one, each in that time."""
        self._dial.settimeout(seconds)
        self._dial.put(b"".join(map(line_of, requests)))

    def take(self, answer: type[Answer]) -> tuple[int, Answer | HomiError]:
        """The next answer, of whichever request, by its i."""
        raw = self._dial.answer()
        i = raw.get("i")
        number = i if isinstance(i, int) else 0
        try:
            return number, typed(outcome(raw), answer)
        except HomiError as error:
            return number, error

    def answered(self) -> bool:
        """Whether take() has one to give without waiting."""
        return self._dial.answered()

    def close(self) -> None:
        """End the connection; harmless when it has ended."""
        self._dial.close()

    def __enter__(self) -> Self:
        """The connection itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _ask(self, request: Request, answer: type[Answer]) -> Answer:
        """The answer to request, by whichever daemon."""
        line = line_of(request)
        try:
            return typed(self._dial.ask(line, looks=request.again), answer)
        except Lost as lost:
            lost.hint = lost.hint or LOOK
            raise


def line_of(request: Request) -> bytes:
    """A request as it is written."""
    return encode(request) + b"\n"


def typed(raw: object, kind: type[Answer]) -> Answer:
    """raw as kind; VersionMismatch (76) where the daemon means something else by it."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise VersionMismatch(
            f"the daemon gave an answer this homi cannot read: {error}",
            hint="stop the daemon and start it again with this homi",
        ) from error
