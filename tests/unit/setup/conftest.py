"""A home for every test."""

from pathlib import Path

import pytest

from tests.unit.setup.kit import Home


@pytest.fixture
def home(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Home:
    """With a client that has run, and nothing set up."""
    return Home(tmp_path, monkeypatch, capsys)
