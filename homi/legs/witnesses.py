"""The witness of every session: that of the client it belongs to.

Owns which one is asked.  Of a client without one nothing can be proven.
"""

from collections.abc import Mapping

from homi.envelope import MessageId, SessionRef
from homi.legs.base import EvidenceSink, Letter, NoProof, Witness
from homi.sessions import Session


class Silent:
    """Of a session that writes down nothing: what it was offered stays offered."""

    def __init__(self, sink: EvidenceSink) -> None:
        """sink is told that there is no proof to be had."""
        self._sink = sink

    def taken_before(self, session: Session, message: MessageId) -> bool:
        """Nobody knows."""
        return False

    def watch(self, session: Session, letter: Letter) -> None:
        """There is nothing to read."""

    def offered(self, session: Session, message: MessageId) -> None:
        """It has it, as far as can be told."""
        self._sink(session.ref, NoProof(message))

    def changed(self, session: Session) -> None:
        """It says nothing."""

    def forget(self, session: SessionRef, message: MessageId) -> None:
        """Nothing was kept."""

    async def finish(self, session: Session) -> None:
        """It left nothing to read."""


class Witnesses:
    """One Witness in front of those of all clients."""

    def __init__(self, of: Mapping[str, Witness], sink: EvidenceSink) -> None:
        """of: by client."""
        self._of = of
        self._silent = Silent(sink)

    def _client(self, client: str) -> Witness:
        return self._of.get(client, self._silent)

    def taken_before(self, session: Session, message: MessageId) -> bool:
        """Whether the session's conversation holds the id already (offer not)."""
        return self._client(session.client).taken_before(session, message)

    def watch(self, session: Session, letter: Letter) -> None:
        """Report evidence of letter from now on; call before the bytes go out."""
        self._client(session.client).watch(session, letter)

    def offered(self, session: Session, message: MessageId) -> None:
        """The hand-over ended cleanly; the conclusions about silence may start."""
        self._client(session.client).offered(session, message)

    def changed(self, session: Session) -> None:
        """What is known of it changed."""
        self._client(session.client).changed(session)

    def forget(self, session: SessionRef, message: MessageId) -> None:
        """No more evidence of it is wanted from that session."""
        self._client(session.client).forget(session, message)

    async def finish(self, session: Session) -> None:
        """It is gone: read to the end, report, watch it no more."""
        await self._client(session.client).finish(session)
