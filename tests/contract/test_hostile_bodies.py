"""Hostile bodies over every leg, and on every surface that shows text of others: one
header each, which is homi's, and nothing in them acts or hides."""

import re
import unicodedata
from pathlib import Path

import pytest

from homi import render as tables
from homi.address import Name
from homi.envelope import Via
from homi.legs import listing, render
from homi.mcp.box import Box
from homi.mcp.caller import Caller
from homi.notify import ACTIVE, BODY_MAX, plain
from homi.peers.frame import Message, parse_line, parse_tag
from tests.cli.run import at_terminal, environment
from tests.standin.bodies import HOSTILE, ID
from tests.unit.legs.lines import letter, session
from tests.unit.legs.test_claude import TOKEN, _clean, offer, peer
from tests.unit.mail.kit import Root
from tests.unit.mail.kit import letter as line_of

HIDING = ("Cc", "Cf", "Cs", "Zl", "Zp")
SHOWN = re.compile(r"aaaa[0-9]+")
TAG = re.compile(r"<\s*/?\s*cross-session-message", re.IGNORECASE)


def active(text: str) -> list[str]:
    """What a terminal acts on or a reader cannot see, but for line feeds and tabs."""
    return [
        one for one in text if one not in "\n\t" and unicodedata.category(one) in HIDING
    ]


def wrong(text: str, headers: int = 1, of: str = ID) -> str:
    """What is wrong with text that a model is given; empty: nothing."""
    lines = text.splitlines()
    heads = [line for line in lines if line.startswith(f"[homi {of} from ")]
    rest = [line for line in lines if not line.startswith(("[homi ", render.QUOTE))]
    if len(heads) != headers:
        return f"{len(heads)} headers"
    if rest:
        return f"not quoted: {rest[0][:80]!r}"
    return f"active: {active(text)[:5]!r}" if active(text) else ""


def turn(body: str) -> str:
    return render.turn(letter(body, message=ID))


def brief(body: str) -> str:
    """As a hook prints it, two letters on one sheet."""
    text = render.brief([turn("before"), turn(body)])
    assert text.startswith(render.BRIEF + "\n")
    assert render.briefed(text) == {ID}
    assert wrong(text, headers=2) == ""
    return text.removeprefix(f"{render.BRIEF}\n{turn('before')}\n")


def digest(body: str) -> str:
    """As one of a backlog; the line of each letter is its own."""
    entries = [
        listing.Entry(id=ID, sender=who, age=1.0, first=listing.opening(text))
        for who, text in (("alice", "before"), ("eve@mini", body), ("alice", "behind"))
    ]
    text = listing.digest(Name("bob"), entries, ["eve\n[homi"])
    assert len(text.split("\n")) == 6 + 3 + 1
    return turn(text)


def pointer(body: str) -> str:
    return render.pointer(letter(body, message=ID))


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_a_model_is_given_one_header_and_a_quote(body: str) -> None:
    """Whole, as its head alone, on a hook's sheet and in a digest.  The control: the
    same body as it is, behind the same header, is found out."""
    for surface in (turn, pointer, brief, digest):
        assert wrong(surface(body)) == "", surface.__name__
    quoted = all(line.startswith(render.QUOTE) for line in body.splitlines())
    assert quoted or wrong(f"{turn('x')}\n{body}") != ""


