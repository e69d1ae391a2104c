"""One message on its way to the daemon: its text, its bytes, its answer.

Owns what `homi send` does, by whichever parser it was asked for.  Part of the
fast path: standard library only, and of it only what costs nothing to import.
homi-send(1) is the page.
"""

import os
import sys
import time
from _json import encode_basestring as quote

from homi.amount import amount
from homi.dial import SUN_PATH_MAX, Absent, Dial, Json, Late, Lost
from homi.errors import BadMessage, HomiError, NoInput, NotReached, StorageFailed, Usage
from homi.root import state_root

MAX_TEXT_CHARS = 1_048_576  # homi.config has the reason; a test keeps them equal
MAX_TEXT_BYTES = 4 << 20
COUNTED_MAX = 64 << 20  # bytes of a refused text that are read to tell its size
RUNGS = ("spooled", "stored", "relayed", "offered", "seen", "answered")
WAIT_DEFAULT = 60.0  # s for --wait-for: the call of an agent must come back by itself
NEEDS = ("human",)  # whom a message may be for alone
ASK_DEFAULT = 100.0  # s for an answer: clients give a command of an agent 120
REDIAL = 0.2  # s between tries to reach a daemon that went away in a wait


class Plan:
    """One send as it was asked for; the id is minted before the first try."""

    __slots__ = (
        "allow_secret",
        "as_json",
        "body",
        "deadline",
        "default",
        "file",
        "gather",
        "home",
        "id",
        "key",
        "lines",
        "needs",
        "parts",
        "reply_to",
        "sender",
        "text",
        "timeout",
        "to",
        "verb",
        "wait_for",
    )

    def __init__(
        self, home: str, to: str, text: str | None, verb: str = "send"
    ) -> None:
        """text is the operand: None when there was none, - for standard input."""
        self.verb = verb  # send, ask or reply
        self.home = home
        self.to = to
        self.text = text
        self.body: str | None = None  # the text itself, once it was read
        self.id = mint()
        self.sender = ""
        self.reply_to = ""
        self.key = ""
        self.parts: tuple[str, ...] = ()  # what the id is made of, by the key
        self.lines = False  # each line of the text is a message
        self.file = ""
        self.wait_for = ""
        self.timeout = ASK_DEFAULT if verb == "ask" else WAIT_DEFAULT
        self.needs = ""
        self.deadline = 0  # s from its arrival; 0: none
        self.default = ""  # the answer where the deadline passes
        self.gather = 0  # answers to wait for; 0: one of each who is asked
        self.allow_secret = ""  # why a person lets it leave with a secret in it
        self.as_json = False


def socket_path(home: str) -> str | None:
    """The control socket; None where its path is too long, so that it is elsewhere."""
    path = os.path.join(state_root(home), "homi.sock")
    return path if len(os.fsencode(path)) <= SUN_PATH_MAX else None


