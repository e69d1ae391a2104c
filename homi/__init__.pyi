from homi.mailbox import Mailbox as Mailbox

__version__: str
