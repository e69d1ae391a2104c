"""The lines of authorized_keys that let other devices in.

Owns what such a line says, which lines are ours and which never are.  Pure: bytes in,
bytes out; pairing.keyfile has the file.  homi-pair(1) shows the line.
"""

import re
import shlex
from typing import NamedTuple

from homi.address import Device
from homi.links import keys

MARK = "homi:"  # before the device, as the comment of a line of ours
_KINDS = re.compile(rb"(ssh-|ecdsa-|sk-)[a-z0-9@.-]+\Z")


class Line(NamedTuple):
    """One line that holds a key."""

    number: int  # from 1
    options: bytes
    key: bytes  # its kind and its base64
    comment: bytes


class Change(NamedTuple):
    """What a file becomes."""

    data: bytes
    changed: bool
    foreign: list[int]  # numbers of other lines with the same key


def line_for(device: Device, key: str, exe: str, root: str) -> bytes:
    """The line that lets the holder of key in as device, and only to its link."""
    # Two readers take it apart: sshd the option, a shell the command.
    command = f"{shlex.quote(exe)} --home {shlex.quote(root)} {_serve(device)}"
    quoted = command.replace('"', '\\"')
    kind_and_key = " ".join(key.split()[:2])
    text = f'restrict,command="{quoted}" {kind_and_key} {MARK}{device}'
    return text.encode("utf-8", "surrogateescape")


def admit(data: bytes, device: Device, line: bytes) -> Change:
    """data with line, in place of what stood there for device, else at its end."""
    kept: list[bytes] = []
    placed = False
    for number, raw in enumerate(_split(data), 1):
        if not _is_ours(number, raw, device):
            kept.append(raw)
        elif not placed:
            # A line that is right already stays byte for byte.
            kept.append(raw if _bare(raw) == line else line + b"\n")
            placed = True
    if not placed:
        if kept and not kept[-1].endswith(b"\n"):
            kept[-1] += b"\n"
        kept.append(line + b"\n")
    made = b"".join(kept)
    return Change(made, made != data, _same_key(made, device, line))


def expel(data: bytes, device: Device) -> Change:
    """data without the line of device; everything else byte for byte."""
    kept = [
        raw
        for number, raw in enumerate(_split(data), 1)
        if not _is_ours(number, raw, device)
    ]
    made = b"".join(kept)
    return Change(made, made != data, [])


def parse(number: int, raw: bytes) -> Line | None:
    """The parts of a line as sshd takes it apart; None: it holds no key."""
    text = _bare(raw).strip(b" \t")
    if not text or text.startswith(b"#"):
        return None
    first, _, rest = text.partition(b" ")
    options = b""
    if not _KINDS.match(first):
        end = _end_of_options(text)
        options, text = text[:end], text[end:].strip(b" \t")
        first, _, rest = text.partition(b" ")
        if not _KINDS.match(first):
            return None
    body, _, comment = rest.strip(b" \t").partition(b" ")
    return Line(number, options, first + b" " + body, comment.strip(b" \t"))


def _serve(device: Device) -> str:
    """How a command of ours ends."""
    return f"link serve --peer {device}"


def _is_ours(number: int, raw: bytes, device: Device) -> bool:
    """Whether the whole of a line is one that admit() wrote for device; by its form
    and its mark, whatever key, program and folder it names."""
    found = parse(number, raw)
    if found is None or found.comment != f"{MARK}{device}".encode():
        return False
    return found.options.startswith(b'restrict,command="') and found.options.endswith(
        f' {_serve(device)}"'.encode()
    )


def _same_key(data: bytes, device: Device, line: bytes) -> list[int]:
    """Lines with the key of line that are not ours: sshd takes the first it finds."""
    wanted = parse(0, line)
    assert wanted is not None
    found = []
    for number, raw in enumerate(_split(data), 1):
        other = parse(number, raw)
        if other is None or _is_ours(number, raw, device):
            continue
        if keys.same(_text(other.key), _text(wanted.key)):
            found.append(number)
    return found


def _end_of_options(text: bytes) -> int:
    """Where the first blank outside quotes stands; a quote may be escaped."""
    quoted = False
    at = 0
    while at < len(text) and (quoted or text[at : at + 1] not in (b" ", b"\t")):
        if text[at : at + 2] == b'\\"':
            at += 1
        elif text[at : at + 1] == b'"':
            quoted = not quoted
        at += 1
    return at


def _split(data: bytes) -> list[bytes]:
    """Lines with their ends; at nothing but line feeds, as sshd splits."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _bare(raw: bytes) -> bytes:
    """A line without its end."""
    return raw.rstrip(b"\n").removesuffix(b"\r")


def _text(key: bytes) -> str:
    """A key as text; what is not ASCII is no key."""
    return key.decode("ascii", "replace")
