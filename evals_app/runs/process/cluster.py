"""A django-q2 cluster inside one of our commands, and the loop that looks after it."""

import ctypes
import gc
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Self

from django.conf import settings
from django.db import connection, connections
from django_q import cluster as q_cluster

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.llm.models import preload
from evals_app.engine.record import trial
from evals_app.formats.snapshots.run_snapshot import build_models
from evals_app.runs.ending.reap import reap
from evals_app.runs.ground.patience import AWAY
from evals_app.runs.ground.queues import Flag
from evals_app.runs.ground.workers import announce, retire
from evals_app.runs.notices import TIMEOUT_S, deliver_due, has_due
from evals_app.runs.process.retention import ensure_schedule
from evals_app.runs.process.sentinel import Sentinel
from evals_app.runs.process.watchdog import SILENT_S, Restarts, Watchdog, is_work_waiting
from evals_app.runs.process.worker_loop import GRACE, limited_memory
from evals_app.runs.providers.shared_limits import kinds_in_use
from evals_app.runs.recorded.daily_imports import (
    has_work,
    note_due_imports,
    work_on_due_imports,
)
from evals_app.runs.recorded.received_spans import has_spans_to_import, import_what_was_sent
from evals_app.runs.recorded.waiting_gradings import has_waiting_gradings, start_waiting_gradings
from evals_app.runs.recorded.waiting_imports import has_waiting, import_waiting
from evals_app.runs.schedules import start_due_runs

log = logging.getLogger(__name__)

TICK_S = 0.2
ANNOUNCE_S = 10.0
RETRY_S = 1.0  # how often an unavailable database is tried
LEEWAY_S = 10.0  # beyond the grace, before processes are killed
IMPATIENT_S = 3.0  # the same after a second signal
SENDER_S = TIMEOUT_S + 1  # time for waiting messages at the end: one attempt
_PATIENCE = 2  # this many further signals kill all processes
_PR_SET_PDEATHSIG = 1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class CannotWorkError(CannotError):
    """Workers cannot be started, or not restarted."""


class Interrupted:
    """Counts the signals that ask us to stop, in the main thread."""

    def __init__(self) -> None:
        self.count = 0

    def __bool__(self) -> bool:
        return self.count > 0

    @contextmanager
    def listening(self) -> Iterator[Self]:
        """Take SIGINT and SIGTERM for as long as the block lasts."""
        before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, signum: int, frame: FrameType | None) -> None:
        self.count += 1


