"""The shape of the code: layers, sizes, and constructions that are not used."""

import ast
import functools
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "homi").rglob("*.py"))
LINES_MAX = 350
FUNCTION_MAX = 60
# The supervisor of a command, the one of a drain, that of a check, and a thread that
# hands what was raised to the loop, which raises it again.
BROAD = [
    "homi/cli/fast.py",
    "homi/courier/courier.py",
    "homi/doctor/check.py",
    "homi/store/worker.py",
]
LAZY_LOADERS = {"homi/cli/main.py", "homi/cli/fast.py"}

Function = ast.FunctionDef | ast.AsyncFunctionDef
T = TypeVar("T", bound=ast.AST)


@functools.cache
def nodes() -> dict[type[ast.AST], list[tuple[str, ast.AST]]]:
    """Every node of homi by its kind, with its module: walked once for all tests."""
    found: dict[type[ast.AST], list[tuple[str, ast.AST]]] = {}
    for path in MODULES:
        name = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            found.setdefault(type(node), []).append((name, node))
    return found


def of(kind: type[T]) -> Iterator[tuple[str, T]]:
    """Every node of that kind, with its module."""
    for name, node in nodes().get(kind, ()):
        if isinstance(node, kind):
            yield name, node


def functions() -> Iterator[tuple[str, Function]]:
    yield from of(ast.FunctionDef)
    yield from of(ast.AsyncFunctionDef)


def span(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_imports_point_only_downwards() -> None:
    """The layers of homi-overview(7), exhaustively: a new module must choose one."""
    tool = Path(sys.executable).with_name("lint-imports")
    if not tool.exists():
        pytest.fail("lint-imports is not installed (make sets it up)")
    done = subprocess.run(
        [tool, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_fits_in_a_readers_head(path: Path) -> None:
    """Over the bound it does too much: split it by noun."""
    assert len(path.read_text("utf-8").splitlines()) <= LINES_MAX


def test_functions_are_short_and_none_is_long() -> None:
    """Median 8, nine in ten at most 28, none over 60 lines."""
    spans = sorted(span(node) for _, node in functions())
    long = [(n, f.name, span(f)) for n, f in functions() if span(f) > FUNCTION_MAX]
    assert long == []
    assert spans[len(spans) * 9 // 10] <= 28
    assert statistics.median(spans) <= 9


def test_nothing_is_imported_inside_a_function() -> None:
    """It hides a knot; only the lazy loader of the command line may."""
    found = [
        (name, node.name)
        for name, node in functions()
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom) and name not in LAZY_LOADERS
    ]
    assert found == []


def test_broad_excepts_stand_only_in_supervisors() -> None:
    """One each, with its reason; none bare."""
    broad = []
    for name, node in of(ast.ExceptHandler):
        assert node.type is not None, f"bare except in {name}"
        if ast.unparse(node.type) in ("Exception", "BaseException"):
            reraises = any(isinstance(n, ast.Raise) for n in node.body)
            if not reraises:
                broad.append(name)
    assert sorted(broad) == BROAD


def test_every_public_definition_says_what_it_promises() -> None:
    """A docstring a test could break."""
    bodies = [(name, module.body) for name, module in of(ast.Module)]
    bodies += [(name, made.body) for name, made in of(ast.ClassDef)]
    missing = [
        f"{name}:{node.lineno} {node.name}"
        for name, body in bodies
        for node in body
        if isinstance(node, Function)
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("library", "home"),
    [
        ("apscheduler", {"homi/wakes/cron.py"}),
        ("asyncssh", {"homi/links/ssh.py"}),
        ("cryptography", {"homi/links/identity.py"}),
        ("psutil", {"homi/peers/elsewhere.py"}),
        ("uvloop", {"homi/daemon.py"}),
        ("rich", {"homi/cli/screen.py"}),
        ("sqlite3", {"homi/store/database.py"}),
        ("websockets", {"homi/codex/wire.py"}),
        ("mcp", {"homi/mcp/pipe.py", "homi/mcp/server.py"}),
        ("mcp_types", {"homi/mcp/pipe.py", "homi/mcp/server.py"}),
    ],
)
def test_each_library_has_one_home(library: str, home: set[str]) -> None:
    """To replace one is to change one module."""
    found = set()
    for name, node in of(ast.Import):
        if any(alias.name.split(".")[0] == library for alias in node.names):
            found.add(name)
    for name, source in of(ast.ImportFrom):
        if (source.module or "").split(".")[0] == library:
            found.add(name)
    assert found == home
