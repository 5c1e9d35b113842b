"""The sentinel: the process that forks django-q2's workers and replaces those that die."""

import logging
import os
import signal
import time
import uuid
from ctypes import c_double
from multiprocessing.process import BaseProcess

from django.db import connection
from django_q import cluster as q_cluster
from django_q.brokers import Broker, get_broker

from evals_app.runs.ground.patience import AWAY, queue_faults
from evals_app.runs.ground.queues import Flag, MessageQueue, Timer

log = logging.getLogger(__name__)

# A web server and a database on the same machine go first: people wait for those.
NICE = 10
_IDLE, _RECYCLED = -1, -2  # timers of django-q2's processes


class PatientBroker:
    """A broker that returns nothing, instead of failing, while unavailable; keeps no statistics.

    In django-q2 a failing broker ends the process, which delays tickets by ten seconds.
    """

    def __init__(self, broker: Broker, *, pause_s: float = 1.0) -> None:
        self._broker = broker
        self._pause_s = pause_s
        self._is_away = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._broker, name)

    def ping(self) -> bool:
        return True

    def set_stat(self, key: str, value: str, timeout: int) -> None:
        pass

    def dequeue(self) -> object:
        """Return the next tickets, or None."""
        try:
            tickets = self._broker.dequeue()
        except queue_faults(*AWAY) as error:
            if not self._is_away:
                log.warning("The queue does not answer; asking until it does. (%s)", error)
            self._is_away = True
            connection.close()
            time.sleep(self._pause_s)
            return None
        if self._is_away:
            log.warning("The queue answers again.")
            self._is_away = False
        return tickets

    def acknowledge(self, ticket: object) -> None:
        try:
            self._broker.acknowledge(ticket)
        except queue_faults(*AWAY) as error:
            # It is delivered again after `retry` seconds, and then finds nothing to do.
            log.warning("A ticket could not be taken out of the queue. (%s)", error)
            connection.close()


class Sentinel(q_cluster.Sentinel):  # type: ignore[misc]  # django-q2 is untyped
    """django-q2's own, without shared locks, and deaf to signals that are meant for the command.

    Create it in a process of its own: the constructor does all the work. `stop` asks it to end, and
    `beat` is the moment at which it last looked after its processes.
    """

    def __init__(self, *, stop: Flag, beat: c_double) -> None:
        self._beat = beat
        # django_q.cluster looks these up by name; in this process they are ours.
        q_cluster.Queue, q_cluster.Event, q_cluster.Value = MessageQueue, Flag, Timer
        super().__init__(stop, Flag(), uuid.uuid4(), PatientBroker(get_broker()))

    def start(self) -> None:
        # A process group of its own, so that the command can kill all of it at once.
        os.setpgrp()
        os.nice(NICE)
        # Only the command reacts to SIGTERM. A service manager may send it to all processes, and work that
        # the command wants finished or handed back would be lost. (SIGINT is ignored already.)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        super().start()

    def status(self) -> str:
        self._beat.value = time.monotonic()  # asked for in every round
        return str(super().status())

    def spawn_process(self, target: object, *args: object) -> BaseProcess:
        process: BaseProcess = super().spawn_process(target, *args)
        popen = process._popen  # type: ignore[attr-defined]  # noqa: SLF001
        popen.terminate = popen.kill  # they ignore SIGTERM
        return process

    def reincarnate(self, process: BaseProcess) -> None:
        # It ended because it was idle: nothing to log.
        if process in self.pool and process.exitcode == 0:
            timer: Timer = process.timer  # type: ignore[attr-defined]  # set by django-q2
            timer.value = _RECYCLED if timer.value == _IDLE else timer.value
        super().reincarnate(process)

    def stop(self) -> None:
        # It may be waiting for a busy worker or an unavailable database. Its tickets are
        # replaceable: new ones are issued.
        self.pusher.kill()
        super().stop()
