"""A blob between two real daemons, over a real sshd, on a channel of its own."""

import hashlib
import json
import os
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from homi.dial import Dial
from homi.errors import HomiError, NoInput, NotAllowed, NotReached
from homi.store.blobs import PIECE
from tests.integration.linked import Pair, key_of, linked_pair
from tests.standin.place import Place, until

SIZE = 3 << 20


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Two devices whose link is up."""
    yield from linked_pair()


def blobs(place: Place) -> Path:
    """Where its blobs are."""
    return place.state / "blobs"


def keep(place: Place, data: bytes) -> str:
    """Let place have a blob."""
    blobs(place).mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256(data).hexdigest()
    (blobs(place) / name).write_bytes(data)
    return name


def size(path: Path) -> int:
    """How long a file is; 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


def gone_on(pair: Pair, name: str) -> bool:
    """Whether it is there now; not while the process of before still has the part."""
    try:
        return bool(move(pair.laptop, "put", "mini", name))
    except NotReached:
        return False


def cut_short(pair: Pair, name: str, part: Path) -> bool:
    """Whether a cut came before all of it was there; else it is gone again."""
    pair.both_up()
    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(move, pair.laptop, "put", "mini", name)
        until(lambda: size(part) > PIECE or going.done(), "it goes", 60, 0.001)
        pair.sshd.cut()
        try:
            going.result(60)
        except NotReached:
            return size(part) > PIECE
    (blobs(pair.mini) / name).unlink()
    return False


def move(place: Place, do: str, device: str, name: str) -> dict[str, object]:
    """Have a blob moved, as a caller of that place's daemon."""
    with Dial(str(place.state / "homi.sock")) as dial:
        dial.settimeout(60)
        ask = {"verb": "blob", "i": 1, "do": do, "device": device, "sha256": name}
        return dial.ask(json.dumps(ask).encode() + b"\n")


def test_a_blob_goes_either_way_whoever_dialled(pair: Pair) -> None:
    """Whole, durable, under its hash; a second time costs a question."""
    dice = random.Random(7)
    for one, other in ((pair.laptop, pair.mini), (pair.mini, pair.laptop)):
        for do, owner, taker in (("put", one, other), ("get", other, one)):
            data = dice.randbytes(SIZE + 11)
            name = keep(owner, data)
            found = move(one, do, other.device, name)
            assert (found["size"], found.get("known")) == (len(data), None)
            assert (blobs(taker) / name).read_bytes() == data
            assert (blobs(taker) / name).stat().st_mode & 0o777 == 0o600
            assert move(one, do, other.device, name)["known"] is True
    empty = keep(pair.laptop, b"")
    assert move(pair.laptop, "put", "mini", empty).get("size", 0) == 0
    assert (blobs(pair.mini) / empty).stat().st_size == 0
    assert not list(blobs(pair.mini).glob(".*"))


def test_a_text_with_a_secret_in_it_leaves_no_device(pair: Pair) -> None:
    """Whoever asks for it, and whoever dialled; the controls are the text without, and
    what is no text."""
    secret = b"key = AKIA2E0A8F3B244C9986\n"
    for one, other in ((pair.laptop, pair.mini), (pair.mini, pair.laptop)):
        for do, owner, taker in (("put", one, other), ("get", other, one)):
            note = f"{one.device} {do}\n".encode()
            name = keep(owner, note + secret)
            with pytest.raises(
                HomiError, match=r"aws-key-id in the blob .* at \d+"
            ) as e:
                move(one, do, other.device, name)
            assert "AKIA" not in str(e.value)
            assert not (blobs(taker) / name).exists()
            for harmless in (note, note + secret + b"\0"):
                found = move(one, do, other.device, keep(owner, harmless))
                assert found["size"] == len(harmless)


def test_a_cut_loses_no_more_than_what_was_under_way(pair: Pair) -> None:
    """What is there already is not sent again; what is there and wrong is thrown away,
    and told."""
    data = random.Random(8).randbytes(24 << 20)
    name = keep(pair.laptop, data)
    part = blobs(pair.mini) / f".{name}.part"
    until(lambda: cut_short(pair, name, part), "it is cut", 120)
    assert PIECE < size(part) < len(data)
    before = part.stat().st_ino
    pair.both_up()
    until(lambda: gone_on(pair, name), "the part is nobody's, and gone on with")
    assert (blobs(pair.mini) / name).read_bytes() == data
    assert (blobs(pair.mini) / name).stat().st_ino == before
    (blobs(pair.mini) / name).unlink()
    part.write_bytes(b"x" * 1000)
    with pytest.raises(HomiError, match="what came is not the blob"):
        move(pair.laptop, "put", "mini", name)
    assert not part.exists()
    assert not (blobs(pair.mini) / name).exists()
    move(pair.laptop, "put", "mini", name)
    assert (blobs(pair.mini) / name).read_bytes() == data
    long = keep(pair.laptop, b"short")
    (blobs(pair.mini) / f".{long}.part").write_bytes(b"longer than that")
    with pytest.raises(NotReached, match="begins anew"):
        move(pair.laptop, "put", "mini", long)
    move(pair.laptop, "put", "mini", long)


def test_nothing_goes_without_a_grant_and_no_grant_twice(pair: Pair) -> None:
    """Who merely runs `link serve`, also with sshd's own words, gets nothing; nor does
    who names what is no blob, or a device that is away."""
    for asked in ("blob", "blob x y", f"blob {'0' * 32}", "cat /etc/passwd"):
        done = pair.mini.homi(
            *("link", "serve", "--peer", "laptop"), SSH_ORIGINAL_COMMAND=asked
        )
        assert done.returncode in (64, 77), done
        assert '{"f":"bye"' in done.stdout
    with pytest.raises(NoInput):
        move(pair.laptop, "put", "mini", "0" * 64)
    with pytest.raises(NoInput, match="it says: no blob"):
        move(pair.laptop, "get", "mini", "0" * 64)
    for odd in ("../../etc/passwd", "0" * 63, "G" * 64, ""):
        with pytest.raises(HomiError, match="64 hex digits"):
            move(pair.laptop, "get", "mini", odd)
    blobs(pair.mini).mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256(b"secret").hexdigest()
    (pair.mini.root / "secret").write_bytes(b"secret")
    os.symlink(pair.mini.root / "secret", blobs(pair.mini) / name)
    with pytest.raises(NoInput):
        move(pair.laptop, "get", "mini", name)
    os.unlink(blobs(pair.mini) / name)
    os.mkfifo(blobs(pair.mini) / name)
    with pytest.raises(NoInput):
        move(pair.laptop, "get", "mini", name)
    assert key_of(pair.laptop) != key_of(pair.mini)
    with (
        Dial(str(pair.mini.state / "homi.sock")) as dial,
        pytest.raises(NotAllowed, match="no such grant"),
    ):
        dial.ask(b'{"verb":"carry","i":1,"peer":"laptop","token":""}\n')
    name = keep(pair.laptop, b"x")
    pair.laptop.ok("link", "pause", "mini")
    with pytest.raises(NotReached, match="mini is paused"):
        move(pair.laptop, "put", "mini", name)
