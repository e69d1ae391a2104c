"""Pages and program say the same: options, verbs, words, fields, modules, statuses."""

import ast
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import msgspec
import pytest

from homi import (
    admitted,
    company,
    config,
    envelope,
    errors,
    far,
    linked,
    measures,
    reports,
    requests,
    settings,
    turns,
    woken,
)
from homi.cli import main
from homi.cli.bundle import Came
from homi.cli.config import Fact
from homi.cli.dossier import Box, Last, Whois
from homi.cli.far import FarWhois
from homi.cli.importing import Count
from homi.cli.limits import Limit
from homi.cli.shape import Shape
from homi.cli.status import Seen
from homi.commanded import CommandDone, CommandRow
from homi.commands.template import Source, Template
from homi.doctor.check import Row as Found
from homi.doctor.table import CHECKS
from homi.legs.claude import ClaudeLeg
from homi.legs.codex import CodexLeg
from homi.legs.command import CommandLeg
from homi.legs.hook import HookLeg
from homi.legs.seat import SeatLeg
from homi.links import bundle, frames
from homi.links.answering import Grant
from homi.links.book import Peering
from homi.links.state import LinkState
from homi.mail import Message
from homi.mail.past import Exported
from homi.pairing.admission import Admitted, Expelled
from homi.pairing.card import Card
from homi.pairing.pair import Step
from homi.peers.probe import Probe
from homi.policy import Policy
from homi.rooms.state import Member
from homi.seated import Asked, SeatDone, SeatRow, SeatState
from homi.seats.manners import Why
from homi.seats.view import State as SeatWord
from homi.selftest.trial import STEPS
from homi.selftest.trial import Step as Tried
from homi.setup.editor import State
from homi.setup.installation import Row
from homi.setup.record import Kept
from homi.spawned import Adopted, SpawnRow, Unspawned
from homi.store.pickup import Spooled
from homi.store.refusals import Entry
from homi.threads import Peered, ThreadRow
from homi.turns import Counted
from homi.wakes.preview import Fire
from homi.wakes.progress import Firing, Progress, Spent
from homi.wakes.seen import Seen as Marked
from homi.wakes.state import Trigger, Wake

REPOSITORY = Path(__file__).parents[2]
MAN = REPOSITORY / "man"
PAGES = sorted(MAN.glob("*.[1-8]"))
OF_VERB = {
    "hook": "homi-hook.1",
    "setup": "homi-setup.1",
    "mcp": "homi-mcp.1",
    "seat": "homi-seat.1",
    "codex": "homi-codex.1",
    "command": "homi-command.1",
    **dict.fromkeys(
        ("spawn", "respawn", "unspawn", "fan", "consult", "adopt", "retitle"),
        "homi-spawn.1",
    ),
    "link": "homi-link.1",
    "bundle": "homi-bundle.1",
    "room": "homi-room.1",
    "log": "homi-log.1",
    "metrics": "homi-metrics.1",
    "doctor": "homi-doctor.1",
    "selftest": "homi-selftest.1",
    "wake": "homi-wake.1",
    "move": "homi-move.1",
    **dict.fromkeys(("pair", "unpair"), "homi-pair.1"),
    **dict.fromkeys(("start", "stop", "restart", "run"), "homid.8"),
    **dict.fromkeys(("claim", "release", "alias", "set"), "homi-claim.1"),
    **dict.fromkeys(("ls", "status", "whois", "legs"), "homi-ls.1"),
    "send": "homi-send.1",
    **dict.fromkeys(("ask", "reply"), "homi-ask.1"),
    "answer": "homi-answer.1",
    **dict.fromkeys(
        ("inbox", "read", "ack", "wait", "thread", "search", "trace"), "homi-inbox.1"
    ),
    **dict.fromkeys(("config", "completion"), "homi.1"),
    **dict.fromkeys(
        (
            *("queue", "limits", "continue", "quarantine"),
            *("export", "import"),
        ),
        "homi-queue.1",
    ),
    "prune": "homi-prune.1",
}


