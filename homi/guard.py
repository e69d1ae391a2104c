"""What mail may go on by itself: the bounds and the person's policy, asked in turn.

Owns the order of the two and the words for a person; both decide for themselves.
homi-limits(7) and homi.toml(5).
"""

from homi.address import Device
from homi.bounds import Bounds, Process
from homi.config import PAIR_TURNS
from homi.envelope import MessageId, Msg, Reason, Via
from homi.errors import HomiError, NotAllowed
from homi.gate import ROOM
from homi.policy import Policy, may_wake, remote
from homi.turns import Counted, Turn


class Guard:
    """Asked of each message that is no person's."""

    def __init__(self, bounds: Bounds, policy: Policy, device: Device) -> None:
        """device: this one."""
        self._bounds = bounds
        self._policy = policy if policy != Policy() else None
        self._device = device

    def judge(
        self,
        head: Msg,
        to: str,
        via: Via,
        process: Process | None,
        told: Counted | None,
    ) -> Reason | HomiError | None:
        """Why a message for to is kept and goes no further by itself, or is not even
        kept; None: it goes."""
        device = via.device
        found = None
        if self._policy is not None and "@" not in to:
            found = self._ruled(self._policy, head, to, device)
            if isinstance(found, HomiError):
                return found
        if via.door == ROOM or (
            process is None and head.reply_to is None and told is None
        ):
            return found
        sender = head.from_ if device is None else f"{head.from_}@{device}"
        turn = self._bounds.judge(head, to, sender, process, told)
        return found if turn is None or turn.reason is None else turn.reason

    def words(self, message: MessageId, to: str) -> tuple[str, MessageId, str] | None:
        """What a person is told of a message that was parked: the key under which it
        is told once, what it is about, the text.  None: no bound did it."""
        turn = self._bounds.budget.turns.get(message)
        if turn is None or turn.reason is None:
            return None
        chain = turn.chain or turn.id
        known = self._bounds.budget.chains.get(chain)
        times = 0 if known is None else known.times
        text = (
            f"Agents were stopped: {self._why(turn)}. The message {message} from"
            f" {turn.from_} to {to} is kept and goes to nobody. Look at it with homi"
            f" thread {message}; homi continue {chain} lets them go on for a while."
        )
        key = "/".join(turn.pair) if not turn.n else chain
        return f"parked/{key}/{times}", chain, text

    def _why(self, turn: Turn) -> str:
        """Which bound it was, in words."""
        if turn.reason is Reason.LOOP:
            return "what they write is the same again, or the same blown up"
        known = self._bounds.budget.chains.get(turn.chain or turn.id)
        if known is not None and turn.n > known.limit:
            return f"{turn.n - 1} turns followed from one message without a person"
        if known is not None and known.count >= known.most:
            return f"{known.count} turns branched from one message without a person"
        return f"{PAIR_TURNS} turns between two of them in a day"

    def _ruled(
        self, policy: Policy, head: Msg, to: str, device: str | None
    ) -> Reason | HomiError | None:
        """What the person's policy says."""
        if device is not None:
            match remote(policy, head.from_, device):
                case "refuse":
                    return NotAllowed(
                        f"the policy of {self._device} takes no mail from"
                        f" {head.from_}@{device}",
                        hint="its person can change that: homi.toml, policy.remote",
                        reason="policy",
                    )
                case "park":
                    return Reason.POLICY
        return None if may_wake(policy, head.from_, device, to) else Reason.POLICY
