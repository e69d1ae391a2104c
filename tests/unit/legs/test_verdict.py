"""What lines and silence prove of a letter: each way a letter can go."""

from collections.abc import Callable

import pytest

from homi.envelope import MessageId
from homi.legs.base import (
    Blocked,
    Evidence,
    Ignored,
    ModelFailed,
    NoProof,
    Seen,
    Taken,
)
from homi.legs.transcript import Parser
from homi.legs.verdict import IDLE, MOVED, Case, Doubt, View
from homi.peers.frame import address_of
from tests.unit.legs.lines import ADDRESS, MAKER, Talk, new_id, tagged

HERE = "conversation"
OFFERED = 100.0
LATER = OFFERED + IDLE  # when silence may be judged


def ours(pid: int, start: str) -> bool:
    """Whether the frame was written by this daemon."""
    return (pid, start) == MAKER


def case(message: MessageId) -> Case:
    """A letter whose hand-over has just ended cleanly."""
    made = Case(message, address_of(ADDRESS), ours, OFFERED - 1)
    made.offered = OFFERED
    return made


def learn(asked: Case, talk: Talk, conversation: str = HERE) -> list[type[Evidence]]:
    """The evidence in the lines of talk, which begins anew behind them."""
    found = [asked.learn(f, conversation) for f in Parser().feed(talk.bytes())]
    talk.lines.clear()
    return [type(evidence) for evidence in found if evidence is not None]


def view(**fields: object) -> View:
    """A session that has been at rest since the offer, in a good transcript."""
    known: dict[str, object] = {
        "conversation": HERE,
        "since": 0.0,
        "idle_since": OFFERED,
        "busy_at": None,
        "has_file": True,
        "matched": True,
    }
    return View(**(known | fields))


def concluded(asked: Case, now: float = LATER, **fields: object) -> object:
    """What is concluded then, as a type."""
    found = asked.conclude(view(**fields), now)
    return None if found is None else type(found)


Lines = Callable[[Talk, str], object]


def _idle(talk: Talk, message: str) -> None:
    talk.enqueue(message)
    talk.queue("dequeue")
    talk.taken(message)
    talk.other("api-request")
    talk.answer()


def _tool_runs(talk: Talk, message: str) -> None:
    talk.tool()
    talk.enqueue(message)
    talk.result()
    talk.absorbed(message)
    talk.answer()


def _last_answer(talk: Talk, message: str) -> None:
    talk.enqueue(message)
    talk.queue("dequeue")
    talk.answer("the old one")
    talk.turn_end()
    talk.taken(message)
    talk.answer()


def _dialog_refused(talk: Talk, message: str) -> None:
    talk.enqueue(message)
    talk.result("rejected")
    talk.said("[Request interrupted by user for tool use]")
    talk.taken(message)
    talk.answer()


def _hold_approved(talk: Talk, message: str) -> None:
    talk.notice(f"Held peer message — from alice preview: «homi {message} from alice»")
    talk.enqueue(message)
    talk.notice("Released 1 held cross-session message to Claude's queue")
    talk.taken(message)
    talk.answer()


def _twenty_at_once(talk: Talk, message: str) -> None:
    others = [new_id() for _ in range(19)]
    for each in [*others, message]:
        talk.enqueue(each)
    for each in [message, *others]:
        talk.taken(each)
    talk.answer()


def _cut_in_mid_answer(talk: Talk, message: str) -> None:
    talk.taken(message)
    talk.answer("half")
    talk.failed()


def _escape_while_streaming(talk: Talk, message: str) -> None:
    talk.taken(message)
    talk.answer("par", stop_reason=None)
    talk.said("[Request interrupted by user]")


def _escape_then_another_turn(talk: Talk, message: str) -> None:
    talk.taken(message)
    talk.said("[Request interrupted by user]")
    talk.said("go on")
    talk.answer()


def _side_by_side(talk: Talk, message: str) -> None:
    talk.tool()
    parent = talk.result()
    talk.taken(message)
    talk.last = parent
    talk.said("[Request interrupted by user for tool use]")
    talk.answer()


def _while_compacting(talk: Talk, message: str) -> None:
    talk.enqueue(message)
    talk.queue("dequeue")
    talk.compacted()
    talk.taken(message)
    talk.answer()


def _kept_by_compaction(talk: Talk, message: str) -> None:
    line = talk.taken(message)
    talk.compacted("x", line)
    talk.answer()


