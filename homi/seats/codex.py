"""The screen of the Codex CLI, as it is drawn.

Owns the rules for this client; homi-seat(1) has them in words.
"""

import re

from homi.seats import menu
from homi.seats.menu import Block, Menu
from homi.seats.screen import BLANKS, Screen
from homi.seats.view import State, View

MARK = "›"
_SIGN = re.compile(r"^[›!](\s|$)")
_MODEL = re.compile(r"^  \S.* · [/~]")  # the model and the folder it works in
_WORKING = re.compile(r"^[•◦] .*\(\d[\dhms ]*• esc to interrupt\)")
_AWAY = re.compile(r"^[•◦] (Reconnecting|Connecting)\b")
_WAITING = re.compile(r"^• (Queued|Messages to be submitted)\b")
_SPINS = re.compile(r"^[\u2801-\u28ff] ")  # in the title, while a turn runs
_BROWSES = re.compile(r"^  Browsing\b")
_DIALOG = re.compile(r"(?i)\benter\b.*\besc\b")
_KINDS = (
    ("bash", re.compile(r"^Would you like to run\b")),
    ("edit", re.compile(r"^Would you like to (make|apply)\b")),
    ("mcp", re.compile(r"^Allow the .* (MCP )?server\b")),
    ("question", re.compile(r"^Question \d+/\d+\b")),
    ("plan", re.compile(r"^Implement this plan\b")),
    ("trust", re.compile(r"^(Folder access|Trust this folder|Do you trust)\b")),
    ("hooks-review", re.compile(r"^Hooks need review\b")),
)


def judge(screen: Screen) -> View:
    """What the Codex CLI is doing."""
    text = screen.text[: screen.last + 1]
    if text and _DIALOG.search(" ".join(text[-2:])):
        return _dialog(text)
    browses = any(_BROWSES.match(line) for line in text[-3:])
    top = None if browses else _composer(screen, text)
    if top is not None:
        return _with_composer(screen, text, top)
    column, row = screen.pane.cursor
    if len(text) <= row and column <= 2 and not browses:
        return View(state=State.BOOTING)
    return View(state=State.UNKNOWN, hidden=True)


def _dialog(text: list[str]) -> View:
    """A menu has the foot of the screen: what is asked, or what a person opened."""
    block = menu.find(text, MARK)
    head = None if block is None else _head(text, block)
    if block is None or head is None:
        return View(state=State.UNKNOWN, hidden=True)
    kind, row = head
    about = [line.strip(BLANKS) for line in text[row : block.top]]
    asked = Menu(
        kind=kind,
        options=block.options,
        highlighted=block.highlighted,
        complete=block.complete,
        about=[line for line in about if line],
    )
    return View(state=State.APPROVAL, menu=asked, hidden=True)


def _head(text: list[str], block: Block) -> tuple[str, int] | None:
    """What the dialog asks for, and its row: by the nearest of its words above the
    options."""
    for row in range(block.top - 1, -1, -1):
        line = text[row].strip(BLANKS)
        if text[row] and not text[row].startswith(" "):
            return None  # the transcript begins here
        for kind, words in _KINDS:
            if words.match(line):
                return kind, row
    return None


def _composer(screen: Screen, text: list[str]) -> int | None:
    """The row where what is typed begins: the nearest sign at or above the cursor."""
    row = min(screen.pane.cursor[1], len(text) - 1)
    while row >= 0:
        if _SIGN.match(text[row]):
            return row
        if text[row] and not text[row].startswith(" "):
            return None
        row -= 1
    return None


def _with_composer(screen: Screen, text: list[str], top: int) -> View:
    """Its line is there: it works, it takes a line, or it is not so far."""
    foot = _foot(text, screen.pane.cursor[1])
    model = next((row for row in foot if _MODEL.match(text[row])), None)
    end = (foot[0] if foot else len(text)) if model is None else model
    rows = screen.lines[top:end]
    while len(rows) > 1 and not rows[-1].plain:
        rows.pop()
    state = _state(screen, text, top) if model is not None else State.BOOTING
    typed = [rows[0].text[2:], *(each.text for each in rows[1:])]
    column, row = screen.pane.cursor
    return View(
        state=state,
        draft=bool(
            text[top].startswith("!")
            or len(rows) > 1
            or rows[0].bright(2)
            or (row == top and column > 2)
        ),
        composer=top,
        entered=" ".join(each.strip(BLANKS) for each in typed).strip(),
    )


def _foot(text: list[str], cursor: int) -> list[int]:
    """The rows below the blank one under what is typed."""
    blank = next((row for row in range(cursor, len(text)) if not text[row]), None)
    return [] if blank is None else list(range(blank + 1, len(text)))


def _state(screen: Screen, text: list[str], top: int) -> State:
    """Of a client that has a session."""
    for row in range(top - 1, -1, -1):
        line = text[row]
        if not line or line.startswith(" ") or _WAITING.match(line):
            continue
        if _AWAY.match(line):
            return State.UNKNOWN
        # A model may write these words, too, but not faint.
        if _WORKING.match(line) and "(" not in screen.lines[row].bright():
            return State.BUSY
        break
    return State.BUSY if _SPINS.match(screen.pane.title) else State.IDLE