def page(name: str) -> str:
    """The source of a page."""
    return (MAN / name).read_text()


def section(text: str, title: str) -> str:
    """A section of a page, up to the next of its kind."""
    kind = ".Ss" if re.search(rf"^\.Ss (\\&)?{title}$", text, re.M) else ".Sh"
    # A leading An would be a macro of its own, and vanish, but for the escape.
    rest = text.replace(f"{kind} \\&", f"{kind} ").partition(f"\n{kind} {title}\n")[2]
    assert rest, f"no section {title}"
    ends = r"\n\.S[sh] " if kind == ".Ss" else r"\n\.Sh "
    return re.split(ends, rest, maxsplit=1)[0]


def marked(text: str, macro: str) -> set[str]:
    """Every word behind a macro in text: on its line up to the next macro."""
    found: set[str] = set()
    for line in text.splitlines():
        words = line.removeprefix(".It ").lstrip(".").split()
        on = False
        for word in words:
            if re.fullmatch(r"[A-Z][a-z]", word):
                on = word == macro
            elif on and re.fullmatch(r"[\w.-]*\w", word):
                found.add(word)
    return found


def items(text: str, macro: str) -> set[str]:
    """The words that head an item: `.It Cm word , word`."""
    heads = [line for line in text.splitlines() if line.startswith(f".It {macro} ")]
    return set().union(*(marked(line, macro) for line in heads))


def flags(command: click.Command) -> set[str]:
    """The options of a command and of the verbs behind it, without its help."""
    found = {
        flag.lstrip("-")
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for flag in (*parameter.opts, *parameter.secondary_opts)
    }
    if isinstance(command, click.Group) and command is not main.homi:
        found |= set().union(*map(flags, command.commands.values()))
    return found


def verb(name: str) -> click.Command:
    """The command of that verb."""
    found = main.homi.get_command(click.Context(main.homi), name)
    assert found is not None
    return found


def written_flags(text: str) -> set[str]:
    """The options that a page's items explain."""
    heads = [line for line in text.splitlines() if line.startswith(".It Fl ")]
    return {
        flag.lstrip("-") for line in heads for flag in re.findall(r"Fl (\S+)", line)
    }


# ---- options and verbs ----


@pytest.mark.parametrize("name", sorted(set(OF_VERB.values()) - {"homi.1"}))
def test_each_option_stands_on_its_page_and_each_written_one_exists(name: str) -> None:
    """An option nobody can look up, or one that is gone, is a defect."""
    known = set().union(
        *(flags(verb(v)) for v, where in OF_VERB.items() if where == name)
    )
    assert written_flags(page(name)) == known


def test_the_options_before_the_verb_stand_on_the_first_page() -> None:
    """--help is click's own, the others are parameters of the group."""
    assert written_flags(page("homi.1")) == flags(main.homi) | {"h", "help"}
    own = [name for name, where in OF_VERB.items() if where == "homi.1"]
    for flag in set().union(*(flags(verb(name)) for name in own)):
        assert f" Fl -{flag} " in page("homi.1")


def test_each_verb_has_a_page_and_each_page_names_verbs_that_exist() -> None:
    """The first page leads to every verb."""
    assert set(OF_VERB) == set(main.MODULES)
    first = page("homi.1").partition(".Sh DESCRIPTION")[2].partition("Results")[0]
    assert marked(first, "Cm") == set(main.MODULES)
    for name, where in OF_VERB.items():
        assert re.search(rf"^\.Nm homi {name}\b", page(where), re.MULTILINE), name