def _failed_then_asked_again(talk: Talk, message: str) -> None:
    talk.taken(message)
    talk.failed()
    talk.said("go on")
    talk.answer()


def _second_of_two_blocked(talk: Talk, message: str) -> None:
    talk.blocked(new_id())
    talk.taken(message)
    talk.said("next")
    talk.answer()


def _resumed_by_another_entrypoint(talk: Talk, message: str) -> None:
    talk.taken(message)
    talk.result("notice in between")
    talk.entrypoint = "sdk-cli"
    talk.said("go on")
    talk.answer()


def _resumed_after_compaction(talk: Talk, message: str) -> None:
    line = talk.taken(message)
    talk.entrypoint = "sdk-cli"
    talk.compacted(line)
    talk.answer()


@pytest.mark.parametrize(
    "lines",
    [
        _idle,
        _tool_runs,
        _last_answer,
        _dialog_refused,
        _hold_approved,
        _twenty_at_once,
        _cut_in_mid_answer,
        _escape_while_streaming,
        _escape_then_another_turn,
        _side_by_side,
        _while_compacting,
        _kept_by_compaction,
        _failed_then_asked_again,
        _second_of_two_blocked,
        _resumed_by_another_entrypoint,
        _resumed_after_compaction,
    ],
)
def test_a_letter_that_was_answered_is_taken_then_seen(lines: Lines) -> None:
    """The ways in which the model was given the letter, each once and in order."""
    talk, message = Talk(), new_id()
    talk.said("before")
    talk.answer()
    lines(talk, message)
    asked = case(message)
    assert learn(asked, talk) == [Taken, Seen]
    assert asked.closed
    assert asked.settled


def _only_queued(talk: Talk, message: str) -> None:
    talk.enqueue(message)
    talk.answer()


def _printed_by_a_tool(talk: Talk, message: str) -> None:
    talk.result(tagged(message))
    talk.answer(f"I see {message}")


def _quoted_by_another_letter(talk: Talk, message: str) -> None:
    talk.taken(new_id(), body=tagged(message))
    talk.answer()


def _frame_of_another_process(talk: Talk, message: str) -> None:
    talk.taken(message, verifiedPeerPid=1)
    talk.answer()


def _frame_of_an_earlier_pid(talk: Talk, message: str) -> None:
    talk.taken(message, verifiedPeerProcStart="1")
    talk.answer()


def _in_a_subagent(talk: Talk, message: str) -> None:
    talk.taken(message)
    talk.lines[-1]["isSidechain"] = True
    talk.answer()


@pytest.mark.parametrize(
    "lines",
    [
        _only_queued,
        _printed_by_a_tool,
        _quoted_by_another_letter,
        _frame_of_another_process,
        _frame_of_an_earlier_pid,
        _in_a_subagent,
    ],
)
def test_what_only_looks_like_the_letter_proves_nothing(lines: Lines) -> None:
    """Text proves nothing, nor an id in a frame that somebody else wrote."""
    talk, message = Talk(), new_id()
    lines(talk, message)
    asked = case(message)
    assert learn(asked, talk) == []
    talk.taken(message)
    talk.answer()
    assert learn(asked, talk) == [Taken, Seen]


def _synthetic(talk: Talk) -> None:
    talk.synthetic()


def _error(talk: Talk) -> None:
    talk.failed()


def _interrupted(talk: Talk) -> None:
    talk.said("[Request interrupted by user]")


def _subagent(talk: Talk) -> None:
    talk.answer(isSidechain=True)


def _another_writer(talk: Talk) -> None:
    talk.last = None
    talk.entrypoint = "sdk-cli"
    talk.said("claude -p --resume")
    talk.answer()
    talk.entrypoint = "cli"


@pytest.mark.parametrize(
    "lines", [_synthetic, _error, _interrupted, _subagent, _another_writer]
)
def test_what_only_looks_like_an_answer_leaves_it_taken(
    lines: Callable[[Talk], None],
) -> None:
    """Then a real answer closes it: the positive control."""
    talk, message = Talk(), new_id()
    asked = case(message)
    talk.taken(message)
    lines(talk)
    assert learn(asked, talk) == [Taken]
    talk.answer()
    assert learn(asked, talk) == [Seen]


