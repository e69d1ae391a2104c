"""Whatever is written into envelopes and journals, and whatever damages them."""

import string
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from homi.address import Device, Name
from homi.envelope import (
    Envelope,
    Kind,
    LedgerLine,
    Msg,
    Reason,
    Rung,
    SessionRef,
    Via,
    decode_envelope,
    decode_ledger,
    decode_msg,
    encode,
)
from homi.store.disk import RealDisk
from homi.store.lines import split
from homi.store.loading import load
from homi.store.places import folder_of, inbox_of, ledger_of, queue_of
from homi.store.reading import iter_inbox, iter_ledger
from homi.store.state import StateFile
from tests.unit.store.lines_kit import envelope, ledger, line

# Every character but the half ones: what a JSON string can hold.
text = st.text(st.characters(codec="utf-8"), max_size=60)
name = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
maybe = st.one_of(st.none(), text)

msgs = st.builds(
    Msg,
    id=text,
    from_=name,
    to=name,
    text=text,
    kind=st.sampled_from(Kind),
    thread=maybe,
    reply_to=maybe,
    needs=maybe,
    ttl_s=st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    tags=st.lists(text, max_size=3),
    auto=st.booleans(),
)
vias = st.builds(
    Via,
    door=st.sampled_from(["peer", "control", "link"]),
    device=st.one_of(st.none(), name),
    uid=st.one_of(st.none(), st.integers(0, 2**32)),
    session_name=maybe,
    verified=st.booleans(),
    claimed_from=maybe,
    repeat=st.booleans(),
)
envelopes = st.builds(
    Envelope,
    v=st.just(1),
    seq=st.integers(1, 2**53),
    at=text,
    to=name,
    via=vias,
    hops=st.lists(name, max_size=3),
    msg=msgs.map(lambda msg: msgspec.Raw(encode(msg))),
)
ledgers = st.builds(
    LedgerLine,
    n=st.integers(0, 2**53),
    seq=st.integers(1, 2**53),
    id=text,
    rung=st.sampled_from(Rung),
    at=text,
    leg=maybe,
    session=st.one_of(
        st.none(), st.builds(SessionRef, pid=st.integers(1, 2**22), start=text)
    ),
    reason=st.one_of(st.none(), st.sampled_from(Reason)),
    until=maybe,
    by=maybe,
    repeat=st.booleans(),
)


class State(msgspec.Struct, omit_defaults=True):
    """A small state of the shape homi keeps."""

    claims: dict[str, int] = {}
    instance: str = ""


@given(msgs)
def test_msg_comes_back_as_it_was(msg: Msg) -> None:
    """decode∘encode is the identity, and canonical bytes are a fixed point."""
    data = encode(msg)
    assert decode_msg(data) == msg
    assert encode(decode_msg(data)) == data


@given(envelopes)
def test_envelope_comes_back_as_it_was_on_one_line(one: Envelope) -> None:
    """No text can break the line or change the bytes of msg."""
    data = encode(one)
    assert b"\n" not in data
    assert list(split([data + b"\n"])) == [(0, data)]
    back = decode_envelope(data)
    assert bytes(back.msg) == bytes(one.msg)
    assert encode(back) == data


@given(ledgers)
def test_ledger_line_comes_back_as_it_was(one: LedgerLine) -> None:
    """decode∘encode is the identity."""
    data = encode(one)
    assert b"\n" not in data
    assert decode_ledger(data) == one


@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 50))
def test_split_does_not_depend_on_the_chunks(parts: list[bytes], size: int) -> None:
    """A file may be read in any pieces."""
    data = b"".join(parts)
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    assert list(split(pieces)) == list(split([data]))
    ended = data[: data.rfind(b"\n") + 1]
    assert [one for _, one in split([data])] == [x for x in ended.split(b"\n") if x]


