"""The scan of a message: every string of it, by every rule.

Owns what is reported of a finding: its rule and its place, never a character of it.
Pure, in steps that each take some milliseconds.  homi-send(1) states the rules.
"""

from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

import msgspec

from homi.envelope import Msg, Reason, encode
from homi.errors import BadMessage, HomiError
from homi.scan import library
from homi.scan.keys import keys, named
from homi.scan.rules import LONG, TOKENS, Rule, hay, tokens
from homi.scan.text import Joined, decoded, lowered, windows
from homi.visible import seen

ENOUGH = 5  # findings told of one message
UNKNOWN = "another field"  # its name is the sender's, and may be the secret
ALL = ""  # the fields beside the text, together
_CHECKED = frozenset({"id", "reply_to", "kind", "text"})  # the text comes first
_KNOWN = frozenset(field.encode_name for field in msgspec.structs.fields(Msg))


class Finding(NamedTuple):
    """A secret, by what and where."""

    rule: str
    field: str  # of msg: text, tags[0], or UNKNOWN
    offset: int  # in characters of that field


def refusal(found: tuple[Finding, ...], hint: str) -> HomiError | None:
    """What a sender is told: each rule and place, never what stands there."""
    if not found:
        return None
    places = "; ".join(f"{one.rule} in {one.field} at {one.offset}" for one in found)
    return BadMessage(
        f"it may not leave this device with a secret in it: {places}",
        hint=hint,
        reason=str(Reason.SCAN),
    )


Steps = Generator[None, None, tuple[Finding, ...]]


class Scanner:
    """Looks for secrets.  Loads the library's rules when they are first needed."""

    def __init__(self) -> None:
        """Nothing is loaded."""
        self._library: tuple[Rule, ...] | None = None

    @property
    def loaded(self) -> bool:
        """Whether the library's rules are there."""
        return self._library is not None

    def load(self) -> None:
        """Load them, which takes its time, from any thread; Unavailable (69)."""
        self._library = library.load()

    def needs(self, msg: bytes) -> bool:
        """Whether msg cannot be judged without them."""
        if self.loaded:
            return False
        return library.needed(hay(msg.decode("utf-8", "replace").lower()))

    def findings(self, head: Msg, msg: bytes) -> tuple[Finding, ...]:
        """The first secrets in a message, in one go."""
        if _harmless(head, msg):
            return ()
        steps = self.steps(head, msg)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found: tuple[Finding, ...] = end.value
                return found

    def steps(self, head: Msg, msg: bytes) -> Steps:
        """The same, piece by piece."""
        found: dict[Finding, None] = {}
        suspect = False
        for field, text in strings(head, msg):
            if not (suspect or field in ("text", ALL)):
                break
            for window in windows(text):
                for rule, at in self.window(window.text):
                    if field == ALL:
                        suspect = True
                        break
                    found.setdefault(Finding(rule, field, window.offset(at)))
                    if len(found) == ENOUGH:
                        return tuple(found)
                yield
        return tuple(found)

    def text(self, text: str, field: str) -> tuple[Finding, ...]:
        """The first secrets in a single text."""
        found = {
            Finding(rule, field, window.offset(at)): None
            for window in windows(text)
            for rule, at in self.window(window.text)
        }
        return tuple(found)[:ENOUGH]

    def window(self, text: str) -> Iterator[tuple[str, int]]:
        """Rule and place of each secret in a piece of text that is clean."""
        yield from self._plain(text)
        if text.isprintable():  # one line
            yield from self._encoded(text, int)
            return
        joined = Joined(text)
        lines = joined.text
        if not LONG.search(lines):
            return
        for rule, start, end in self._tokens(lines, lowered(lines)):
            free = joined.begins(start) or not _inside(lines, start)
            if free and not joined.whole(start, end) and _digit(lines[start:end]):
                yield rule, joined.place(start)
        yield from self._encoded(lines, joined.place)

    def _encoded(
        self, text: str, place: Callable[[int], int]
    ) -> Iterator[tuple[str, int]]:
        """In what stands there in base64; place tells where that is."""
        for start, inner in decoded(text):
            for rule, _ in self._plain(inner, loose=True):
                yield f"{rule}, in base64", place(start)
            for _, core in decoded(inner):
                for rule, _ in self._plain(core, loose=True):
                    yield f"{rule}, in base64 twice", place(start)

    def _plain(self, text: str, *, loose: bool = False) -> Iterator[tuple[str, int]]:
        """As the text stands; loose: its words may have something before them."""
        low = lowered(text)
        if LONG.search(text):
            for rule, start, _ in self._tokens(text, low):
                if loose or not _inside(text, start):
                    yield rule, start
        yield from keys(text, low)

    def _tokens(self, text: str, low: str) -> Iterator[tuple[str, int, int]]:
        """Tokens of homi's own rules, then of the library's."""
        where = hay(low)
        yield from tokens(text, where, TOKENS)
        if self._library is None and library.needed(where):
            self.load()
        if self._library is not None:
            yield from tokens(text, where, self._library)


def strings(head: Msg, msg: bytes) -> Iterator[tuple[str, str]]:
    """Every string of a message that goes out, with the field it is in: of what homi
    does not know the names too, and each name with its value."""
    yield "text", head.text
    others = [one for one in _walk(msgspec.json.decode(msg), "") if one[1]]
    # Most are a word each: one look at all of them, then at each where that is due.
    yield ALL, "\n".join(text for _, text in others)
    yield from others


def _walk(value: object, field: str) -> Iterator[tuple[str, str]]:
    """The strings in a value of a message."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _walk(one, field if field == UNKNOWN else f"{field}[{at}]")
    elif isinstance(value, dict):
        for name, one in value.items():
            top = not field
            if top and name in _CHECKED:
                continue
            inner = name if top and name in _KNOWN else UNKNOWN
            if inner == UNKNOWN:
                yield UNKNOWN, name
                if isinstance(one, str):
                    yield UNKNOWN, f'"{name}": "{one}"'
            yield from _walk(one, inner)


def _harmless(head: Msg, msg: bytes) -> bool:
    """Whether there can be nothing at a glance: only a text, of short words."""
    text = head.text
    if not text.isascii() or encode(head) != msg or seen(text) != text:
        return False
    if head.thread or head.tags or head.blobs or head.default or named(text.lower()):
        return False
    lines = text if "\n" not in text and "\r" not in text else Joined(text).text
    return not (LONG.search(lines) or LONG.search(f"{head.from_} {head.to}"))


def _inside(text: str, at: int) -> bool:
    """Whether it stands inside a word."""
    return at > 0 and text[at - 1].isalnum()


def _digit(text: str) -> bool:
    """Whether a digit is in it: words that follow each other have none."""
    return any(one.isdecimal() for one in text)
