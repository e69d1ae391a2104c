"""The sends that are not plain: by key, by the start of an id, without a daemon.

Owns the id of a keyed message, and what is promised while the daemon is down: a
synced file in pickup/, named `spooled` and nothing more.  homi-send(1).
"""

import os
import time

import msgspec

from homi import ids, paths
from homi.address import BUILT_IN, OWNER, Name, parse_address, parse_name
from homi.cli.caller import Self, connect, measure
from homi.cli.mail import Mail
from homi.cli.output import note
from homi.cli.submission import (
    Plan,
    announce,
    compose,
    deliver,
    folded,
    read_text,
)
from homi.clock import rfc3339
from homi.dial import Absent
from homi.errors import NoSuchName, NotAllowed, NotReached
from homi.requests import CallerClass
from homi.store import pickup
from homi.strict import parse_msg


def send(plan: Plan) -> int:
    """Settle what the plain case never needs, then send; the exit status."""
    root = paths.state_root(plan.home)
    if plan.reply_to:
        plan.reply_to = Mail(root).full_id(plan.reply_to)
    if plan.key:
        plan.sender = plan.sender or connect(root)[0].need_sender()
        # The form an address is looked up in: Ada and ada are one recipient.
        to = str(parse_address(plan.to))
        plan.id = ids.derived(parse_name(plan.sender), to, plan.key)
    try:
        return deliver(plan, str(paths.control_socket(root)))
    except Absent:
        return spool(plan)


def spool(plan: Plan) -> int:
    """Leave the message in pickup/, durably, and say that this is all that is known."""
    root = paths.state_root(plan.home)
    mail, me = Mail(root), measure()
    place = mail.recipient(plan.to)
    sender = Name(folded(plan.sender)) if plan.sender else me.need_sender()
    _may_sign(me, sender, mail.claimed())
    if plan.body is None:
        plan.body = read_text(plan)
    msg = compose(plan, sender).encode()
    parse_msg(msg)
    pickup.write(
        root,
        pickup.Spooled(
            at=rfc3339(time.time()),
            caller=me.caller,
            uid=os.getuid(),
            pid=os.getpid(),
            session=me.session,
            msg=msgspec.Raw(msg),
        ),
    )
    announce(
        plan,
        {"id": plan.id, "rung": "spooled", "to": place, "seq": 0, "duplicate": False},
    )
    if plan.wait_for not in ("", "spooled"):
        raise NotReached(
            f"not {plan.wait_for}: no daemon runs; the message waits in pickup/",
            hint="homi start takes it in; do not send it again",
        )
    note("no daemon runs: the message waits in pickup/; do not send it again")
    return 0


def _may_sign(me: Self, sender: Name, claimed: list[Name]) -> None:
    """77 or 67 where this caller may not sign so, by the rules the daemon has."""
    if sender == me.name:
        return
    if me.caller is CallerClass.SESSION:
        raise NotAllowed(
            f"the name {sender} is not this session's",
            hint=f"this session is {me.name}",
        )
    if sender == OWNER:
        raise NotAllowed(
            "only a person at a terminal speaks as owner",
            hint="name a claimed name with --from",
        )
    if sender not in claimed or sender in BUILT_IN:
        raise NoSuchName(
            f"no name {sender} on this device to send as",
            hint="homi ls shows the names",
        )
