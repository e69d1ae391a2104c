"""Records and keys: read with tolerance, written whole, removed with care."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from homi.errors import BadConfig
from homi.peers import registry
from homi.peers.registry import Planter, Record, Torn

DOMAIN = "homi:0011223344556677"
NUMBER = 123456789012
SOCKET = f"/run/cc-socks/{NUMBER}.sock"
FULL = {
    "pid": 16412,
    "sessionId": "51cdb1aa-0000-4000-8000-000000000000",
    "cwd": "/w",
    "startedAt": 1000,
    "procStart": "46663",
    "version": "2.1.332",
    "kind": "interactive",
    "entrypoint": "cli",
    "pidDomain": "linux:x:pid:[1]",
    "messagingSocketPath": "/run/cc-socks/16412.sock",
    "name": "Alpha",
    "nameSince": 2000,
    "status": "waiting",
    "waitingFor": "permission prompt",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A registry folder as a client makes it."""
    made = tmp_path / "sessions"
    made.mkdir(mode=0o700)
    return made


def _plant(planter: Planter, number: int = NUMBER, name: str = "ada") -> None:
    planter.plant(number, name, f"/run/cc-socks/{number}.sock", "/w", "sid", 12.5)


def test_a_whole_record_is_read() -> None:
    """Every field homi acts on."""
    record = registry.parse_record(json.dumps(FULL).encode())
    assert record == Record(
        session_id="51cdb1aa-0000-4000-8000-000000000000",
        name="Alpha",
        cwd="/w",
        socket="/run/cc-socks/16412.sock",
        status="waiting",
        waiting_for="permission prompt",
        version="2.1.332",
        entrypoint="cli",
        kind="interactive",
        proc_start="46663",
        pid_domain="linux:x:pid:[1]",
        started_at=1000,
        name_since=2000,
    )


def test_every_torn_prefix_is_told_from_the_whole() -> None:
    """A record is rewritten in place: any cut of it may be met."""
    data = json.dumps(FULL).encode()
    for cut in range(len(data)):
        assert registry.parse_record(data[:cut]) is None
    assert registry.parse_record(data + data[-7:]) is None
    assert registry.parse_record(data) is not None


@pytest.mark.parametrize(
    "data",
    [b"[" * 100_000, b'{"a":' * 100_000, b"[]", b"7", b'{"name":"\xff"}', b"\0"],
)
def test_rubbish_is_torn_and_never_raises(data: bytes) -> None:
    """One bad file must not hide the others."""
    assert registry.parse_record(data) is None


def test_fields_of_a_wrong_type_read_as_empty() -> None:
    """Another version of the client may write them otherwise."""
    odd = {key: [] for key in FULL} | {"procStart": 46663, "spare": True}
    record = registry.parse_record(json.dumps(odd).encode())
    assert record == Record(proc_start="46663", hidden=True)


@pytest.mark.parametrize("path", ["relative/1.sock", "/a\0b", "", "\0"])
def test_a_path_that_would_raise_where_it_is_used_is_empty(path: str) -> None:
    """A record comes from any process of the user."""
    odd = FULL | {"messagingSocketPath": path, "cwd": path}
    record = registry.parse_record(json.dumps(odd).encode())
    assert record is not None
    assert (record.socket, record.cwd) == ("", "")


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("16412.json", 16412),
        ("9007199254740991.json", 9007199254740991),
        ("09000006.json", None),
        ("postmaster.json", None),
        ("16412.json.tmp", None),
        ("16412.json\n", None),
        ("-5.json", None),
        ("١٢.json", None),
        (".json", None),
        ("1" * 40 + ".json", None),
    ],
)
def test_only_canonical_numbers_are_records(name: str, number: int | None) -> None:
    """The number is the pid; clients delete what has leading zeros."""
    assert registry.record_number(name) == number


def test_what_is_no_plain_file_is_no_record(folder: Path) -> None:
    """A pipe must not block the loop, a link not lead elsewhere."""
    os.mkfifo(folder / "1.json")
    (folder / "2.json").mkdir()
    (folder / "real").write_text(json.dumps(FULL))
    (folder / "3.json").symlink_to(folder / "real")
    (folder / "4.json").write_bytes(b" " * (registry.RECORD_MAX + 1))
    (folder / "5.json").write_text("")
    (folder / "6.json").write_text(json.dumps(FULL))
    found = registry.read_records(str(folder))
    assert found.pop(5) == Torn()
    assert list(found) == [6]
    assert registry.read_record(str(folder), 7) is None
    assert registry.read_records(str(folder / "absent")) == {}


def test_a_planted_record_has_exactly_the_fields_of_the_contract(folder: Path) -> None:
    """Clients list it by these; more or less was not measured."""
    _plant(Planter(folder, DOMAIN))
    record = json.loads((folder / f"{NUMBER}.json").read_text())
    assert record.pop("updatedAt") > 0
    assert record == {
        "pid": NUMBER,
        "sessionId": "sid",
        "cwd": "/w",
        "startedAt": 12500,
        "version": registry.VERSION,
        "peerProtocol": 1,
        "peerFeatures": [],
        "kind": "interactive",
        "entrypoint": "cli",
        "pidDomain": DOMAIN,
        "messagingSocketPath": SOCKET,
        "name": "ada",
        "nameSource": "user",
        "status": "idle",
    }


