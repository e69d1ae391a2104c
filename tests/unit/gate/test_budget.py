"""The bounds of turns: where agents stop, and where they must not."""

from hypothesis import given, settings
from hypothesis import strategies as st

from homi import ids
from homi.budget import Budget
from homi.config import BRANCHED, PAIR_TURNS, TURNS, WAKES
from homi.envelope import MessageId, Reason
from homi.turns import DAY, HOUR, Cause, Counted, Sent, Turn, Wake

NOW = 1_800_000_000.0
WORDS = [f"word{n}" for n in range(200)]


def fresh() -> MessageId:
    return MessageId(ids.new())


def send(
    budget: Budget,
    from_: str,
    to: str,
    text: str,
    cause: MessageId | None,
    now: float = NOW,
) -> Turn | None:
    turn, plain = budget.judge(Sent(fresh(), from_, to, text, cause), now)
    if turn is not None:
        budget.apply(turn, plain)
    return turn


def talk(
    budget: Budget, names: list[str], texts: list[str], begun: MessageId | None = None
) -> list[Turn]:
    """Each of names in turn writes to the next; up to the first that is parked."""
    cause, turns = begun or fresh(), []
    for at, text in enumerate(texts):
        from_, to = names[at % len(names)], names[(at + 1) % len(names)]
        turn = send(budget, from_, to, text, cause)
        assert turn is not None
        turns.append(turn)
        cause = turn.id
        if turn.reason is not None:
            break
    return turns


def test_a_chain_has_twelve_turns_among_however_many_agents() -> None:
    """The thirteenth is parked, whoever writes it."""
    for names in (["ada", "bob"], ["ada", "bob", "cleo"], ["ada"]):
        texts = [f"{n} is a number of its own" for n in range(20)]
        turns = talk(Budget(), names, texts)
        assert [turn.reason for turn in turns] == [None] * TURNS + [Reason.BUDGET]


def branch(budget: Budget, begun: MessageId) -> list[Turn]:
    """Each of three answers whatever comes to the two others, until nobody may."""
    names, done = ["ada", "bob", "cleo"], list[Turn]()
    todo = [(begun, "ada")]
    while todo:
        cause, writer = todo.pop(0)
        for to in names:
            if to == writer:
                continue
            text = f"the {len(done)}th thing that is said here"
            turn = send(budget, writer, to, text, cause)
            assert turn is not None
            done.append(turn)
            if turn.reason is None:
                todo.append((turn.id, to))
    return done


def test_a_chain_that_branches_ends_with_all_its_branches_together() -> None:
    """By depth and by pairs alone it would have six hundred; a person gives as many
    more, and what no person let go on counts no branch."""
    budget, begun = Budget(), fresh()
    turns = branch(budget, begun)
    passed = [turn for turn in turns if turn.reason is None]
    assert len(passed) == BRANCHED
    assert {turn.reason for turn in turns} == {None, Reason.BUDGET}
    assert max(turn.n for turn in passed) < TURNS
    budget.apply(budget.renew(begun, NOW))
    more = branch(budget, passed[-1].id)
    assert sum(turn.reason is None for turn in more) == BRANCHED
    again = Budget()
    for line in budget.lines(NOW):
        again.apply(line)
    assert again.chains[begun].count == 2 * BRANCHED


def test_another_message_begins_another_chain() -> None:
    """What one chain used up takes nothing from the next."""
    budget = Budget()
    texts = [f"{n} is a number of its own" for n in range(20)]
    assert talk(budget, ["ada", "bob"], texts)[-1].reason is Reason.BUDGET
    other = send(budget, "bob", "ada", "about another thing", fresh())
    assert other is not None
    assert (other.n, other.reason) == (1, None)


