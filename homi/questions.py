"""What concerns questions and people, put together for one daemon.

Owns no behaviour: who tells whom.  homi-ask(1) and homi-answer(1) have the rules.
"""

import msgspec

from homi.address import OWNER
from homi.astray import Astray
from homi.clock import Clock
from homi.courier.courier import Courier
from homi.doors.office import Office
from homi.envelope import decode_msg
from homi.errors import StorageFailed
from homi.legs.listing import opening
from homi.looking import Looking
from homi.notify import Notifier
from homi.postmaster import Postmaster
from homi.store.mailbox import Item


def connect(
    office: Office, postmaster: Postmaster, courier: Courier, looking: Looking
) -> None:
    """Tell who waits for an answer of all that can be one."""
    asks = office.asks
    postmaster.on_reply(asks.replied)
    postmaster.awaits = asks.awaits
    postmaster.replies.whom = looking.whom
    courier.subscribe(lambda _name, _item, line: asks.waits.moved(line.id))
    office.wake = courier.on_name
    office.answer_to = looking.answer_to
    office.about = looking.about
    postmaster.astray = Astray(office.names, postmaster, looking.opener).lead


def notifier(office: Office, postmaster: Postmaster, clock: Clock) -> Notifier:
    """What tells the person of their mail from now on; to be closed."""
    box = office.store.mailbox(OWNER)

    def first(item: Item) -> str:
        try:
            return opening(decode_msg(box.read(item).msg).text)
        except (StorageFailed, msgspec.MsgspecError):
            return ""

    config = office.config
    made = Notifier(config.notify, clock, first if config.notify_text else None)
    postmaster.subscribe(made.arrived, out=False)
    office.waits = made.waits
    return made
