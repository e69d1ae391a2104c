"""What a tool says when its daemon says nothing."""

import asyncio
from pathlib import Path

import pytest

from homi.aclient import AsyncClient
from homi.dial import Lost
from homi.errors import StorageFailed
from homi.mcp import post
from homi.outgoing import Outgoing
from homi.reports import SendReport

MESSAGE = Outgoing("bob", "hello", "ada")
REPORT = SendReport(id=MESSAGE.id, rung="stored", to="bob", seq=1)


class Still(AsyncClient):
    """A client of a daemon that answers so: not at all, that it went, or well."""

    def __init__(self, root: Path, answer: Lost | SendReport | None) -> None:
        super().__init__(root)
        self.answer_is = answer

    async def call(self, request: object, answer: object) -> SendReport:  # type: ignore[override]
        if self.answer_is is None:
            await asyncio.Event().wait()
        if isinstance(self.answer_is, Lost):
            raise self.answer_is
        assert self.answer_is is not None
        return self.answer_is


@pytest.mark.parametrize("answer", [None, Lost("the daemon went away")])
def test_a_message_that_may_be_stored_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Lost | None
) -> None:
    """A model that sends it once more in good faith would send it twice; the control
    is an answer."""
    monkeypatch.setattr(post, "STORE_MAX", 0.01)
    with pytest.raises(StorageFailed, match=MESSAGE.id) as caught:
        asyncio.run(post.Post(Still(tmp_path, answer)).store(MESSAGE))
    assert "sent once more it would be another" in caught.value.hint
    sent = asyncio.run(post.Post(Still(tmp_path, REPORT)).store(MESSAGE))
    assert sent.fields["id"] == MESSAGE.id