TEXTS = ["hello", "", "\u2028\x85\x0b\x1c", "zwölf 🂡", 'quote " and \\n', "x" * 300]
INBOX = [envelope(seq, text=text) for seq, text in enumerate(TEXTS, 1)]
LEDGER = [
    ledger(line(n, seq, rung))
    for n, (seq, rung) in enumerate(
        [(1, Rung.INTENT), (1, Rung.OFFERED), (2, Rung.HELD), (1, Rung.SEEN)], 1
    )
]
flips = st.lists(
    st.tuples(st.integers(0, 10_000), st.integers(0, 7)), min_size=1, max_size=4
)


# A mailbox, and an out queue: the same two kinds of file.
places = st.sampled_from([Name("ada"), queue_of(Device("lab"))])


def written(root: Path, place: Name, inbox: bytes, lines: bytes) -> Path:
    folder = root / folder_of(place)
    folder.mkdir(parents=True)
    (root / inbox_of(place)).write_bytes(inbox)
    (root / ledger_of(place)).write_bytes(lines)
    return folder


@given(places, st.integers(0, 3000), st.integers(0, 900))
def test_truncation_costs_the_cut_line_and_no_other(
    place: Name, keep: int, keep_n: int
) -> None:
    """Every whole line is mail; the stump is none; nothing raises."""
    data, lines = b"".join(INBOX)[:keep], b"".join(LEDGER)[:keep_n]
    with TemporaryDirectory() as folder:
        written(Path(folder), place, data, lines)
        loaded = load(folder, place)
    whole = data.count(b"\n")
    assert len(loaded.keys) == whole
    finished = {1} if lines.count(b"\n") == len(LEDGER) else set()
    assert set(loaded.mailbox.pending) == set(range(1, whole + 1)) - finished


@given(places, flips, flips)
def test_flipped_bits_cost_no_intact_line(
    place: Name,
    inbox_flips: list[tuple[int, int]],
    ledger_flips: list[tuple[int, int]],
) -> None:
    """Nothing raises; what was not touched is read as it was."""
    data, lines = _flip(INBOX, inbox_flips), _flip(LEDGER, ledger_flips)
    with TemporaryDirectory() as name:
        written(Path(name), place, data, lines)
        load(name, place)
        inbox, ledger = Path(name) / inbox_of(place), Path(name) / ledger_of(place)
        envelopes = [encode(one) for _, one in iter_inbox(inbox)]
        entries = [encode(one) for _, one in iter_ledger(ledger)]
        assert inbox.read_bytes() == data
    for intact in _intact(INBOX, data):
        assert encode(decode_envelope(intact)) in envelopes
    for intact in _intact(LEDGER, lines):
        assert encode(decode_ledger(intact)) in entries


def _flip(whole: list[bytes], places: list[tuple[int, int]]) -> bytes:
    """The lines as one, with these bits of it changed."""
    data = bytearray(b"".join(whole))
    for place, bit in places:
        data[place % len(data)] ^= 1 << bit
    return bytes(data)


def _intact(whole: list[bytes], data: bytes) -> list[bytes]:
    """The lines that stand in data untouched, with a line feed before them."""
    found, at = [], 0
    for one in whole:
        end = at + len(one)
        if data[at:end] == one and (at == 0 or data[at - 1 : at] == b"\n"):
            found.append(one)
        at = end
    return found


@given(st.dictionaries(name, st.integers(), max_size=5), text, st.integers(0, 200))
def test_truncated_state_is_set_aside_whole(
    claims: dict[str, int], instance: str, keep: int
) -> None:
    """A state file is read whole or set aside with every byte it had."""
    value = State(claims=claims, instance=instance)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        StateFile(str(path), RealDisk(), State).save(value)
        whole = path.read_bytes()
        path.write_bytes(whole[:keep])
        found, findings = StateFile(str(path), RealDisk(), State).load()
        # Without its last line feed it is as whole as with it.
        if keep >= len(whole) - 1:
            assert (found, findings) == (value, [])
        else:
            assert found is None
            assert len(findings) == 1
            kept = list((Path(folder) / "quarantine").iterdir())
            assert [one.read_bytes() for one in kept] == [whole[:keep]]
