"""The state of a pane, from one capture of its screen.

Owns which rules count for which pane; the rules of a client are in its file.
homi-seat(1) has them in words.
"""

import os

from homi.seats import claude, codex, shell
from homi.seats.screen import Screen
from homi.seats.view import State, View

CLAUDE, CODEX = "claude", "codex"


def judge(screen: Screen) -> View:
    """What the client in the pane is doing; pure."""
    if screen.pane.dead:
        return View(state=State.DEAD)
    client = client_of(screen.pane.command, screen.pane.client)
    if client == CLAUDE:
        return claude.judge(screen)
    if client == CODEX:
        return codex.judge(screen)
    return shell.judge(screen)


def client_of(command: str, opened_for: str) -> str:
    """Which client draws the screen: the program in the foreground says it, or what
    the pane was opened for where that program is a runtime."""
    name = os.path.basename(command)
    if name in shell.SHELLS:
        return "shell"
    return name if name in (CLAUDE, CODEX) else opened_for
