"""JSON with comments and trailing commas, as a person may have written it.

Owns where each value stands in a text, and changes of the text that leave every other
byte alone; knows nothing of whose text it is.  homi-setup(1).
"""

import json
import re

from homi.errors import BadMessage

DEPTH = 64  # of values in each other: deeper is no file of settings

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_WORD = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_CLOSE = {"{": "}", "[": "]"}


class Unsafe(BadMessage):
    """A file that cannot be edited without a guess (65)."""


class Value:
    """A value in the text: where it stands, and what is in it."""

    def __init__(self, start: int) -> None:
        """Its end and what is in it are found by the reader."""
        self.start = start
        self.end = start
        self.kind = ""  # object array string word
        self.plain: object = None  # a string or a word as Python has it
        self.entries: list[Entry] = []

    def get(self, key: str | int) -> "Value | None":
        """The member of an object, the item of an array; None where there is none."""
        if isinstance(key, int):
            some = self.kind == "array" and key < len(self.entries)
            return self.entries[key].value if some else None
        return next((one.value for one in self.entries if one.key == key), None)


class Entry:
    """What a container holds at one place, and the commas around it."""

    def __init__(self, lead: int, start: int) -> None:
        """lead: where the text behind the comma or bracket before it begins."""
        self.lead = lead
        self.start = start
        self.key: str | None = None  # None in an array
        self.value = Value(start)
        self.comma: int | None = None  # where the one behind it stands


Path = tuple[str | int, ...]  # keys of objects, places in arrays


