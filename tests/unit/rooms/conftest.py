"""Fixtures of the rooms' tests."""

from tests.unit.rooms.kit import run

__all__ = ["run"]
