"""The screen of Claude Code, as it is drawn.

Owns the rules for this client; homi-seat(1) has them in words.
"""

import re

from homi.seats import menu
from homi.seats.menu import Block, Menu
from homi.seats.screen import BLANKS, Line, Screen
from homi.seats.view import State, View

MARK = "❯"
_RULE = re.compile(r"^─{8,}( \S.* ─+)?$")
_OPENS = re.compile(r"^\s*[─▔]{8,}")
_SPINNER = re.compile(r"^[·✢✳✶✻✽*] \S.*(…|retrying in )")
_WORKING = re.compile(r"\besc to interrupt\b")
_SIGN = re.compile(r"^[❯!]([ \u00a0]|$)")
# The first words of a dialog, as the client writes them.
_KINDS = (
    ("bash", re.compile(r"^Bash command\b")),
    ("edit", re.compile(r"^Edit file\b")),
    ("write", re.compile(r"^(Create|Overwrite|Write) file\b")),
    ("mcp", re.compile(r"^Tool use\b")),
    ("webfetch", re.compile(r"^Fetch\b")),
    ("held-message", re.compile(r"^Held message\b")),
    ("trust", re.compile(r"^(Accessing workspace|Do you trust)\b")),
    ("mcp-server", re.compile(r"^\d* ?New MCP servers? found\b")),
    ("bypass-warning", re.compile(r"^WARNING: Claude Code running in Bypass\b")),
    ("api-key", re.compile(r"^Detected a custom API key\b")),
    ("plan", re.compile(r"^(Exit plan mode|Ready to code|Here is Claude's plan)\b")),
    ("question", re.compile(r"^(← +)?[☐☒✔] \S")),
)
_ASKS = re.compile(r"\?$")
_ANSWERS = re.compile(r"(?i)^(yes|no|allow|deny|approve|reject)\b")


def judge(screen: Screen) -> View:
    """What Claude Code is doing."""
    text = screen.text[: screen.last + 1]
    box = _composer(text)
    if box is not None:
        return _with_composer(screen, text, *box)
    block = menu.find(text, MARK)
    if block is not None:
        opened = _opening(text, block)
        about = [line.strip(BLANKS) for line in text[opened + 1 : block.top]]
        about = [line for line in about if line]
        kind = _kind(about, block)
        if kind is not None:
            asked = Menu(
                kind=kind,
                options=block.options,
                highlighted=block.highlighted,
                complete=block.complete,
                about=about,
            )
            return View(state=State.APPROVAL, menu=asked, hidden=True)
    if _nothing_drawn(screen, text):
        return View(state=State.BOOTING)
    return View(state=State.UNKNOWN, hidden=True)


def _composer(text: list[str]) -> tuple[int, int] | None:
    """The first row of what is typed and the row of the line below it."""
    rules = [row for row, line in enumerate(text) if _RULE.match(line)]
    if len(rules) < 2:
        return None
    top, bottom = rules[-2], rules[-1]
    if bottom - top < 2 or not _SIGN.match(text[top + 1]):
        return None
    # What stands below the box is indented: the mode, hints, a list of commands.
    below = text[bottom + 1 :]
    if any(line and not line.startswith(" ") for line in below):
        return None
    return top + 1, bottom


def _with_composer(screen: Screen, text: list[str], top: int, bottom: int) -> View:
    """Its line is there: a turn runs or it would take what is typed."""
    footer = " ".join(text[bottom + 1 :])
    busy = bool(_WORKING.search(footer)) or _spins(text[: top - 1])
    rows = screen.lines[top:bottom]
    return View(
        state=State.BUSY if busy else State.IDLE,
        draft=_typed(screen, rows, top),
        composer=top,
        entered=" ".join([rows[0].plain[2:], *(r.plain.strip() for r in rows[1:])]),
    )


def _typed(screen: Screen, rows: list[Line], top: int) -> bool:
    """Whether a person's text stands in the line: a suggestion of the client is
    faint, but for the character under its cursor."""
    if rows[0].text.startswith("!") or len(rows) > 1:
        return True
    column, row = screen.pane.cursor
    if row == top and column > 2:
        return True
    suggested = any(rows[0].faint[3:]) and not rows[0].bright(3)
    return not suggested and bool(rows[0].text[2:].strip(BLANKS))


def _spins(above: list[str]) -> bool:
    """Whether the last thing above the composer is a turn's sign: at the edge, where
    no text of a model or a tool stands."""
    for line in reversed(above):
        if line and not line.startswith(" "):
            return bool(_SPINNER.match(line))
    return False


def _opening(text: list[str], block: Block) -> int:
    """The row of the line that opens the dialog; -1 where it is above the screen."""
    rows = range(block.top - 1, -1, -1)
    return next((row for row in rows if _OPENS.match(text[row])), -1)


def _kind(about: list[str], block: Block) -> str | None:
    """What the dialog asks for; None: it is a menu that a person opened."""
    if not about:
        return None
    for kind, words in _KINDS:
        if words.match(about[0]):
            return kind
    questions = any(_ASKS.search(line) for line in about)
    answers = all(_ANSWERS.match(option) for option in block.options)
    return "other" if questions and answers else None


def _nothing_drawn(screen: Screen, text: list[str]) -> bool:
    """Whether the client has drawn nothing yet: all there is stands above the
    cursor, which is at the start of a line."""
    column, row = screen.pane.cursor
    drawn = any(_OPENS.match(line) for line in text[-4:])
    return column == 0 and row >= len(text) and not drawn