def test_an_echo_stops_at_three_and_a_changed_word_at_five() -> None:
    """What both sides say again leads nowhere."""
    echo = talk(Budget(), ["ada", "bob"], ["You are right. "] * 9)
    assert [turn.reason for turn in echo] == [None, None, Reason.LOOP]
    long = [" ".join([*WORDS, f"last{n}"]) for n in range(9)]
    near = talk(Budget(), ["ada", "bob"], long)
    assert near[-1].reason is Reason.LOOP
    assert len(near) == 5
    ping = talk(Budget(), ["ada", "bob"], ["ping", "pong"] * 4)
    assert (len(ping), ping[-1].reason) == (4, Reason.LOOP)


def test_the_same_answer_to_other_questions_is_none() -> None:
    """done, done, done: each to a task of its own."""
    texts = ["look at the parser", "done", "now the lexer", "done", "now the tests"]
    assert talk(Budget(), ["ada", "bob"], [*texts, "done"])[-1].reason is None
    useful = ["three files are wrong", "which ones are they", "a, b and c of src"]
    assert talk(Budget(), ["ada", "bob"], useful)[-1].reason is None


def test_text_that_doubles_three_times_is_parked_once_it_is_long() -> None:
    """A quote of a quote grows; a longer answer to a short question may."""
    grows = ["a " * (600 * 3**n) + f"{n}" for n in range(4)]
    texts = [one for n, text in enumerate(grows) for one in (text, f"hm {n}")]
    turns = talk(Budget(), ["ada", "bob"], texts)
    assert (len(turns), turns[-1].reason) == (7, Reason.LOOP)
    small = [one for n in range(4) for one in ("a " * 2**n + f"{n}", f"hm {n}")]
    assert talk(Budget(), ["ada", "bob"], small)[-1].reason is None


def test_a_pair_has_two_hundred_turns_a_day_whatever_began_them() -> None:
    """One chain after the other; a day later they go on."""
    budget = Budget()
    for n in range(PAIR_TURNS):
        turn = send(budget, "ada", "bob", f"answer {n}", fresh())
        assert turn is not None
        assert turn.reason is None
    full = send(budget, "bob", "ada", "one more", fresh())
    assert full is not None
    assert full.reason is Reason.BUDGET
    other = send(budget, "bob", "cleo", "one more", fresh())
    assert other is not None
    assert other.reason is None
    later = send(budget, "bob", "ada", "one more", fresh(), NOW + DAY + 1)
    assert later is not None
    assert later.reason is None


def test_a_flood_in_one_direction_is_one_turn_of_its_pair() -> None:
    """Nobody answers it; pace, digest and room bound it."""
    budget = Budget()
    turns = [send(budget, "ada", "bob", f"note {n}", None) for n in range(500)]
    assert sum(turn is not None for turn in turns) == 1
    # Two that begin anew each time do take turns.
    for n in range(PAIR_TURNS):
        turn = send(budget, *(("ada", "bob") if n % 2 else ("bob", "ada")), "x", None)
        assert turn is not None
    assert turn is not None
    assert turn.reason is Reason.BUDGET


def test_a_person_renews_a_finite_number_and_nothing_by_asking_twice() -> None:
    """Twelve more from where it stopped."""
    budget, begun = Budget(), fresh()
    texts = [f"{n} is a number of its own" for n in range(20)]
    parked = talk(budget, ["ada", "bob"], texts, begun)[-1]
    for _ in range(3):
        renewed = budget.renew(parked.id, NOW)
        budget.apply(renewed)
    assert (renewed.chain, renewed.limit, renewed.times) == (begun, 2 * TURNS, 3)
    assert budget.freed(parked, renewed)
    assert not budget.freed(talk(budget, ["x", "y"], ["z"])[-1], renewed)
    more = talk(budget, ["bob", "ada"], texts, parked.id)
    assert (more[-1].n, more[-1].reason) == (2 * TURNS + 1, Reason.BUDGET)


def test_after_a_renewal_what_was_said_before_is_not_held_against_them() -> None:
    """The letter that was released may be answered as before, for a while."""
    budget, begun = Budget(), fresh()
    parked = talk(budget, ["ada", "bob"], ["same"] * 5, begun)[-1]
    assert parked.reason is Reason.LOOP
    budget.apply(budget.renew(begun, NOW))
    more = talk(budget, ["bob", "ada"], ["same"] * 5, parked.id)
    assert [turn.reason for turn in more] == [None, None, Reason.LOOP]


