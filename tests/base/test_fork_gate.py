"""`fork` waits until no other thread is inside a region."""

import os
import threading
import time

from jitney.base.fork_gate import ForkGate


def test_fork_waits_for_the_thread_inside():
    gate, entered = ForkGate(), threading.Event()
    left = []

    def work():
        with gate:
            entered.set()
            time.sleep(0.2)
            left.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    child = os.fork()
    if child == 0:
        with gate:
            os._exit(0 if left and gate.inside == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    assert gate.inside == 0


def test_fork_from_inside():
    gate = ForkGate()
    with gate, gate:
        child = os.fork()
        if child == 0:
            os._exit(0 if gate.inside == 2 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert gate.inside == 2
    assert gate.inside == 0


def test_fork_does_not_wait_for_what_its_own_thread_has_not_left():
    """Ctrl-C while a region is left may keep it from being left."""
    gate = ForkGate()
    gate.__enter__()
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert time.monotonic() - begin < 5
    with gate:
        pass
    gate.__exit__()
    assert gate.inside == 0


def test_nobody_enters_while_fork_waits():
    gate, order = ForkGate(), []
    gate.close()

    def work():
        with gate:
            order.append("entered")

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.1)
    order.append("opened")
    gate.open()
    thread.join()
    assert order == ["opened", "entered"] and gate.inside == 0
