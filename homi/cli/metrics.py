"""`metrics`: what is measured of the daemon, as Prometheus reads it.  homi-metrics(1).

Owns what is measured in the files; the rest is the daemon's.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import click

from homi import paths, render
from homi.cli import options, output
from homi.connection import Connection
from homi.measures import Sample, Samples, exposition
from homi.requests import Metrics
from homi.store.index import Index

PARTS = ("mail", "out", "quarantine", "blobs", "log")


@click.command()
@options.as_json
@click.pass_obj
def metrics(home: str, /, *, as_json: bool) -> None:
    """Print counters and gauges of the daemon for Prometheus.

    \b
      $ homi metrics | grep homi_pending
      $ homi metrics > /var/lib/node_exporter/homi.prom.new
    """
    root = paths.state_root(home)
    with Connection(root) as client:
        samples = client.call(Metrics(i=1), Samples).rows
    samples = [*samples, *_files(root)]
    if as_json:
        output.json_lines(render.fields(sample) for sample in samples)
    else:
        output.line("\n".join(exposition(samples)))


def _files(root: Path) -> Iterator[Sample]:
    """What the files tell."""
    spooled = sum(1 for each in _entries(root / "pickup") if each.name[0] != ".")
    yield Sample("homi_spooled", spooled)
    for part in PARTS:
        yield Sample("homi_store_bytes", _bytes(root / part), {"part": part})
    with Index.open(root) as index:
        size, behind = index.lag()
    yield Sample("homi_index_bytes", size)
    yield Sample("homi_index_behind_bytes", behind)


def _bytes(folder: Path) -> int:
    """Bytes of the files in folder and below."""
    total = 0
    for each in _entries(folder):
        if each.is_dir(follow_symlinks=False):
            total += _bytes(Path(each.path))
        else:
            total += each.stat(follow_symlinks=False).st_size
    return total


def _entries(folder: Path) -> "list[os.DirEntry[str]]":
    """What is in folder; nothing where it is not there."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except FileNotFoundError:
        return []
