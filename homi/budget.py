"""How long agents may go on without a person: a chain of causes, a pair, a sender.

Owns the counters and the decision to park; pure but for them: now is an argument,
and what changed is a line that makes the same counters again.  homi-limits(7).
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice

import msgspec

from homi import likeness
from homi.config import PAIR_TURNS, TURNS, WAKES
from homi.envelope import MessageId, Reason
from homi.likeness import Likeness
from homi.turns import (
    DAY,
    HOUR,
    Cause,
    Chain,
    Counted,
    Line,
    Pair,
    Renewed,
    Sent,
    Talk,
    Turn,
    Wake,
    pair_of,
)

BACK = 6  # turns of its chain that a text is compared with
KEPT = 20_000  # turns known; their oldest are forgotten first
GROWTHS = 3  # times in a row that a direction doubled
TEXTS = 1_000  # texts kept to compare with: after a restart only equal ones are seen


class Budget:
    """The counters of one device."""

    def __init__(self) -> None:
        """Nothing was sent."""
        self.turns: dict[MessageId, Turn] = {}
        self.chains: dict[MessageId, Chain] = {}
        self.talks: dict[Pair, Talk] = {}
        self.wakes: dict[tuple[str, str], deque[float]] = {}
        self.causes: dict[tuple[int, str], Cause] = {}
        self._texts: dict[MessageId, str] = {}

    def judge(
        self, sent: Sent, now: float, told: Counted | None = None
    ) -> tuple[Turn | None, str]:
        """The turn that sent is, with the reason to park it if there is one, and what
        its text is compared by; None where it does not count.  Counts nothing."""
        if sent.cause is None and told is None:
            return self._beginning(sent, now), ""
        before = None if sent.cause is None else self.turns.get(sent.cause)
        if before is not None:
            chain, n = before.chain or before.id, before.n + 1
            if before.to == sent.to and (known := self.chains.get(chain)) is not None:
                # In a room each answers each: counted by depth they would be many.
                n = max(n, known.highest + 1)
        elif told is not None:
            chain, n, before = told.chain, told.n, self._last(told.chain)
        else:
            chain, n = sent.cause or sent.id, 1
        if told is not None and told.chain == chain:
            n = max(n, told.n)  # what is known here is no less for what is told
        text = likeness.of(sent.text)
        turn = self._compared(sent, text, before, chain, now)
        turn = msgspec.structs.replace(turn, chain=chain, n=n)
        reason = self._reason(turn, before, now)
        return msgspec.structs.replace(turn, reason=reason), text.text

    def apply(self, line: Line, text: str = "") -> None:
        """Count what judge() found, or what a file tells of; text: what judge() said
        of a turn."""
        match line:
            case Turn():
                self._count(line, text)
            case Renewed():
                self._renewed(line)
            case Wake():
                times = self.wakes.setdefault((line.from_, line.name), deque())
                times.append(line.at)
            case Cause(id=None):
                self.causes.pop((line.pid, line.start), None)
            case Cause():
                self.causes[line.pid, line.start] = line

    def told(self, message: MessageId) -> Counted | None:
        """What another device must know of a message that goes there."""
        turn = self.turns.get(message)
        if turn is None or not turn.n or turn.chain is None:
            return None
        chain = self.chains.get(turn.chain)
        return None if chain is None else Counted(turn.chain, turn.n, chain.limit)

    def learned(self, told: Counted, now: float) -> Renewed | None:
        """What lets a chain go on here because a person on another device did so:
        apply() it.  A pair that came to its bound is for a person here."""
        chain = self.chains.get(told.chain, Chain())
        limit = min(told.limit, told.n - 1 + TURNS)
        if limit <= chain.limit:
            return None
        times = chain.times + 1
        return Renewed(
            chain=told.chain, at=now, limit=limit, fresh=told.n - 1, times=times
        )

    def renew(self, message: MessageId, now: float) -> Renewed:
        """What lets the chain that message is of, or began, go on: apply() it."""
        turn = self.turns.get(message)
        name = message if turn is None else turn.chain or turn.id
        chain = self.chains.get(name, Chain())
        pairs = {
            each.pair
            for each in self.turns.values()
            if each.reason is Reason.BUDGET and (each.chain or each.id) == name
        }
        return Renewed(
            chain=name,
            at=now,
            limit=max(chain.limit, chain.highest - 1 + TURNS),
            fresh=chain.highest,
            times=chain.times + 1,
            pairs=sorted(pair for pair in pairs if self._full(pair, now)),
        )

    def freed(self, turn: Turn, by: Renewed) -> bool:
        """Whether what was parked goes on by that."""
        mine = (turn.chain or turn.id) == by.chain
        return mine or (turn.reason is Reason.BUDGET and turn.pair in by.pairs)

    def woken(self, sender: str, name: str, now: float) -> float:
        """Seconds until a letter of sender may start a turn of name's session; 0:
        now."""
        times = self.wakes.get((sender, name))
        if times is None:
            return 0.0
        while times and times[0] <= now - HOUR:
            times.popleft()
        return max(times[-WAKES] + HOUR - now, 0.0) if len(times) >= WAKES else 0.0

    def lines(self, now: float) -> Iterator[Line]:
        """What makes the same counters again, without what is too old to count."""
        self.forget(now)
        yield from self.turns.values()
        for named, chain in self.chains.items():
            if chain.limit != TURNS or chain.times:
                yield Renewed(
                    chain=named,
                    at=chain.at,
                    limit=chain.limit,
                    fresh=chain.fresh,
                    times=chain.times,
                    parked=chain.parked,
                )
        for pair, talk in self.talks.items():
            # A grant belongs to its pair, whatever chain it was asked for.
            for at in talk.grants:
                yield Renewed(
                    chain=MessageId(""), at=at, limit=0, fresh=0, times=0, pairs=[pair]
                )
        for (sender, name), times in self.wakes.items():
            for at in times:
                yield Wake(at=at, from_=sender, name=name)
        yield from self.causes.values()

    def _last(self, chain: MessageId) -> Turn | None:
        """The newest turn known of a chain."""
        found = self.chains.get(chain)
        return (
            None if found is None or found.last is None else self.turns.get(found.last)
        )

    def _beginning(self, sent: Sent, now: float) -> Turn | None:
        """What nothing caused counts where its pair takes turns: a flood does not."""
        pair = pair_of(sent.from_, sent.to)
        talk = self.talks.get(pair)
        if talk is not None and talk.last == sent.from_:
            return None
        reason = Reason.BUDGET if self._full(pair, now) else None
        return Turn(id=sent.id, at=now, from_=sent.from_, to=sent.to, reason=reason)

    def _compared(
        self,
        sent: Sent,
        text: Likeness,
        before: Turn | None,
        chain: MessageId,
        now: float,
    ) -> Turn:
        """The turn with what its text repeats."""
        past = list(islice(self._past(before, chain), BACK))
        same = (one for one in past if (one.from_, one.to) == (sent.from_, sent.to))
        last = next(same, None)
        close = last is not None and likeness.near(text, self._likeness(last))
        doubled = last is not None and likeness.grown(last.size, text.size)
        return Turn(
            id=sent.id,
            at=now,
            from_=sent.from_,
            to=sent.to,
            after=None if before is None else before.id,
            mark=text.mark,
            size=text.size,
            equal=any(one.mark == text.mark for one in past),
            near=close,
            grown=last.grown + 1 if last is not None and doubled else 0,
        )

    def _reason(self, turn: Turn, before: Turn | None, now: float) -> Reason | None:
        """Why it goes no further; None where it does."""
        chain = self.chains.get(turn.chain or turn.id)
        if turn.n > (TURNS if chain is None else chain.limit):
            return Reason.BUDGET
        if chain is not None and turn.n and chain.count >= chain.most:
            return Reason.BUDGET
        if self._full(turn.pair, now):
            return Reason.BUDGET
        # An answer may be the same twice where what it answers is another: only
        # where both sides say nothing new nothing will come of it.
        if before is not None and turn.equal and before.equal:
            return Reason.LOOP
        if before is not None and turn.near and before.near and self._twice(turn):
            return Reason.LOOP
        if turn.grown >= GROWTHS and turn.size >= likeness.GROWN_FROM:
            return Reason.LOOP
        return None

    def _twice(self, turn: Turn) -> bool:
        """Whether the last one of its direction was near the one before, too."""
        before = None if turn.after is None else self.turns.get(turn.after)
        for one in islice(self._past(before, turn.chain or turn.id), BACK):
            if (one.from_, one.to) == (turn.from_, turn.to):
                return one.near
        return False

    def _past(self, turn: Turn | None, name: MessageId) -> Iterator[Turn]:
        """A turn and those that led to it, as far as a person did not renew them."""
        chain = self.chains.get(name)
        fresh = 0 if chain is None else chain.fresh
        while turn is not None and turn.n > fresh:
            yield turn
            turn = None if turn.after is None else self.turns.get(turn.after)

    def _likeness(self, turn: Turn) -> Likeness:
        """What is still known of its text."""
        return Likeness(turn.mark, turn.size, self._texts.get(turn.id, ""))

    def _full(self, pair: Pair, now: float) -> bool:
        """Whether two addresses had all the turns of a day."""
        talk = self.talks.get(pair)
        return talk is not None and talk.used(now) >= PAIR_TURNS

    def _count(self, turn: Turn, text: str) -> None:
        """One turn more; one that was parked is none of its pair."""
        self.turns[turn.id] = turn
        if text:
            self._texts[turn.id] = text
            if len(self._texts) > TEXTS:
                del self._texts[next(iter(self._texts))]
        talk = self.talks.setdefault(turn.pair, Talk())
        talk.last = turn.from_
        if turn.reason is None:
            talk.times.append(turn.at)
        if turn.n:
            chain = self.chains.setdefault(turn.chain or turn.id, Chain())
            if turn.n >= chain.highest:
                chain.highest, chain.last = turn.n, turn.id
            chain.count += turn.reason is None
            chain.at = max(chain.at, turn.at)
            chain.parked = turn.reason or chain.parked
        if len(self.turns) > KEPT:
            del self.turns[next(iter(self.turns))]

    def _renewed(self, line: Renewed) -> None:
        """A person's word counts from now on."""
        for pair in line.pairs:
            self.talks.setdefault(pair, Talk()).grants.append(line.at)
        if line.chain:
            chain = self.chains.setdefault(line.chain, Chain())
            chain.limit, chain.fresh = line.limit, line.fresh
            chain.times, chain.parked = line.times, line.parked
            chain.at = max(chain.at, line.at)

    def forget(self, now: float) -> None:
        """Let go what is too old to count."""
        old = now - DAY
        self.turns = {k: v for k, v in self.turns.items() if v.at > old or v.reason}
        self.chains = {k: v for k, v in self.chains.items() if v.at > old or v.parked}
        self.talks = {k: v for k, v in self.talks.items() if v.used(now) or v.times}
        for key in list(self.wakes):
            self.woken(*key, now)
            if not self.wakes[key]:
                del self.wakes[key]
