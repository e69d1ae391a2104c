"""What is measured of a daemon: the families of its metrics, and their samples.

Owns their names, kinds and meanings; who measures is told beside each.
homi-metrics(1) lists them.
"""

from collections.abc import Iterable, Iterator

import msgspec

from homi.visible import visible

COUNTER, GAUGE = "counter", "gauge"


class Sample(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One value of a family."""

    name: str
    value: float
    labels: dict[str, str] = {}


class Samples(msgspec.Struct, frozen=True):
    """Answer to metrics."""

    rows: list[Sample]


# Family → its kind and what it says, in the order in which they are printed.
FAMILIES: dict[str, tuple[str, str]] = {
    # by the daemon
    "homi_info": (GAUGE, "The homi that runs, and the device; always 1."),
    "homi_start_time_seconds": (GAUGE, "When it started, in seconds since 1970."),
    "homi_accept_open": (GAUGE, "Whether new mail is taken."),
    "homi_stored_total": (COUNTER, "Messages stored since it started."),
    "homi_refused_total": (COUNTER, "Messages refused since it started, by reason."),
    "homi_steps_total": (COUNTER, "Steps of messages since it started, by rung."),
    "homi_commits_total": (COUNTER, "Commits since it started."),
    "homi_commit_sync_seconds_total": (COUNTER, "Time that the disk took for them."),
    "homi_pending": (GAUGE, "Messages that wait, by name."),
    "homi_pending_oldest_seconds": (GAUGE, "The age of the oldest of them, by name."),
    "homi_pending_rung": (GAUGE, "Messages that wait, by rung; parked among them."),
    "homi_queue": (GAUGE, "Messages that wait for another device, by device."),
    "homi_queue_oldest_seconds": (GAUGE, "The age of the oldest, by device."),
    "homi_link": (GAUGE, "1 for the state that the link to a device is in."),
    "homi_sessions": (GAUGE, "Live agent sessions, by status."),
    "homi_connections": (GAUGE, "Open connections to the control socket."),
    "homi_free_bytes": (GAUGE, "Free space of the disk."),
    "homi_findings": (GAUGE, "What could not be read at the start."),
    # from the files, by the command
    "homi_spooled": (GAUGE, "Messages in pickup/ that were not taken in yet."),
    "homi_store_bytes": (GAUGE, "Bytes of the state root, by part."),
    "homi_index_bytes": (GAUGE, "Bytes of the index."),
    "homi_index_behind_bytes": (GAUGE, "Bytes of the journals it has yet to read."),
}


def exposition(samples: Iterable[Sample]) -> Iterator[str]:
    """The lines of the text format 0.0.4 of Prometheus; a family without a sample is
    left out."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        found.setdefault(sample.name, []).append(sample)
    for name, (kind, text) in FAMILIES.items():
        if name in found:
            yield f"# HELP {name} {text}"
            yield f"# TYPE {name} {kind}"
            yield from map(_line, found[name])


def _line(sample: Sample) -> str:
    """One sample."""
    labels = ",".join(f'{key}="{_quoted(x)}"' for key, x in sample.labels.items())
    return f"{sample.name}{{{labels}}} {_value(sample)}".replace("{}", "")


def _value(sample: Sample) -> str:
    """A whole number as one, since most are."""
    whole = int(sample.value)
    return str(whole) if whole == sample.value else repr(sample.value)


def _quoted(text: str) -> str:
    """The value of a label, harmless on a terminal."""
    text = "\n".join(map(visible, text.split("\n")))
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
