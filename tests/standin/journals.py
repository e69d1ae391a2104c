"""Writes a state root of any size quickly, as homi would have left it.

Every tenth message answers the one before it, a thread has about twenty, every
thousandth message holds a word of its own; all but the last few are finished.
homi-mailbox(5) is the format; a test has homi read it.
"""

import hashlib
import json
import os
import random
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

FIRST = 10**11  # number of the first claim's socket
AGE = 60 * 86400  # s before now, at which the first message came
BODY = 700  # characters of a text: about 1 KiB a line
WORDS = [
    *("please", "run", "the", "tests", "in", "module", "alpha", "and", "report"),
    *("what", "failed", "on", "the", "branch", "then", "merge", "rebase", "wait"),
    *("for", "review", "before", "noon", "and", "tell", "the", "others", "about"),
]
CHUNK = 2000  # lines a write


class Sent(NamedTuple):
    """One message that was written."""

    number: int  # its sequence, too
    id: str
    finished: bool


def write_names(root: Path, names: Iterable[str]) -> None:
    """Claim these names, as an earlier run would have left them."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    claims = {
        name: {
            "name": name,
            "number": FIRST + place,
            "session_id": f"00000000-0000-4000-8000-{place:012}",
        }
        for place, name in enumerate(names)
    }
    text = json.dumps({"v": 1, "instance": "0" * 16, "claims": claims})
    target = root / "names.json"
    target.write_text(text)
    target.chmod(0o600)


def needle(number: int) -> str:
    """The word that only message number, a multiple of a thousand, holds."""
    return f"needle{number:09d}"


def message_id(name: str, number: int) -> str:
    """The id of a message that was written: the same in every run."""
    digits = hashlib.blake2b(f"{name}/{number}".encode(), digest_size=16).hexdigest()
    return (
        f"{digits[:8]}-{digits[8:12]}-7{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
    )


def write_mailbox(
    root: Path, name: str, count: int, pending: int = 0, *, body: int = BODY
) -> None:
    """A mailbox of count messages, the last of which are pending."""
    folder = root / "mail" / name
    for made in (root, root / "mail", folder):
        made.mkdir(mode=0o700, exist_ok=True)
    began = time.time() - AGE
    texts = _texts(body)
    inbox, ledger = folder / "inbox.jsonl", folder / "ledger.jsonl"
    with _private(inbox) as mails, _private(ledger) as rungs:
        for start in range(1, count + 1, CHUNK):
            end = min(count + 1, start + CHUNK)
            sent = list(_sent(name, start, end, count - pending))
            times = [_stamp(began + AGE * one.number / (count + 1)) for one in sent]
            stamped = list(zip(sent, times, strict=True))
            mails.writelines(_mail(one, at, name, texts) for one, at in stamped)
            rungs.writelines(_rungs(one, at) for one, at in stamped if one.finished)


def write_segment(
    root: Path, name: str, numbers: range, age: float, pending: frozenset[int]
) -> list[str]:
    """A closed segment of messages that all came so many days ago; their ids."""
    archive = root / "mail" / name / "archive"
    for made in (root, root / "mail", archive.parent, archive):
        made.mkdir(mode=0o700, exist_ok=True)
    at = _stamp(time.time() - age * 86_400)
    sent = list(_sent(name, numbers.start, numbers.stop, numbers.stop))
    end = f"{numbers.stop - 1:016}.jsonl"
    with (
        _private(archive / f"inbox.{end}") as mails,
        _private(archive / f"ledger.{end}") as rungs,
    ):
        mails.writelines(_mail(one, at, name, ["some words"]) for one in sent)
        done = (one for one in sent if one.number not in pending)
        rungs.writelines(_rungs(one, at) for one in done)
    return [one.id for one in sent]


def _sent(name: str, start: int, end: int, finished: int) -> Iterator[Sent]:
    for number in range(start, end):
        yield Sent(number, message_id(name, number), number <= finished)


def _private(path: Path) -> BinaryIO:
    """A file of ours alone, for writing."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    return open(fd, "wb", buffering=1 << 20)


def _texts(body: int) -> list[str]:
    """A few texts of that many characters; a million different ones take minutes."""
    chance = random.Random(body)
    texts = []
    for _ in range(97):
        words = " ".join(chance.choices(WORDS, k=body // 3))
        texts.append(words[:body])
    return texts


def _stamp(at: float) -> str:
    """RFC 3339, as homi writes it."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
    return f"{whole}.{int(at % 1 * 1000):03d}Z"


def _mail(one: Sent, at: str, name: str, texts: list[str]) -> bytes:
    """One inbox line."""
    number, more = one.number, ""
    if number % 10 == 0:
        more += f',"kind":"reply","thread":"{_thread(number)}"'
        more += f',"reply_to":"{message_id(name, number - 1)}"'
    elif number % 100 < 10 and number > 9:
        more += f',"thread":"{_thread(number)}"'
    text = texts[number % len(texts)]
    if number % 1000 == 0:
        text = f"{needle(number)} {text}"
    return (
        f'{{"v":1,"seq":{number},"at":"{at}","to":"{name}",'
        f'"via":{{"door":"control","uid":{os.getuid()},"pid":4021}},'
        f'"msg":{{"id":"{one.id}","from":"{_sender(number)}","to":"{name}",'
        f'"text":"{text}"{more}}}}}\n'
    ).encode()


def _sender(number: int) -> str:
    """One of ten."""
    return f"n{number % 10:04d}"


def _thread(number: int) -> str:
    """Ten messages share one."""
    return f"t{number // 100}"


def _rungs(one: Sent, at: str) -> bytes:
    """The ledger lines of a message that was offered and seen."""
    head = f'"seq":{one.number},"id":"{one.id}"'
    n = 2 * one.number
    session = '{"pid":977,"start":"46663","id":"3f0c9ad2-5bb1-4a8e-9d1b-0c2f8e7a6b51"}'
    return (
        f'{{"n":{n - 1},{head},"rung":"offered","at":"{at}","leg":"claude",'
        f'"session":{session}}}\n'
        f'{{"n":{n},{head},"rung":"seen","at":"{at}","leg":"claude",'
        f'"session":{session},"proof":"transcript"}}\n'
    ).encode()
