"""How each agent client is started under a name.

Owns the arguments that homi gives: the client's own for its name, and the one setting
of that process alone that lets mail in.  homi-spawn(1) lists them.
"""

import json
from collections.abc import Callable

from homi.address import Name, show
from homi.errors import Usage

CLAUDE, CODEX = "claude", "codex"
HEADLESS = ("gemini", "opencode")  # no rules for their screens: they take no seat
CLIENTS = (CLAUDE, CODEX, *HEADLESS)
INBOUND = json.dumps({"crossSessionInbound": "accept"}, separators=(",", ":"))
_NAME = ("-n", "--name")
# Two programs would write one conversation.
_SAME = ("-r", "--resume", "-c", "--continue", "--session-id")
# What would make it another conversation's second writer, or end it at once.
_NEVER = ("-p", "--print", "--bg", "--no-session-persistence")


def check(client: str, argv: list[str]) -> None:
    """Usage (64) where that client is not started in a seat, or not with these."""
    if client not in CLIENTS:
        raise Usage(
            f"no client {show(client)} is known", hint=f"one of {', '.join(CLIENTS)}"
        )
    if client in HEADLESS:
        raise Usage(
            f"{client} is not started in a seat: mail is not typed into it",
            hint="--headless: each letter is a run of its own",
        )
    if client == CLAUDE:
        for word in argv:
            option = word.partition("=")[0]
            if option in _NAME:
                raise Usage(f"{option} is homi's to give", hint="the name is NAME")
            if option in _NEVER:
                raise Usage(
                    f"{option} makes no session that mail can come to",
                    hint="leave it out: it runs in a seat, nobody need look at it",
                )


def command(client: str, called: Name, argv: list[str]) -> list[str]:
    """The program and its arguments, so that it is called so from the start."""
    if client != CLAUDE:
        return [client, *argv]
    given = any(word.partition("=")[0] == "--settings" for word in argv)
    inbound = [] if given else ["--settings", INBOUND]
    return [client, "-n", called, *inbound, *argv]


def one_conversation(argv: list[str]) -> bool:
    """Whether it goes on with the same conversation however often it is started."""
    return any(word.partition("=")[0] in _SAME for word in argv)


def successor(name: Name, taken: Callable[[Name], bool]) -> Name:
    """What one that is to take name's place is called until it has."""
    number = 1
    while True:
        suffix = "-next" if number == 1 else f"-next-{number}"
        if not taken(wanted := Name(f"{name[:56]}{suffix}")):
            return wanted
        number += 1