class LocalCluster:
    """Workers of this process. Enter it in the main thread, before there are others.

    `grace_s` is how long conversations may still take once the block is left; unfinished ones then
    return to the queue. A second signal meanwhile ends the grace period, a third one kills
    everything. `kinds` are those of providers whose SDKs are imported before the fork; unless
    given, of all in use.
    """

    def __init__(self, *, grace_s: float = 20.0, kinds: Collection[str] | None = None) -> None:
        self.grace_s = grace_s
        self.kinds = kinds
        self._sentinel: BaseProcess | None = None
        self._sender: BaseProcess | None = None
        self._importer: BaseProcess | None = None
        self._starter: BaseProcess | None = None
        self._restarts = Restarts()
        self._start_at: float | None = None  # None: not to be started (again)
        self._chores_at = 0.0
        self._is_cut_off = False
        self._is_idle_too_long = False

    def __enter__(self) -> Self:
        GRACE.value = -1.0
        reap()
        announce(processes=settings.WORKERS)
        ensure_schedule()
        _load_for_workers(kinds_in_use() if self.kinds is None else self.kinds)
        die_with_parent()
        self._start()
        self._chores_at = time.monotonic() + _between_chores()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def is_alive(self) -> bool:
        """Whether it works or is about to restart; False once it died too often."""
        return self._sentinel is not None or self._start_at is not None

    def tick(self) -> None:
        """Do what is due, and restart dead or stuck processes. Call it about every TICK_S.

        Raises:
            CannotWorkError: they died too often.
        """
        if not self.is_alive:
            raise CannotWorkError("The worker's processes died too often; see the log.")
        if time.monotonic() >= self._chores_at:
            self._chores_at = time.monotonic() + self._do_chores()
        if self._sentinel is not None:
            if problem := self._problem(self._sentinel):
                self._restart(problem)
        elif self._start_at is not None and time.monotonic() >= self._start_at:
            self._start()

    def stop(self) -> None:
        """Let conversations finish within the grace period, then end every process."""
        self._start_at = None
        GRACE.value = self.grace_s
        give_up = time.monotonic() + self.grace_s + LEEWAY_S
        if self._sentinel is not None:
            # Before others can see that we stop: a further signal may follow at once.
            with Interrupted().listening() as again:
                self._stop.set()
                self._sign_off(lambda: announce(processes=settings.WORKERS, is_draining=True))
                self._await_end(self._sentinel, again, give_up=give_up)
        self._sign_off(self._send_messages)  # there may be no other worker for a long time
        self._end_helpers()
        for note in (reap, retire):
            self._sign_off(note)

    def _start(self) -> None:
        connections.close_all()  # a connection must not cross a fork
        self._stop, self._beat = Flag(), multiprocessing.RawValue("d", 0.0)
        self._is_idle_too_long = False
        self._watchdog = Watchdog(
            # On SQLite its scheduler may have to wait for another transaction.
            silent_s=SILENT_S + (connection.settings_dict["OPTIONS"].get("timeout") or 0),
            # Two lease times: reapers issue tickets more often than that.
            idle_s=2 * settings.EVALS_LEASE_S + settings.EVALS_REAP_S,
        )
        self._sentinel = q_cluster.get_mp_context().Process(
            target=Sentinel, kwargs={"stop": self._stop, "beat": self._beat}, name="sentinel"
        )
        self._sentinel.start()

    def _do_chores(self) -> float:
        """Reap, start what is due and announce ourselves; return the seconds until this is due again."""
        try:
            reap()
            start_due_runs()
            note_due_imports()
            self._send_messages()
            self._import_files()
            self._start_gradings()
            announce(processes=settings.WORKERS)
            is_waiting = is_work_waiting()
        except AWAY as error:
            if not self._is_cut_off:
                log.warning("The database does not answer; trying until it does. (%s)", error)
            self._is_cut_off = True
            connections.close_all()
            return RETRY_S
        if self._is_cut_off:
            log.warning("The database answers again.")
            self._is_cut_off = False
        self._is_idle_too_long = self._watchdog.see(
            is_work_waiting=is_waiting, now=time.monotonic()
        )
        return _between_chores()

    def _send_messages(self) -> None:
        """Send messages from a separate process: receivers may be slow, and workers busy."""
        if (self._sender is not None and self._sender.is_alive()) or not has_due():
            return
        connections.close_all()  # a connection must not cross a fork
        self._sender = q_cluster.get_mp_context().Process(target=deliver_due, name="sender")
        self._sender.start()

    def _import_files(self) -> None:
        """Import large files in a separate process: it takes minutes, and no run waits for it."""
        if self._importer is not None and self._importer.is_alive():
            return
        if not (has_waiting() or has_work() or has_spans_to_import()):
            return
        connections.close_all()  # a connection must not cross a fork
        self._importer = q_cluster.get_mp_context().Process(target=_import_files, name="importer")
        self._importer.start()

    def _start_gradings(self) -> None:
        """Prepare runs of many real conversations in a separate process, as it imports files."""
        if (self._starter is not None and self._starter.is_alive()) or not has_waiting_gradings():
            return
        connections.close_all()  # a connection must not cross a fork
        self._starter = q_cluster.get_mp_context().Process(target=_start_gradings, name="starter")
        self._starter.start()

    def _end_helpers(self) -> None:
        """End the processes that send, import and start; another worker does what they leave."""
        if self._sender is not None:
            self._sender.join(SENDER_S if GRACE.value else IMPATIENT_S)
            self._sender.kill()
            self._sender.join(5)
        for helper in filter(None, (self._importer, self._starter)):
            helper.kill()
            helper.join(5)

    def _problem(self, sentinel: BaseProcess) -> str:
        """Return what is wrong with the processes; empty if they seem to work."""
        if not sentinel.is_alive():
            return "The process that guards the workers died."
        is_silent = self._watchdog.hear(self._beat.value, now=time.monotonic())
        if self._is_cut_off:
            return ""  # no process can work, and those that wait for the database are silent
        if is_silent:
            return "The process that guards the workers has not responded for too long."
        if self._is_idle_too_long:
            return "Runs wait though the workers are idle."
        return ""

    def _restart(self, problem: str) -> None:
        """Kill what is left, and schedule a restart unless there were too many."""
        self._kill()
        self._chores_at = 0.0  # their work returns to the queue at once
        pause = self._restarts.next_pause(now=time.monotonic())
        if pause is None:
            self._start_at = None
            log.error("%s Too many times in ten minutes; giving up.", problem)
            return
        self._start_at = time.monotonic() + pause
        log.error("%s Restarting all of them in %.0f s; no result is lost.", problem, pause)

    def _await_end(self, sentinel: BaseProcess, again: Interrupted, *, give_up: float) -> None:
        is_patient = True
        while sentinel.is_alive() and time.monotonic() < give_up and again.count < _PATIENCE:
            if again and is_patient:
                log.warning("Asked again to stop: handing back unfinished work.")
                is_patient, GRACE.value = False, 0.0
                give_up = min(give_up, time.monotonic() + IMPATIENT_S)
            sentinel.join(TICK_S)
        if sentinel.exitcode != 0:
            log.warning("Some processes did not stop in time; killing them. No result is lost.")
        self._kill()

    def _kill(self) -> None:
        """End the sentinel's whole group, and wait until it is gone."""
        if self._sentinel is None:
            return
        sentinel, self._sentinel = self._sentinel, None
        group = sentinel.pid
        if group is not None:
            _kill_group(group, signal.SIGKILL)
        sentinel.kill()  # it may not have its own group yet
        sentinel.join(5)
        give_up = time.monotonic() + 2  # the process that waits for them may need a moment
        while group is not None and _kill_group(group, 0) and time.monotonic() < give_up:
            time.sleep(0.02)

    def _sign_off(self, note: Callable[[], object]) -> None:
        """Record our shutdown if the database is reachable."""
        try:
            note()
        except AWAY as error:
            connections.close_all()
            log.warning("Could not sign off; the next worker will clean up. (%s)", error)


