"""Messages as other programs keep them: ours come back, and theirs come in."""

import contextlib
import io
import mailbox
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homi.envelope import Kind, MessageId, Msg, Rung, Was, decode_msg, encode
from homi.errors import BadMessage, CannotCreate
from homi.mail import mbox, past, post
from homi.mail.past import Exported
from homi.requests import Past

AT = "2026-11-30T04:05:06.789Z"
NOW = 1_796_000_000.0
ID = "0199f3a2-61b4-7c7e-9d0e-52b07c10a9e2"


def out(text: str = "hello", rung: Rung = Rung.SEEN, **fields: object) -> Exported:
    """A message as it is exported."""
    given = {"from_": "bob", "to": "ada", "kind": Kind.MAIL} | fields
    msg = Msg(id=MessageId(ID), text=text, **given)  # type: ignore[arg-type]
    return Exported(
        at=AT, to="ada", rung=rung, changed=AT, msg=msgspec.Raw(encode(msg))
    )


def head(of: Past) -> Msg:
    return decode_msg(of.msg)


def read(data: str | bytes, **how: bool) -> Past:
    raw = data if isinstance(data, bytes) else data.encode()
    return post.read(raw, NOW, **({"pending": False} | how))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
FROM_LINES = st.lists(
    st.sampled_from(
        ["From ", "From x", ">From y", ">>From ", "", "\n", "\r\n", "a", " From "]
    ),
    min_size=1,
).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(TEXTS, FROM_LINES.filter(bool)), min_size=1, max_size=4))
def test_any_text_comes_back_from_an_mbox_file(texts: list[str]) -> None:
    """No text ends its message, begins another, or is changed."""
    data = b"".join(mbox.entry(out(text)) for text in texts)
    found = [m for m in mbox.messages(io.BytesIO(data)) if isinstance(m, bytes)]
    assert [head(read(each)).text for each in found] == texts


def test_other_programs_find_the_same_messages_in_an_mbox_file(tmp_path: Path) -> None:
    """The module of the standard library is one of them."""
    texts = ["one\nFrom here\n\nFrom there", "zwei äöü", "three\n"]
    path = tmp_path / "a.mbox"
    path.write_bytes(b"".join(mbox.entry(out(text)) for text in texts))
    with contextlib.closing(mailbox.mbox(path)) as box:
        found = list(box)
    assert [each["Message-ID"] for each in found] == [f"<{ID}@homi>"] * 3
    assert found[1].get_payload(decode=True).decode() == "zwei äöü\n"
    assert found[0]["From"] == "bob@homi"
    assert found[0]["Subject"] == "one"


def test_what_mail_programs_have_no_word_for_comes_back() -> None:
    """By the headers that are ours; the control: pending only where that is asked."""
    fields = {"kind": Kind.NOTICE, "auto": True, "thread": "a thread\nof: two ü"}
    data = post.write(out(rung=Rung.OFFERED, reply_to=MessageId(ID), **fields))
    found = read(data, pending=True)
    assert found.was == Was(at=AT, rung=Rung.OFFERED, changed=AT)
    msg = head(found)
    assert (msg.id, msg.reply_to, msg.from_, msg.to) == (ID, ID, "bob", "ada")
    assert (msg.kind, msg.auto) == (Kind.NOTICE, True)
    assert read(data).was.rung is Rung.SEEN
    dropped = post.write(out(rung=Rung.DROPPED))
    assert read(dropped, pending=True).was.rung is Rung.DROPPED


def test_no_value_makes_a_header() -> None:
    """Not the text's first line, not a sender's address, not a thread."""
    evil = "x\r\nX-Homi-Rung: seen\n\nbody"
    of = out(evil, Rung.STORED, thread=evil, to="ada@x\nBcc: y")
    of = msgspec.structs.replace(of, from_="a\nX-Evil: 1")
    lines = post.write(of).split(b"\n\n")[0].split(b"\n")
    names = [line.partition(b":")[0] for line in lines if not line.startswith(b" ")]
    assert b"X-Evil" not in names
    assert b"Bcc" not in names
    assert names.count(b"X-Homi-Rung") == 1
    assert head(read(post.write(of), pending=True)).text == evil


def test_a_maildir_shows_what_is_finished_as_seen(tmp_path: Path) -> None:
    """And is a Maildir to others; nothing is overwritten."""
    folder = tmp_path / "box"
    mbox.make_maildir(folder, [out("one"), out("two", Rung.HELD)])
    box = mailbox.Maildir(folder, create=False)
    assert sorted((m.get_flags(), m.get_subdir()) for m in box) == [
        ("", "new"),
        ("S", "cur"),
    ]
    found = [(head(read(p.read_bytes())).text, s) for p, s in mbox.maildir(folder)]
    assert found == [("one", True), ("two", False)]
    with pytest.raises(CannotCreate):
        mbox.make_maildir(folder, [])


