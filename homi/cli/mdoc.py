"""A page of the manual as plain text, where there is no man to show it.

Owns what is done with each macro of mdoc(7) that homi's own pages use; a page looks
better in man.
"""

import re
import textwrap
from collections.abc import Iterator

WIDTH = 78
INDENT = 5
# Macros of which nothing is shown, and those of which only the words are.
SILENT = frozenset({"Dd", "Dt", "Os", "Bl", "El", "Ed", "Bk", "Ek", "Re", "Rs", "Ta"})
PARTS = frozenset(
    {
        "Ad",
        "Ar",
        "Cm",
        "Dl",
        "Dv",
        "Em",
        "Er",
        "Ev",
        "Fa",
        "Fl",
        "Fn",
        "Ic",
        "In",
        "It",
        "Li",
        "Nm",
        "No",
        "Ns",
        "Pa",
        "Sx",
        "Sy",
        "Va",
        "Vt",
        "Xr",
    }
)
AROUND = {
    "Op": "[{}]",
    "Pq": "({})",
    "Ql": "'{}'",
    "Dq": '"{}"',
    "Sq": "'{}'",
    "Qq": '"{}"',
    "Po": "({}",
    "Oo": "[{}",
}
ENDS = {"Pc": ")", "Oc": "]"}
_CROSS = re.compile(r"\bXr (\S+) ([1-8])\b")
_MARKS = re.compile(r" +([.,;:)\]]+)(?= |$)")


def plain(source: str) -> str:
    """The page as lines of at most 78 characters."""
    return "\n".join(_blocks(source.splitlines())).strip("\n") + "\n"


def _blocks(lines: list[str]) -> Iterator[str]:
    """Headings, paragraphs and literal blocks, each as lines."""
    words: list[str] = []
    literal = synopsis = False
    for line in lines:
        macro, _, rest = (
            line[1:].partition(" ") if line.startswith(".") else ("", "", "")
        )
        if literal and macro != "Ed":
            yield " " * (INDENT + 2) + _escapes(line)
        elif macro in ("Sh", "Ss", "Pp", "It", "Bd", "Ed", "Dl"):
            yield from _paragraph(words)
            words = []
            yield from _break(macro, rest)
            literal = macro == "Bd"
            synopsis = rest == "SYNOPSIS" if macro == "Sh" else synopsis
        elif not macro:
            words.append(_escapes(line))
        elif macro == "Nd":
            words.append(f"- {_escapes(rest)}")
        elif macro == "Nm":
            if synopsis:
                yield from _paragraph(words)
                words = []
            words.append(_inline(rest) or "homi")
        elif macro not in SILENT:
            words.append(_inline(f"{macro} {rest}"))
    yield from _paragraph(words)


def _break(macro: str, rest: str) -> Iterator[str]:
    """What begins something new."""
    if macro in ("Sh", "Ss"):
        yield ""
        yield ("" if macro == "Sh" else "   ") + _inline(rest)
    elif macro == "It":
        if rest:
            yield " " * INDENT + _inline(rest)
    elif macro == "Dl":
        yield " " * (INDENT + 2) + _inline(rest)
    elif macro in ("Pp", "Bd"):
        yield ""


def _paragraph(words: list[str]) -> Iterator[str]:
    """Words as lines."""
    text = _MARKS.sub(r"\1", " ".join(word for word in words if word))
    text = re.sub(r"([(\[]) +", r"\1", text)
    yield from textwrap.wrap(
        text,
        WIDTH,
        initial_indent=" " * INDENT,
        subsequent_indent=" " * INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _inline(text: str) -> str:
    """A line of macros and words as words."""
    done: list[str] = []
    dash = ""  # what the next word begins with
    parts = _CROSS.sub(r"\1(\2)", text).split()
    for at, part in enumerate(parts):
        if part in AROUND:
            rest = _inline(" ".join(parts[at + 1 :]))
            inner = rest.rstrip(" .,;:")
            done.append(AROUND[part].format(inner) + rest[len(inner) :].strip())
            break
        if part == "Fl":
            dash = "-"
        elif part in ENDS:
            done.append(ENDS[part])
        elif part not in PARTS | SILENT:
            done.append(dash + _escapes(part))
            dash = ""
    return _MARKS.sub(r"\1", " ".join(done))


def _escapes(text: str) -> str:
    """Text without the escapes of roff."""
    text = re.sub(r"\\f.|\\&|\\%", "", text)
    return text.replace(r"\-", "-").replace(r"\e", "\\")