@pytest.mark.parametrize("name", sorted(set(OF_VERB.values()) | {"homi.1"}))
def test_statuses_on_the_pages_are_those_of_the_program(name: str) -> None:
    """homi(1) has all of them, the others some."""
    known = {kind.exit_status for kind in errors.BY_CODE.values()} | {0}
    text = section(page(name), "EXIT STATUS")
    written = {
        int(number) for number in re.findall(r"^\.It (\d+)$", text, re.MULTILINE)
    }
    assert written <= known
    assert written == known or name != "homi.1"


# ---- protocol ----


def test_each_verb_and_field_of_the_protocol_is_described() -> None:
    """requests is the schema; a field that is not on the page does not exist for
    others."""
    text = section(page("homi-protocol.7"), "Requests")
    verbs = {str(kind.__struct_config__.tag): kind for kind in requests.VERBS}
    assert items(text, "Cm") == set(verbs)
    parts = dict(
        re.findall(r"^\.It Cm (\S+)\n(.*?)(?=^\.It Cm |^\.El)", text, re.M | re.S)
    )
    answers = {
        "hello": reports.Welcome,
        "send": reports.SendReport,
        "claim": reports.Claimed,
        "release": reports.Freed,
        "alias": reports.Aliased,
        "ack": reports.Acked,
        "wait": reports.Waited,
        "ask": reports.Answered,
        "about": reports.Found,
        "whoami": reports.Identity,
        "room": company.RoomChanged,
        "rooms": company.RoomRows,
    }
    rows_of_order = {
        *requests.Letter.__struct_fields__,
        *reports.OrderRow.__struct_fields__,
        "rows",
    }
    of_room = {*company.RoomRow.__struct_fields__, *company.MemberRow.__struct_fields__}
    remain = set(reports.Remain.__struct_fields__)
    for tag, kind in verbs.items():
        fields = set(kind.__struct_encode_fields__) - {"i"}
        if tag in answers:
            fields |= set(answers[tag].__struct_encode_fields__)
        assert marked(parts[tag], "Va") >= fields, tag
        if tag in answers:
            more = {"rooms": of_room, "release": remain}.get(tag, {"after"})
            assert marked(parts[tag], "Va") <= fields | more, tag
    rows = {*reports.NameRow.__struct_fields__, *reports.SessionRow.__struct_fields__}
    listing = set(reports.Listing.__struct_fields__)
    listing |= set(reports.MirrorRow.__struct_fields__)
    rows |= set(reports.AliasRow.__struct_fields__)
    assert marked(parts["ls"], "Va") == rows | listing
    chosen = {"name", "pairs", "settings", *reports.SettingRow.__struct_fields__}
    assert marked(parts["set"], "Va") == chosen
    legs = {"rows", *reports.LegRow.__struct_fields__}
    assert marked(parts["legs"], "Va") == legs
    readmitted = {"do", "ids", "rows", *admitted.ReadmittedRow.__struct_fields__}
    assert marked(parts["quarantine"], "Va") == readmitted
    imported = {
        *requests.Past.__struct_fields__,
        *admitted.ImportedRow.__struct_fields__,
    }
    imported |= {"name", "letters", "rows"}
    assert marked(parts["import"], "Va") == imported
    assert marked(parts["order"], "Va") == rows_of_order | {"do", "letters", "name"}
    pruned = {"older_s", "name", "rows", *reports.PrunedRow.__struct_fields__}
    assert marked(parts["prune"], "Va") == pruned
    links = {"device", "probe", "rows", *linked.LinkRow.__struct_fields__}
    assert marked(parts["links"], "Va") == links
    checked = set(linked.Checked.__struct_fields__)
    assert marked(parts["link-check"], "Va") == checked
    bundled = {"lines", "device", "key", *linked.Bundled.__struct_fields__}
    bundled |= set(linked.BundleRow.__struct_fields__)
    assert marked(parts["bundle"], "Va") == bundled
    queue = {"rows", "ways", *reports.QueueRow.__struct_fields__}
    assert marked(parts["queue"], "Va") == queue


