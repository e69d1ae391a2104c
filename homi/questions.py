"""Questions and their answers, put together for one daemon.

Owns no behaviour: who tells whom.  homi-ask(1) has the rules.
"""

from homi.courier.courier import Courier
from homi.doors.office import Office
from homi.looking import Looking
from homi.postmaster import Postmaster


def connect(
    office: Office, postmaster: Postmaster, courier: Courier, looking: Looking
) -> None:
    """Tell who waits for an answer of all that can be one."""
    asks = office.asks
    postmaster.on_reply(asks.replied)
    courier.subscribe(lambda _name, _item, line: asks.look(line.id))
    office.wake = courier.on_name
    office.answer_to = looking.answer_to
    office.about = looking.about