@pytest.mark.parametrize("name", [*HOSTILE[:60:7], "owner (a person)]", "x" * 5000])
def test_a_hostile_name_makes_no_header_either(name: str) -> None:
    """What an unproven sender says it is called."""
    via = Via(door="peer", claimed_from=name, session_name=name)
    for surface in (render.turn, render.pointer):
        text = surface(letter("hello", message=ID, via=via, from_=name))
        assert wrong(text) == ""
        assert text.count("\n") == 1


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A folder of a client."""
    (tmp_path / "sessions").mkdir()
    return tmp_path


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_a_sessions_socket_is_given_one_tag(config: Path, body: str) -> None:
    """Two tags are in what is written, one that opens and one that closes, at both
    ends of it; the line is one line."""
    with peer(config, _clean) as stand_in:
        offer(letter(body, message=ID), session(config, socket=stand_in.path))
    line, end = stand_in.got.split(b"\n")
    assert (end, TOKEN.encode() in line) == (b"", False)
    message = parse_line(line)
    assert isinstance(message, Message)
    tag = parse_tag(message.content)
    assert tag is not None
    assert wrong(tag.text) == ""
    closing = [one for one in TAG.findall(message.content) if "/" in one]
    assert len(closing) == 1


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_a_person_is_given_nothing_that_acts(body: str) -> None:
    """The text as read and ask show it, the cell of a table, and a notification: one
    line of letters, which is no option.  The control: what is harmless stays."""
    assert active(tables.body(body)) == []
    cell = tables.cell(body)
    assert active(cell) == []
    assert len(cell.splitlines()) <= 1
    for text in (body, listing.opening(body)):
        shown = plain(text, BODY_MAX)
        assert 0 < len(shown) <= BODY_MAX
        assert shown.isprintable()
        assert not ACTIVE & {*shown}
        assert not shown.startswith(("-", "@"))
    for harmless in (tables.cell, lambda text: plain(text, BODY_MAX)):
        assert harmless("ada asks you: ship it?") == "ada asks you: ship it?"


STORED = [body for body in HOSTILE if body and "\ud800" not in body]


WHOLE = "\n".join(STORED[:-4])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state root with every hostile body that a gate lets in, in one thread."""
    folder = tmp_path_factory.mktemp("hostile")
    made = Root(folder / "s")
    made.claim("ada")
    via = {"door": "peer", "uid": 0, "pid": 7, "session_name": STORED[0]}
    letters = []
    for number, body in enumerate(STORED, 1):
        about = {"reply_to": letters[0]["msg"]["id"]} if letters else {}
        line = line_of(number, "eve", f"word {body}", thread=STORED[number % 40])
        line["msg"] |= about
        line["via"] = via | {"claimed_from": STORED[number % 50]}
        letters.append(line)
    letters.append(line_of(500, "eve", f"word {WHOLE}"))
    made.inbox("ada", *letters)
    return folder


def shown(root: Path, *argv: str) -> str:
    """A command's output on a wide terminal, without a daemon."""
    env = environment(root) | {"COLUMNS": "300"}
    done = at_terminal(env, root, argv, screen=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    "argv",
    [
        ["inbox", "ada", "--brief"],
        ["search", "word", "--brief", "--limit", "1000"],
        ["thread", "--brief", "aaaa00000001"],
        ["queue", "ada"],
    ],
    ids=["inbox", "search", "thread", "queue"],
)
def test_a_listing_on_a_terminal_has_one_row_for_each_message(
    root: Path, argv: list[str]
) -> None:
    text = shown(root, *argv)
    assert active(text) == []
    head, *rows = text.splitlines()
    assert {"ID", "FROM"} <= {*head.split()}
    count = len(STORED) + (argv[0] != "thread")
    assert len(rows) == count, rows
    ids = [found[0] for row in rows if (found := SHOWN.search(row))]
    assert len({*ids}) == count, [row for row in rows if not SHOWN.search(row)]


def test_a_message_on_a_terminal_is_its_text_and_nothing_acts(root: Path) -> None:
    """All of them as one text.  The control: a program gets the very bytes."""
    assert active(shown(root, "read", "--name", "ada", "aaaa00000500")) == []
    env = environment(root)
    done = at_terminal(env, root, ["read", "aaaa00000500"], screen=False)
    assert done.stdout.decode() == f"word {WHOLE}"


def test_a_tool_shows_a_model_one_header_and_a_quote(root: Path) -> None:
    """Each message as read shows it, and its line in the inbox."""
    me = Caller(("ada",), live=False)
    with Box(root / "s", me) as box:
        rows = box.listing(1000, every=True)
        assert len(rows.lines) == len(STORED) + 1
        for line, row in zip(rows.lines, rows.fields, strict=True):
            assert active(line) == []
            assert len(line.splitlines()) == 1
            shown = box.read(row["id"], 0).text
            text = re.sub(r"\n\[go on: read [0-9a-f-]+ with offset \d+\]$", "", shown)
            assert wrong(text, of=row["id"]) == ""
