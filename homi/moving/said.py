"""What two devices say to each other of a move, and what is in its manifest.

Owns the fields; decides nothing.  homi-protocol(7) is the page.
"""

from typing import Annotated, Literal, Protocol

import msgspec

from homi.address import Device
from homi.moved import MoveDone

VERB = "move"
VERSION = 1  # of a manifest


# Those of JSON that every reader takes for the same number.
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
Do = Literal["plan", "claim", "status", "cancel", "yield", "counts", "come", "older"]


class Workspace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a repository: what of a folder can be had elsewhere."""

    url: str = ""  # of its remote
    branch: str = ""
    commit: str = ""
    dirty: int = 0  # files that are not committed; -1: git did not say


class Asked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of the question."""

    do: Do
    name: str  # what it is called at the device that asks
    to: str  # what it is called, or will be, at the device that is asked
    generation: Count = 0
    manifest: str = ""  # SHA-256
    cwd: str = ""  # its folder there; ~ stands for the home
    workspace: Workspace | None = None
    fork: bool = False
    dirty: bool = False
    spawn: bool = False
    dry_run: bool = False
    session: str = ""
    upto: Count = 0  # of the queue there, as it was told before


decode = msgspec.json.Decoder(Asked).decode  # ValueError for what is no question


class Said(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Its answer."""

    generation: int = 0  # that the claim has there, or must have at least
    there: bool = False  # that very claim is, or was, there
    settled: bool = False  # all that came with it is in place
    cwd: str = ""  # its folder there
    messages: int = 0  # of those that came along, how many stand there
    upto: int = 0  # the last seq in the queue that its mail goes on by
    waiting: int = 0  # messages of it that are to go on from there
    to: str = ""  # where they go on to
    done: MoveDone | None = None  # of one that was asked to come, at its end
    notes: list[str] = []


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A blob that belongs to a move."""

    sha256: str
    size: Count  # bytes
    count: Count = 0  # lines


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """The transcript of the last session."""

    id: str
    cwd: str  # as it stands in it
    part: Part


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a name is, beside its mail that is not finished."""

    v: int = VERSION
    name: str  # where it comes from
    device: str
    to: str
    generation: Count
    cwd: str = ""  # its folder there
    settings: dict[str, str] = {}
    front: bool = False
    workspace: Workspace | None = None
    history: Part | None = None
    conversation: Conversation | None = None

    @property
    def parts(self) -> list[Part]:
        """The blobs that go with it."""
        told = self.conversation
        found = (self.history, None if told is None else told.part)
        return [part for part in found if part is not None]


class Far(Protocol):
    """Another device, as a move speaks to it."""

    async def ask(self, device: Device, asked: Asked) -> Said:
        """Its answer; the error it tells of, or 75 where none comes."""
        ...

    def linked(self, device: Device) -> bool:
        """Whether there is a link to it, up or down."""
        ...

    async def put(self, device: Device, sha256: str) -> None:
        """Let a blob of ours be there, durably; 75 where it cannot be now."""
        ...
