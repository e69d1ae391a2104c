"""The entry point, and the parser of the plain case of send, ask and reply.

Owns the options of the verbs whose start must cost nothing, how a failure is
shown and the one late import.  What is not plain goes to click.  Imports nothing
that could wait: no json, socket, re, hashlib, typing.  homi-send(1) is the page.
"""

import _signal  # type: ignore[import-not-found]  # of C: signal would wait for enum
import os
import sys

from homi.cli.submission import NEEDS, RUNGS, Plan, deliver, socket_path
from homi.dial import Absent
from homi.errors import Bug, HomiError, Interrupted, StorageFailed, Usage

# verb, flags, field, kind, metavar, help; click's commands are built from it too.
Option = tuple[str, tuple[str, ...], str, str, str, str]
OPTIONS: tuple[Option, ...] = (
    ("send", ("--from",), "sender", "text", "NAME", "Sign as NAME."),
    ("send", ("--reply-to",), "reply_to", "text", "ID", "Reply to the message ID."),
    ("send", ("--key",), "key", "text", "KEY", "Send once only for this KEY."),
    (
        "send",
        ("-f", "--file"),
        "file",
        "text",
        "FILE",
        "Take the text from FILE; - is stdin.",
    ),
    (
        "send",
        ("--wait-for",),
        "wait_for",
        "rung",
        "RUNG",
        "Wait until it is so far: spooled, stored, relayed, offered, seen or answered.",
    ),
    (
        "send",
        ("--timeout",),
        "timeout",
        "seconds",
        "SECONDS",
        "Wait so long for RUNG (60).",
    ),
    ("send", ("--lines",), "lines", "flag", "", "Send each line by itself."),
    ("send", ("--needs",), "needs", "needs", "WHO", "Only for WHO: human, a person."),
    (
        "send",
        ("--allow-secret",),
        "allow_secret",
        "text",
        "REASON",
        "Let it leave the device with a secret in it; REASON is kept.",
    ),
    ("send", ("--json",), "as_json", "flag", "", "Print one JSON object."),
    ("ask", ("--from",), "sender", "text", "NAME", "Ask as NAME."),
    (
        "ask",
        ("-f", "--file"),
        "file",
        "text",
        "FILE",
        "Take the question from FILE; - is stdin.",
    ),
    (
        "ask",
        ("--timeout",),
        "timeout",
        "seconds",
        "SECONDS",
        "Wait so long for the answer (100).",
    ),
    ("ask", ("--gather",), "gather", "number", "N", "End with N answers (all)."),
    ("ask", ("--needs",), "needs", "needs", "WHO", "Only for WHO: human, a person."),
    (
        "ask",
        ("--deadline",),
        "deadline",
        "number",
        "SECONDS",
        "The question expires so long after it arrived.",
    ),
    ("ask", ("--default",), "default", "text", "TEXT", "The answer if it expires."),
    (
        "ask",
        ("--allow-secret",),
        "allow_secret",
        "text",
        "REASON",
        "Let it leave the device with a secret in it; REASON is kept.",
    ),
    ("ask", ("--json",), "as_json", "flag", "", "Print a JSON object an answer."),
    ("reply", ("--from",), "sender", "text", "NAME", "Answer as NAME, who was asked."),
    (
        "reply",
        ("-f", "--file"),
        "file",
        "text",
        "FILE",
        "Take the text from FILE; - is stdin.",
    ),
    (
        "reply",
        ("--allow-secret",),
        "allow_secret",
        "text",
        "REASON",
        "Let it leave the device with a secret in it; REASON is kept.",
    ),
    ("reply", ("--json",), "as_json", "flag", "", "Print one JSON object."),
    ("wait", ("--timeout",), "timeout", "seconds", "SECONDS", "Wait no longer."),
    ("wait", ("--after",), "after", "number", "SEQ", "Only mail with a higher seq."),
    ("wait", ("--json",), "as_json", "flag", "", "Print a JSON object a message."),
)
MAIL = ("send", "ask", "reply")  # the verbs that write
NUMBERS = ("gather", "deadline")
EVENTS = ("session-start", "prompt", "stop")  # of homi hook; requests has the same


def main() -> None:
    """Run the command line of this process and end it with its exit status.

    After Ctrl-C it dies of the signal: a shell shows 130 for that and ends its loop,
    which it would go on with if this had merely exited so.
    """
    status = guarded(sys.argv[1:])
    if status == Interrupted.exit_status:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        os.kill(os.getpid(), _signal.SIGINT)
    sys.exit(status)


def guarded(args: list[str]) -> int:
    """The exit status of args; every failure a caller may meet is one line.  A hook
    ends with 0 whatever happens: with another status a client may stop its turn."""
    status = _guarded(args)
    return 0 if _hook(args) else status


def _guarded(args: list[str]) -> int:
    """As guarded(), with the status that the failure has."""
    try:
        status = run(args)
        if sys.stdout is not None:
            sys.stdout.flush()
    except HomiError as error:
        return complain(error)
    except KeyboardInterrupt:
        return Interrupted.exit_status
    except BrokenPipeError:
        # Who reads our output had enough: nothing to complain of.  Python flushes
        # once more at its end, and must not meet the closed pipe there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as error:
        return complain(StorageFailed(_said(error)))
    except UnicodeEncodeError:
        # Only what came with the command line can hold half a character.
        return complain(Usage("an argument or variable is not UTF-8"))
    except Exception as error:
        # The supervisor of a command: a bug is told in full, with its own status, so
        # that no caller takes it for an answer.
        sys.excepthook(type(error), error, error.__traceback__)
        return complain(Bug(f"{type(error).__name__}: a bug of homi", hint="report it"))
    return status


