"""Mail as its files tell it: found, followed and put in order; nothing is changed."""

from homi.mail.mail import Letter, Mail, starts

__all__ = ["Letter", "Mail", "starts"]
