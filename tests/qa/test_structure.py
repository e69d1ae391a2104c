"""The shape of the code: layers, sizes, and constructions that are not used."""

import ast
import functools
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
BODIES = ("body", "orelse", "handlers", "finalbody", "cases")
EVERYTHING = ("Exception", "BaseException")
LAZY_LOADERS = {"homi/cli/main.py", "homi/cli/fast.py"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Shape(NamedTuple):
    """What of a module is judged; its tree is let go, all of them fill the memory."""

    name: str
    functions: list[tuple[str, int]]  # with its lines
    importing: list[str]  # functions with an import in them
    undocumented: list[str]
    libraries: set[str]  # imported anywhere
    broad: int  # excepts of everything that do not raise again
    bare: int


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The node and every statement in it, clauses too; expressions have none, and are
    most of a tree."""
    yield node
    for field in BODIES:
        for inner in getattr(node, field, ()):
            yield from statements(inner)


def libraries(node: ast.AST) -> set[str]:
    """What an import names."""
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").split(".")[0]}
    return set()


def undocumented(node: ast.Module | ast.ClassDef) -> list[str]:
    """Public functions in it that promise nothing."""
    return [
        f"{one.lineno} {one.name}"
        for one in node.body
        if isinstance(one, Function)
        and not one.name.startswith("_")
        and ast.get_docstring(one) is None
    ]


def broad(node: ast.ExceptHandler) -> bool:
    """Whether it takes everything and does not raise it again."""
    if node.type is None or ast.unparse(node.type) not in EVERYTHING:
        return False
    return not any(isinstance(inner, ast.Raise) for inner in node.body)


def shape(path: Path) -> Shape:
    """Of one module."""
    every = list(statements(ast.parse(path.read_text("utf-8"))))
    functions = [one for one in every if isinstance(one, Function)]
    handlers = [one for one in every if isinstance(one, ast.ExceptHandler)]
    bodies = [one for one in every if isinstance(one, ast.Module | ast.ClassDef)]
    return Shape(
        str(path.relative_to(ROOT)),
        [(f.name, (f.end_lineno or f.lineno) - f.lineno + 1) for f in functions],
        [f.name for f in functions if any(map(libraries, statements(f)))],
        [text for body in bodies for text in undocumented(body)],
        set().union(*map(libraries, every)),
        sum(map(broad, handlers)),
        sum(one.type is None for one in handlers),
    )


@functools.cache
def shapes() -> list[Shape]:
    """Of every module of homi: read once for all tests."""
    return [shape(path) for path in MODULES]


def test_imports_point_only_downwards() -> None:
    """The layers of homi-overview(7), exhaustively: a new module must choose one."""
    tool = Path(sys.executable).with_name("lint-imports")
    if not tool.exists():
        pytest.fail("lint-imports is not installed (make sets it up)")
    done = subprocess.run(
        [tool, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_module_fits_in_a_readers_head() -> None:
    """Over the bound it does too much: split it by noun."""
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert [path for path, count in lines.items() if count > LINES_MAX] == []


def test_functions_are_short_and_none_is_long() -> None:
    """Median 8, nine in ten at most 28, none over 60 lines."""
    every = [(one.name, *found) for one in shapes() for found in one.functions]
    spans = sorted(lines for _, _, lines in every)
    assert [found for found in every if found[2] > FUNCTION_MAX] == []
    assert spans[len(spans) * 9 // 10] <= 28
    assert statistics.median(spans) <= 9


def test_nothing_is_imported_inside_a_function() -> None:
    """It hides a knot; only the lazy loader of the command line may."""
    found = {one.name for one in shapes() if one.importing}
    assert found <= LAZY_LOADERS


def test_broad_excepts_stand_only_in_supervisors() -> None:
    """One each, with its reason; none bare."""
    assert [one.name for one in shapes() if one.bare] == []
    assert [one.name for one in shapes() for _ in range(one.broad)] == BROAD


def test_every_public_definition_says_what_it_promises() -> None:
    """A docstring a test could break."""
    missing = [(one.name, text) for one in shapes() for text in one.undocumented]
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
    assert {one.name for one in shapes() if library in one.libraries} == home
