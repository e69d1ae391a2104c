"""Conversations as trees, whatever their reply_to says."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from homi.address import Name
from homi.envelope import MessageId
from homi.mail.thread import Node, tree


class Stored(msgspec.Struct, frozen=True):
    """A message as a thread sees it."""

    id: MessageId
    reply_to: MessageId | None = None
    at: str = ""
    name: Name = Name("ada")
    seq: int = 0


def stored(*pairs: str) -> list[Stored]:
    """Messages in order of arrival: 'b<a' is b, which answers a."""
    found = []
    for seq, pair in enumerate(pairs, 1):
        one, _, parent = pair.partition("<")
        above = MessageId(parent) if parent else None
        found.append(Stored(MessageId(one), above, f"{seq:03}", seq=seq))
    return found


def drawn(nodes: list[Node]) -> list[str]:
    """The tree as text: a dot a level, a ? for what is not here, a ! where cut."""
    return [
        "." * node.depth
        + node.id
        + ("?" if node.place is None else "")
        + ("!" if node.cut else "")
        for node in nodes
    ]


def test_answers_stand_below_what_they_answer_in_order_of_arrival() -> None:
    found = stored("a", "b<a", "c<a", "d<b", "e")
    assert drawn(tree(found)) == ["a", ".b", "..d", ".c", "e"]


def test_the_order_is_that_of_arrival_and_not_that_of_the_list() -> None:
    found = stored("a", "b<a", "c<a")
    assert tree(found[::-1]) != tree(found)
    assert drawn(tree(found[::-1])) == drawn(tree(found))


def test_a_missing_parent_is_a_line_above_its_answers() -> None:
    found = stored("b<x", "a", "c<x")
    assert drawn(tree(found)) == ["x?", ".b", ".c", "a"]


def test_two_that_answer_each_other_are_both_there() -> None:
    """The circle is opened at the first that arrived."""
    assert drawn(tree(stored("a<b", "b<a"))) == ["a!", ".b"]


def test_a_message_that_answers_itself_stands_on_top() -> None:
    assert drawn(tree(stored("a<a", "b<a"))) == ["a!", ".b"]


def test_what_hangs_on_a_circle_keeps_its_place() -> None:
    """Only the first of the circle is cut; the control: the tail is not."""
    found = stored("t<c", "c<b", "a<c", "b<a")
    assert drawn(tree(found)) == ["c!", ".t", ".a", "..b"]


def test_copies_of_a_message_stand_together() -> None:
    """One id in two mailboxes is two stored messages."""
    first, second = stored("a", "a")
    other = msgspec.structs.replace(second, name=Name("bob"))
    answer = Stored(MessageId("b"), MessageId("a"), "009")
    assert drawn(tree([first, other, answer])) == ["a", "a", ".b"]


def test_a_chain_as_long_as_a_mailbox_is_no_deep_call() -> None:
    chain = stored("0", *(f"{n}<{n - 1}" for n in range(1, 20_000)))
    assert tree(chain)[-1].depth == 19_999


ids = st.sampled_from("abcdefgh").map(MessageId)


@given(st.lists(st.tuples(ids, st.none() | ids, st.sampled_from("123")), max_size=20))
def test_every_stored_message_is_there_once_below_its_parent(
    drafts: list[tuple[MessageId, MessageId | None, str]],
) -> None:
    """For any graph of answers."""
    found = [
        Stored(one, above, at, seq=seq)
        for seq, (one, above, at) in enumerate(drafts, 1)
    ]
    nodes = tree(found)
    places = [node.place for node in nodes if node.place is not None]
    assert sorted(places) == list(range(len(found)))
    lowest: dict[str, int] = {}
    for node in nodes:
        if node.parent is not None:
            assert lowest[node.parent] == node.depth - 1
        else:
            assert node.depth == 0
        lowest[node.id] = node.depth
