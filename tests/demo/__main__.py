"""make demo: the whole promise once, visibly, on private machines of its own.

Every step prints the command it runs and what came of it.  A step that does not hold
ends the demo with status 1.  The sessions are stand-ins that speak the agent client's
real contract; daemons, command line, ssh and files are the real thing.
"""

import contextlib
import io
import sys
import time

from tests.demo.one import NAME, OneDevice
from tests.demo.scene import Scene
from tests.demo.two import TwoDevices
from tests.standin.place import Place, until
from tests.standin.sshd import Sshd, missing


def stop(scene: Scene, *places: Place) -> None:
    """The last step: all of it is gone."""
    scene.say("Stop, and look that nothing is left running.")
    for place in places:
        scene.homi(place, "stop")
    until(lambda: not any(x.left() for x in places), "nothing is left running")
    assert not places[0].planted(NAME), f"no record of {NAME} is left"
    scene.show("nothing is left running, no record of homi's is left")


def story(ends: contextlib.ExitStack, places: list[Place]) -> None:
    """Both parts; the second only where there can be an sshd."""
    scene = Scene()
    laptop = places[0]
    OneDevice(scene, laptop).tell()
    if why := missing():
        scene.say(f"Two devices: left out here, {why}.")
    else:
        mini = ends.enter_context(_place("mini"))
        places.append(mini)
        server = ends.enter_context(Sshd(mini))
        TwoDevices(scene, laptop, mini, server).tell()
    stop(scene, *places)


def _place(device: str) -> Place:
    """A machine whose settings are but its name."""
    return Place(f'device = "{device}"\n', device=device)


def _logs(place: Place) -> None:
    """What its daemon said last."""
    for file in sorted((place.state / "log").glob("*")):
        with contextlib.suppress(OSError):
            print(f"{place.device}: {file.read_text()[-3000:]}", file=sys.stderr)


def told(ends: contextlib.ExitStack) -> str:
    """Tell it all; what did not hold, empty if all did."""
    places = [ends.enter_context(_place("laptop"))]
    try:
        story(ends, places)
    except AssertionError as wrong:
        for place in places:
            _logs(place)
            place.homi("stop")
        return str(wrong) or repr(wrong)
    return ""


def main() -> int:
    """Run the demo; 1 when a step does not hold."""
    begun = time.monotonic()
    logs = io.StringIO()  # what a place and an sshd tell at their end
    with contextlib.redirect_stderr(logs), contextlib.ExitStack() as ends:
        wrong = told(ends)
    if wrong:
        print(f"{logs.getvalue()}\ndemo: this did not hold: {wrong}", file=sys.stderr)
        return 1
    print(f"\ndone in {time.monotonic() - begun:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
