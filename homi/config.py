"""homi.toml as one frozen struct, and the bounds nobody needs to change.

Owns every default with its reason.  A bound is a key only where two users need
different values.  homi.toml(5) lists the keys.
"""

import difflib
import os
import re
import socket
import tomllib
from pathlib import Path

import msgspec

from homi.address import Device, is_name
from homi.errors import BadConfig
from homi.policy import Policy, checked

# What a session of Claude Code 2.1.332 can send natively: one line of 1,048,576
# UTF-16 units, up to 3 MiB of bytes.
MAX_TEXT_CHARS = 1_048_576
MAX_TEXT_BYTES = 4 << 20
PEER_LINE_MAX = 3 * MAX_TEXT_CHARS + 4096  # bytes
LINE_MAX = 2 << 20  # bytes a control, link or pickup line, without asking
LINE_MAX_ALONE = 32 << 20  # while one connection holds one such line
MSG_DEPTH = 32  # nesting of msg: deeper JSON is an attack on the parser
QUOTA_PENDING = 10_000  # envelopes a mailbox: a runaway sender fills one mailbox only
QUOTA_BYTES = 256 << 20
# An out queue keeps what a whole device is sent while it is away, for days.
QUEUE_PENDING = 200_000
QUEUE_BYTES = 1 << 30
HOPS_MAX = 8  # devices a message may go over: more is a loop or a mistake
PEER_DEADLINE = 30.0  # s for a first whole line, as the client itself allows
PEER_SETTLE = 4.0  # s: the client gives a send up at 5.1
PEER_CONNECTIONS = 256
CONTROL_CONNECTIONS = 1024
# Opening a journal anew for each of a thousand names costs a third of its accept.
JOURNALS_OPEN = 1024
DESK_NUMBERS = 1024
# Of one device: each is a socket, a record and a row of every listing by a session.
MIRRORS_MAX = 256
MIRROR_GRACE = 600.0  # s of running with the link down before they are not listed
# Below the receiving client's own guard (bucket of 30, 0.5/s, 50 waiting).
PACE_BURST = 20
PACE_RATE = 0.4  # per second, sender and session
DIGEST_FROM = 20  # letters: a longer backlog is one turn that lists it
UNPROVEN_MAX = 40  # per session, over all senders
# Without a person; homi-limits(7) has the reasons.
TURNS = 12  # of one chain of causes, one behind the other
BRANCHED = 100  # of one chain, all its branches together
PAIR_TURNS = 200  # of two addresses, a day
WAKES = 120  # turns of one session by one sender, an hour
DAY_WAKES = 24  # of one name, by what sessions made themselves: one an hour
SWEEP = 60.0  # s: re-reads what a lost notice would have told
STOP_DRAIN = 1.5  # s each part of a stop may take to finish what is in flight
KEEPALIVE_MIN, KEEPALIVE_MAX = 0.1, 3_600.0  # s
WAIT_MIN, WAIT_MAX = 1e-6, 3_660.0  # hours or days that mail waits
CHECKPOINT_IDLE = 1.0  # s without a batch, then the folder alone shall be everything

NOTIFY = ["notify-send", "--app-name=homi"]  # the desktop, where there is one

# Those a person may look for: key, value, unit.
BOUNDS: tuple[tuple[str, int | float, str], ...] = (
    ("quota_pending", QUOTA_PENDING, "messages a name"),
    ("quota_bytes", QUOTA_BYTES, "bytes a name"),
    ("queue_pending", QUEUE_PENDING, "messages a device"),
    ("queue_bytes", QUEUE_BYTES, "bytes a device"),
    ("hops", HOPS_MAX, "devices"),
    ("turns", TURNS, "turns a chain"),
    ("branched", BRANCHED, "turns a chain, branches together"),
    ("pair_turns", PAIR_TURNS, "turns a pair and day"),
    ("wakes", WAKES, "turns a sender, name and hour"),
    ("day_wakes", DAY_WAKES, "wakes of sessions, a name and day"),
    ("text_chars", MAX_TEXT_CHARS, "characters a message"),
    ("text_bytes", MAX_TEXT_BYTES, "bytes a message"),
    ("line_bytes", LINE_MAX, "bytes a request"),
    ("unproven", UNPROVEN_MAX, "letters a session"),
    ("control_connections", CONTROL_CONNECTIONS, "connections"),
    ("peer_connections", PEER_CONNECTIONS, "connections"),
    ("desk_numbers", DESK_NUMBERS, "senders"),
    ("mirrors_max", MIRRORS_MAX, "names"),
    ("mirror_grace", MIRROR_GRACE, "s"),
    ("sweep", SWEEP, "s"),
)
UNITS = {
    "ring": "MiB",
    "reserve": "MiB",
    "keepalive": "s",
    "delay_after": "h",
    "bounce_after": "d",
}  # of the settings that have one