def test_each_frame_of_a_link_and_each_end_of_one_is_described() -> None:
    """The other end may be of any version: the page is what both go by."""
    text = page("homi-protocol.7")
    frames_text = section(text, "Frames")
    parts = dict(
        re.findall(r"^\.It Cm (\S+)\n(.*?)(?=^\.It Cm |\Z)", frames_text, re.M | re.S)
    )
    inner = {"ack": frames.Not, "names": frames.NameRow, "mail": Counted}
    assert set(parts) == {str(kind.__struct_config__.tag) for kind in frames.FRAMES}
    for kind in frames.FRAMES:
        tag = str(kind.__struct_config__.tag)
        fields = set(kind.__struct_encode_fields__)
        if tag in inner:
            fields |= set(inner[tag].__struct_encode_fields__)
        assert marked(parts[tag], "Va") == fields, tag
    assert items(section(text, "How a connection ends"), "Cm") == set(frames.End)


def test_each_line_and_field_of_a_bundle_is_described() -> None:
    """It may be read years later, by another program; so are the counts of read."""
    text = section(page("homi-protocol.7"), "BUNDLES")
    parts = dict(
        re.findall(r"^\.It Cm (\S+)\n(.*?)(?=^\.It Cm |^\.El)", text, re.M | re.S)
    )
    assert set(parts) == {"mail", "bundle", "stored", "seal"}
    for kind in (bundle.Bundle, bundle.Stored, bundle.Seal):
        told = marked(parts[str(kind.__struct_config__.tag)], "Va")
        assert told == set(kind.__struct_encode_fields__)
    read = section(page("homi-bundle.1"), "The fields of read")
    assert items(read, "Va") == set(Came.__struct_fields__)


def test_each_field_of_status_is_described() -> None:
    """Some the daemon tells, some are measured, one exists only without a daemon."""
    text = section(page("homi-ls.1"), "The fields of status")
    told = {*reports.StatusReport.__struct_fields__, *Seen.__struct_fields__}
    assert items(text, "Va") == told | {"running", "spooled"}


def test_each_field_of_a_link_is_described() -> None:
    """Measured, said, or kept."""
    text = section(page("homi-link.1"), "The fields of ls")
    assert items(text, "Va") == set(linked.LinkRow.__struct_fields__)
    of_check = section(page("homi-link.1"), "The fields of check")
    assert marked(of_check, "Va") == set(linked.Checked.__struct_fields__)
    states = section(page("homi-link.1"), "States")
    assert items(states, "Cm") == {*LinkState, linked.TURNED_AWAY}
    assert set(linked.Turned.__struct_fields__) <= marked(text, "Va")
    kept = page("homi-mailbox.5").partition(".Pa links.json\nholds")[2]
    kept = kept.partition(".Pa known.json")[0]
    assert marked(kept, "Va") == {"devices", *Peering.__struct_fields__}


def test_each_field_of_a_room_is_described() -> None:
    """As it is listed, changed and kept."""
    of_ls = section(page("homi-room.1"), "The fields of ls")
    listed = {*company.RoomRow.__struct_fields__, *company.MemberRow.__struct_fields__}
    assert marked(of_ls, "Va") == listed
    of_others = section(page("homi-room.1"), "The fields of the others")
    assert marked(of_others, "Va") == set(company.RoomChanged.__struct_fields__)
    kept = page("homi-mailbox.5").partition(".Pa rooms.json\nholds")[2]
    kept = kept.partition(".Pa wakes.json")[0]
    assert marked(kept, "Va") == {"rooms", "members", *Member.__struct_fields__}