FOREIGN = """\
From: =?utf-8?q?J=C3=B6rg?= <Joerg@Example.ORG>
To: "Ada, the agent" <ada@homi>
Date: Mon, 30 Nov 2026 05:05:06 +0100
Message-ID: <abc@example.org>
In-Reply-To: <xyz@example.org>
Subject: =?iso-8859-1?q?Gr=FC=DFe?=
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

sch=F6n
--b
Content-Type: text/html

<b>no</b>
--b--
"""


def test_anybodys_mail_becomes_a_message() -> None:
    """The same each time it is read, so that it is stored once."""
    found, msg = read(FOREIGN), head(read(FOREIGN))
    assert (msg.from_, msg.to, msg.kind) == (
        "joerg-example.org",
        "ada-homi",
        Kind.REPLY,
    )
    assert msg.text == "Grüße\n\nschön"
    assert found.was == Was(
        at="2026-11-30T04:05:06.000Z", rung=Rung.SEEN, from_="Joerg@Example.ORG"
    )
    assert found.msg == read(FOREIGN).msg
    assert read(FOREIGN, pending=True).was.rung is Rung.STORED
    assert read(FOREIGN, pending=True, seen=True).was.rung is Rung.SEEN


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00",
        b"From: \xff\nDate: no\nMessage-ID:\nSubject: =?x?q?a?=\n\nhi",
        b"Content-Type: text/plain; charset=nonsense\n\nhi\xff",
        b"From: a@b\nDate: Mon, 99 Foo 99999 25:61:61 +9999\n\nhi",
        b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n!!!",
        b"From: a@b\nDate: 31 Dec 9999 23:59:59 -2359\n\nhi",
        b'Content-Type: text/plain; charset="x\x00y"\n\nhi',
        b"Content-Type: text/plain; charset=idna\n\n\xff..hi",
        b"Content-Type: text/plain; charset=undefined\n\nhi",
        b"Content-Type: text/plain; charset=unicode_escape\n\n\\ud800",
        b"Content-Type: text/plain; charset=utf-7\n\n+2AA-",
        b"X-Homi-Rung: seen\nMessage-ID: <x@homi>\n\nhi",
        b"X-Homi-Rung: nonsense\nMessage-ID: <" + ID.encode() + b"@homi>\n\nhi",
    ],
)
def test_broken_mail_is_read_as_far_as_it_goes(data: bytes) -> None:
    """Never an error other than that it is no message."""
    found = read(data)
    assert found.was.rung is Rung.SEEN
    assert head(found).id


@pytest.mark.parametrize(
    ("lead", "piece", "end"),
    [("", "Content-Type: message/rfc822\n\n", ""), ("From: ", "(", "\n")],
    ids=["parts", "a remark"],
)
def test_mail_that_is_nested_without_end_is_told(
    lead: str, piece: str, end: str
) -> None:
    """A little of it is read."""
    few, many = (lead + piece * count + end + "\nhi" for count in (9, 9_000))
    assert head(read(few)).text == "hi"
    with pytest.raises(BadMessage, match="nested too deep"):
        read(many)


def test_mail_without_text_is_told() -> None:
    """And so is text that is not UTF-8 where it should be."""
    html = "Content-Type: text/html\n\n<b>x</b>"
    with pytest.raises(BadMessage, match="no plain text"):
        read(html)
    with pytest.raises(BadMessage, match="not UTF-8"):
        read(post.write(out()).replace(b"hello", b"\xff"))


def test_what_is_no_mbox_file_is_told_once() -> None:
    """Its first word says so; blank lines in front are nothing."""
    (found,) = mbox.messages(io.BytesIO(b"\nhello\n\nFrom x\n"))
    assert isinstance(found, BadMessage)
    assert list(mbox.messages(io.BytesIO(b"\n\n"))) == []
    assert len(list(mbox.messages(io.BytesIO(b"\nFrom x\n\nFrom y\nno end")))) == 2


def test_a_line_keeps_the_very_bytes_of_the_message() -> None:
    """Unknown fields too; only a sender without a name is changed, and kept."""
    raw = b'{"text":"x", "zz":[1.50],"id":"' + ID.encode() + b'","from":"bob","to":"a"}'
    given = msgspec.structs.replace(out(), msg=msgspec.Raw(raw))
    found = past.read_line(past.line(given), pending=False)
    assert bytes(found.msg) == raw
    named = raw.replace(b'"bob"', b'"Bob <bob@x.org>"')
    found = past.read_line(
        past.line(msgspec.structs.replace(given, msg=msgspec.Raw(named))), pending=False
    )
    assert head(found).from_ == "bob-bob-x.org"
    assert found.was.from_ == "Bob <bob@x.org>"
    assert b"1.50" in bytes(found.msg)


def test_a_line_without_a_rung_is_finished_unless_it_shall_be_pending() -> None:
    """Other programs write lines too."""
    line = b'{"v":1,"at":"%b","msg":{}}' % AT.encode()
    assert past.read_line(line, pending=False).was.rung is Rung.SEEN
    assert past.read_line(line, pending=True).was.rung is Rung.STORED
    for bad in (b"", b"[]", b"{", b'{"v":2,"at":"x","msg":{}}', b'{"v":1}', b"\xff"):
        with pytest.raises(BadMessage):
            past.read_line(bad, pending=False)
