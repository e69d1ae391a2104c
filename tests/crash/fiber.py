"""A second thread that runs only when it is told to, so that a seed decides all.

resume() lets it run up to its next pause() and waits; nothing ever runs beside
anything else.
"""

import threading
from collections.abc import Callable

from tests.crash.fakedisk import Death


class Fiber:
    """One real thread, kept for many jobs, one job at a time."""

    def __init__(self) -> None:
        self.active = False  # a job has begun and has not ended
        self.inside = False  # the job is what runs now
        self.died = False
        self._job: Callable[[], None] | None = None
        self._killed = False
        self._error: BaseException | None = None
        self._go = threading.Lock()
        self._back = threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def begin(self, job: Callable[[], None]) -> None:
        """Have job ready; it runs with the next resume()."""
        assert not self.active
        self._job, self.active, self.died, self._killed = job, True, False, False

    def resume(self) -> None:
        """Let the job run to its next pause() or its end."""
        self.inside = True
        self._go.release()
        self._back.acquire()
        self.inside = False
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def pause(self) -> None:
        """Called by the job: let the other side go on."""
        self._back.release()
        self._go.acquire()
        if self._killed:
            raise Death

    def kill(self) -> None:
        """End a job where it stands."""
        if self.active:
            self._killed = True
            self.resume()

    def close(self) -> None:
        """End the thread."""
        self.kill()
        self._job = None
        self._go.release()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._go.acquire()
            job = self._job
            if job is None:
                return
            try:
                if not self._killed:
                    job()
            except Death:
                self.died = True
            except BaseException as error:  # handed on to who resumes
                self._error = error
            self.active = False
            self._back.release()