class _Reader:
    """One pass over a text."""

    def __init__(self, text: str) -> None:
        """Reads nothing before whole()."""
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0

    def whole(self) -> Value:
        """The one object that the text is."""
        self._space()
        if self.at == len(self.text):
            raise Unsafe("there is nothing in it")
        found = self._value(0)
        self._space()
        if found.kind != "object":
            raise Unsafe("it is no JSON object")
        if self.at != len(self.text):
            raise Unsafe(f"something follows its end at character {self.at}")
        return found

    def _space(self) -> None:
        """Pass over blanks and comments."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _value(self, depth: int) -> Value:
        """The value that begins here."""
        value, first = Value(self.at), self.text[self.at : self.at + 1]
        if depth > DEPTH:
            raise Unsafe("it is nested too deep")
        if first in _CLOSE:
            value.kind = "object" if first == "{" else "array"
            self._entries(value, _CLOSE[first], depth + 1)
        elif found := _STRING.match(self.text, self.at):
            value.kind, self.at = "string", found.end()
            value.plain = json.loads(found[0])
        elif found := _WORD.match(self.text, self.at):
            value.kind, self.at = "word", found.end()
        else:
            raise Unsafe(f"no value begins at character {self.at}")
        value.end = self.at
        return value

    def _entries(self, value: Value, close: str, depth: int) -> None:
        """What stands between the brackets; a comma may come before the last one."""
        self.at += 1
        names: set[str | None] = set()
        while True:
            lead = self.at
            self._space()
            if self.text[self.at : self.at + 1] == close:
                self.at += 1
                return
            if value.entries and value.entries[-1].comma is None:
                raise Unsafe(f"a comma is missing at character {self.at}")
            entry = self._entry(value.kind, lead, depth)
            if entry.key is not None and entry.key in names:
                raise Unsafe(f"it has the key {entry.key!r} twice")
            names.add(entry.key)
            value.entries.append(entry)

    def _entry(self, kind: str, lead: int, depth: int) -> Entry:
        """One value, in an object behind its key and a colon."""
        entry = Entry(lead, self.at)
        if kind == "object":
            key = self._value(depth)
            self._space()
            if key.kind != "string" or self.text[self.at : self.at + 1] != ":":
                raise Unsafe(f"no key stands at character {key.start}")
            self.at += 1
            self._space()
            entry.key = str(key.plain)
        entry.value = self._value(depth)
        self._space()
        if self.text[self.at : self.at + 1] == ",":
            entry.comma = self.at
            self.at += 1
        return entry


class Document:
    """A text of JSON that is being edited; it is an object at every moment."""

    def __init__(self, text: str) -> None:
        """Unsafe (65) where text is not one JSON object."""
        self.text = text
        self.root = _Reader(text).whole()
        self._eol = "\r\n" if "\r\n" in text else "\n"
        found = re.search(r'[{]\r?\n([ \t]+)["/]', text)
        self._indent = found[1] if found else "  "

    def at(self, *path: str | int) -> Value | None:
        """The value at the end of path; None where there is none."""
        value: Value | None = self.root
        for key in path:
            value = value and value.get(key)
        return value

    def put(self, path: Path, what: object) -> list[list[str]]:
        """Let the member at path, all keys, be what; it is not there.  The containers
        that had to be made for it.  Unsafe (65) where one of them is no object."""
        depth = 0
        while depth < len(path) - 1 and self.at(*path[: depth + 1]) is not None:
            depth += 1
            self._must(path[:depth], "object")
        for key in reversed(path[depth + 1 :]):
            what = {str(key): what}
        text = f"{json.dumps(path[depth])}: {self._json(what, depth + 1)}"
        self._first(path[:depth], text)
        return [[str(key) for key in path[:end]] for end in range(depth + 1, len(path))]

    def add(self, path: Path, items: list[object]) -> list[list[str]]:
        """Put items in front of what the array at path holds; the containers that had
        to be made.  Unsafe (65) where it is no array."""
        if self.at(*path) is None:
            return [*self.put(path, items), [str(key) for key in path]]
        self._must(path, "array")
        level = len(path) + 1
        between = f",{self._eol}{self._indent * level}"
        self._first(path, between.join(self._json(one, level) for one in items))
        return []

    def change(self, value: Value, what: object) -> None:
        """Let what stand in the place of value."""
        self._splice((value.start, value.end, json.dumps(what)))

    def cut(self, path: Path, at: int) -> None:
        """Take the entry at that place out of the container at path, and its comma."""
        container = self._must(path, "")
        entry = container.entries[at]
        start, cuts = entry.start, []
        # A remark in front of it may be another's; blanks came with it.
        if self.text[entry.lead : start].isspace():
            start = entry.lead
        if entry.comma is not None:
            cuts.append((start, entry.comma + 1, ""))
        else:
            cuts.append((start, entry.value.end, ""))
            if at:
                cuts.append((entry.lead - 1, entry.lead, ""))
        self._splice(*cuts)

    def drop(self, path: Path, *, empty: bool = False) -> None:
        """Take the member at path out where there is one; empty: only a container that
        holds nothing, not even a remark."""
        parent, value = self.at(*path[:-1]), self.at(*path)
        if parent is None or value is None:
            return
        inside = self.text[value.start + 1 : value.end - 1]
        if not empty or (value.kind in ("object", "array") and not inside.strip()):
            self.cut(path[:-1], [one.value for one in parent.entries].index(value))

    def _must(self, path: Path, kind: str) -> Value:
        """The container at path; Unsafe where it is of another kind."""
        found = self.at(*path)
        if found is None or found.kind not in (
            (kind,) if kind else ("object", "array")
        ):
            shown = ".".join(map(str, path))
            raise Unsafe(f"{shown} is no {'list' if kind == 'array' else kind}")
        return found

    def _json(self, what: object, level: int) -> str:
        """what, indented to stand at that level."""
        text = json.dumps(what, indent=self._indent)
        return text.replace("\n", self._eol + self._indent * level)

    def _first(self, path: Path, text: str) -> None:
        """Put text in front of all in the container at path."""
        into, level = self._must(path, ""), len(path) + 1
        lead = self._eol + self._indent * level
        tail = "," if into.entries else self._eol + self._indent * (level - 1)
        self._splice((into.start + 1, into.start + 1, f"{lead}{text}{tail}"))

    def _splice(self, *edits: tuple[int, int, str]) -> None:
        """Replace these parts of the text, and read it again."""
        for start, end, text in sorted(edits, reverse=True):
            self.text = self.text[:start] + text + self.text[end:]
        self.root = _Reader(self.text).whole()
