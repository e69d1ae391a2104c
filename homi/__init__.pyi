from homi.aclient import AsyncClient as AsyncClient
from homi.client import Client as Client
from homi.mailbox import Mailbox as Mailbox
from homi.outgoing import Outgoing as Outgoing

__version__: str
