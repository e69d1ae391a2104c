"""make install and make uninstall, without the libraries."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _make(target: str, destdir: Path) -> None:
    """Run it as where all is set up and Python does nothing."""
    old = ("-o", ".venv/.homi-installed")
    given = ("PY=true", f"DESTDIR={destdir}", "PREFIX=/opt/homi")
    subprocess.run(("make", *old, target, *given), cwd=ROOT, check=True, timeout=60)


@pytest.mark.skipif(not shutil.which("make"), reason="no make")
def test_uninstall_takes_away_what_install_wrote_and_nothing_else(
    tmp_path: Path,
) -> None:
    def files() -> set[str]:
        return {
            str(path.relative_to(tmp_path / "opt/homi"))
            for path in tmp_path.rglob("*")
            if path.is_file()
        }

    _make("install", tmp_path)
    other = tmp_path / "opt/homi/share/man/man1/other.1"
    other.write_text("")
    wrote = {"bin/homi", "share/man/man1/homi.1", "share/fish/vendor_completions.d"}
    assert all(any(one.startswith(part) for one in files()) for part in wrote)
    _make("uninstall", tmp_path)
    assert files() == {"share/man/man1/other.1"}
