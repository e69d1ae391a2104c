"""A template: how a command is started for a letter, and what its end means.

Owns the keys, their defaults and what each may be; runs nothing.  homi-command(1)
lists the keys.
"""

import re
import tomllib
from typing import Literal

import msgspec

from homi.address import show
from homi.errors import BadConfig

# What stands for what in a word of argv.  Never the text of a letter: the arguments
# of a process are for everybody to see.
FIELDS = ("session", "cwd", "out", "id", "file", "name")
TIMEOUT = 3600.0  # s: an agent may build and test for long
BODY_MAX = 65_536  # UTF-16 units as JSON: what a model reads at once without harm
MATCH_MAX = 512  # characters of a pattern
LONGEST = 7 * 86_400.0  # s

_FIELD = re.compile(r"\{\{([a-z_]+)\}\}|\{([a-z_]+)\}")  # doubled: as it stands
_POINTER = re.compile(r"(/[^/]*)*")


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where something stands in what a run left."""

    from_: Literal["stdout", "file"] = msgspec.field(name="from", default="stdout")
    pointer: str = ""  # into the JSON there; without one it is the text as it is
    event: str | None = None  # of lines of JSON the last whose type that is


class Template(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """How a command gets a letter, and how its end is read."""

    argv: list[str]
    new: list[str] = []  # in place of argv while no session is known
    mint: bool = False  # homi makes up the id of a new session
    stdin: bool = True  # the letter comes on standard input
    answer: Source | None = None
    session_from: Source | None = None
    reply: Literal["ask", "always"] = "ask"  # which letters the answer is sent to
    ok_codes: tuple[int, ...] = (0,)
    retry_codes: tuple[int, ...] = ()  # it did nothing, and may be asked again
    busy_match: str = ""  # the same, of what it wrote on standard error
    timeout_s: float = TIMEOUT
    env: list[str] = []  # what it inherits beside the basics; NAME=VALUE is set
    max_body: int = BODY_MAX
    # Never while a session of that client has it, or a thread that letters go to.
    live: Literal["", "claude", "codex"] = ""


def parse(text: str, where: str) -> Template:
    """The template that a file holds; BadConfig (78) says what in it cannot be."""
    try:
        template = msgspec.convert(tomllib.loads(text), Template)
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{where}: {error}") from error
    except msgspec.ValidationError as error:
        raise BadConfig(f"{where}: {error}", hint="man homi-command") from error
    check(template, where)
    return template


def convert(raw: object, where: str) -> Template:
    """The same of what was decoded already."""
    try:
        template = msgspec.convert(raw, Template)
    except msgspec.ValidationError as error:
        raise BadConfig(f"{where}: {error}", hint="man homi-command") from error
    check(template, where)
    return template


def check(template: Template, where: str) -> None:
    """BadConfig (78) for the first thing that cannot be."""
    fault = _words(template) or _rest(template)
    if fault:
        raise BadConfig(f"{where}: {fault}", hint="man homi-command lists the keys")


def uses(words: list[str], field: str) -> bool:
    """Whether that field stands in one of the words."""
    return any(field in _fields(word) for word in words)


def filled(words: list[str], values: dict[str, str]) -> list[str]:
    """The words with every field replaced, each word still one word."""

    def put(found: re.Match[str]) -> str:
        return values[found[2]] if found[2] else f"{{{found[1]}}}"

    return [_FIELD.sub(put, word) for word in words]


def _fields(word: str) -> list[str]:
    """The fields in one word."""
    return [found[2] for found in _FIELD.finditer(word) if found[2]]


def _words(template: Template) -> str:
    """What is wrong with the words of the command; empty: nothing."""
    if not template.argv or not template.argv[0]:
        return "argv names no program"
    if template.mint and not template.new:
        return "mint is for a template with new"
    if template.new and uses(template.new, "session") and not template.mint:
        return "new: a new session has no id, unless mint = true"
    for key, words in (("argv", template.argv), ("new", template.new)):
        for word in words:
            if fault := _word(word):
                return f"{key}: {fault}"
        if words and not template.stdin and not uses(words, "file"):
            return f"{key}: neither stdin nor {{file}} gives it the letter"
        if words and _from_file(template) and not uses(words, "out"):
            return f"{key}: the answer is read from {{out}}, which no word names"
    return ""


def _word(word: str) -> str:
    """What is wrong with one word; empty: nothing."""
    if "\0" in word:
        return "a word holds a NUL"
    for field in _fields(word):
        if field == "body":
            return "a letter is no argument: others see those; {file} or stdin"
        if field not in FIELDS:
            plain = f"{{{{{field}}}}} is {{{field}}} as it stands"
            return f"no field {{{field}}}; there are {_listed()}, and {plain}"
    return ""


def _rest(template: Template) -> str:
    """What is wrong with anything else; empty: nothing."""
    codes = [*template.ok_codes, *template.retry_codes]
    if not all(0 <= code <= 255 for code in codes) or len(set(codes)) < len(codes):
        return "ok_codes and retry_codes are statuses from 0 to 255, each once"
    if len(template.busy_match) > MATCH_MAX:
        return f"busy_match: over {MATCH_MAX} characters"
    try:
        re.compile(template.busy_match)
    except (re.error, OverflowError, RecursionError) as error:
        return f"busy_match: {error}"
    if not 1 <= template.timeout_s <= LONGEST:
        return f"timeout_s: {template.timeout_s:g} is not from 1 to {LONGEST:g}"
    if template.max_body < 1024:
        return f"max_body: {template.max_body} is less than 1024"
    for source in (template.answer, template.session_from):
        if source is not None and not _POINTER.fullmatch(source.pointer):
            return f"pointer: {show(source.pointer)} does not begin with /"
        if source is not None and source.event is not None and not source.pointer:
            return "an event is read by a pointer into it"
    return _env(template.env)


def _env(entries: list[str]) -> str:
    """What is wrong with what is inherited or set; empty: nothing."""
    for entry in entries:
        name, is_set, _ = entry.partition("=")
        if is_set and "*" in name:
            return (
                f"env: {show(entry)} sets no variable: a star is for what is inherited"
            )
        if not re.fullmatch(r"\*?[A-Za-z_][A-Za-z0-9_]*\*?", name) or "\0" in entry:
            return f"env: {show(name)} is no variable; a star may begin or end it"
    return ""


def _from_file(template: Template) -> bool:
    return any(
        source is not None and source.from_ == "file"
        for source in (template.answer, template.session_from)
    )


def _listed() -> str:
    return " ".join(f"{{{field}}}" for field in FIELDS)
