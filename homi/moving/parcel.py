"""What goes with a name as blobs: its finished mail, its conversation, the manifest.

Owns how they are packed and read again.  The mail that is not finished goes as mail.
homi-move(1) has the parts, homi-protocol(7) the manifest.
"""

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from homi.envelope import encode
from homi.errors import BadMessage, HomiError, VersionMismatch
from homi.moving import conversation
from homi.moving.conversation import Found
from homi.moving.said import VERSION, Conversation, Manifest, Part
from homi.store.blobs import PIECE, Blobs, failed

MOST = 1 << 30  # bytes of one part, unpacked
LINE = 64 << 20  # bytes of one line, which is in memory whole
MANIFEST = 1 << 20  # bytes of a manifest, unpacked: it names parts, and has none
_decode = msgspec.json.Decoder(Manifest).decode


class Packed(NamedTuple):
    """A manifest as a blob, with what it names."""

    sha256: str
    manifest: Manifest


class Parcels:
    """Parcels of one state root, made and opened; beside the loop."""

    def __init__(self, blobs: Blobs) -> None:
        """Touches nothing yet."""
        self._blobs = blobs

    def pack(
        self, base: Manifest, history: Iterable[bytes] | None, found: Found | None
    ) -> Packed:
        """Let base, with its parts, be blobs here; 74 or 75 where the disk refuses."""
        mark = _mark(base)
        try:
            if history is not None:
                base = replace(base, history=self._part(history, mark))
            if found is not None:
                part = self._part(conversation.lines(found.path), mark)
                told = Conversation(id=found.id, cwd=found.cwd, part=part)
                base = replace(base, conversation=told)
            sha256, _ = self._blobs.keep(_squeezed([encode(base)]))
        except OSError as error:
            raise failed(error) from error
        return Packed(sha256, base)

    def open(self, sha256: str) -> Manifest:
        """The manifest of a parcel all of which is here; 66 where a part is missing,
        65 and 76 where it cannot be read."""
        manifest = self._manifest(sha256)
        if manifest.v != VERSION:
            text = f"a manifest of version {manifest.v}, this homi reads {VERSION}"
            raise VersionMismatch(text, hint="run the same homi on both devices")
        for part in manifest.parts:
            if self._blobs.size(part.sha256) != part.size:
                raise BadMessage(f"the part {part.sha256[:12]} of it is not here")
        return manifest

    def lines(self, part: Part) -> Iterator[bytes]:
        """The lines of a part, each whole; 65 where it is no such part."""
        rest, long = list[bytes](), 0  # of a line that has no end yet
        for piece in _plain(self._blobs.read(part.sha256), MOST):
            first, *more = piece.split(b"\n")
            rest.append(first)
            long += len(first)
            for each in more:
                yield b"".join((*rest, b"\n"))
                rest, long = [each], len(each)
            if long > LINE:
                raise BadMessage("a line of it is too long", reason="too-large")
        if any(rest):
            raise BadMessage(f"the part {part.sha256[:12]} ends within a line")

    def drop(self, sha256: str) -> None:
        """Remove a parcel; what of it is gone already is no matter, and what it names
        but was not packed for it stays."""
        try:
            parts = self._own(self._manifest(sha256))
        except HomiError:
            parts = []
        for each in (*parts, sha256):
            try:
                self._blobs.remove(each)
            except OSError:
                continue  # it takes room, and does no other harm

    def drop_of(
        self, sha256: str, device: str, name: str, to: str, generation: int
    ) -> None:
        """As drop(), where it is the parcel of that very move."""
        try:
            found = self._manifest(sha256)
        except HomiError:
            return
        told = (found.device, found.name, found.to, found.generation)
        if told == (device, name, to, generation):
            self.drop(sha256)

    def _manifest(self, sha256: str) -> Manifest:
        """The manifest of a parcel, whatever of it is here; 65, 66."""
        try:
            return _decode(b"".join(_plain(self._blobs.read(sha256), MANIFEST)))
        except (msgspec.DecodeError, RecursionError, BadMessage) as error:
            raise BadMessage(f"the manifest {sha256[:12]} is none") from error

    def _own(self, manifest: Manifest) -> list[str]:
        """Its parts that are here, and carry its mark."""
        mark, found = _mark(manifest), list[str]()
        for part in manifest.parts:
            with suppress(HomiError):
                if self._blobs.tail(part.sha256, len(mark)) == mark:
                    found.append(part.sha256)
        return found

    def _part(self, lines: Iterable[bytes], mark: bytes) -> Part:
        """Keep lines, packed, with the mark behind them."""
        count = 0

        def counted() -> Iterator[bytes]:
            nonlocal count
            for line in lines:
                count += 1
                yield line

        sha256, size = self._blobs.keep(chain(_squeezed(counted()), [mark]))
        return Part(sha256=sha256, size=size, count=count)


def _mark(manifest: Manifest) -> bytes:
    """What stands at the end of each part of that move: without it two names that have
    the same history, none for one, would have one blob, and who is done first would
    remove it."""
    told = (manifest.device, manifest.name, manifest.to, str(manifest.generation))
    return hashlib.sha256("\n".join(told).encode()).digest()


def _squeezed(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines in compressed pieces."""
    packer = zlib.compressobj(6)
    for line in lines:
        if piece := packer.compress(line):
            yield piece
    yield packer.flush()


def _plain(packed: Iterable[bytes], most: int) -> Iterator[bytes]:
    """What was compressed, in pieces; BadMessage where that is too much, or nothing
    that was."""
    unpacker, size = zlib.decompressobj(), 0
    for each in packed:
        some = each
        while some and not unpacker.eof:  # what is behind its end is never consumed
            try:
                piece = unpacker.decompress(some, PIECE)
            except zlib.error as error:
                raise BadMessage("a part of it is not compressed") from error
            some = unpacker.unconsumed_tail
            size += len(piece)
            if size > most:
                raise BadMessage("a part is too large", reason="too-large")
            yield piece
    yield unpacker.flush()
    if not unpacker.eof:
        raise BadMessage("a part of it is cut off")


def configs(folders: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The folders of transcripts under the folders of the clients."""
    return [os.path.join(folder, "projects") for folder in folders]
