"""homi in a client's files: put in, taken out, or shown as a difference.

Owns the order of the steps: what a file was is kept before it is changed, what is put
in is recorded before it is there.  What stands in which file is the editors'.
homi-setup(1).
"""

import difflib
import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from homi import foreign
from homi.foreign import Seen
from homi.setup import claude, codex, place, record
from homi.setup.editor import Edited, Editor, State
from homi.setup.guide import Guide
from homi.setup.jsonc import Unsafe
from homi.setup.record import Kept, digest

CLIENTS: dict[str, Callable[[], Path]] = {
    "claude": claude.folder,
    "codex": codex.folder,
}
BACKUP = ".before-homi"


class Row(msgspec.Struct, frozen=True):
    """What became of one part of one file."""

    client: str
    part: str
    state: State
    file: str
    note: str = ""  # why it was left, or what is left behind
    paste: str = ""  # what a person would put in by hand
    diff: str = ""  # with --dry-run: what would change in the file


class Step(NamedTuple):
    """One file, and what it is to be."""

    editor: Editor
    seen: Seen
    kept: Kept
    edited: Edited
    new: bytes | None
    known: bool  # whether homi put something into it before

    @property
    def old(self) -> bytes | None:
        """What it is; None where it is not there."""
        return None if self.seen.before is None else self.seen.data