def test_each_field_of_a_wake_is_described() -> None:
    """As it is listed and kept."""
    listed = marked(section(page("homi-wake.1"), "The fields of ls"), "Va")
    fields = set(woken.WakeRow.__struct_encode_fields__)
    fields |= {*woken.WakeDone.__struct_fields__, *Fire.__struct_fields__}
    assert listed == fields
    kept = page("homi-mailbox.5").partition(".Pa wakes.json\nholds")[2]
    kept = kept.partition(".Pa links.json")[0]
    kinds = (Wake, Trigger, Progress, Firing, Spent, Marked)
    stored = {name for kind in kinds for name in kind.__struct_encode_fields__}
    assert marked(kept, "Va") == stored | {"type", "wakes"}


def test_each_field_of_a_pairing_is_described() -> None:
    """Those of its steps, and of what either end does."""
    text = section(page("homi-pair.1"), "The fields of a step")
    assert items(text, "Va") == set(Step.__struct_fields__)
    text = section(page("homi-setup.1"), "What is printed")
    assert items(text, "Va") == set(Row.__struct_fields__)
    assert items(text, "Cm") == set(State)
    text = section(page("homi-setup.1"), "FILES")
    assert marked(text, "Va") == set(Kept.__struct_fields__)
    ends = section(page("homi-link.1"), "The fields of card, admit and expel")
    fields = [set(kind.__struct_fields__) for kind in (Card, Admitted, Expelled)]
    assert items(ends, "Va") == set().union(*fields)


def test_each_field_of_whois_is_described() -> None:
    """Those of the mailbox, and of a message in it, stand in its text."""
    text = section(page("homi-ls.1"), "The fields of whois")
    assert items(text, "Va") == set(Whois.__struct_fields__)
    nested = {*Box.__struct_fields__, *Last.__struct_fields__}
    assert marked(text, "Va") == nested | set(Whois.__struct_fields__)


def test_each_field_told_of_other_devices_is_described() -> None:
    """By the daemon, by ls and by whois."""
    text = page("homi-protocol.7")
    for kind in (far.FarRow, far.FarName, far.Steps, far.Step, far.FarRung):
        assert marked(text, "Va") >= set(kind.__struct_fields__), kind
    listed = marked(page("homi-ls.1"), "Va")
    assert listed >= {*far.FarName.__struct_fields__, "device", "asked", "at"}
    title = "The fields of whois for an address on another device"
    told = section(page("homi-ls.1"), title)
    assert items(told, "Va") == set(FarWhois.__struct_fields__)


def test_each_field_of_a_thread_is_described() -> None:
    """As told by ls, and of what was done."""
    text = page("homi-codex.1")
    told = section(text, "The fields of ls")
    assert items(told, "Va") == set(ThreadRow.__struct_fields__)
    done = section(text, "The fields of what was done")
    assert items(done, "Va") == set(Peered.__struct_fields__)


def test_each_field_of_a_command_and_key_of_a_template_is_described() -> None:
    """As told by ls, of what was done, and as a person writes one."""
    text = page("homi-command.1")
    told = section(text, "The fields of ls")
    assert items(told, "Va") == set(CommandRow.__struct_fields__)
    done = section(text, "The fields of what was done")
    assert items(done, "Va") == set(CommandDone.__struct_fields__)
    keys = section(text, "Templates")
    assert items(keys, "Va") == set(Template.__struct_encode_fields__)
    assert marked(keys, "Va") >= set(Source.__struct_encode_fields__)


def test_each_field_state_and_reason_of_a_seat_is_described() -> None:
    """A program waits for one of these words."""
    text = page("homi-seat.1")
    told = section(text, "The fields of ls and state")
    kinds = (SeatRow, Asked, SeatState)
    fields = set().union(*(kind.__struct_fields__ for kind in kinds))
    assert items(told, "Va") == fields
    done = section(text, "The fields of what was done")
    assert items(done, "Va") == set(SeatDone.__struct_fields__)
    assert items(section(text, "STATES"), "Cm") >= {*SeatWord}
    assert marked(section(text, "TYPING"), "Cm") >= {*Why}


