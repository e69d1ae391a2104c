"""Claims, generations and desk numbers, on a real file."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from homi import config
from homi.address import OWNER, POSTMASTER, Name, parse_address
from homi.claims import NUMBER_HIGH, NUMBER_LOW, Claim, State
from homi.envelope import SessionRef
from homi.errors import CannotCreate, NoInput, NoSuchName, StorageFailed, Usage
from homi.names import Names
from homi.store.disk import RealDisk
from homi.store.state import StateFile

Whole = dict[str, dict[str, dict[str, object]]]

NOW = 1_800_000_000.0


class FullDisk(RealDisk):
    """A disk that takes no new name while it is full."""

    full = False

    def rename(self, a: str, b: str) -> None:
        """Fail as a full disk does."""
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.rename(a, b)


def names_at(root: Path, disk: RealDisk | None = None) -> Names:
    """The names of a state root, as a start would load them."""
    file = StateFile(str(root / "names.json"), disk or RealDisk(), State)
    return Names(file)


def test_a_claim_is_made_once_and_then_is_already(tmp_path: Path) -> None:
    """Twenty callers get one claim; nineteen of them hear that it was there."""
    names = names_at(tmp_path)
    results = [names.claim("Ada", None, NOW + n) for n in range(20)]
    assert [fresh for _, fresh in results] == [True] + [False] * 19
    assert len({claim.number for claim, _ in results}) == 1
    assert results[0][0] == names.get("ada") == names.get("ADA")
    assert names.get("\u212ada") is names.get("adb") is None
    assert results[0][0].at == "2027-01-15T08:00:00.000Z"


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    """What was answered was saved before."""
    names = names_at(tmp_path)
    names.claim("ada", str(tmp_path), NOW)
    names.claim("ada-2", None, NOW)
    names.claim("gone", None, NOW)
    names.release("gone")
    names.bind("ada", SessionRef(7, "8", "s"))
    desk = names.desk("bob@mini", NOW)
    again = names_at(tmp_path)
    assert again.all() == names.all()
    assert [claim.name for claim in again.all()] == [
        "ada",
        "ada-2",
        OWNER,
        POSTMASTER,
    ]
    assert again.instance == names.instance
    assert again.desk_numbers() == {desk: "bob@mini"}
    assert again.desk("bob@mini", NOW) == desk
    back, fresh = again.claim("gone", None, NOW)
    assert fresh
    assert back.generation == 2


def test_the_built_ins_have_numbers_and_cannot_be_claimed_or_released(
    tmp_path: Path,
) -> None:
    """They are addressable from the first start on."""
    names = names_at(tmp_path)
    for name in (OWNER, POSTMASTER):
        claim = names.require(name)
        assert claim.built_in
        assert [c for c in names.all() if c.number == claim.number] == [claim]
        for act in (
            lambda name=name: names.claim(name, None, NOW),
            lambda name=name: names.release(name),
            lambda name=name: names.bind(name, SessionRef(1, "1")),
        ):
            with pytest.raises(Usage) as caught:
                act()
            assert caught.value.exit_status == 64
    assert names_at(tmp_path).require(OWNER) == names.require(OWNER)


def test_generation_grows_and_the_number_stays_over_release(tmp_path: Path) -> None:
    """Old transcripts still hold the socket; two places must not tie."""
    names = names_at(tmp_path)
    first, _ = names.claim("ada", None, NOW)
    assert names.release("ada") == first
    assert names.get("ada") is None
    second, fresh = names.claim("ada", None, NOW)
    assert fresh
    assert (second.number, second.generation) == (first.number, 2)
    assert second.session_id != first.session_id
    assert names.claim("ada", None, NOW) == (second, False)


NO_NAMES = ["", "-x", "--drain", "../x", "/abs", "a/b", "a\n", "a\0", "main", "root"]
NO_NAMES += [".a", "a..b", "a.", "é", "ａ", "a b", "a@b", "x" * 65]


@pytest.mark.parametrize("text", NO_NAMES)
def test_what_is_no_name_is_refused_and_nothing_is_written(
    tmp_path: Path, text: str
) -> None:
    """A name becomes a folder and an argument: no tricks with either."""
    names = names_at(tmp_path)
    before = (tmp_path / "names.json").read_bytes()
    with pytest.raises(Usage):
        names.claim(text, None, NOW)
    assert (tmp_path / "names.json").read_bytes() == before
    assert names.claim("x" * 64, None, NOW)[1]
    assert names.claim("con", None, NOW)[1]


def test_an_unknown_name_is_refused_with_the_nearest(tmp_path: Path) -> None:
    """No phantom mailboxes, and a typing error is told."""
    names = names_at(tmp_path)
    names.claim("gds-agent", None, NOW)
    assert names.require("gds-agent").name == "gds-agent"
    with pytest.raises(NoSuchName) as caught:
        names.require("gds-agnet")
    assert caught.value.exit_status == 67
    assert caught.value.hint == "did you mean gds-agent?"
    with pytest.raises(NoSuchName, match=r"'\\x1b\[2J'") as caught:
        names.release("\x1b[2J")
    assert "did you mean" not in caught.value.hint


def test_a_folder_is_kept_by_its_real_path(tmp_path: Path) -> None:
    """Sessions are compared by real paths too."""
    names = names_at(tmp_path)
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    assert names.claim("ada", str(link), NOW)[0].cwd == str(real)
    assert names.claim("ada", None, NOW) == (names.require("ada"), False)
    assert names.require("ada").cwd == str(real)
    moved, fresh = names.claim("ada", str(tmp_path), NOW)
    assert (moved.cwd, fresh) == (str(tmp_path), False)
    with pytest.raises(NoInput):
        names.claim("bob", str(tmp_path / "absent"), NOW)
    with pytest.raises(Usage):
        names.claim("bob", "relative", NOW)
    with pytest.raises(Usage):
        names.claim("bob", f"{tmp_path}\0", NOW)
    assert names.get("bob") is None


def test_numbers_are_canonical_unique_and_above_every_pid(tmp_path: Path) -> None:
    """A record of such a number is never taken for a process's."""
    names = names_at(tmp_path)
    for n in range(50):
        names.claim(f"n{n}", None, NOW)
        names.desk(f"a{n}", NOW)
    numbers = [c.number for c in names.all()] + list(names.desk_numbers())
    assert len(set(numbers)) == 102
    assert all(NUMBER_LOW <= number < NUMBER_HIGH for number in numbers)
    assert {len(str(number)) for number in numbers} == {12}


