"""A durable postmaster for coding agents: one daemon per device and user."""

__version__ = "0.1.0"

# What programs use, and where it is; imported when it is asked for, since a command
# that needs none of it must start fast.  Type checkers read __init__.pyi.
_HOMES = {
    "AsyncClient": "homi.aclient",
    "Client": "homi.client",
    "Mailbox": "homi.mailbox",
    "Outgoing": "homi.outgoing",
}


def __getattr__(name: str) -> object:
    """A part of the Python interface; homi-python(3) lists them."""
    if name not in _HOMES:
        raise AttributeError(f"module homi has no attribute {name}")
    return getattr(__import__(_HOMES[name], fromlist=[name]), name)