KINDS = {
    "str": "text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}  # what a value may be, as a person calls it


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one device."""

    device: str = ""  # this device's name; empty: the host's name, folded
    ring: int = 64  # MiB of redo ring: more makes checkpoints rarer
    reserve: int = 64  # MiB of free disk below which new mail is refused
    keepalive: float = 15.0  # s of silence on a link until it is asked for life
    delay_after: float = 4.0  # h mail waits for a device until its sender is told
    bounce_after: float = 5.0  # d until it goes back
    # The command that tells a person of mail, with a title and a body behind it.
    notify: list[str] = msgspec.field(default_factory=NOTIFY.copy)
    notify_text: bool = False  # with the first line: whoever sees the screen reads it
    registries: list[str] = []  # more folders like ~/.claude to list and watch
    policy: Policy = Policy()

    def device_name(self) -> Device:
        """The configured name, else the host's, folded to the grammar."""
        return Device(self.device or _host_name())

    def registry_folders(self) -> list[Path]:
        """The folders in which agent clients describe their sessions."""
        more = (Path(os.path.expanduser(folder)) for folder in self.registries)
        return list(dict.fromkeys([machine_registry(), *more]))


def load(path: Path) -> Config:
    """The settings in path; the defaults where it is absent; 78 with the fix else."""
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise BadConfig(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadConfig(f"cannot read {path}: {error}") from error
    for key in raw:
        if key not in Config.__struct_fields__:
            raise BadConfig(f"unknown setting {key} in {path}", hint=_suggestion(key))
    try:
        found = msgspec.convert(raw, Config)
    except msgspec.ValidationError as error:
        raise BadConfig(f"{path}: {_mistaken(error)}") from error
    return _checked(found, path)


def _checked(found: Config, path: Path) -> Config:
    """The same settings, refused where a value cannot work."""
    if found.device and not is_name(found.device):
        raise BadConfig(f"{path}: device {found.device!r} is not a name")
    if not 1 <= found.ring <= 4096:
        raise BadConfig(f"{path}: ring is {found.ring} MiB, must be 1 to 4096")
    if not KEEPALIVE_MIN <= found.keepalive <= KEEPALIVE_MAX:
        raise BadConfig(
            f"{path}: keepalive is {found.keepalive:g} s, must be"
            f" {KEEPALIVE_MIN:g} to {KEEPALIVE_MAX:g}"
        )
    for key, value in (("delay", found.delay_after), ("bounce", found.bounce_after)):
        if not WAIT_MIN <= value <= WAIT_MAX:
            raise BadConfig(
                f"{path}: {key}_after is {value:g}, must be {WAIT_MIN:g} to"
                f" {WAIT_MAX:g}"
            )
    try:
        checked(found.policy)
    except BadConfig as error:
        raise BadConfig(f"{path}: {error.text}") from None
    if found.reserve < 0:
        raise BadConfig(f"{path}: reserve is {found.reserve} MiB, must be 0 or more")
    return found


def _mistaken(error: msgspec.ValidationError) -> str:
    """What is wrong with which key, in the words of the file."""
    found = re.fullmatch(r"Expected `(\w+)`, got `(\w+)` - at `\$\.(\S+)`", str(error))
    if found is None:
        return str(error)
    wanted, got = (KINDS.get(kind, kind) for kind in found.groups()[:2])
    return f"{found[3]} is {got}, must be {wanted}"


def _suggestion(key: str) -> str:
    """The closest known key, as a hint."""
    near = difflib.get_close_matches(key, Config.__struct_fields__, n=1)
    known = ", ".join(Config.__struct_fields__)
    return f"did you mean {near[0]}?" if near else f"known settings: {known}"


def _host_name() -> str:
    """The first label of the host's name, folded; 'device' when nothing is left."""
    label = socket.gethostname().partition(".")[0].lower()
    folded = re.sub(r"[^a-z0-9._-]+", "-", label).strip("-._")[:64]
    return folded if is_name(folded) else "device"


def machine_registry() -> Path:
    """The agent clients' own folder: $CLAUDE_CONFIG_DIR, else ~/.claude."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude"))
