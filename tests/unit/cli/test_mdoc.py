"""Pages of the manual as text, where there is no man."""

import re
from pathlib import Path

import pytest

from homi.cli import mdoc, topic
from homi.cli.mdoc import plain

PAGES = sorted((Path(__file__).parents[3] / "man").glob("*.[1-8]"))


def test_macros_become_what_they_mean() -> None:
    """And the marks behind them stand where they belong."""
    page = ".Sh NAME\n.Nm homi-x\n.Nd one\n.Sh DESCRIPTION\nSee\n.Xr homi 1 ,\n"
    page += ".Fl f , Fl -follow\nor\n.Pq Ql a b .\n.Bd -literal\n$ x  y\n.Ed\n"
    assert plain(page).splitlines() == [
        "NAME",
        "     homi-x - one",
        "",
        "DESCRIPTION",
        "     See homi(1), -f, --follow or ('a b').",
        "",
        "       $ x  y",
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_page_of_ours_shows_a_macro(path: Path) -> None:
    """Every macro that one uses is known here."""
    text = plain(path.read_text())
    known = mdoc.PARTS | mdoc.SILENT | mdoc.AROUND.keys() | mdoc.ENDS.keys()
    used = set(re.findall(r"^\.([A-Z][a-z])", path.read_text(), re.M))
    assert used <= known | {"Sh", "Ss", "Pp", "Bd", "Nd"}
    assert "\\&" not in text
    assert text.startswith("NAME\n     homi")


def test_a_page_is_found_by_each_word_for_it() -> None:
    """With and without what all have in front."""
    found = topic.topics()
    assert found["legs"] == found["homi-legs"]
    assert found["toml"].name == found["homi.toml"].name == "homi.toml.5"
    assert found["homi"].name == "homi.1"
    assert {path.name for path in found.values()} == {path.name for path in PAGES}