def test_each_field_of_what_is_started_is_described() -> None:
    """As it is listed, forgotten and adopted."""
    text = page("homi-spawn.1")
    for title, kind in (
        ("The fields of spawn, respawn and fan", SpawnRow),
        ("The fields of unspawn", Unspawned),
        ("The fields of adopt and retitle", Adopted),
    ):
        assert items(section(text, title), "Va") == set(kind.__struct_fields__)


def test_each_question_is_described_with_its_grant() -> None:
    """What another device may ask is a closed list."""
    text = section(page("homi-protocol.7"), "Questions")
    assert marked(text, "Cm") >= {str(one) for one in Grant}


def test_each_field_of_a_probe_is_described() -> None:
    """What was measured stands beside what is only said."""
    text = section(page("homi-ls.1"), "The fields of ls and legs")
    assert items(text, "Va") == set(Probe.__struct_fields__)


def test_each_error_code_has_its_status_on_the_page() -> None:
    """The two are one table."""
    text = section(page("homi-protocol.7"), "Error codes")
    found = re.findall(r"^\.It Cm (\S+) Ta (\d+)$", text, re.MULTILINE)
    known = {code: kind.exit_status for code, kind in errors.BY_CODE.items()}
    assert {code: int(status) for code, status in found} == known


@pytest.mark.parametrize(
    ("title", "words"), [("RUNGS", envelope.Rung), ("REASONS", envelope.Reason)]
)
def test_rungs_and_reasons_are_closed_lists_on_the_page(
    title: str, words: type
) -> None:
    """The same words in every surface."""
    text = section(page("homi-protocol.7"), title)
    assert items(text, "Cm") == set(words)  # type: ignore[call-overload]


def test_each_field_of_a_message_is_described() -> None:
    """msg is what other programs write."""
    text = section(page("homi-protocol.7"), "THE MESSAGE")
    assert items(text, "Va") == set(envelope.Msg.__struct_encode_fields__)


# ---- files ----


@pytest.mark.parametrize(
    ("title", "kinds"),
    [
        ("An inbox line", (envelope.Envelope, envelope.Via, envelope.Was)),
        ("A ledger line", (envelope.LedgerLine, envelope.SessionRef)),
        ("Pickup", (Spooled,)),
    ],
)
def test_each_field_on_disk_is_described(
    title: str, kinds: tuple[type[msgspec.Struct], ...]
) -> None:
    """Files outlive programs; their page is what is left."""
    text = section(page("homi-mailbox.5"), title)
    known = set().union(*(kind.__struct_encode_fields__ for kind in kinds))
    assert marked(text, "Va") == known


def test_each_field_of_a_listing_is_described() -> None:
    """inbox, queue and wait have one JSON form."""
    text = section(page("homi-inbox.1"), "Columns of pending mail")
    assert marked(text, "Va") == set(Message.__struct_encode_fields__)


def test_each_field_of_an_order_and_of_a_shape_is_described() -> None:
    """The JSON forms of homi-queue(1)."""
    of_order = section(page("homi-queue.1"), "Orders")
    assert marked(of_order, "Va") == set(reports.OrderRow.__struct_encode_fields__)
    of_shape = section(page("homi-queue.1"), "The shape")
    assert marked(of_shape, "Va") == set(Shape.__struct_encode_fields__)
    assert items(of_order, "Cm") == set(requests.Deed)
    of_limits = section(page("homi-queue.1"), "Limits")
    told = {*reports.Continued.__struct_fields__, *Limit.__struct_fields__}
    assert marked(of_limits, "Va") == told
    rows = {*Entry.__struct_encode_fields__, *admitted.ReadmittedRow.__struct_fields__}
    of_entry = section(page("homi-queue.1"), "The quarantine")
    assert marked(of_entry, "Va") == rows | {"data", "base64"}
    of_prune = section(page("homi-prune.1"), "Output")
    assert marked(of_prune, "Va") == set(reports.PrunedRow.__struct_fields__)
    of_line = section(page("homi-queue.1"), "Export")
    assert items(of_line, "Va") == set(Exported.__struct_encode_fields__)
    of_import = section(page("homi-queue.1"), "Import")
    assert marked(of_import, "Va") == {*Count.__struct_fields__, "via.was"}


