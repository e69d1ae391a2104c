"""What a name is bound to when it is a command: the body, and back from it.

Owns the options of such a body.  Other parts bind by make() and the verbs of
homi.names.
"""

import os
import re
import secrets

import msgspec

from homi.address import Name, show
from homi.claims import Body
from homi.commands.template import Template, convert, uses
from homi.errors import Usage
from homi.ids import SHAPE
from homi.seats import launch

CLIENT = "command"

_SESSION = re.compile(r"[A-Za-z0-9._/~][A-Za-z0-9._:/@+=~-]{0,511}", re.ASCII)


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A command for a name, as somebody chose it."""

    label: str  # what the template is called; the program's own name without one
    template: Template
    cwd: str
    args: list[str] = []  # words at the end of argv, and of new
    session: str = ""  # of the client, to go on with
    path: str = ""  # where programs are looked for; empty: the daemon's


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A body as its leg reads it."""

    id: str
    label: str
    template: Template  # argv[0] is an absolute path where it was found
    cwd: str
    session: str = ""  # it was bound with
    path: str = ""


def make(name: Name, chosen: Chosen) -> Body:
    """What name is to be bound to.  Nothing is started.

    Unavailable (69) with the PATH where the program is not there, NoInput (66) for
    the folder, Usage (64) for a session that cannot be, or is needed and not given.
    """
    folder = os.path.realpath(launch.folder(chosen.cwd))
    path = chosen.path or os.environ.get("PATH", os.defpath)
    template = _whole(chosen, path, folder)
    if chosen.session and not is_session(chosen.session):
        raise Usage(f"{show(chosen.session)} cannot be the id of a session")
    if (
        chosen.session
        and template.live == "codex"
        and not SHAPE.fullmatch(chosen.session)
    ):
        # Of a name that no thread has Codex makes a new one, and says nothing.
        raise Usage(f"a thread is named by a UUID, not {show(chosen.session)}")
    needed = uses(template.argv, "session") and not template.new
    if needed and not chosen.session:
        raise Usage(
            f"{chosen.label} goes on with a session, and starts none",
            hint="--session ID says which",
        )
    word = chosen.session or f"{name}-{secrets.token_hex(4)}"
    return Body(
        client=CLIENT,
        id=f"{chosen.label}:{word}",
        cwd=folder,
        options={
            "label": chosen.label,
            "template": msgspec.to_builtins(template),
            "session": chosen.session,
            "path": path,
        },
    )


def read(body: Body) -> Command:
    """The command of a body; BadConfig (78) where another version wrote it."""
    options = body.options
    return Command(
        id=body.id,
        label=str(options.get("label", "")),
        template=convert(options.get("template"), f"the command {show(body.id)}"),
        cwd=body.cwd,
        session=str(options.get("session", "")),
        path=str(options.get("path", "")),
    )


def is_session(text: str) -> bool:
    """Whether it may stand for a session in an argument."""
    return _SESSION.fullmatch(text) is not None


def _whole(chosen: Chosen, path: str, cwd: str) -> Template:
    """The template with the words of this name, its programs found."""
    template, args = chosen.template, chosen.args
    argv = [launch.program(template.argv, path, cwd), *template.argv[1:], *args]
    new = template.new and [
        launch.program(template.new, path, cwd),
        *template.new[1:],
        *args,
    ]
    return convert(
        msgspec.to_builtins(msgspec.structs.replace(template, argv=argv, new=new)),
        chosen.label,
    )