def test_key_and_record_are_private_under_any_umask(folder: Path) -> None:
    """The key admits whoever reads it."""
    for umask in (0o000, 0o777):
        old = os.umask(umask)
        try:
            _plant(Planter(folder, DOMAIN))
        finally:
            os.umask(old)
        digest = hashlib.sha256(SOCKET.encode()).hexdigest()
        names = {f"{NUMBER}.json", f"{NUMBER}.{digest}.key"}
        assert {path.name for path in folder.iterdir()} == names
        assert {p.stat().st_mode & 0o7777 for p in folder.iterdir()} == {0o600}


def test_no_file_that_a_client_reads_is_ever_half_made(folder: Path) -> None:
    """The key stands before the record, and both come by a rename of a name no
    client lists or deletes."""
    (folder / f"{NUMBER}.json").mkdir()  # the record's rename fails
    planter = Planter(folder, DOMAIN)
    with pytest.raises(Exception, match="cannot write"):
        _plant(planter)
    assert registry.peer_token(str(folder), SOCKET) is not None
    left = [p.name for p in folder.iterdir() if p.name.startswith(".homi-")]
    assert len(left) == 1
    assert registry.record_number(left[0]) is None
    planter.sweep_own(keep={NUMBER})
    assert not [p.name for p in folder.iterdir() if p.name.startswith(".")]


def test_a_folder_others_can_reach_gets_no_key(folder: Path, tmp_path: Path) -> None:
    """A key in a foreign place would be given away."""
    _plant(Planter(folder, DOMAIN))
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(BadConfig, match="symbolic link"):
        _plant(Planter(link, DOMAIN))
    folder.chmod(0o755)
    with pytest.raises(BadConfig, match="mode 0755"):
        _plant(Planter(folder, DOMAIN))


def test_withdraw_takes_ours_and_leaves_what_replaced_it(folder: Path) -> None:
    """Only records of exactly our domain are ours to remove."""
    planter = Planter(folder, DOMAIN)
    _plant(planter)
    assert planter.present(NUMBER)
    planter.withdraw(NUMBER, SOCKET)
    planter.withdraw(NUMBER, SOCKET)
    assert list(folder.iterdir()) == []
    assert not planter.present(NUMBER)
    (folder / f"{NUMBER}.json").write_text(json.dumps(FULL))
    assert not planter.present(NUMBER)
    planter.withdraw(NUMBER, SOCKET)
    assert (folder / f"{NUMBER}.json").exists()


def test_sweep_removes_only_records_of_exactly_our_domain(folder: Path) -> None:
    """Sessions, other programs and other state roots share the folder."""
    ours = Planter(folder, DOMAIN)
    other = Planter(folder, DOMAIN + "8")
    for number in (NUMBER, NUMBER + 1):
        _plant(ours, number)
    _plant(other, NUMBER + 2)
    (folder / "16412.json").write_text(json.dumps(FULL))
    (folder / "16413.json").write_text("{torn")
    digest = registry.key_hash("/x.sock")
    (folder / f"16412.{digest}.key").write_text('{"peerToken":"' + "a" * 32 + '"}')
    before = {path.name for path in folder.iterdir()}
    assert ours.sweep_own(keep={NUMBER}) == {
        NUMBER + 1: f"/run/cc-socks/{NUMBER + 1}.sock"
    }
    gone = before - {path.name for path in folder.iterdir()}
    assert {name.partition(".")[0] for name in gone} == {str(NUMBER + 1)}
    assert len(gone) == 2
    assert ours.sweep_own(keep={NUMBER}) == {}


def test_a_key_is_found_by_the_hash_whatever_its_number(folder: Path) -> None:
    """The clients look for the suffix alone."""
    path = "/run//cc-socks/./16412.sock"
    digest = hashlib.sha256(b"/run/cc-socks/16412.sock").hexdigest()
    assert registry.peer_token(str(folder), path) is None
    key = folder / f"999.{digest}.key"
    key.write_text(json.dumps({"peerToken": "0123456789abcdef" * 2}))
    assert registry.peer_token(str(folder), path) == "0123456789abcdef" * 2
    assert registry.peer_token(str(folder), "/run/other.sock") is None


@pytest.mark.parametrize(
    "text",
    [
        '{"peerToken":"' + "A" * 32 + '"}',
        '{"peerToken":"' + "a" * 31 + '"}',
        '{"peerToken":"' + "a" * 32 + '\\n"}',
        '{"peerToken":7}',
        '{"peerToken":"' + "a" * 32 + '","pad":"' + "x" * 4096 + '"}',
        "[",
        "[]",
        "",
    ],
)
def test_an_unusable_key_is_no_key(folder: Path, text: str) -> None:
    """Its bytes would go to a socket as they are."""
    digest = registry.key_hash(SOCKET)
    key = folder / f"{NUMBER}.{digest}.key"
    key.write_text(text)
    assert registry.peer_token(str(folder), SOCKET) is None
    key.write_text('{"peerToken":"' + "a" * 32 + '"}')
    assert registry.peer_token(str(folder), SOCKET) == "a" * 32