def test_each_counted_thing_is_described() -> None:
    """The lines of limits.jsonl, and the keys of the table policy."""
    text = section(page("homi-limits.7"), "The file")
    kinds = (turns.Turn, turns.Renewed, turns.Cause, turns.Wake)
    fields = {name for kind in kinds for name in kind.__struct_encode_fields__}
    assert marked(text, "Va") == fields | {"type"}
    assert items(text, "Cm") == {kind.__struct_config__.tag for kind in kinds}
    text = section(page("homi.toml.5"), "Policy")
    assert items(text, "Va") == set(Policy.__struct_fields__)


def test_each_setting_of_a_name_is_described_and_each_leg_exists() -> None:
    """The keys of `homi set`, and the legs that one of them may name."""
    text = section(page("homi-claim.1"), "DESCRIPTION")
    assert items(text, "Va") == {one.key for one in settings.show_all({}, (), "")}
    assert (
        ClaudeLeg.name,
        HookLeg.name,
        CodexLeg.name,
        CommandLeg.name,
        SeatLeg.name,
    ) == settings.LEGS


def test_each_setting_is_described() -> None:
    """A key that is not on the page is not to be found."""
    text = page("homi.toml.5")
    fixed = section(text, "What cannot be set")
    assert items(fixed, "Va") == {key for key, _value, _unit in config.BOUNDS}
    policy = section(text, "Policy")
    rest = text.replace(fixed, "").replace(policy, "")
    assert items(rest, "Va") == set(config.Config.__struct_fields__)
    assert set(config.UNITS) <= set(config.Config.__struct_fields__)


def test_each_field_of_config_is_described() -> None:
    """What is in effect, for a program."""
    part = page("homi.1").partition(".It Cm config")[2].partition(".It Cm")[0]
    assert marked(part, "Va") == set(Fact.__struct_fields__)


# ---- the whole ----


def _listed() -> list[str]:
    """The modules of the overview, in its order."""
    modules, folder = [], ""
    for line in section(page("homi-overview.7"), "MODULES").splitlines():
        if found := re.fullmatch(r"\.Pa (homi[\w/]*)/", line):
            folder = found[1].replace("/", ".")
        elif found := re.fullmatch(r"\.It Pa (\w+)", line):
            modules.append(f"{folder}.{found[1]}")
    return modules


def _modules() -> dict[str, Path]:
    """Every module of the package but the folders' own."""
    paths = (REPOSITORY / "homi").rglob("*.py")
    return {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts): path
        for path in paths
        if path.name != "__init__.py"
    }


def test_the_overview_names_every_module_once() -> None:
    """A module without a sentence need not exist."""
    listed = _listed()
    assert sorted(listed) == sorted(_modules())


def test_modules_know_only_what_stands_above_them() -> None:
    """The order on the page is the order of imports."""
    order = {name: place for place, name in enumerate(_listed())}
    for name, path in _modules().items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "homi"
            ):
                known = {f"{node.module}.{alias.name}" for alias in node.names}
                for other in {str(node.module), *known} & set(order):
                    assert order[other] < order[name], f"{name} imports {other}"