def test_the_least_recently_used_desk_number_is_retired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A retired number is an address that is gone, and means nobody else."""
    monkeypatch.setattr("homi.desk.DESK_NUMBERS", 3)
    names = names_at(tmp_path)
    told: list[tuple[int, str | None]] = []
    names.subscribe_desk(lambda number, address: told.append((number, address)))
    a, b, c = (names.desk(x, NOW + i) for i, x in enumerate("abc"))
    assert names.desk("a", NOW + 9) == a
    d = names.desk("d", NOW + 10)
    assert names.desk_numbers() == {a: "a", c: "c", d: "d"}
    assert names.desk_numbers().get(b) is None
    assert names.desk_numbers().get(a) == "a"
    assert told == [(a, "a"), (b, "b"), (c, "c"), (b, None), (d, "d")]
    assert names.desk("b", NOW + 11) != b
    again = names_at(tmp_path)
    assert again.desk_numbers() == names.desk_numbers()
    assert again.desk("e", NOW + 12) not in (a, b, c, d)
    assert again.desk_numbers().get(a) is None


def test_the_reply_desk_holds_as_many_as_documented() -> None:
    """1,024 numbers, homi.toml has no key for it."""
    assert config.DESK_NUMBERS == 1024


def test_a_change_the_disk_refuses_did_not_happen(tmp_path: Path) -> None:
    """Neither in memory nor for subscribers; the next try works."""
    disk = FullDisk()
    names = names_at(tmp_path, disk)
    claim, _ = names.claim("ada", None, NOW)
    told: list[str] = []
    names.subscribe(lambda name, _claim: told.append(name))

    disk.full = True
    for act in (
        lambda: names.claim("bob", None, NOW),
        lambda: names.release("ada"),
        lambda: names.bind("ada", SessionRef(1, "1")),
        lambda: names.desk("x@y", NOW),
    ):
        with pytest.raises(StorageFailed):
            act()
    assert [c.name for c in names.all()] == ["ada", OWNER, POSTMASTER]
    assert names.get("ada") == claim
    assert names.desk_numbers() == {}
    assert told == []
    disk.full = False
    assert names.claim("bob", None, NOW)[1]
    assert told == ["bob"]


def test_subscribers_hear_after_the_save_in_order(tmp_path: Path) -> None:
    """The door withdraws before anything else moves."""
    names = names_at(tmp_path)
    told: list[tuple[int, str, Claim | None]] = []
    for n in (1, 2):
        names.subscribe(
            lambda name, claim, n=n: told.append(
                (n, name, names_at(tmp_path).get(name))
            )
        )
    claim, _ = names.claim("ada", None, NOW)
    names.claim("ada", None, NOW)
    names.release("ada")
    assert told == [
        (1, "ada", claim),
        (2, "ada", claim),
        (1, "ada", None),
        (2, "ada", None),
    ]


def test_two_state_roots_have_domains_of_their_own(tmp_path: Path) -> None:
    """They share a registry and must not sweep each other's records."""
    domains = set()
    for name in ("a", "b"):
        root = tmp_path / name
        root.mkdir()
        domains.add(names_at(root).domain)
    assert len(domains) == 2
    assert all(domain.startswith("homi:") for domain in domains)


