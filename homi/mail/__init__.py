"""Mail as its files tell it: found, followed and put in order; nothing is changed."""

from homi.mail.conversation import Branch, branches
from homi.mail.life import Line, Start, life
from homi.mail.life import spooled as spooled_start
from homi.mail.mail import Letter, Mail, starts
from homi.mail.message import Message, listed, spooled_message
from homi.mail.reader import Self, ShownMail, measure

__all__ = [
    "Branch",
    "Letter",
    "Line",
    "Mail",
    "Message",
    "Self",
    "ShownMail",
    "Start",
    "branches",
    "life",
    "listed",
    "measure",
    "spooled_message",
    "spooled_start",
    "starts",
]