def complain(error: HomiError) -> int:
    """Say what failed, in the form of the house, on stderr; its exit status."""
    lines = [error.text] + ([f"hint: {error.hint}"] if error.hint else [])
    for line in lines if sys.stderr is not None else ():
        # The text may quote what a message or another program said.
        plain = line if line.isprintable() else ascii(line)[1:-1]
        print(f"homi: {plain}", file=sys.stderr, flush=True)
    return error.exit_status


def _said(error: OSError) -> str:
    """What the system says, and of which file."""
    said = error.strerror or str(error)
    return said if error.filename is None else f"{error.filename}: {said}"


def run(args: list[str]) -> int:
    """Send when args are the plain case of it; else let click read them."""
    if hook := _hook(args):
        return load("homi.cli.hooked", "run", *hook)
    if served := _serve(args):
        return load("homi.cli.serve", "run", *served)
    plan = parse(args)
    return load("homi.cli.main", "run", args) if plan is None else post(plan)


def post(plan: Plan) -> int:
    """Send plan the quickest way it can go; without a daemon leave it in pickup/."""
    plan.reply_to = plan.reply_to.lower()
    path = socket_path(plan.home)
    if plan.verb != "send":
        return load("homi.cli.question", plan.verb, plan, path)
    if path is None or plan.key or len(plan.reply_to) not in (0, 36):
        return load("homi.cli.spool", "send", plan)
    if plan.lines:
        return load("homi.cli.lines", "deliver", plan, path)
    try:
        return deliver(plan, path)
    except Absent:
        return load("homi.cli.spool", "spool", plan)


def load(module: str, function: str, *args: object) -> int:
    """Import module, late and on purpose, and return the status its function gives."""
    __import__(module)
    return int(getattr(sys.modules[module], function)(*args))


def parse(args: list[str]) -> Plan | None:
    """The send, ask or reply in args; None where only click can tell what is meant or
    wrong."""
    left = list(args)
    home = _home(left)
    if home is None or not left or (verb := left.pop(0)) not in MAIL:
        return None
    operands: list[str] = []
    fields: dict[str, str] = {}
    while left:
        if left[0] == "--":
            operands += left[1:]
            break
        if left[0] == "-" or not left[0].startswith("-"):
            operands.append(left.pop(0))
        elif not _option(verb, left, fields):
            return None
    return _plan(verb, home, operands, fields)


def _hook(args: list[str]) -> tuple[str, str] | None:
    """The home and the event where args are a hook, None where they are not."""
    left = list(args)
    home = _home(left)
    if home is None or len(left) != 2 or left[0] != "hook" or left[1] not in EVENTS:
        return None
    return home, left[1]


def _serve(args: list[str]) -> tuple[str, str] | None:
    """The socket and the peer where args are what sshd runs for a link."""
    left = list(args)
    home = _home(left)
    if home is None or len(left) != 4 or left[:3] != ["link", "serve", "--peer"]:
        return None
    path = socket_path(home)
    return None if path is None else (path, left[3])


def _home(left: list[str]) -> str | None:
    """Take each --home off the front of left; the last one's value, None if odd."""
    home = ""
    while left and left[0].startswith("--home"):
        if not (found := _value(left, ("--home",))):
            return None
        home = found
    return home


def _option(verb: str, left: list[str], fields: dict[str, str]) -> bool:
    """Take one option of verb off left into fields; whether that could be done."""
    for of_verb, flags, field, kind, _metavar, _help in OPTIONS:
        if of_verb != verb:
            continue
        if kind == "flag":
            if left[0] in flags:
                fields[field] = left.pop(0)
                return True
        elif (value := _value(left, flags)) is not None:
            fields[field] = value
            return True
    return False


def _value(left: list[str], flags: tuple[str, ...]) -> str | None:
    """Take `--flag VALUE`, `--flag=VALUE` or `-fVALUE` off left; None if neither."""
    for flag in flags:
        if left[0] == flag and len(left) > 1:
            if left[1].startswith("-") and left[1] != "-":
                return None  # a value, or an option and no value: click's to say
            del left[0]
            return left.pop(0)
        glue = flag + "=" if flag.startswith("--") else flag
        if left[0].startswith(glue) and left[0] != flag:
            return left.pop(0)[len(glue) :]
    return None


def _plan(
    verb: str, home: str, operands: list[str], fields: dict[str, str]
) -> Plan | None:
    """The plan of these operands and options; None where one is missing or odd."""
    if not 1 <= len(operands) <= 2 or (len(operands) == 2 and "file" in fields):
        return None
    text = operands[1] if len(operands) == 2 else None
    plan = Plan(home, operands[0], text, verb)
    for field, value in fields.items():
        if not value:
            return None
        if field in ("as_json", "lines"):
            setattr(plan, field, True)
        elif field == "timeout" or field in NUMBERS:
            if not (value.isascii() and value.isdecimal() and len(value) < 10):
                return None
            setattr(plan, field, int(value) if field in NUMBERS else float(value))
        else:
            setattr(plan, field, value)
    if plan.lines and (plan.text not in (None, "-") or plan.wait_for):
        return None
    odd = "gather" in fields and not plan.gather
    odd = odd or ("deadline" in fields and not plan.deadline)
    if odd or (plan.default and not plan.deadline) or plan.needs not in ("", *NEEDS):
        return None
    return plan if fields.get("wait_for", RUNGS[0]) in RUNGS else None
