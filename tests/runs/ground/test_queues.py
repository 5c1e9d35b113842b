"""Queues, flags and timers that no killed process can leave locked."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from multiprocessing.process import BaseProcess

import pytest

from evals_app.runs.ground import queues
from evals_app.runs.ground.queues import KEPT_CHARACTERS, MAX_BYTES, Flag, MessageQueue, Timer

PATIENCE_S = 30.0

# A process of the tests may have threads left over, of which Python 3.12 warns.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture
def make_queue() -> Iterator[Callable[..., MessageQueue]]:
    with ExitStack() as stack:
        yield lambda *size: stack.enter_context(closing(MessageQueue(*size)))


def in_a_process(work: Callable[[], object]) -> BaseProcess:
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    return process


def kill(process: BaseProcess) -> None:
    process.kill()
    process.join(PATIENCE_S)


def test_messages_arrive_whole_and_in_order(make_queue: Callable[..., MessageQueue]) -> None:
    queue = make_queue()
    messages = [{"number": number, "text": "a" * 1000} for number in range(20)]
    assert (queue.empty(), queue.qsize()) == (True, 0)

    for message in messages:
        queue.put(message)

    assert (queue.empty(), queue.qsize()) == (False, 1)
    assert [queue.get() for _ in messages] == messages
    assert queue.empty()


def test_a_process_that_has_worked_and_is_idle_is_stopped_and_takes_its_place_along(
    make_queue: Callable[..., MessageQueue], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "IDLE_S", 0.1)
    queue, results = make_queue(1), make_queue()
    queue.put("first")

    kill_later = in_a_process(lambda: results.put([queue.get(), queue.get()]))
    given = results.get()
    kill(kill_later)

    assert given == ["first", "STOP"]
    queue.put("second")  # there is one place again, and no more
    blocked = threading.Thread(target=queue.put, args=["third"], daemon=True)
    blocked.start()
    blocked.join(0.3)
    assert blocked.is_alive()
    assert [queue.get(), queue.get()] == ["second", "third"]


def test_a_process_killed_while_it_waits_for_a_message_takes_nothing_along(
    make_queue: Callable[..., MessageQueue],
) -> None:
    queue, waits, results = make_queue(1), Flag(), make_queue()

    def wait_for_messages() -> None:
        waits.set()
        results.put(queue.get())

    for _ in range(3):
        process = in_a_process(wait_for_messages)
        assert waits.wait(PATIENCE_S)
        kill(process)
    last = in_a_process(wait_for_messages)
    queue.put("still there")

    assert results.get() == "still there"
    last.join(PATIENCE_S)


def test_a_full_queue_makes_the_next_one_wait(make_queue: Callable[..., MessageQueue]) -> None:
    queue, is_in = make_queue(2), threading.Event()

    def put_three() -> None:
        for number in range(3):
            queue.put(number)
        is_in.set()

    thread = threading.Thread(target=put_three)
    thread.start()
    waited = not is_in.wait(0.2)
    first = queue.get()

    assert is_in.wait(PATIENCE_S)
    assert waited
    assert [first, queue.get(), queue.get()] == [0, 1, 2]
    thread.join()


def test_what_lies_in_a_queue_outlives_the_process_that_closes_it(
    make_queue: Callable[..., MessageQueue],
) -> None:
    queue, results, go = make_queue(), make_queue(), Flag()

    def answer() -> None:
        go.wait()
        results.put(queue.get())

    process = in_a_process(answer)
    queue.put("STOP")
    queue.close()
    go.set()

    assert results.get() == "STOP"
    assert queue.empty()
    process.join(PATIENCE_S)


def test_the_report_of_a_failure_is_cut_at_its_beginning(
    make_queue: Callable[..., MessageQueue],
) -> None:
    queue = make_queue()
    queue.put({"id": "a", "result": "x" * MAX_BYTES + "the end"})

    message = queue.get()

    assert message["id"] == "a"
    assert len(message["result"]) == KEPT_CHARACTERS
    assert message["result"].endswith("the end")


def test_a_flag_is_set_for_everybody_and_for_good() -> None:
    flag = Flag()
    before = flag.is_set(), flag.wait(0.01)
    process = in_a_process(flag.set)
    process.join(PATIENCE_S)

    assert before == (False, False)
    assert flag.wait()
    assert flag.is_set()


def test_a_timer_is_shared_and_never_locked() -> None:
    timer, is_locked = Timer("f", -1), Flag()

    def set_and_wait() -> None:
        with timer.get_lock():
            timer.value = 2103
            is_locked.set()
            signal.pause()

    process = in_a_process(set_and_wait)
    assert is_locked.wait(PATIENCE_S)
    kill(process)
    with timer.get_lock():
        timer.value -= 0.5

    assert timer.value == pytest.approx(2102.5)
    assert process.exitcode == -signal.SIGKILL
    assert process.pid != os.getpid()
