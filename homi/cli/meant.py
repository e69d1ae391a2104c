"""What a person meant by a word that is no verb: by its meaning, then its spelling.

Owns the words people have for the verbs.  Spelling alone would take `link remove` for
`link resume`, and `man` for `fan`.
"""

from collections.abc import Collection, Iterable

import click

from homi.address import nearest, show
from homi.errors import Usage

# What people say: what it is called here, all of it where that cannot be told.
TOP = {
    "manual man info usage": "help",
    "list dir ps names agents sessions": "ls",
    "devices peers hosts": "link ls",
    "delete del rm remove end forget": "release, room rm, queue drop",
    "unclaim unregister": "release",
    "cancel drop": "queue drop",
    "hold": "queue hold",
    "flush retry": "queue flush",
    "requeue": "queue requeue",
    "reroute": "queue reroute",
    "bounce": "queue bounce",
    "new create add make register": "claim, room create, wake add",
    "mail mails mailbox messages letters check": "inbox",
    "show view cat open": "read, whois",
    "pending outbox spool": "queue",
    "tell msg message write post submit email say": "send",
    "chat talk query": "ask, send",
    "respond": "reply, answer",
    "done": "ack",
    "who describe inspect": "whois",
    "quit exit shutdown down": "stop",
    "kill": "stop, seat kill",
    "up launch": "start",
    "reload upgrade": "restart",
    "daemon serve": "run",
    "logs journal tail events": "log",
    "history": "thread, log",
    "track where": "trace",
    "grep find": "search",
    "diagnose health verify": "doctor",
    "test": "selftest",
    "ping": "link check, doctor",
    "install init enable": "setup",
    "service": "setup service",
    "schedule cron timer every remind": "wake",
    "group channel": "room",
    "join": "room join",
    "leave": "room leave",
    "connect ssh": "pair",
    "disconnect unlink": "unpair",
    "rename redirect forward": "alias",
    "unalias": "alias rm",
    "transfer migrate mv": "move",
    "settings conf": "config",
    "backup dump": "export",
    "restore load": "import",
    "clean gc purge": "prune",
    "stats top": "status, metrics",
    "tmux terminal pane attach": "seat",
    "pause": "queue hold, link pause, wake pause",
    "resume unpause": "queue release, link resume, wake resume",
    "version": "--version",
}
# What one verb of a family is called in another one, and by people.
ALIKE = (
    "ls list dir show status",
    "rm remove delete del drop kill end forget unbind unpeer close",
    "add new create make bind peer spawn open",
    "read show view cat print write",
    "leave quit part",
    "pause hold stop",
    "resume continue start unpause",
    "run fire trigger now",
    "preview next when",
    "check ping test",
    "send type tell",
)

SAME = 0.8  # of 1.0: two letters of six in each other's place


class Family(click.Group):
    """Verbs below a verb; of a word that is none it is said what was likely meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that args begin with; Usage (64) with the nearest one if none."""
        word = args[0]
        if word in self.commands or word.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        raise unknown(word, _sister(word, self.commands), ctx.command_path)


def unknown(word: str, meant: str, path: str) -> Usage:
    """That word is no verb of path, with what was meant where that is known."""
    every = [f"{path} {one}" for one in meant.split(", ")] if meant else []
    likely = " or ".join(filter(None, [", ".join(every[:-1]), *every[-1:]]))
    hint = f"did you mean {likely}?" if every else f"{path} --help"
    return Usage(f"no such command {show(word)}", hint=hint)


def verb(word: str, verbs: Collection[str]) -> str:
    """What a word in the place of a verb means, empty where nobody knows."""
    said = {each: here for words, here in TOP.items() for each in words.split()}
    return _known(word, said, [*verbs, "help"])


def _sister(word: str, verbs: Iterable[str]) -> str:
    """The same below a verb that has these."""
    known = list(verbs)
    said: dict[str, str] = {}
    for words in map(str.split, ALIKE):
        if here := [one for one in known if one in words]:
            said |= {each: here[0] for each in words if each not in said}
    return _known(word, said, known)


def _known(word: str, said: dict[str, str], verbs: Collection[str]) -> str:
    """By meaning if that is known, else by spelling: a verb that is all but the same,
    then whatever is nearest."""
    if here := said.get(word.lower()):
        return here
    near = nearest(word, verbs, SAME) or nearest(word, [*verbs, *said]) or ""
    return said.get(near, near)