def test_a_full_pair_is_renewed_with_the_chain_that_met_its_bound() -> None:
    """And has as many turns more as a chain."""
    budget = Budget()
    for n in range(PAIR_TURNS):
        send(budget, "ada", "bob", f"answer {n}", fresh())
    full = send(budget, "bob", "ada", "one more", fresh())
    assert full is not None
    budget.apply(budget.renew(full.id, NOW))
    found = [send(budget, "bob", "ada", f"more {n}", fresh()) for n in range(20)]
    passed = [turn for turn in found if turn is not None and turn.reason is None]
    assert len(passed) == TURNS


def test_a_turn_counted_on_another_device_goes_on_here() -> None:
    """Its number comes with it; so does what a person allowed there."""
    budget, begun = Budget(), fresh()
    told = Counted(begun, TURNS, TURNS)
    turn, plain = budget.judge(Sent(fresh(), "ada@lab", "bob", "x", None), NOW, told)
    assert turn is not None
    assert (turn.chain, turn.n, turn.reason) == (begun, TURNS, None)
    budget.apply(turn, plain)
    over = send(budget, "bob", "ada@lab", "y", turn.id)
    assert over is not None
    assert over.reason is Reason.BUDGET
    granted = budget.learned(Counted(begun, TURNS + 1, 10 * TURNS), NOW)
    assert granted is not None
    budget.apply(granted)
    assert budget.chains[begun].limit == 2 * TURNS  # no device grants without end
    assert budget.learned(Counted(begun, TURNS + 1, 2 * TURNS), NOW) is None
    assert over.reason is not None
    assert budget.freed(over, granted)


def test_no_device_says_that_a_turn_is_less_than_is_known_here() -> None:
    """Nor of which chain it is, where that is known; nor does it pass a bound here."""
    budget, begun = Budget(), fresh()
    turns = talk(budget, ["bob", "ada@lab"], [f"point {n}" for n in range(12)], begun)
    for told, n in ((Counted(fresh(), 1, TURNS), 13), (Counted(begun, 1, TURNS), 13)):
        sent = Sent(fresh(), "ada@lab", "bob", "nothing new", turns[-1].id)
        turn, _ = budget.judge(sent, NOW, told)
        assert turn is not None
        assert (turn.chain, turn.n, turn.reason) == (begun, n, Reason.BUDGET)
    higher = Sent(fresh(), "ada@lab", "bob", "it says so", None)
    turn, _ = budget.judge(higher, NOW, Counted(begun, 40, TURNS))
    assert turn is not None
    assert (turn.n, turn.reason) == (40, Reason.BUDGET)
    known = Sent(fresh(), "ada@lab", "bob", "it says so", turns[0].id)
    turn, _ = budget.judge(known, NOW, Counted(begun, 2, TURNS))
    assert turn is not None
    assert (turn.n, turn.reason) == (2, None)


def test_what_a_person_let_go_on_there_is_compared_with_no_more_here() -> None:
    """The first turn behind a person's word may say the same again."""
    budget = Budget()
    turns = talk(budget, ["bob", "ada@lab"], ["You are right. "] * 2)
    begun = turns[0].chain
    assert begun is not None
    sent = Sent(fresh(), "bob", "ada@lab", "You are right. ", turns[-1].id)
    told = Counted(begun, 3, TURNS + 2)
    turn, _ = budget.judge(sent, NOW, told)
    assert turn is not None
    assert turn.reason is Reason.LOOP
    granted = budget.learned(told, NOW)
    assert granted is not None
    budget.apply(granted)
    turn, _ = budget.judge(sent, NOW, told)
    assert turn is not None
    assert turn.reason is None


