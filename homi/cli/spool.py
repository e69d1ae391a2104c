"""The sends that are not plain: by key, by the start of an id, without a daemon.

Owns the id of a keyed message, and what is promised while the daemon is down: a
synced file in pickup/, named `spooled` and nothing more.  homi-send(1).
"""

import contextlib
import os
import time

import msgspec

from homi import ids, paths
from homi.address import BUILT_IN, OWNER, Name, local, parse_address, parse_name
from homi.cli import lines, question
from homi.cli.caller import connect
from homi.cli.mail import Mail
from homi.cli.output import note
from homi.cli.submission import (
    Plan,
    addressed,
    announce,
    compose,
    deliver,
    folded,
    read_text,
    report,
    socket_path,
)
from homi.clock import rfc3339
from homi.dial import Absent, Json
from homi.errors import HomiError, NoSuchName, NotAllowed, NotReached, Unavailable
from homi.mail import Self, measure
from homi.mail.asked import about
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
        # It is also the form that is sent, so that the same key makes the same message.
        plan.sender = parse_name(plan.sender)
        plan.to = str(local(parse_address(addressed(plan.to, plan.sender))))
        plan.parts = plan.sender, plan.to
        plan.id = ids.derived(*plan.parts, plan.key)
    path = str(paths.control_socket(root))
    if plan.lines:
        return lines.deliver(plan, path)
    try:
        return deliver(plan, path)
    except Absent:
        return spool(plan)


def spool(plan: Plan) -> int:
    """Leave the message in pickup/, durably, and say that this is all that is known."""
    tray = Tray(plan)
    if plan.body is None:
        plan.body = read_text(plan)
    announce(plan, tray.leave())
    if plan.wait_for not in ("", "spooled"):
        raise NotReached(
            f"not {plan.wait_for}: no daemon runs; the message waits in pickup/",
            hint="homi start takes it in; do not send it again",
        )
    note("no daemon runs: the message waits in pickup/; do not send it again")
    return 0


def ask(plan: Plan) -> int:
    """Ask where the control socket is not at its plain place."""
    return question.ask(plan, str(paths.control_socket(paths.state_root(plan.home))))


def reply(plan: Plan) -> int:
    """Answer where it is not, or without a daemon: who asked is read in the files."""
    root = paths.state_root(plan.home)
    if socket_path(plan.home) is None:
        with contextlib.suppress(Absent):
            return question.answer(plan, str(paths.control_socket(root)))
    me = measure(root, note)
    own = Name(folded(plan.sender)) if plan.sender else me.need_sender()
    with Mail(root) as mail:
        found = about(mail, plan.to, [own])
    plan.to, plan.reply_to, plan.sender = found.to, found.id, found.name
    return spool(plan)


def rest(batch: lines.Batch) -> int:
    """Leave every line of batch that nobody answered for in pickup/."""
    tray, kept = Tray(batch.plan), 0
    for line in batch.left():
        batch.plan.id, batch.plan.body = line.id, line.text
        try:
            line.report = tray.leave()
        except HomiError as error:
            line.error = error
        else:
            kept += 1
    if kept:
        note("no daemon runs: the messages wait in pickup/; do not send them again")
    return 0


class Tray:
    """pickup/, as this caller may use it for one recipient."""

    def __init__(self, plan: Plan) -> None:
        """Who signs and who is meant are settled once, by the daemon's own rules."""
        if plan.allow_secret:
            raise Unavailable(
                "no daemon runs: nobody can keep why a secret may leave",
                hint="homi start",
            )
        self._plan = plan
        self._root = paths.state_root(plan.home)
        mail, self._me = Mail(self._root), measure(self._root, note)
        plain = Name(folded(plan.sender)) if plan.sender else self._me.need_sender()
        self._place = mail.recipient(addressed(plan.to, plain))
        _may_sign(self._me, plain, mail.claimed())
        self._sender = plain

    def leave(self) -> Json:
        """Write the plan's present text, synced; the report of it."""
        msg = compose(self._plan, self._sender).encode()
        parse_msg(msg)
        pickup.write(
            self._root,
            pickup.Spooled(
                at=rfc3339(time.time()),
                caller=self._me.caller,
                uid=os.getuid(),
                pid=os.getpid(),
                session=self._me.session,
                msg=msgspec.Raw(msg),
            ),
        )
        done: Json = {"rung": "spooled", "to": self._place, "seq": 0}
        return report(self._plan, done)


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
