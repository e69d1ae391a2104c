"""A state root in which something else stands in the place of a file of homi's."""

import os
import subprocess

from tests.standin.place import Place

FILES = ("names.json", "rooms.json", "wakes.json", "spawns.json", "boot.json", "ring")
COUNTS = ("limits.jsonl", "wakes.jsonl", "withheld.jsonl")


def test_a_daemon_starts_over_folders_in_the_place_of_its_files_and_says_so() -> None:
    """They are moved aside whole, and nobody's mail is touched."""
    with Place() as place:
        place.start()
        place.ok("claim", "ada")
        place.send("ada", "kept", sender="ada")
        assert place.stop() == 0
        for name in (*FILES, *COUNTS):
            (place.state / name).unlink(missing_ok=True)
            (place.state / name).mkdir()
        place.start()
        told = place.json("status")["findings"]
        moved = {one.split(":")[0] for one in told if "moved aside as" in one}
        assert moved == {str(place.state / name) for name in (*FILES, *COUNTS)}
        place.ok("claim", "ada")
        assert "kept" in place.ok("inbox", "--brief", "ada")


def test_what_is_in_the_way_of_a_start_is_one_line_with_its_fix() -> None:
    """Which is done as it is printed; no traceback stands in the log."""
    with Place() as place:
        place.state.mkdir(mode=0o700)
        (place.state / "homi.lock").mkdir()
        done = place.homi("start")
        assert done.returncode == 73
        assert "Traceback" not in done.stderr
        [hint] = [line for line in done.stderr.splitlines() if "hint: mv" in line]
        subprocess.run(hint.split("hint: ")[1], shell=True, check=True)
        place.ok("start")
        place.ok("stop")


def test_who_only_reads_waits_for_no_pipe() -> None:
    """Nobody would ever write to it: each verb says what it cannot read."""
    with Place() as place:
        place.state.mkdir(mode=0o700)
        for name in ("names.json", "links.json", "rooms.json", "spawns.json"):
            os.mkfifo(place.state / name)
        for verb in (["ls"], ["inbox", "ada"]):
            done = place.homi(*verb)
            assert "names.json: not a regular file" in done.stderr, verb
        (place.state / "names.json").unlink()
        assert place.homi("ls").returncode == 0
        assert place.homi("doctor", "--quick").returncode == 2