def test_each_page_is_installed_where_man_looks_for_it() -> None:
    """pip puts shared data below its prefix, as it is told and nowhere else."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    shared = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {
        f"man/{path.name}": f"share/man/man{path.suffix[1:]}/{path.name}"
        for path in PAGES
    } | {"contrib/completions": "share"}


def test_references_lead_to_pages_that_exist() -> None:
    """Every .Xr to a page of ours, in every page, and every mention in a docstring."""
    names = {f"{path.stem}({path.suffix[1:]})" for path in PAGES}
    for path in PAGES:
        for name, number in re.findall(r"^\.Xr (homi\S*) (\d)", path.read_text(), re.M):
            assert f"{name}({number})" in names, path.name
    for path in _modules().values():
        for mention in re.findall(r"\bhomi[\w.-]*\(\d\)", path.read_text()):
            assert mention in names, path.name


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_are_lint_clean(path: Path) -> None:
    """With mandoc's own warnings; the control: a broken page is complained of."""
    mandoc = shutil.which("mandoc")
    if mandoc is None:
        pytest.skip("mandoc is not installed")
    command = [mandoc, "-Tlint", "-W", "warning"]
    done = subprocess.run(
        [*command, str(path)], capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    broken = subprocess.run(
        command, input=".Dd x\n.Bl\n", capture_output=True, text=True, check=False
    )
    assert broken.returncode != 0


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_heading_begins_with_a_macro(path: Path) -> None:
    """mdoc(7) takes `.Ss An inbox line` for an author, and shows no An."""
    heads = re.findall(r"^\.S[sh] (\S+)", path.read_text(), re.MULTILINE)
    assert not [word for word in heads if re.fullmatch(r"[A-Z][a-z]", word)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_have_the_sections_a_reader_looks_for(path: Path) -> None:
    """Commands tell their statuses; all show an example and where to read on."""
    found = set(re.findall(r"^\.Sh (.+)$", path.read_text(), re.MULTILINE))
    wanted = {"NAME", "DESCRIPTION", "SEE ALSO"}
    if path.suffix in (".1", ".8"):
        wanted |= {"SYNOPSIS", "EXIT STATUS", "FILES", "EXAMPLES", "CAVEATS"}
    assert wanted <= found


def test_each_metric_stands_on_its_page_and_no_other() -> None:
    """Who sets an alarm on one has nothing else to read."""
    text = section(page("homi-metrics.1"), "Metrics")
    assert items(text, "Cm") == set(measures.FAMILIES)


def test_each_check_stands_on_the_page_of_the_doctor_in_its_order() -> None:
    """Who reads a line of it looks the check up there."""
    text = section(page("homi-doctor.1"), "Checks")
    named = re.findall(r"^\.It Cm (\S+)$", text, re.MULTILINE)
    assert named == [check.name for check in CHECKS]
    fields = section(page("homi-doctor.1"), "Fields")
    assert items(fields, "Va") == set(Found.__struct_fields__)


def test_each_step_of_the_selftest_stands_on_its_page_in_order() -> None:
    """With the fields of a step."""
    text = section(page("homi-selftest.1"), "DESCRIPTION")
    named = re.findall(r"^\.It Cm (\S+)$", text, re.MULTILINE)
    assert named == [name for name, _ in STEPS]
    fields = section(page("homi-selftest.1"), "Fields")
    assert items(fields, "Va") == set(Tried.__struct_fields__)


def test_the_first_page_has_each_verb_with_the_page_that_describes_it() -> None:
    """Who reads it, or the help, finds the same verbs, and where the rest stands."""
    assert listed(page("homi.1")) == OF_VERB
    assert set(OF_VERB) == set(main.MODULES)
    less = page("homi.1").replace(".Cm unspawn ,\n", "")
    assert set(OF_VERB) - set(listed(less)) == {"unspawn"}


def listed(text: str) -> dict[str, str]:
    """Every verb of the first page, with its page."""
    families, _, own = section(text, "DESCRIPTION").partition(".El\n")
    found = {
        verb: f"{name}.{number}"
        for name, number, body in re.findall(
            r"^\.It Xr (\S+) (\d)\n(.*?)(?=^\.It |\Z)", families, re.M | re.S
        )
        for verb in marked(body, "Cm")
    }
    return found | dict.fromkeys(items(own, "Cm") - {"help"}, "homi.1")
