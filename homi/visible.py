"""Untrusted text as it may be shown: what cannot be seen is escaped.

Owns which characters are shown as an escape in turns, on terminals and in logs.
Knows nothing of mail; stored bytes never pass through here.  homi-overview(7)
says where it is used.
"""

import re
import unicodedata

# What a terminal acts on and what a reader, person or model, cannot see: C0 and
# C1, line and paragraph separators, bidi controls, zero-width and other default
# ignorable characters, fillers, variation selectors, the tag block and whatever
# else can carry text unseen, and surrogates.  The tab stays.
_HIDDEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890"
    "\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe\uffff\U000110bd\U000110cd\U00013430-\U00013440"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# The same but for what ends a line, by str.splitlines().
_UNSEEN = re.compile(f"{_HIDDEN.pattern}(?<![\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029])")
_SHORT = {"\n": "\\n", "\r": "\\r"}
_EMOJI_STYLE = "\ufe0f"


def visible(text: str) -> str:
    """One line of text without any active or unseen character but the tab.

    A line feed is shown as \\n like the rest; homi never prints text of others
    that did not come through here.
    """
    return _HIDDEN.sub(_escape, text)


def visible_lines(text: str) -> list[str]:
    """The lines of text, each made visible; at least one.

    Everything that any reader may take for the end of a line ends one here
    (str.splitlines(): CR, VT, FF, FS to RS, NEL, LS, PS), so that no reader can see a
    line that was not prefixed.  Such a mark other than LF and CRLF stays shown.
    """
    return [_line(line) for line in text.splitlines(keepends=True)] or [""]


def seen(text: str) -> str:
    """text without what cannot be seen; its lines and tabs stay."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text  # nearly every text: a fifth of the time
    return _UNSEEN.sub("", text)


def first_line(text: str, most: int) -> str:
    """The first line of text that says something, as it stands, cut to so many
    characters; an ellipsis for all behind."""
    whole = text.strip()
    line = (whole.splitlines() or [""])[0].rstrip()
    if len(line) > most:
        return line[:most] + "…"
    return line + " …" if len(line) < len(whole) else line


def hidden_count(text: str) -> int:
    """How many characters of text are line feeds or will be shown as an escape, at
    most; fast, so that a long text can be judged before it is made visible."""
    return len(text) - len(_HIDDEN.sub("", text)) - text.count(_EMOJI_STYLE)


def _line(line: str) -> str:
    """A line with its mark: LF and CRLF are dropped, any other mark is shown."""
    if line.endswith("\n"):
        line = line.removesuffix("\n").removesuffix("\r")
    return _HIDDEN.sub(_escape, line)


def _escape(found: re.Match[str]) -> str:
    """The escape of one character, the way Python and C write it."""
    char = found[0]
    if char == _EMOJI_STYLE and _is_symbol(found.string, found.start()):
        return char
    code = ord(char)
    if code < 0x100:
        return _SHORT.get(char, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_symbol(text: str, at: int) -> bool:
    """Whether a symbol stands before at: only there the emoji style is seen."""
    return at > 0 and unicodedata.category(text[at - 1]) in ("So", "Sm")
