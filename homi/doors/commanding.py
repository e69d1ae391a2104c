"""The verbs of names that are bound to commands.

Owns what is checked before a name is bound; homi.commands runs them.
homi-command(1).
"""

from homi.address import Name, parse_claimable
from homi.claims import Body
from homi.clock import Clock
from homi.commanded import CommandDone
from homi.commands import binding
from homi.commands.binding import CLIENT, Chosen, Command
from homi.commands.template import convert
from homi.commands.watch import CommandWatch
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.errors import CannotCreate, NoInput, Unavailable
from homi.orders.commands import CommandBind, CommandOrder
from homi.request import Request


class Commanding:
    """What one caller binds to commands."""

    def __init__(self, office: Office, clock: Clock) -> None:
        """Holds no state of its own; who may is said by the requests."""
        self._office = office
        self._clock = clock

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {CommandBind: self._bind, CommandOrder: self._order}

    def _bind(self, request: CommandBind, reply: Reply) -> None:
        """Answered when it is on disk."""
        name = parse_claimable(request.name)
        chosen = Chosen(
            label=request.label,
            template=convert(request.template, request.label),
            cwd=request.cwd,
            args=request.args,
            session=request.session,
            path=request.path,
        )
        body = binding.make(name, chosen)
        self._alone(name, body)
        fresh = self._office.see_claimed(name, self._clock.wall(), "bound")
        self._office.names.embody(name, body)
        self._commands.resume(body)
        reply(request.i, _done(name, "bind", body, fresh=fresh))

    @property
    def _commands(self) -> CommandWatch:
        """What knows the sessions of commands."""
        if self._office.commands is None:
            raise Unavailable("the daemon is starting")
        return self._office.commands

    def _order(self, request: CommandOrder, reply: Reply) -> None:
        """Unbind, or go on."""
        name = self._office.names.require(request.name).name
        body = self._office.names.require(name).body
        if body is None or body.client != CLIENT:
            raise NoInput(f"{name} is bound to no command", hint="homi command ls")
        if request.do == "unbind":
            self._office.names.embody(name, None)
        else:
            self._commands.resume(body)
        reply(request.i, _done(name, request.do, body))

    def _alone(self, name: Name, body: Body) -> None:
        """73 where another name has that body, or another command its session: two
        runs in one session at once would spoil it."""
        names, wanted = self._office.names, binding.read(body)
        names.check_body(name, body)
        for claim in names.all():
            other = claim.body
            if other is None or claim.name == name:
                continue
            thread = (other.client, other.id) == ("codex", wanted.session)
            if thread and wanted.template.live == "codex":
                raise CannotCreate(
                    f"letters for {claim.name} are queued to that thread",
                    hint=f"homi codex unpeer {claim.name}, or bind another",
                )
            if other.client != CLIENT:
                continue
            theirs = self._commands.session(other)
            if wanted.session and _same(wanted, other, theirs):
                raise CannotCreate(
                    f"{claim.name} goes on with that session already",
                    hint=f"homi command unbind {claim.name}, or bind another",
                )


def _same(wanted: Command, other: Body, theirs: str) -> bool:
    """Whether both go on with one session of one client."""
    return (other.options.get("label"), theirs) == (wanted.label, wanted.session)


def _done(name: Name, what: str, body: Body, *, fresh: bool = False) -> CommandDone:
    """What is told of it."""
    options = body.options
    return CommandDone(
        name=name,
        done=what,
        label=str(options.get("label", "")),
        id=body.id,
        session=str(options.get("session", "")),
        cwd=body.cwd,
        fresh=fresh,
    )