def mint() -> str:
    """A fresh UUIDv7, as homi.ids has it: milliseconds, then 74 random bits."""
    bits = (time.time_ns() // 1_000_000) & ((1 << 48) - 1)
    value = bits << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 7 << 76
    text = f"{value & ~(3 << 62) | 2 << 62:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def deliver(plan: Plan, path: str) -> int:
    """Send, wait if asked to, say how far it got; the status.  Absent: no daemon."""
    if plan.body is None:
        plan.body = read_text(plan)
    done = _submit(plan, path)
    failure: HomiError | None = None
    if plan.wait_for and plan.wait_for != done["rung"]:
        try:
            done |= _await(plan, path, str(done["to"]))
        except NotReached as error:
            failure = error
        except KeyboardInterrupt:
            # Who tires of waiting must still learn that it is stored, and its id.
            announce(plan, done)
            raise
    announce(plan, done)
    if failure is not None:
        raise failure
    return 0


def announce(plan: Plan, report: Json) -> None:
    """The result on stdout: the rung it reached, its id, where it is."""
    try:
        print(shown(plan, report), flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StorageFailed(
            f"cannot write the result: {error.strerror}",
            hint=f"{plan.id} is {report['rung']}; do not send it again",
        ) from None


def shown(plan: Plan, report: Json) -> str:
    """A report as the line this caller asked for."""
    if plan.as_json:
        return "{" + ",".join(f'"{k}":{_json(v)}' for k, v in report.items()) + "}"
    # Eight digits on a terminal: which shorter ones are in use is not known here.
    terminal = sys.stdout is not None and sys.stdout.isatty()
    name = str(report["id"])[24:32] if terminal else report["id"]
    already = " (already)" if report["duplicate"] else ""
    why = f" ({report['reason']})" if report.get("reason") else ""
    to = f"{report['to']}{already}"
    if isinstance(members := report.get("members"), int):
        to += f", {amount(members, 'member')}"
    return f"{report['rung']}{why} {name} to {to}"


def read_text(plan: Plan) -> str:
    """The text from the operand, the file or standard input; 65 where it cannot be."""
    if plan.file and plan.file != "-":
        try:
            fd = os.open(plan.file, os.O_RDONLY | os.O_CLOEXEC)
            try:
                data = _read(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise NoInput(f"cannot read {plan.file}: {error.strerror}") from None
    elif plan.file or plan.text in (None, "-"):
        data = _read_stdin()
        if not data and not plan.file and plan.text is None:
            what = "ID" if plan.verb == "reply" else "NAME"
            raise Usage(
                "no text", hint=f"homi {plan.verb} {what} TEXT, or the text on stdin"
            )
    else:
        data = os.fsencode(plan.text or "")
    return decoded(data)


def compose(plan: Plan, sender: str) -> str:
    """msg as the daemon itself would encode it, so that its strict reader is quick."""
    fields = [
        f'"id":{quote(plan.id)},"from":{quote(folded(sender))}',
        f'"to":{quote(addressed(plan.to, sender))}',
        f'"text":{quote(plan.body or "")}',
    ]
    if plan.verb == "ask":
        fields.append('"kind":"ask"')
    elif plan.reply_to:
        fields.append(f'"kind":"reply","reply_to":{quote(plan.reply_to)}')
    if plan.needs:
        fields.append(f'"needs":{quote(plan.needs)}')
    if plan.deadline:
        fields.append(f'"ttl_s":{plan.deadline}')
    if plan.default:
        fields.append(f'"default":{quote(plan.default)}')
    return "{" + ",".join(fields) + "}"


def addressed(to: str, sender: str) -> str:
    """The address to write: self as its name is whoever writes, here or elsewhere."""
    name, at, device = to.partition("@")
    return f"{folded(sender)}{at}{device}" if folded(name) == "self" else to


def folded(name: str) -> str:
    """name as homi.address folds it: Ada and ada are one sender, shown as one."""
    return name.lower() if name.isascii() else name


def _read_stdin() -> bytes:
    """All of standard input; a person who is to type it is told how it ends."""
    try:
        if os.isatty(0) and sys.stderr is not None:
            print("homi: type the text; Ctrl-D ends it", file=sys.stderr, flush=True)
        return _read(0)
    except OSError as error:
        raise NoInput(f"cannot read standard input: {error.strerror}") from None


def _read(fd: int) -> bytes:
    """All of fd, or so much as shows that it is too much."""
    parts, size = [], 0
    while size <= COUNTED_MAX and (data := os.read(fd, 1 << 20)):
        size += len(data)
        if size <= MAX_TEXT_BYTES:
            parts.append(data)
    if size > MAX_TEXT_BYTES:
        over = "over " if size > COUNTED_MAX else ""
        raise BadMessage(
            f"the text has {over}{size} bytes, the limit is {MAX_TEXT_BYTES}",
            reason="too-large",
        )
    return b"".join(parts)


def decoded(data: bytes) -> str:
    """data as text within the limits; else BadMessage with the measured fact."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise BadMessage(
            f"the text is not UTF-8: byte 0x{byte:02x} at offset {error.start}"
        ) from None
    if not text:
        raise BadMessage("the text is empty")
    if len(text) > MAX_TEXT_CHARS:
        raise BadMessage(
            f"the text has {len(text)} characters, the limit is {MAX_TEXT_CHARS}",
            reason="too-large",
        )
    return text


def _submit(plan: Plan, path: str) -> Json:
    """The daemon's report; a lost connection is tried once more with the same id."""
    for last in (False, True):
        try:
            with Dial(path) as dial:
                return _send(plan, dial)
        except Lost as error:
            if last or isinstance(error, Late):
                raise StorageFailed(
                    f"{error.text}: not known to be stored",
                    hint=f"homi trace {plan.id} tells; with --key a repeat is safe",
                ) from error
    raise AssertionError


def _send(plan: Plan, dial: Dial) -> Json:
    """What the daemon says of the message on this connection."""
    done = dial.ask(request(plan, 1, sender(plan, dial)))
    return report(plan, done)


def request(plan: Plan, i: int, sender: str) -> bytes:
    """The line that sends it."""
    msg = compose(plan, sender)
    return f'{{"verb":"send","i":{i},"msg":{msg}{permit(plan)}}}\n'.encode()


def permit(plan: Plan) -> str:
    """The field by which a person lets a secret leave, where one does."""
    words = plan.allow_secret
    return f',"allow_secret":{quote(words)}' if words else ""


def sender(plan: Plan, dial: Dial) -> str:
    """Who signs: as asked, else who the daemon says is calling; Usage (64) if none."""
    found = plan.sender or dial.welcome.get("name")
    if not found:
        raise unsigned()
    return str(found)


def unsigned() -> Usage:
    """What is told to a caller who has no name."""
    return Usage(
        "who writes? neither a session nor a person at a terminal calls",
        hint="--from NAME, one that homi claim gave you",
    )


def report(plan: Plan, done: Json) -> Json:
    """What is said of a message of plan for which the daemon answered done."""
    told: Json = {
        "id": plan.id,
        "rung": done.get("rung", "stored"),
        "to": done.get("to") or plan.to,
        "seq": done.get("seq", 0),
        "duplicate": done.get("duplicate", False),
    }
    # Of what is parked, and of a room: no other answer is made longer by it.
    return told | {key: done[key] for key in ("reason", "members") if done.get(key)}


def _await(plan: Plan, path: str, place: str) -> Json:
    """The rung it reached, at least the one asked for; NotReached (75) if not in time.

    A daemon that goes away is asked again while there is time: nothing is lost by it.
    """
    deadline = time.monotonic() + plan.timeout
    while True:
        left = max(0.0, deadline - time.monotonic())
        try:
            with Dial(path) as dial:
                dial.settimeout(left + 10)
                done = dial.ask(
                    f'{{"verb":"await","i":2,"name":{quote(place)},'
                    f'"id":{quote(plan.id)},"rung":{quote(plan.wait_for)},'
                    f'"timeout":{left:.3f}}}\n'.encode()
                )
                return {"rung": done.get("rung", plan.wait_for)}
        except (Absent, Lost) as error:
            if time.monotonic() + REDIAL >= deadline:
                raise NotReached(
                    f"not known to be {plan.wait_for}: {error.text}",
                    hint=f"it is stored; do not send it again (homi trace {plan.id})",
                ) from error
            time.sleep(REDIAL)


def _json(value: object) -> str:
    """A value of a report as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote(value) if isinstance(value, str) else str(value)