def test_a_letter_that_compaction_left_out_stays_taken() -> None:
    """No later request holds it, whatever is answered."""
    talk, message = Talk(), new_id()
    asked = case(message)
    talk.taken(message)
    talk.compacted("another")
    talk.answer()
    assert learn(asked, talk) == [Taken]
    assert concluded(asked) is None
    talk.taken(message)
    talk.answer()
    assert learn(asked, talk) == [Seen]


def test_an_id_given_twice_is_told_once() -> None:
    """The client does not drop a known id; a repeat stands there twice."""
    talk, message = Talk(), new_id()
    asked = case(message)
    talk.taken(message)
    talk.taken(message)
    talk.answer()
    talk.answer()
    assert learn(asked, talk) == [Taken, Seen]


def test_a_hook_that_blocks_ends_it_there() -> None:
    """Idle: one notice.  Busy: the notice and a removal; told once."""
    talk, message = Talk(), new_id()
    asked = case(message)
    talk.enqueue(message)
    talk.blocked(new_id())
    assert learn(asked, talk) == []
    talk.blocked(message)
    talk.queue("remove", reason="dropped_by_hook")
    assert learn(asked, talk) == [Blocked]
    assert asked.closed


def test_a_removal_by_a_hook_counts_at_the_end_of_the_turn() -> None:
    """It names no letter: only if ours waited and is nowhere when all is quiet."""
    talk, message = Talk(), new_id()
    asked, other = case(message), case(new_id())
    talk.enqueue(message)
    talk.queue("remove", reason="dropped_by_hook")
    data = talk.bytes()
    assert learn(asked, talk) == []
    for fact in Parser().feed(data):
        other.learn(fact, HERE)
    assert concluded(asked, idle_since=None) is None
    assert concluded(asked) is Blocked
    assert concluded(other) is Ignored


@pytest.mark.parametrize(
    ("fields", "now", "expected"),
    [
        ({}, LATER, Ignored),
        ({}, LATER - 0.1, None),
        ({"idle_since": None}, LATER + 9999, None),
        ({"idle_since": OFFERED + 3}, LATER, None),
        ({"idle_since": OFFERED - 50}, LATER, Ignored),
        ({"matched": False}, LATER, NoProof),
        ({"matched": False, "has_file": False}, LATER, NoProof),
        ({"matched": True, "has_file": False}, LATER, NoProof),
    ],
)
def test_silence_is_judged_only_at_rest_for_a_while(
    fields: dict[str, object], now: float, expected: object
) -> None:
    """Never on time alone: a tool may run for hours."""
    assert concluded(case(new_id()), now, **fields) is expected


def test_silence_before_the_hand_over_ended_means_nothing() -> None:
    """The bytes may not even be out."""
    asked = Case(new_id(), "", ours, OFFERED)
    assert concluded(asked, 9999.0) is None
    asked.offered = OFFERED
    assert concluded(asked, 9999.0) is Ignored


def test_a_transcript_that_moves_on_without_it_shows_it_was_ignored() -> None:
    """The channel works: an accepted letter is on disk in a tenth of a second."""
    talk = Talk()
    asked, before = case(new_id()), Case(new_id(), "", ours, OFFERED - 1)
    talk.said("something else")
    talk.answer()
    data = talk.bytes()
    learn(before, talk)
    before.offered = OFFERED
    for fact in Parser().feed(data):
        asked.learn(fact, HERE)
    assert concluded(asked, matched=False) is Ignored
    assert concluded(before, matched=False) is NoProof


def _queued(talk: Talk, message: str) -> None:
    talk.enqueue(message)


def _held(talk: Talk, message: str) -> None:
    talk.notice(f"Held peer message — preview: «homi {message} from alice for bob»")


def _dropped(talk: Talk, message: str) -> None:
    address = address_of(ADDRESS)
    talk.notice(f"Dropped a peer message from @alice ({address}): rate-limited")


@pytest.mark.parametrize("lines", [_queued, _held, _dropped])
def test_silence_proves_nothing_of_what_the_session_spoke_of(lines: Lines) -> None:
    """It waits there, or the session's own receipt tells what became of it."""
    talk, message = Talk(), new_id()
    asked = case(message)
    lines(talk, message)
    assert learn(asked, talk) == []
    assert concluded(asked) is None
    assert concluded(case(new_id())) is Ignored