class Installation:
    """homi in the files of one client."""

    def __init__(self, client: str, config: str, command: Sequence[str]) -> None:
        """config: the client's folder, where it is not the usual one.  BadConfig (78)
        where it is not there."""
        given = Path(config) if config else CLIENTS[client]()
        with place.told(given):
            self._config = place.client_folder(given, client)
            self._record = record.load(self._config)
        self._client = client
        self._editors = editors(client, self._config, command)

    def change(self, *, remove: bool, dry: bool) -> Iterator[Row]:
        """Each part when it is done; dry: nothing is changed, and the rows have what
        would be.  CannotCreate (73), StorageFailed (74), NotReached (75) end it: what
        was done before stays, and the same call goes on."""
        with place.told(self._config), nullcontext() if dry else self._alone():
            for editor in self._editors:
                try:
                    rows = self._file(editor, remove=remove, dry=dry)
                except Unsafe as error:
                    rows = self._refused(editor, error, remove=remove)
                yield from rows

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else writes the record, as it is from now on."""
        with place.alone(self._config):
            self._record = record.load(self._config)
            yield

    def _refused(self, editor: Editor, why: Unsafe, *, remove: bool) -> list[Row]:
        """The rows of a file that cannot be edited; where it does not even name homi,
        there is nothing to be taken out."""
        seen = place.seen(editor.path, self._config)
        clean = remove and b"homi" not in seen.data
        state = State.ABSENT if clean else State.LEFT
        rows = [Row(self._client, one, state, str(editor.path)) for one in editor.parts]
        if not clean:
            paste = "" if remove else editor.paste()
            note = f"it is left alone: {why}"
            rows[0] = replace(rows[0], note=note, paste=paste)
        return rows

    def _file(self, editor: Editor, *, remove: bool, dry: bool) -> list[Row]:
        """One file, whole."""
        step = self._plan(editor, remove=remove)
        note, diff = step.edited.note, ""
        if dry:
            diff = _diff(step)
        elif step.new != step.old:
            # A large file is read for seconds: what is done alone is only the writing,
            # which says so if the file is another by then.
            with editor.alone(step.seen.target):
                note = (self._take_out if remove else self._put_in)(step) or note
        elif remove:
            note = self._forget(step) or note
        rows = [
            Row(self._client, part, state, str(editor.path))
            for part, state in step.edited.parts
        ]
        rows[0] = replace(rows[0], note=note, diff=diff)
        return rows

    def _plan(self, editor: Editor, *, remove: bool) -> Step:
        """What is to become of the file; nothing is changed."""
        seen = place.seen(editor.path, self._config)
        try:
            old = None if seen.before is None else seen.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Unsafe(f"it is not UTF-8 (byte {error.start})") from None
        kept, known = self._kept(editor, seen, old, adding=not remove)
        edited = (editor.strip if remove else editor.add)(old, kept)
        new = None if edited.text is None else edited.text.encode()
        step = Step(editor, seen, kept, edited, new, known)
        if remove and edited.text != old:
            step = step._replace(new=_as_it_was(step))
        return step

    def _kept(
        self, editor: Editor, seen: Seen, old: str | None, *, adding: bool
    ) -> tuple[Kept, bool]:
        """What is recorded of the file, to be edited, and whether anything is; where
        homi is put into a file that has none, as after a run that was cut off, only
        what was made."""
        new = Kept(seen.before is not None, digest(seen.data))
        found = self._record.files.get(editor.name)
        if found is None:
            return new, False
        copy = msgspec.convert(msgspec.to_builtins(found), Kept)
        if adding and editor.strip(old, copy).text == old:
            return replace(new, made=copy.made, folders=copy.folders), False
        return copy, True

    def _put_in(self, step: Step) -> str:
        """What the file was, then what is about to be in it, then the file itself;
        nothing is left behind by it."""
        editor, seen, kept = step.editor, step.seen, step.kept
        assert step.new is not None, "only a removal takes a file away"
        # A file with homi in it that others wrote since is no more what homi made, and
        # what it was before homi is nothing to go back to.
        mine = not step.known or kept.after == digest(seen.data)
        if not step.known and seen.before is not None and editor.backup:
            kept.backup = _back_up(editor.path, seen.data)
        kept.after = digest(step.new) if mine else ""
        missing = place.missing(seen.target.parent)
        kept.folders += map(str, missing)
        self._record.files[editor.name] = kept
        record.save(self._config, self._record)
        for folder in missing:
            folder.mkdir(mode=0o700)
        foreign.replace(seen, step.new)
        return ""

    def _take_out(self, step: Step) -> str:
        """The file, then what was kept of it; what is left behind."""
        if step.new is None:
            foreign.remove(step.seen)
        else:
            foreign.replace(step.seen, step.new)
        return self._forget(step)

    def _forget(self, step: Step) -> str:
        """What was kept of a file without homi; what is left behind."""
        if self._record.files.pop(step.editor.name, None) is None:
            return ""
        left = ""
        if step.kept.backup:
            left = _clear(Path(step.kept.backup), step.new)
        if step.new is None:
            _remove_folders(step.kept)
        record.save(self._config, self._record)
        return left


def editors(client: str, config: Path, command: Sequence[str]) -> list[Editor]:
    """The files of that client."""
    guide = Guide(config, client)
    if client == "codex":
        return [codex.Servers(config, command), guide]
    return [claude.Settings(config, command), claude.Servers(config, command), guide]


def _as_it_was(step: Step) -> bytes | None:
    """What the file was before homi came, if nobody else wrote it since; else what is
    left of it without homi, None where that is nothing and homi made it."""
    kept = step.kept
    if kept.after == digest(step.seen.data):
        if not kept.existed:
            return None
        with suppress(OSError):
            before = Path(kept.backup).read_bytes() if kept.backup else b""
            if digest(before) == kept.before:
                return before
    nothing = step.new is None or step.new.strip() in (b"", b"{}")
    return None if nothing and not kept.existed else step.new


def _back_up(path: Path, data: bytes) -> str:
    """Keep data beside path under a name nothing has, unless it is kept already."""
    for number in range(1000):
        name = f"{path.name}{BACKUP}" + (f".{number}" if number else "")
        there = foreign.look(path.with_name(name), place.SIZE_MAX)
        if there.before is None:
            foreign.replace(there, data)
        if there.before is None or there.data == data:
            return str(there.target)
    raise FileExistsError(errno.EEXIST, "there are a thousand of it", str(path))


def _clear(backup: Path, now: bytes | None) -> str:
    """Remove a backup that the file has become again; else what to know of it."""
    there = foreign.look(backup, place.SIZE_MAX)
    if there.before is None:
        return ""
    if there.data == now:
        foreign.remove(there)
        return ""
    return f"others changed it meanwhile; what it was before homi: {backup}"


def _remove_folders(kept: Kept) -> None:
    """The folders that were made for the file, as far as they are empty."""
    for folder in reversed(kept.folders):
        with suppress(OSError):
            os.rmdir(folder)


def _diff(step: Step) -> str:
    """What would change in the file, in the unified form.  Of a client's own state only
    the lines themselves: beside them stand the keys of other servers."""
    if step.new == step.old:
        return ""
    old, new = ((x or b"").decode("utf-8") for x in (step.old, step.new))
    name = str(step.editor.path)
    lines = difflib.unified_diff(
        _lines(old),
        _lines(new),
        name if step.old is not None else os.devnull,
        name if step.new is not None else os.devnull,
        n=0 if isinstance(step.editor, claude.Servers) else 3,
    )
    return "".join(
        one if one.endswith("\n") else f"{one}\n\\ No newline at end of file\n"
        for one in lines
    )


def _lines(text: str) -> list[str]:
    """The lines of text with their ends, which are line feeds and nothing else."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
