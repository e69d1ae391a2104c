"""The screen of a shell, or of a program that was started from one.

Owns the rules for these; homi-seat(1) has them in words.
"""

import re

from homi.seats.screen import BLANKS, Line, Screen
from homi.seats.view import State, View

SHELLS = frozenset(
    {"sh", "bash", "zsh", "fish", "dash", "ksh", "mksh", "ash", "tcsh", "csh", "nu"}
)
_PROMPT = re.compile(r"^.{0,120}?[$#%❯➜»>](?:[ \u00a0]|$)")
_CONTINUES = re.compile(r"^(?:\w*>|\.\.\.)(?:[ \u00a0]|$)")
_READS = re.compile(r"^(?:>>>|\.\.\.)(?:[ \u00a0]|$)")  # the prompts of Python
_DRAWN = re.compile(r"^[─-╿▀-▟\s]*$")  # boxes that an ended program left behind


def judge(screen: Screen) -> View:
    """What the shell, or the program in front of it, is doing."""
    column, row = screen.pane.cursor
    line = screen.lines[row] if row < len(screen.lines) else Line("", ())
    at = line.upto(column)
    # Blanks at the end of a row are not in a capture, but the cursor stands there.
    left = line.text[:at].ljust(at + max(0, column - at))
    right = line.text[at:]
    if screen.pane.command in SHELLS:
        return _shell(left, right, row)
    if screen.pane.alternate:
        return View(state=State.UNKNOWN)
    if (reads := _READS.match(left)) is not None:
        more = left.startswith("...")
        typed = left[reads.end() :] + right
        return View(state=State.UNKNOWN, draft=more or bool(typed.strip(BLANKS)))
    if not any(screen.text):
        return View(state=State.UNKNOWN)
    # What was typed ahead looks like a line that is not finished.
    return View(state=State.BUSY, draft=bool(left.strip(BLANKS)))


def _shell(left: str, right: str, row: int) -> View:
    """A shell has the terminal: at its prompt, or asking something itself."""
    found = _PROMPT.match(left)
    if found is None:
        return View(state=State.UNKNOWN)
    typed = left[found.end() :]
    rest = "" if _DRAWN.match(right) else right
    more = bool(_CONTINUES.match(left)) and row > 0
    return View(
        state=State.IDLE,
        draft=more or bool((typed + rest).strip(BLANKS)),
        composer=row,
        entered=(typed + rest).strip(BLANKS),
    )
