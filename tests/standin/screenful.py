"""A program that draws its screen as Claude Code does, and tells what it was given.

It knows four lines: work (busy until Escape), ask (a dialog), plan (a menu that keeps
its answer) and bye (it ends); any other line is an answered turn.  Each thing it is
given goes to the file LOG as one JSON line.  Text that comes as one paste stays text.
"""

import json
import os
import sys
import termios
import tty
from pathlib import Path

RULE = "─" * 60
OPTIONS = ["Yes", "Yes, and don't ask again for: git push *", "No"]


class Screen:
    """The state of the program, and its drawing."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.line = ""
        self.said: list[str] = []
        self.busy = False
        self.asking = False
        self.at = 0
        self.mangle = False

    def tell(self, what: str, text: str) -> None:
        with self.log.open("a") as file:
            file.write(json.dumps({what: text}) + "\n")

    def draw(self) -> None:
        rows = [" Claude Code (a stand-in)", ""]
        rows += [f"● {said[:40]}" for said in self.said[-5:]]
        column = 3
        if self.asking:
            rows += ["", RULE, " Bash command", "", "   git push", ""]
            rows += [" Do you want to proceed?"]
            for number, option in enumerate(OPTIONS):
                mark = "❯" if number == self.at else " "
                rows.append(f" {mark} {number + 1}. {option}")
            rows += ["", " Esc to cancel · Tab to amend"]
        else:
            if self.busy:
                rows += ["", "✻ Brewing… (3s · ↓ 5 tokens)"]
            shown = [
                ("" if number == part == 0 else "  ") + line[part : part + 100]
                for number, line in enumerate(self.line.split("\n"))
                for part in range(0, max(1, len(line)), 100)
            ]
            if self.mangle and self.line:
                shown = [shown[0][:-1] + "?"]
            if len(shown) > 9:
                shown = [f"[Pasted text #1 +{len(shown)} lines]"]
            rows += ["", RULE, f"❯\u00a0{shown[0]}", *shown[1:], RULE]
            rows.append("  ? for shortcuts" + " · esc to interrupt" * self.busy)
            row, column = len(rows) - 2, len(shown[-1]) + (3 if len(shown) == 1 else 1)
        out = "\x1b[H\x1b[2J" + "\r\n".join(rows)
        if not self.asking:
            out += f"\x1b[{row};{column}H"
        sys.stdout.write(out)
        sys.stdout.flush()

    def submit(self) -> None:
        text, self.line = self.line, ""
        self.tell("line", text)
        self.said.append(text.split("\n")[0])
        self.busy = text == "work"
        self.asking, self.at = text == "ask", 0
        self.mangle = text == "mangle"
        if text == "bye":
            raise SystemExit(3)

    def key(self, key: str) -> None:
        if self.asking:
            self.tell("key", key)
            if key in ("\x1b[A", "\x1b[B"):
                self.at = max(0, min(2, self.at + (1 if key == "\x1b[B" else -1)))
            elif key == "\r":
                self.tell("chose", OPTIONS[self.at])
                self.asking = False
        elif key == "\r":
            self.submit()
        elif key == "\x1b":
            self.tell("key", "escape")
            self.busy = False
        elif key == "\x7f":
            self.line = self.line[:-1]
        elif key.isprintable():
            self.line += key


def run(log: Path) -> None:
    screen = Screen(log)
    sys.stdout.write("\x1b[?1049h\x1b[?2004h\x1b]2;a stand-in\x07")
    pending = ""
    while True:
        screen.draw()
        pending += os.read(0, 65536).decode(errors="replace")
        while pending:
            if pending.startswith("\x1b[200~"):
                text, end, rest = pending[6:].partition("\x1b[201~")
                if not end:
                    break
                screen.tell("paste", text)
                screen.line += text.replace("\r", "\n")
                pending = rest
            elif pending.startswith("\x1b[") and len(pending) > 2:
                screen.key(pending[:3])
                pending = pending[3:]
            else:
                screen.key(pending[0])
                pending = pending[1:]


if __name__ == "__main__":
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        run(Path(sys.argv[1]))
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