def test_unknown_fields_of_a_claim_survive_a_change(tmp_path: Path) -> None:
    """A later version's fields pass through an earlier one."""
    names = names_at(tmp_path)
    names.claim("ada", None, NOW)
    names.desk("a@b", NOW)
    path = tmp_path / "names.json"
    text = path.read_text()
    path.write_text(text.replace('"name": "ada"', '"name": "ada", "front": true'))
    again = names_at(tmp_path)
    assert again.findings == []
    again.claim("bob", None, NOW)
    assert '"front": true' in path.read_text()
    assert path.read_text().count("a@b") == 1


def untouched(_whole: Whole) -> None:
    """The control."""


def twice(whole: Whole) -> None:
    """Two names on one socket: mail for one would be stored for the other."""
    whole["claims"]["ada"]["number"] = whole["claims"]["bob"]["number"]


def pid(whole: Whole) -> None:
    """The record of a session would be written over."""
    whole["claims"]["ada"]["number"] = 4021


def negative(whole: Whole) -> None:
    """No file is called so."""
    whole["claims"]["ada"]["number"] = -5


def path(whole: Whole) -> None:
    """A name that leads out of the folder."""
    whole["claims"]["../ada"] = whole["claims"].pop("ada") | {"name": "../ada"}


def renamed(whole: Whole) -> None:
    """One flipped bit: the key says another name than the claim."""
    whole["claims"]["ade"] = whole["claims"].pop("ada")


def taken(whole: Whole) -> None:
    """A released name would come back on another's socket."""
    whole["released"]["eve"]["number"] = whole["claims"]["ada"]["number"]


def wordy(whole: Whole) -> None:
    """A desk number that is none."""
    whole["desk"]["x"] = {"address": "zed", "used": 0.0}


def desk(whole: Whole) -> None:
    """A reply to a stranger would be stored for a name."""
    whole["desk"][str(whole["claims"]["ada"]["number"])] = {"address": "zed"}


@pytest.mark.parametrize(
    "spoil",
    [untouched, twice, pid, negative, path, renamed, taken, wordy, desk],
)
def test_numbers_and_names_that_cannot_be_are_set_aside_with_their_file(
    tmp_path: Path, spoil: Callable[[Whole], None]
) -> None:
    """Readable JSON may be damaged, too; nobody's mail goes to another name."""
    names = names_at(tmp_path)
    for name in ("ada", "bob", "eve"):
        names.claim(name, None, NOW)
    names.release("eve")
    names.desk("mini/zed", NOW)
    file = tmp_path / "names.json"
    whole = json.loads(file.read_bytes())
    spoil(whole)
    damaged = json.dumps(whole).encode()
    file.write_bytes(damaged)
    again = names_at(tmp_path)
    if spoil is untouched:
        assert again.findings == []
        assert again.get("ada") == names.get("ada")
        return
    assert len(again.findings) == 1
    assert [claim.name for claim in again.all()] == [OWNER, POSTMASTER]
    kept = (tmp_path / "quarantine").glob("names.json.*")
    assert damaged in [each.read_bytes() for each in kept]


