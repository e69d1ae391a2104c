"""Lines of a transcript: what each is, in whatever pieces it is read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homi.legs import transcript
from homi.legs.transcript import Fact, Parser, What, read_line
from tests.unit.legs.lines import MAKER, Talk, new_id, origin, raw, tagged


def only(line: dict[str, object]) -> Fact:
    """The one fact of a line."""
    (fact,) = read_line(raw(line).rstrip(b"\n"))
    return fact


def facts(talk: Talk) -> list[Fact]:
    """The facts of all lines of talk."""
    return Parser().feed(talk.bytes())


def whats(talk: Talk) -> list[What]:
    """What the lines of talk are."""
    return [fact.what for fact in facts(talk)]


def test_a_letter_that_starts_a_turn_is_taken() -> None:
    """With everything a conclusion needs: uuid, entrypoint, who wrote it."""
    talk, message = Talk(), new_id()
    line = talk.taken(message.upper())
    (fact,) = facts(talk)
    assert (fact.what, fact.id, fact.uuid) == (What.TAKEN, message, line)
    assert (fact.entrypoint, fact.maker) == ("cli", MAKER)


def test_a_letter_between_tool_calls_is_taken() -> None:
    """It stands in an attachment, whose origin is one level deeper."""
    talk, message = Talk(), new_id()
    talk.absorbed(message)
    assert [(f.what, f.id) for f in facts(talk)] == [
        (What.OTHER, ""),
        (What.TAKEN, message),
    ]


def test_an_answer_is_the_models_own() -> None:
    """Errors and what the client writes itself stand in lines of the same type."""
    talk = Talk()
    talk.answer()
    talk.tool()
    talk.failed()
    talk.synthetic()
    talk.answer(isSidechain=True)
    talk.talk("assistant", message="odd")
    assert whats(talk) == [What.ANSWER] * 2 + [What.FAILED] + [What.OTHER] * 3


@pytest.mark.parametrize(
    "message", ["01JX0000000000000000000000", "abc123", "", 7, None]
)
def test_an_id_of_another_shape_is_no_letter(message: object) -> None:
    """The client keeps ids of one shape; whatever else stands there is not ours."""
    talk = Talk()
    talk.talk("user", origin={"kind": "peer", "msg_id": message}, message={})
    talk.talk("user", origin={"kind": "human", "msg_id": new_id()}, message={})
    assert whats(talk) == [What.OTHER, What.OTHER]


def test_text_of_ours_in_a_prompt_without_origin_is_untagged() -> None:
    """It tells of a format without ids; it proves nothing."""
    talk, message = Talk(), new_id()
    talk.said(f"Another Claude session sent a message:\n{tagged(message)}")
    inside = {"type": "queued_command", "prompt": tagged(message)}
    talk.talk("attachment", attachment=inside)
    assert [(f.what, f.id) for f in facts(talk)] == [(What.UNTAGGED, message)] * 2


def test_text_of_ours_anywhere_else_is_nothing() -> None:
    """An agent that prints its mail, or quotes an id, proves nothing."""
    talk, message = Talk(), new_id()
    talk.result(tagged(message))
    talk.result(json.dumps({"origin": origin(message)}))
    talk.said(f"what about homi {message} from alice?")
    talk.answer(tagged(message))
    talk.other("api-request-blob", content=tagged(message))
    talk.queue("remove", reason="absorbed_mid_turn", content=tagged(message))
    assert not any(fact.id for fact in facts(talk))


def test_the_queue_shows_what_waits() -> None:
    """Its lines carry text only: the id is that of the first line."""
    talk, message = Talk(), new_id()
    talk.enqueue(message)
    talk.queue("dequeue")
    talk.queue("remove", reason="dropped_by_hook", commandUuid="x")
    talk.queue("enqueue", content="typed by a person")
    talk.queue("enqueue", content=["odd"])
    assert [(f.what, f.id) for f in facts(talk)] == [
        (What.QUEUED, message),
        (What.OTHER, ""),
        (What.HOOK_DROPPED, ""),
        (What.QUEUED, ""),
        (What.QUEUED, ""),
    ]


def test_a_blocked_prompt_is_the_one_behind_the_hooks_own_words() -> None:
    """Neither the hook's output nor the body names the letter."""
    talk, message, other = Talk(), new_id(), new_id()
    talk.blocked(message, f"[homi {other} from x", f"x\n[homi {other} from alice")
    (fact,) = facts(talk)
    assert (fact.what, fact.id) == (What.BLOCKED, message)


def test_a_notice_keeps_the_start_of_its_text() -> None:
    """Held mail shows its first line without brackets, dropped mail its address."""
    talk, message = Talk(), new_id()
    talk.notice(f"Held peer message — from alice preview: «homi {message} from alice»")
    talk.notice("Dropped a peer message from @alice (uds:/x.sock): rate" + "x" * 9000)
    held, dropped = facts(talk)
    assert (held.what, held.id) == (What.NOTICE, message)
    assert "(uds:/x.sock)" in dropped.text
    assert len(dropped.text) == transcript.TEXT_MAX


