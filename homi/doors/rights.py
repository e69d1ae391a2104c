"""Whose mail a caller may decide over, and as whom it may write.

Owns the rights of one caller of the control socket; does nothing by itself.
homi-address(7) says who may do what.
"""

from homi.address import BUILT_IN, OWNER, Name, parse_address, parse_name, spelled
from homi.callers import Caller
from homi.doors.office import Office
from homi.envelope import Msg
from homi.errors import HomiError, NoSuchName, NotAllowed, Usage, not_linked
from homi.requests import CallerClass
from homi.routing import Place, resolve
from homi.store.places import device_of, is_queue, titled
from homi.submission import Permit

REASON_MAX = 500  # characters: some words, and no message


class Rights:
    """What one caller may do."""

    def __init__(self, office: Office, caller: Caller) -> None:
        """Owners are asked each time: they change while a connection lives."""
        self.caller = caller
        self._office = office

    def starter(self) -> str:
        """The caller, as the seats and agents that it started keep it."""
        if self.caller.caller is not CallerClass.SESSION:
            return self.caller.caller
        session = self.caller.session
        known = self.caller.name or (session.session_id if session else "")
        return known or "session"

    def owns(self, name: Name) -> bool:
        """Whether the calling session may decide over this name's mail now."""
        session = self.caller.session
        return session is not None and self._office.owners.belongs(name, session)

    def mailbox(self, given: str) -> Name:
        """The local mailbox of an address."""
        return self._office.mailbox_name(parse_address(given))

    def place(self, given: str) -> Place:
        """Where mail for an address lies: a mailbox, or the queue for its device."""
        return resolve(parse_address(given), self._office.facts)

    def kept(self, given: str) -> Name:
        """A place that is there: a mailbox, also of a released name, or an out queue,
        given as @DEVICE; 67 or 68 else."""
        store = self._office.store
        if not is_queue(given):
            name = parse_name(given) if "@" not in given else None
            there = any(box.name == name for box in store.mailboxes())
            return name if name is not None and there else self.mailbox(given)
        place = Name(given)
        device = device_of(place)
        known = device in self._office.facts.devices()
        if not known and all(box.name != place for box in store.queues()):
            raise not_linked(str(device), "homi link ls shows them")
        return place

    def own_mailbox(self, given: str | None, verb: str) -> Name:
        """The mailbox a changing verb means; 64 none named, 77 another's."""
        if given is None:
            if self.caller.name is None:
                raise Usage(f"{verb} needs a name here", hint=f"homi {verb} NAME")
            return self.mailbox(self.caller.name)
        name = self.mailbox(given)
        if (refusal := self.refusal(name)) is not None:
            raise refusal
        return name

    def refusal(self, name: Name) -> HomiError | None:
        """Why this caller may not decide over the mail of name; None: it may."""
        if self.caller.caller is CallerClass.SESSION and not self.owns(name):
            return NotAllowed(
                f"{titled(name)} is not this session's",
                hint=f"this session is {self.caller.name}",
            )
        if name == OWNER and self.caller.caller is not CallerClass.PERSON:
            return NotAllowed("only a person at a terminal does this for owner")
        return None

    def need_person(self, what: str) -> None:
        """77 unless a person at a terminal calls."""
        if self.caller.caller is not CallerClass.PERSON:
            raise NotAllowed(f"{what} needs a person at a terminal")

    def permit(self, words: str) -> Permit:
        """A person's word that a secret may leave; 77 for anybody else, 64 and 65 for
        words that cannot be kept."""
        self.need_person("to let a secret leave")
        if not words.strip() or len(words) > REASON_MAX:
            raise Usage(
                f"the reason has {len(words)} characters, must be 1 to {REASON_MAX}",
                hint="say in some words why it may leave",
            )
        if (found := self._office.postmaster.outward.reason(words)) is not None:
            raise found
        return Permit(self.who(), words)

    def who(self) -> str:
        """Who decided, as the ledger keeps it."""
        return f"{self.caller.name or self.caller.caller} pid {self.caller.pid}"

    def may_sign(self, head: Msg) -> bool:
        """Whether this caller may sign with the sender of head."""
        sender = Name(head.from_)
        if self.caller.caller is CallerClass.SESSION:
            return self.owns(sender)
        if sender == OWNER:
            return self.caller.caller is CallerClass.PERSON
        return self._office.names.get(sender) is not None and sender not in BUILT_IN

    def not_yours(self, sender: str) -> HomiError:
        """Why this caller may not speak as sender."""
        if self.caller.caller is CallerClass.SESSION:
            return NotAllowed(
                f"the name {sender[:64]!r} is not this session's",
                hint=f"this session is {self.caller.name}",
            )
        if sender == OWNER:
            return NotAllowed(
                "only a person at a terminal speaks as owner",
                hint="name a claimed name with --from",
            )
        return NoSuchName(
            f"no name {spelled(sender)} on this device to send as",
            hint="homi claim it first, or name another with --from",
        )
