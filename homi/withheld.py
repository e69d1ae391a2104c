"""Texts that were refused a way out before, each known by a mark, never by its words.

Owns the file withheld.jsonl: what a text is reduced to and how long that is kept.
homi-send(1) has the rule.
"""

import secrets
import unicodedata
from collections.abc import Iterator
from hashlib import blake2b

import msgspec

from homi.clock import Clock, parse_rfc3339, rfc3339
from homi.envelope import MessageId, Msg, Reason
from homi.errors import BadMessage, HomiError
from homi.store.disk import Disk
from homi.store.lines import Finding
from homi.store.tally import Tally
from homi.visible import seen, visible

FILE = "withheld.jsonl"
KEPT = 1_000  # texts; of more the oldest are forgotten
AGE = 90 * 86_400.0  # s
READ = 65_536  # characters that are made alike: what is longer counts as it stands
HINT = "a person at a terminal may send it: homi send (homi-send(1), Secrets)"


class Salt(msgspec.Struct, frozen=True, tag_field="type", tag="salt"):
    """What makes the marks of this device its own."""

    salt: str


class Earlier(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="refused"
):
    """A text that was refused."""

    mark: str  # of the text: equal where the texts are, but for case and spaces
    at: str  # RFC 3339
    id: MessageId
    from_: str = msgspec.field(name="from")

    @property
    def words(self) -> str:
        """Which message that was."""
        return f"{self.id} of {visible(self.from_[:64])}, {self.at}"


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Salt | Earlier).decode


class Withheld:
    """The texts that one device refused to let out."""

    def __init__(self, file: Tally | None, clock: Clock) -> None:
        """Read what the file has; None: they are remembered for a while only."""
        self._file = file
        self._clock = clock
        self._salt = ""
        self._marks: dict[str, Earlier] = {}
        self.broken = -1  # where the first line stands that cannot be read
        for offset, line in _lines(file):
            if line is None:
                self.broken = offset if self.broken < 0 else self.broken
            elif isinstance(line, Salt):
                self._salt = line.salt
            else:
                self._keep(line)

    @classmethod
    def of(cls, root: str, clock: Clock, disk: Disk) -> "Withheld":
        """Those of a state root; nothing is written before the first is kept."""
        return cls(Tally(f"{root}/{FILE}", disk), clock)

    def repair(self) -> list[Finding]:
        """Write the file anew where a line of it cannot be read, a copy set aside."""
        if self._file is None or self.broken < 0:
            return []
        found = self._file.set_aside(self.broken)
        self.broken = -1
        self._rewrite(self._file)
        return [found]

    def __bool__(self) -> bool:
        """Whether any text is remembered."""
        return bool(self._marks)

    def find(self, text: str) -> Earlier | None:
        """The refusal that text, or one that differs in case and spaces alone, met."""
        found = self._marks.get(self._mark(text)) if self._marks else None
        return found if found is not None and not self._old(found) else None

    def why(self, text: str, but: str = "") -> HomiError | None:
        """Why text goes nowhere; None where it was not refused before.  but: the id
        of a message that is no earlier one."""
        found = self.find(text)
        if found is None or found.id == but:
            return None
        return BadMessage(
            f"its text was refused a way out of this device before ({found.words})",
            hint=HINT,
            reason=str(Reason.SCAN),
        )

    def remember(self, head: Msg) -> None:
        """Keep, durably, that the text of head may not leave."""
        if not self._salt:
            self._salt = secrets.token_hex(16)
            self._append(Salt(self._salt))
        mark = self._mark(head.text)
        if mark in self._marks:
            return
        now = rfc3339(self._clock.wall())
        line = Earlier(mark=mark, at=now, id=head.id, from_=head.from_)
        self._keep(line)
        self._append(line)
        if self._file is not None and self._file.lines > 2 * KEPT:
            self._rewrite(self._file)

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            self._file.close()

    def forget(self) -> None:
        """Keep no mark of what is too old."""
        for mark, line in list(self._marks.items()):
            if self._old(line):
                del self._marks[mark]

    def _mark(self, text: str) -> str:
        """What a text is known by."""
        head = unicodedata.normalize("NFKC", seen(text[:READ])).casefold()
        key = self._salt.encode()
        plain = "".join(head.split()).encode("utf-8", "replace")
        mark = blake2b(plain, digest_size=16, key=key)
        if len(text) > READ:
            mark.update(text[READ:].rstrip().encode("utf-8", "replace"))
        return mark.hexdigest()

    def _keep(self, line: Earlier) -> None:
        self._marks[line.mark] = line
        while len(self._marks) > KEPT:
            del self._marks[next(iter(self._marks))]

    def _old(self, line: Earlier) -> bool:
        try:
            return self._clock.wall() - parse_rfc3339(line.at) > AGE
        except ValueError:
            return True

    def _append(self, line: Salt | Earlier) -> None:
        if self._file is not None:
            self._file.append(_encode(line), durable=True)

    def _rewrite(self, file: Tally) -> None:
        """Without what is too old, or was unreadable."""
        self.forget()
        if not self._salt:  # no mark can be compared with any more
            self._marks.clear()
        lines = [Salt(self._salt)] if self._salt else []
        file.rewrite(map(_encode, [*lines, *self._marks.values()]))


def _lines(file: Tally | None) -> Iterator[tuple[int, Salt | Earlier | None]]:
    """Each line of a file; None for one that cannot be read."""
    for offset, line in [] if file is None else file.read():
        try:
            yield offset, _decode(line)
        except (ValueError, RecursionError):
            yield offset, None