def test_settings_are_kept_and_end_with_the_claim(tmp_path: Path) -> None:
    """A new claim begins with the defaults; of a pair too many none counts."""
    names = names_at(tmp_path)
    names.claim("ada", None, NOW)
    names.choose("Ada", ["digest=5", "pace=0.1"], ["claude"])
    with pytest.raises(Usage):
        names.choose("ada", ["digest=6", "pace=9"], ["claude"])
    again = names_at(tmp_path)
    assert again.settings("ADA").digest == 5
    assert again.settings("ADA").pace.rate == 0.1
    again.release("ada")
    again.claim("ada", None, NOW)
    assert again.settings("ada") == names.settings("nobody")


def test_settings_of_a_later_version_survive_and_built_ins_have_none(
    tmp_path: Path,
) -> None:
    """A key this homi does not know is another homi's to read."""
    names_at(tmp_path).claim("ada", None, NOW)
    path = tmp_path / "names.json"
    whole: Whole = json.loads(path.read_text())
    whole["claims"]["ada"]["settings"] = {"tone": "low", "digest": 7}
    path.write_text(json.dumps(whole))
    names = names_at(tmp_path)
    assert names.settings("ada").digest == 7
    names.choose("ada", ["digest="], ["claude"])
    kept: Whole = json.loads(path.read_text())
    assert kept["claims"]["ada"]["settings"] == {"tone": "low"}
    with pytest.raises(Usage):
        names.choose(OWNER, ["digest=5"], ["claude"])


def test_an_alias_is_kept_and_ends_without_a_trace(tmp_path: Path) -> None:
    """It has a number of its own; adding it again is already."""
    names = names_at(tmp_path)
    names.claim("ada", None, NOW)
    told: list[tuple[str, str | None]] = []
    names.aliases.subscribe(lambda name, alias: told.append((name, alias and alias.to)))
    first, before = names.add_alias("Reviewer", parse_address("Ada@self"), NOW)
    assert (first.name, first.to, before) == ("reviewer", "ada@self", "")
    assert names.add_alias("reviewer", parse_address("ada@self"), NOW) == (
        first,
        "ada@self",
    )
    changed, before = names.add_alias("reviewer", parse_address("ada"), NOW)
    assert (changed.number, before) == (first.number, "ada@self")
    again = names_at(tmp_path)
    assert again.aliases.all() == [changed]
    assert again.aliases.leads_to("REVIEWER") == "ada"
    names.aliases.remove("reviewer")
    assert told == [("reviewer", "ada@self"), ("reviewer", "ada"), ("reviewer", None)]
    assert names_at(tmp_path).aliases.all() == []
    with pytest.raises(NoSuchName):
        names.aliases.remove("reviewer")


def test_a_name_is_claimed_or_an_alias_and_not_both_by_hand(tmp_path: Path) -> None:
    """The refusal says what to undo; mail to a live session may still claim."""
    names = names_at(tmp_path)
    names.claim("ada", None, NOW)
    with pytest.raises(CannotCreate) as refused:
        names.add_alias("ada", parse_address("bob"), NOW)
    assert "homi release ada" in refused.value.hint
    with pytest.raises(Usage):
        names.add_alias("owner", parse_address("ada"), NOW)
    with pytest.raises(Usage, match="leads back to itself"):
        names.add_alias("bob", parse_address("bob"), NOW)
    names.add_alias("bob", parse_address("ada"), NOW)
    names.claim("bob", None, NOW)
    assert names.aliases.leads_to("bob") == "ada"
    assert names_at(tmp_path).get("bob") is not None


def test_what_a_session_behind_a_front_is_called_is_no_other_name(
    tmp_path: Path,
) -> None:
    """Two names for one address would split its mail."""
    names = names_at(tmp_path)
    names.claim("ada", None, NOW)
    names.claim("bob", None, NOW)
    names.claim("bob-live", None, NOW)
    names.front("ada", on=True)
    assert names_at(tmp_path).fronted(Name("ada"))
    assert names.front_of(Name("ada-live-2")) == "ada"
    assert names.front_of(Name("bob-live")) is None
    for make in (
        lambda: names.claim("ada-live", None, NOW),
        lambda: names.add_alias("ada-live", parse_address("bob"), NOW),
        lambda: names.front("bob", on=True),
    ):
        with pytest.raises(CannotCreate):
            make()
    long = "a" * 58
    names.claim(long, None, NOW)
    with pytest.raises(Usage, match="at most 56"):
        names.front(long, on=True)
    names.front("ada", on=False)
    assert names.claim("ada-live", None, NOW)[1]