def test_after_a_damaged_line_nothing_is_concluded_from_silence() -> None:
    """It may have been the very line; what was queued may be taken by now."""
    talk, message = Talk(), new_id()
    asked = case(message)
    talk.enqueue(message)
    learn(asked, talk)
    for fact in Parser().feed(b'{"parentUuid":null,"type":"us\n'):
        asked.learn(fact, HERE)
    assert concluded(asked) is NoProof
    assert asked.doubt is None
    talk.taken(message)
    assert learn(asked, talk) == [Taken]


def test_text_without_an_id_is_a_format_that_proves_nothing() -> None:
    """The rung is never kept by falling back from id to text."""
    talk, message = Talk(), new_id()
    asked = case(message)
    talk.said(f"Another Claude session sent a message:\n{tagged(message)}")
    talk.answer()
    assert learn(asked, talk) == []
    assert concluded(asked) is NoProof
    assert asked.doubt is Doubt.FORMAT


@pytest.mark.parametrize(
    ("has_file", "strange", "turned", "doubt"),
    [
        (False, False, True, Doubt.NO_TRANSCRIPT),
        (False, False, False, None),
        (True, True, True, Doubt.FORMAT),
        (True, True, False, None),
        (True, False, True, None),
    ],
)
def test_a_turn_that_leaves_no_known_line_is_a_doubt(
    has_file: bool, strange: bool, turned: bool, doubt: Doubt | None
) -> None:
    """It holds for all mail of that session, so it needs a turn that came and went."""
    talk = Talk()
    asked = case(new_id())
    if strange:
        talk.other("brand-new")
    learn(asked, talk)
    busy = OFFERED if turned else OFFERED - 2
    found = concluded(asked, matched=False, has_file=has_file, busy_at=busy)
    assert found is NoProof
    assert asked.doubt is doubt


def test_a_failed_model_is_told_once_at_rest_and_seen_still_counts() -> None:
    """The letter stays in the conversation; the next request holds it."""
    talk, message = Talk(), new_id()
    asked = case(message)
    talk.taken(message)
    assert learn(asked, talk) == [Taken]
    assert concluded(asked) is None
    talk.failed()
    assert learn(asked, talk) == []
    assert concluded(asked, idle_since=None) is None
    assert concluded(asked) is ModelFailed
    assert concluded(asked) is None
    talk.answer()
    assert learn(asked, talk) == [Seen]


def test_a_letter_that_was_never_offered_here_is_judged_by_its_lines() -> None:
    """A resumed conversation holds it: no hand-over begins the watch."""
    talk, message = Talk(), new_id()
    asked = Case(message, "", ours, OFFERED)
    talk.taken(message)
    talk.failed()
    assert learn(asked, talk) == [Taken]
    assert concluded(asked) is ModelFailed


def test_after_clear_a_taken_letter_is_lost_to_the_new_conversation() -> None:
    """Not at once: a fork copies our line, and the old answer may be on its way."""
    talk, message = Talk(), new_id()
    asked = case(message)
    talk.taken(message)
    assert learn(asked, talk, "old") == [Taken]
    assert concluded(asked, 200.0, since=200.0) is None
    assert concluded(asked, 200.0 + MOVED, since=200.0) is Ignored


def test_after_clear_an_answer_in_the_old_conversation_still_counts() -> None:
    """The model was given it, whatever came then."""
    talk, message = Talk(), new_id()
    asked = case(message)
    talk.taken(message)
    talk.answer()
    assert learn(asked, talk, "old") == [Taken, Seen]


def test_a_fork_carries_the_letter_with_it() -> None:
    """The copy has our id, so it is taken there too, and told once more."""
    talk, message = Talk(), new_id()
    asked = case(message)
    talk.taken(message)
    data = talk.bytes()
    assert learn(asked, talk, "old") == [Taken]
    copies = [asked.learn(fact, HERE) for fact in Parser().feed(data * 2)]
    assert [e for e in copies if e is not None] == [Taken(message)]
    assert concluded(asked, 9999.0, since=200.0) is None
    talk.answer()
    assert learn(asked, talk) == [Seen]


def test_a_queued_letter_may_come_in_either_conversation() -> None:
    """The queue belongs to the process, not to the conversation."""
    old, new, message = Talk(), Talk(), new_id()
    asked = case(message)
    old.enqueue(message)
    assert learn(asked, old, "old") == []
    assert concluded(asked, since=0.0) is None
    new.taken(message)
    new.answer()
    assert learn(asked, new) == [Taken, Seen]
