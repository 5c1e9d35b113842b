"""What processes cost: CPU and memory of a whole tree, read from /proc."""

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLE_S = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _CPU = 1, slice(11, 15)  # in /proc/PID/stat, behind the name


@dataclass(frozen=True, slots=True)
class Cost:
    """What a finished process cost; `cpu_s` and `peak_mb` include all of its descendants.

    `peak_mb` is the largest sum of their PSS at one moment, 0 if nobody looked: reading it takes
    time of the kernel, so it is measured in rounds whose times do not count.
    """

    output: str
    wall_s: float
    cpu_s: float
    peak_mb: float


def differences(count: Callable[[str], int], wanted: Mapping[str, tuple[str, int]]) -> list[str]:
    """Return what is not as it should be; `wanted` has by names what to count, and how much."""
    counted = {name: count(f"SELECT count(*) FROM {rows}") for name, (rows, _) in wanted.items()}  # noqa: S608 - words of ours
    return [
        f"{name}: {counted[name]} instead of {number}"
        for name, (_, number) in wanted.items()
        if counted[name] != number
    ]


class FailedError(Exception):
    """A process ended with an error."""


def measured(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    samples_memory: bool = False,
    beside: Sequence[int] = (),
) -> Cost:
    """Run a command to its end; `beside` are processes whose memory counts, too.

    Raises:
        FailedError: its exit code was not 0.
    """
    with tempfile.TemporaryFile("w+") as output:
        started = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - commands of ours
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        watch = PeakMemory([process.pid, *beside]) if samples_memory else None
        try:
            # Unlike RUSAGE_CHILDREN this is the process alone, with what it waited for itself.
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()  # whoever stops the measurement does not want its process either
            process.wait()
            raise
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        peak_mb = watch.stop() if watch else 0.0
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise FailedError(f"{' '.join(command)} ended with {process.returncode}:\n{text}")
    return Cost(text, wall_s, used.ru_utime + used.ru_stime, peak_mb)


class PeakMemory:
    """Samples the memory of trees of processes in a thread until it is stopped."""

    def __init__(self, roots: Sequence[int]) -> None:
        self._roots = roots
        self._peak_mb = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """Return the peak in MB."""
        self._stopped.set()
        self._thread.join()
        return self._peak_mb

    def _watch(self) -> None:
        while not self._stopped.wait(SAMPLE_S):
            sizes = (pss_mb(pid) for root in self._roots for pid in tree(root))
            self._peak_mb = max(self._peak_mb, sum(sizes))


def tree(root: int) -> list[int]:
    """List a process and all of its descendants."""
    parents = {pid: int(fields[_PARENT]) for pid in _processes() if (fields := _stat(pid))}
    pids = [root]
    for pid in pids:
        pids += [child for child, parent in parents.items() if parent == pid]
    return pids


def cpu_s(root: int) -> float:
    """Return the CPU seconds that a living tree has used, ended descendants included."""
    return sum(sum(map(int, _stat(pid)[_CPU])) for pid in tree(root)) / _TICKS


def pss_mb(pid: int) -> float:
    """Return the memory of a process, shared pages divided among those who share them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0  # it has just ended
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return []  # it has just ended
