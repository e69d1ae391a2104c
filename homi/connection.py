"""The daemon as a caller sees it: typed requests in, typed answers out.

Owns the pairing of a request with its answer on one blocking connection.  Imports
no asyncio.  homi-protocol(7) lists the verbs.
"""

from pathlib import Path
from typing import Self, TypeVar

import msgspec

from homi.dial import ANSWER_TIMEOUT, Dial
from homi.envelope import encode
from homi.errors import VersionMismatch
from homi.paths import control_socket
from homi.reports import Welcome
from homi.requests import Request

Answer = TypeVar("Answer", bound=msgspec.Struct)
GRACE = 10.0  # s beyond the time a long verb was given: the daemon answers then


class Connection:
    """One connection to the daemon of a state root."""

    def __init__(self, root: Path) -> None:
        """Connect and say hello; dial.Absent (69) where no daemon runs."""
        self._dial = Dial(str(control_socket(root)))
        self.welcome = _typed(self._dial.welcome, Welcome)

    def call(self, request: Request, answer: type[Answer]) -> Answer:
        """The answer to request; dial.Lost (69) if the connection ends before it."""
        self._dial.settimeout(ANSWER_TIMEOUT)
        return _typed(self._dial.ask(encode(request) + b"\n"), answer)

    def wait(
        self, request: Request, answer: type[Answer], seconds: float | None
    ) -> Answer:
        """As call(), for a verb that may take seconds to answer; None: any time."""
        self._dial.settimeout(None if seconds is None else seconds + GRACE)
        return _typed(self._dial.ask(encode(request) + b"\n"), answer)

    def __enter__(self) -> Self:
        """The connection itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._dial.close()


def _typed(raw: object, kind: type[Answer]) -> Answer:
    """raw as kind; VersionMismatch (76) where the daemon means something else by it."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise VersionMismatch(
            f"the daemon gave an answer this homi cannot read: {error}",
            hint="stop the daemon and start it again with this homi",
        ) from error
