"""A durable postmaster for coding agents: one daemon per device and user."""

__version__ = "0.1.0"