def _import_files() -> None:
    with limited_memory(settings.EVALS_MEMORY_MB):
        work_on_due_imports()
        import_what_was_sent()
        import_waiting()
        work_on_due_imports()  # what was imported is graded at once


def _start_gradings() -> None:
    with limited_memory(settings.EVALS_MEMORY_MB):
        start_waiting_gradings()


def _load_for_workers(kinds: Collection[str]) -> None:
    """Load once what each worker would otherwise load for itself: a second of CPU, 20 MB of memory.

    Modules are never garbage: collecting over them would take a fifth longer, slow the interpreter's
    exit by a second, and copy the pages that processes share.
    """
    gc.disable()
    preload(kinds)
    build_models()
    trial.adapter()
    gc.freeze()
    gc.enable()


def _between_chores() -> float:
    return min(float(settings.EVALS_REAP_S), ANNOUNCE_S)


def _kill_group(group: int, signum: int) -> bool:
    """Send a signal to a group of processes; return whether there is one."""
    with suppress(ProcessLookupError, PermissionError):  # macOS: zombies may not be killed
        os.killpg(group, signum)
        return True
    return False


def look_after(
    cluster: LocalCluster, *, stop: Interrupted, is_over: Callable[[], bool] = lambda: False
) -> None:
    """Keep a cluster running until it has ended, died too often, or a signal arrives."""
    while not stop and not is_over():
        cluster.tick()
        time.sleep(TICK_S)


@cache
def die_with_parent() -> None:
    """Make every process forked from now on die with its parent."""
    follow: Callable[[], None] | None = None

    def note_parent() -> None:
        nonlocal follow
        follow = parent_death_signal()

    def follow_in_child() -> None:
        if follow is not None:
            follow()

    os.register_at_fork(before=note_parent, after_in_child=follow_in_child)


def parent_death_signal() -> Callable[[], None] | None:
    """Return what a child of this process calls first, so that it dies with it; None if unknown."""
    if os.uname().sysname != "Linux":
        return None
    libc, parent = ctypes.CDLL(None, use_errno=True), os.getpid()

    def follow() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it had died before
            os.kill(os.getpid(), signal.SIGKILL)

    return follow
