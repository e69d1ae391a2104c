"""One stand-in app server a test, and looks that do not take long."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.standin.codex import AppServer
from tests.unit.codex.place import Post

Scene = Callable[[Post], Coroutine[Any, Any, None]]


@pytest.fixture
def codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppServer]:
    """An app server; what is polled is polled often."""
    monkeypatch.setattr("homi.codex.watch.POLL", 0.1)
    monkeypatch.setattr("homi.codex.watch.AGAIN_FIRST", 0.02)
    monkeypatch.setattr("homi.codex.watch.AGAIN_MAX", 0.05)
    monkeypatch.setattr("homi.legs.threads.POLL", 0.02)
    monkeypatch.setattr("homi.legs.threads.POLL_QUIET", 0.05)
    home = tmp_path / "codex"
    home.mkdir()
    with AppServer(home) as made:
        yield made


@pytest.fixture
def play(tmp_path: Path, codex: AppServer) -> Callable[..., None]:
    """Run a scene with bob bound to a thread that stands."""

    def run(scene: Scene, auto: str | None = "ACK") -> None:
        thread = codex.open(auto=auto)

        async def main() -> None:
            post = Post(tmp_path, codex, thread)
            post.start()
            try:
                await scene(post)
            finally:
                post.end()

        asyncio.run(main())

    return run