def test_a_sender_starts_so_many_turns_an_hour_and_then_waits() -> None:
    """Other senders and other names are not concerned."""
    budget = Budget()
    for n in range(WAKES):
        assert budget.woken("ci", "ada", NOW + n) == 0.0
        budget.apply(Wake(at=NOW + n, from_="ci", name="ada"))
    assert budget.woken("ci", "ada", NOW + WAKES) == HOUR - WAKES
    assert budget.woken("ci", "bob", NOW + WAKES) == 0.0
    assert budget.woken("bob", "ada", NOW + WAKES) == 0.0
    assert budget.woken("ci", "ada", NOW + HOUR) == 0.0


STEP = st.tuples(
    st.sampled_from(["ada", "bob", "cleo@lab"]),
    st.sampled_from(["ada", "bob", "cleo@lab"]),
    st.sampled_from(["same", "other", "a third text of some words", "b " * 3000]),
    st.integers(-1, 8),  # which of the last is its cause; -1: none
    st.floats(0.0, 400.0),  # s after the one before
    st.booleans(),  # a person renews before
)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEP, max_size=60))
def test_counters_from_the_file_are_the_counters(
    steps: list[tuple[str, str, str, int, float, bool]],
) -> None:
    """judge() changes nothing, each line makes the same again, in one file or in one
    that was written anew; turns only grow, and none passes the limit."""
    budget, lines, now = Budget(), [], NOW
    sent: list[MessageId] = []
    for from_, to, text, back, pause, renews in steps:
        now += pause
        if renews and sent:
            line = budget.renew(sent[-1], now)
            lines.append(line)
            budget.apply(line)
        cause = sent[-1 - back] if 0 <= back < len(sent) else None
        message = Sent(fresh(), from_, to, text, cause)
        turn, plain = budget.judge(message, now)
        assert budget.judge(message, now) == (turn, plain)
        sent.append(message.id)
        if turn is None:
            continue
        if turn.n:
            chain = budget.chains.get(turn.chain or turn.id)
            limit = TURNS if chain is None else chain.limit
            assert turn.reason is not None or turn.n <= limit
        lines.append(turn)
        budget.apply(turn, plain)
    again, anew = Budget(), Budget()
    for each in lines:
        again.apply(each)
    assert again.turns == budget.turns
    assert again.chains == budget.chains
    for each in budget.lines(now):
        anew.apply(each)
    again.forget(now)
    assert anew.turns == again.turns
    # Of a chain whose last turns were forgotten only what counts is kept.
    for name, chain in again.chains.items():
        assert anew.chains[name].limit == chain.limit
        assert anew.chains[name].parked == chain.parked
    for pair, each_talk in again.talks.items():
        assert anew.talks[pair].used(now) == each_talk.used(now)


def test_causes_are_kept_and_end() -> None:
    """What a session was given last, until it is told otherwise."""
    budget = Budget()
    budget.apply(Cause(pid=7, start="1", id=fresh(), name="ada"))
    assert [line for line in budget.lines(NOW) if isinstance(line, Cause)]
    budget.apply(Cause(pid=7, start="1"))
    assert list(budget.lines(NOW)) == []


def test_what_agents_say_in_a_room_is_one_chain_however_many_they_are() -> None:
    """Each answers each: counted by depth three of them would have thousands."""
    budget, waiting, said = Budget(), [(fresh(), "owner")], 0
    while waiting:
        cause, wrote = waiting.pop(0)
        for name in {"ada", "bob", "cleo"} - {wrote}:
            turn = send(budget, name, "team", f"{said} is a number of its own", cause)
            assert turn is not None
            said += 1
            if turn.reason is None:
                waiting.append((turn.id, name))
    parked = [turn for turn in budget.turns.values() if turn.reason]
    assert said - len(parked) <= TURNS + 2  # to what no agent wrote all may answer
    assert parked


def test_a_letter_to_another_is_no_word_in_a_room() -> None:
    """Who answers is written to, or a third: depth counts there, as ever."""
    budget = Budget()
    first = send(budget, "ada", "bob", "one", fresh())
    assert first is not None
    turns = [send(budget, "bob", to, f"to {to}", first.id) for to in ("ada", "cleo")]
    assert [turn.n for turn in turns if turn is not None] == [2, 2]
