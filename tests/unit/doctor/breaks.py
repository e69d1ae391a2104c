"""Every check of the doctor, how it is broken here, and what mends it.

A test breaks the thing, has the row checked against its entry by shown(), and then
does what the entry says of the fix: runs it as printed, or does by hand what is said.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from homi.doctor.check import Grade, Row

WARN, FAIL = Grade.WARN, Grade.FAIL


class Way(StrEnum):
    """What a test does with what mends it."""

    RUN = "the fix is run as it is printed, and heals"
    HAND = "the test does what a person does, by hand or elsewhere, and that heals"
    TEXT = "nothing of this machine heals it: the words are compared"


RUN, HAND, TEXT = Way.RUN, Way.HAND, Way.TEXT


# What ends programs of others, throws away, or decides: nobody types it unseen.
GRAVE = re.compile(r"kill (?!-9 \d+ && homi)|\brm |prune|drop|bounce|release|continue")


class Break(NamedTuple):
    """One thing that goes wrong."""

    how: str  # it is broken; "given": the fact is
    grade: Grade
    says: str  # a pattern of the text
    fix: str  # a pattern of the whole command; empty: there is none
    way: Way
    hand: str = ""  # a pattern of what is done by hand


BREAKS = {
    "settings": Break("an unknown key", FAIL, "unknown setting rign", "", HAND, "ring"),
    "root: open": Break("chmod 755", FAIL, "mode 0755", r"chmod 700 \S+", RUN),
    "root: absent": Break("it is not made yet", WARN, "there is no", "homi start", RUN),
    "files": Break("chmod 640", WARN, "mode 0640", r"chmod go= .+", RUN),
    "sockets": Break(
        "long folders", FAIL, "the limit is", "", HAND, "XDG_RUNTIME_DIR to a shorter"
    ),
    "file-system": Break("given", WARN, "is on nfs", "", TEXT, "HOMI_HOME"),
    "space": Break("given", FAIL, "10 MiB are free", "", TEXT, "free 246 MiB there"),
    "state: damaged": Break("half a file", FAIL, "is damaged", "homi start", RUN),
    "state: damaged beside a daemon": Break(
        "half a file", FAIL, "is damaged", "homi restart", RUN
    ),
    "state: newer": Break(
        "a file of version 9",
        FAIL,
        "is of version 9, this homi reads 1: a newer homi wrote it",
        "pip install --upgrade homi-postmaster",
        TEXT,
        "run the homi that wrote it",
    ),
    "layout: file": Break("a folder", FAIL, "must be a file", "homi start", RUN),
    "layout: file beside a daemon": Break(
        "a pipe", FAIL, "is a pipe, and must be a file", "homi restart", RUN
    ),
    "layout: folder": Break(
        "a file", FAIL, "is a file, and must be a folder", r"mv \S+ \S+", RUN
    ),
    "layout: mailbox": Break(
        "a file", FAIL, "must be a folder", r"mv \S+ \S+ && homi restart", RUN
    ),
    "program": Break(
        "another homi first in PATH", WARN, "another program", "", HAND, "export PATH="
    ),
    "python: old": Break("given", FAIL, "3.11 is needed", "", TEXT, "Python 3.11"),
    "python: library": Break(
        "given", FAIL, "99.2 is needed", r"\S+ -m pip install 'click>=99.2'", TEXT
    ),
    "tmux": Break("given", FAIL, "tmux 3.1c", "", TEXT, "install tmux, 3.2"),
    "lingering": Break(
        "given", WARN, "when you log out", "loginctl enable-linger", TEXT
    ),
    "daemon: dead": Break("kill -9", FAIL, "no daemon answers", "homi start", RUN),
    "daemon: hangs": Break(
        "kill -STOP", FAIL, r"\(pid \d+\)", r"kill -9 \d+ && homi start", RUN
    ),
    "version": Break(
        "an upgrade beside an older daemon",
        WARN,
        "the daemon is homi 0.0",
        "homi restart",
        RUN,
    ),
    "version: other": Break(
        "given",
        WARN,
        "the daemon is homi 0.0.9 of another Python",
        "homi stop && homi start",
        TEXT,
    ),
    "accept": Break(
        "its files may not grow", FAIL, "mail is refused", "homi restart", RUN, "disk"
    ),
    "findings: aside": Break(
        "a damaged state file at its start", WARN, "set aside as", "homi restart", RUN
    ),
    "findings: left": Break(
        "a damaged journal at its start", WARN, "byte 0", "", TEXT, "stays there"
    ),
    "findings: shut": Break(
        "given", FAIL, "queue.jsonl: unusable", "homi restart", TEXT, "mv .*queue.jsonl"
    ),
    "findings: note": Break("given", WARN, "a folder is gone", "", TEXT, "homi log"),
    "descriptors": Break(
        "prlimit",
        WARN,
        "of 256 file descriptors",
        "homi stop && homi start",
        RUN,
    ),
    "descriptors: unit": Break(
        "given", WARN, "of 256 file", "", TEXT, "LimitNOFILE=65536 in .*homi.service"
    ),
    "spawns": Break(
        "a client that ends at once",
        WARN,
        "carl does not come up",
        "homi respawn --now carl",
        RUN,
    ),
    "wakes": Break(
        "its name is released",
        WARN,
        "no name bob",
        r"homi wake run \S+",
        RUN,
        "homi",
    ),
    "journals": Break(
        "a line that is none", WARN, r"at offset \d+: ", "", TEXT, "passed over; tail"
    ),
    "ring: damaged": Break(
        "bytes of a record", WARN, "a damaged record", "homi start", RUN
    ),
    "ring: size": Break("another ring in homi.toml", WARN, "9$", "homi restart", RUN),
    "index: in the way": Break(
        "a folder", WARN, "cannot be written", r"mv \S+index.sqlite3 \S+.aside", RUN
    ),
    "index: locked": Break(
        "another process keeps it", WARN, "cannot be written", "", HAND, "fuser"
    ),
    "index: behind": Break(
        "a long journal", WARN, "bytes of the journals", "homi queue --shape", RUN
    ),
    "pickup: waits": Break(
        "sent without a daemon", WARN, "1 messages wait", "homi start", RUN
    ),
    "pickup: unreadable": Break(
        "half a file", WARN, "cannot be read", "homi start", RUN, "sets it aside"
    ),
    "pickup: unfinished": Break(
        "half a file, a minute old", WARN, "never finished", r"mv \S+ \S+.aside", RUN
    ),
    "pickup: stale": Break(
        "the daemon watches another folder",
        FAIL,
        "not taken in by the daemon",
        "homi restart",
        RUN,
    ),
    "quarantine": Break(
        "what was set aside",
        WARN,
        r"\d in quarantine, the newest for",
        "",
        HAND,
        "homi quarantine show [0-9a-f]+; .* drop throws away",
    ),
    "oldest": Break(
        "the clock is set two days on",
        WARN,
        "the mailbox of ada, the oldest for 2d",
        "",
        HAND,
        r"start a session called ada; homi queue bounce \S+ sends",
    ),
    "holds": Break(
        "homi queue hold",
        WARN,
        "waits: operator",
        "",
        HAND,
        r"homi queue release \S+ lets it go, homi queue bounce \S+ sends",
    ),
    "blobs: unnamed": Break(
        "an old one", WARN, "1 old blobs", "", HAND, "homi prune removes them"
    ),
    "blobs: damaged": Break("another byte", WARN, "is damaged", r"mv \S+ \S+", RUN),
    "blobs: missing": Break(
        "it is removed", WARN, "mail names it", "", HAND, "send it again"
    ),
    "answers: session": Break(
        "its socket is removed",
        WARN,
        r"eve \(pid \d+\) does not answer",
        "",
        HAND,
        r"kill \d+, and start it again",
    ),
    "answers: own": Break(
        "its socket is removed", FAIL, "homi's socket of ada", "homi restart", RUN
    ),
    "answers: none": Break(
        "a session without a socket",
        WARN,
        "has no socket, and none of homi's hooks",
        "homi setup claude",
        RUN,
    ),
    "clients: newer": Break(
        "given",
        WARN,
        "Claude Code 3.0.1",
        "pip install --upgrade homi-postmaster && homi restart",
        TEXT,
    ),
    "clients: older": Break(
        "given", WARN, "Claude Code 1.9.1", "claude update", TEXT, "start it again"
    ),
    "inbound": Break(
        "crossSessionInbound in settings.json",
        WARN,
        "hold letters",
        "",
        HAND,
        '"crossSessionInbound": "accept" in ',
    ),
    "names: twice": Break(
        "two sessions of one name",
        WARN,
        "ada is also the name of pid",
        "",
        HAND,
        "another name",
    ),
    "names: note": Break("given", WARN, "lists it", "", TEXT, "homi whois ada"),
    "domains: own": Break(
        "a name's socket is removed",
        WARN,
        "1 records of names here",
        "homi restart",
        RUN,
    ),
    "domains": Break(
        "records of another machine",
        WARN,
        "2 records of another",
        "",
        HAND,
        r"if nothing runs there: rm \S+ \S+",
    ),
    "setup: entry": Break(
        "the hooks are cut out", WARN, "lacks homi's hooks", "homi setup claude", RUN
    ),
    "setup: program": Break(
        "the program is removed", WARN, "which is gone", "homi setup claude", RUN
    ),
    "links: paused": Break(
        "homi link pause", WARN, "is paused", "homi link resume mini", RUN
    ),
    "links: down": Break(
        "the far daemon is killed",
        WARN,
        "no daemon answers",
        r"ssh \S+ homi start",
        HAND,
    ),
    "links: stuck": Break(
        "given", FAIL, "host-key: it changed", "", TEXT, "know why: ssh-keygen -R mini"
    ),
    "link-trip": Break(
        "the far daemon is killed between two looks",
        WARN,
        "mini kept 0 of 3 probes",
        r"homi link check mini|ssh \S+ homi start",  # as the link knows why by then
        HAND,
    ),
    "clocks": Break("given", WARN, "7200.0 s behind", "", TEXT, "timedatectl set-ntp"),
    "round-trip": Break(
        "an interpreter that does nothing",
        FAIL,
        "start: the daemon does not answer",
        "",
        HAND,
        "homi selftest",
    ),
}


def shown(key: str, row: Row) -> Row:
    """The row, which is as its entry has it."""
    wanted = BREAKS[key]
    assert row.check == key.partition(":")[0]
    assert row.grade is wanted.grade, row
    assert re.search(wanted.says, row.text), (wanted.says, row.text)
    assert re.fullmatch(wanted.fix, row.fix), (wanted.fix, row.fix)
    assert bool(wanted.fix) or wanted.way is not RUN
    assert re.search(wanted.hand, row.hand), (wanted.hand, row.hand)
    assert row.fix or row.hand
    assert not GRAVE.search(row.fix), row.fix
    return row