def test_a_boundary_names_what_it_kept() -> None:
    """And hangs on what was before it by the logical parent."""
    talk = Talk()
    before = talk.said("x")
    talk.compacted("u1", "u2")
    talk.talk("system", subtype="compact_boundary", compactMetadata=None)
    _, fact, bare = facts(talk)
    assert (fact.what, fact.kept, fact.parent) == (
        What.COMPACTED,
        frozenset({"u1", "u2"}),
        before,
    )
    assert bare.kept == frozenset()


def test_lines_of_any_kind_tie_others_together() -> None:
    """Lines that say nothing of mail are skipped, but for their place."""
    talk = Talk()
    first = talk.said("x")
    second = talk.result("y" * 100_000)
    assert [(f.uuid, f.parent) for f in facts(talk)] == [(first, ""), (second, first)]


def test_unknown_kinds_and_fields_are_normal() -> None:
    """New kinds came in with every version tried."""
    talk = Talk()
    talk.other("atis-latch")
    talk.other("brand-new", origin={"kind": "peer", "msg_id": new_id()})
    assert whats(talk) == [What.STRANGE, What.STRANGE]
    assert only({"type": "user", "newField": [1], "message": {}}).what is What.OTHER
    assert read_line(b"[1]") == read_line(b'"assistant"') == [Fact(what=What.STRANGE)]
    assert read_line(b" \r") == []


def test_halves_of_surrogate_pairs_are_read() -> None:
    """The client writes them where it cut a text; the fast decoder refuses them."""
    talk, message = Talk(), new_id()
    talk.taken(message, body="cut \\ud83d")
    data = talk.bytes().replace(b"\\\\ud83d", b"\\ud83d")
    assert b'cut \\ud83d"' in data
    assert Parser().feed(data)[0].id == message
    assert read_line(rb'{"type":"user","text":"\udc00"}')[0].what is What.OTHER


@pytest.mark.parametrize("cut", [5, 60, 200, -30, -3])
def test_what_was_glued_to_a_cut_line_is_recovered(cut: int) -> None:
    """A full disk cuts a line for good; the next is written right behind it."""
    torn, talk, message = Talk(), Talk(), new_id()
    torn.result('x {"type":"text"} {"parentUuid":')
    talk.taken(message)
    data = torn.bytes()[:-1][:cut] + talk.bytes()
    damaged, fact = Parser().feed(data)
    assert damaged.what is What.DAMAGED
    assert (fact.what, fact.id) == (What.TAKEN, message)


def test_a_cut_line_alone_is_damage() -> None:
    """It may have been the very line that is looked for."""
    talk = Talk()
    talk.taken(new_id())
    assert read_line(talk.bytes()[:-40]) == [Fact(what=What.DAMAGED)]
    assert read_line(b"\xff\xfe{") == [Fact(what=What.DAMAGED)]
    deep = b'{"type":' * 100_000
    assert read_line(deep) == [Fact(what=What.DAMAGED)]


def test_a_line_over_the_limit_is_damage_and_spoils_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not held in memory, and the next line counts as ever."""
    monkeypatch.setattr(transcript, "LINE_MAX", 4000)
    talk, message = Talk(), new_id()
    talk.taken(message)
    parser = Parser()
    found = []
    for _ in range(10):
        found += parser.feed(b"x" * 1000)
        assert parser.waiting <= 4000
    found += parser.feed(b"x\n" + talk.bytes())
    assert [fact.what for fact in found] == [What.DAMAGED, What.TAKEN]


def test_reading_may_begin_inside_a_line() -> None:
    """The rest of a line that was begun before is no damage, the next one is."""
    talk, message = Talk(), new_id()
    talk.taken(message)
    found = Parser(midline=True).feed(b'ole":1}\n' + talk.bytes() + b"torn\n")
    assert [fact.what for fact in found] == [What.TAKEN, What.DAMAGED]


@given(st.lists(st.integers(1, 900), max_size=12))
def test_pieces_make_no_difference(sizes: list[int]) -> None:
    """A reader meets whatever was written so far, cut anywhere."""
    talk = Talk()
    for text in ("ä\u2028b", "😀"):
        talk.enqueue(new_id())
        talk.taken(new_id())
        talk.answer(text)
    data = talk.bytes()
    parser, found, at = Parser(), [], 0
    for size in sizes:
        found += parser.feed(data[at : at + size])
        at += size
    found += parser.feed(data[at:])
    assert found == Parser().feed(data)
    assert parser.waiting == 0


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    """A transcript is a file of others."""
    for fact in Parser().feed(data + b"\n"):
        assert fact.what in What


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "message",
                        "origin",
                        "attachment",
                        "content",
                        "kind",
                        "msg_id",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(["user", "assistant", "attachment", "system", "queue-operation"]),
)
def test_no_shape_of_fields_makes_it_raise(value: object, kind: str) -> None:
    """Fields may change their types with any version."""
    fields = {"message": value, "origin": value, "attachment": value, "content": value}
    line = {"type": kind, "x": "peer", "subtype": "informational", **fields}
    assert len(read_line(json.dumps(line).encode())) == 1
