"""The page that tells an agent how to use homi, among the client's skills.

Owns which guide is whose, and when a file is still ours: as we wrote it.
homi-setup(1).
"""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from homi.setup.editor import Edited, State
from homi.setup.record import Kept, digest

_HERE = Path(__file__).parent / "agents"
GUIDES = {
    "claude": _HERE / "claude" / "skills" / "homi" / "SKILL.md",
    "codex": _HERE / "codex" / "skills" / "homi" / "SKILL.md",
}


class Guide:
    """skills/homi/SKILL.md in a client's folder."""

    name = "skills/homi/SKILL.md"
    parts: tuple[str, ...] = ("guide",)
    backup = False  # there is nothing of others in it

    def __init__(self, config: Path, client: str) -> None:
        """The page of that client."""
        self.path = config / self.name
        self._text = GUIDES[client].read_text("utf-8")

    def add(self, text: str | None, kept: Kept) -> Edited:
        """The page, also in place of an older one of ours."""
        if text == self._text:
            return Edited(text, [("guide", State.ALREADY)])
        if text is not None and digest(text.encode()) != kept.after:
            return Edited(text, [("guide", State.KEPT)], "a person changed it")
        state = State.ADDED if text is None else State.UPDATED
        return Edited(self._text, [("guide", state)])

    def strip(self, text: str | None, kept: Kept) -> Edited:
        """None, if it is as we wrote it."""
        if text is None:
            return Edited(None, [("guide", State.ABSENT)])
        if text != self._text and digest(text.encode()) != kept.after:
            return Edited(text, [("guide", State.KEPT)], "a person changed it")
        return Edited(None, [("guide", State.REMOVED)])

    def calls(self, text: str) -> list[tuple[str, list[str]]]:
        """None: it is a page."""
        return []

    def paste(self) -> str:
        """The page."""
        return self._text.rstrip("\n")

    def alone(self, target: Path) -> AbstractContextManager[None]:
        """The client never writes it."""
        return nullcontext()
