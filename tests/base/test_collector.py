"""The collector waits while something is planned, and afterwards is as it was."""

import gc
import os
import threading

import pytest

import jitney
import jitney.numpy as jnp
from jitney.base import collector
from jitney.base.collector import without_collector


@without_collector
def enabled_inside(then=lambda: None):
    then()
    return gc.isenabled()


def test_off_inside_and_on_afterwards():
    assert not enabled_inside()
    assert gc.isenabled()


def test_nested_and_after_an_error():
    def fail():
        assert not enabled_inside()
        raise KeyError

    with pytest.raises(KeyError):
        enabled_inside(fail)
    assert gc.isenabled()


def test_what_the_user_switched_off_stays_off():
    gc.disable()
    try:
        assert not enabled_inside()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_threads():
    gate = threading.Barrier(2)
    seen = []

    def work():
        enabled_inside(gate.wait)
        seen.append(True)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True, True]
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_collects_again():
    begun, end = threading.Event(), threading.Event()

    def wait():
        begun.set()
        end.wait(30)

    thread = threading.Thread(target=enabled_inside, args=(wait,))
    thread.start()
    begun.wait(30)
    child = os.fork()
    if child == 0:
        os._exit(0 if gc.isenabled() and not enabled_inside() and gc.isenabled() else 1)
    status = os.waitpid(child, 0)[1]
    end.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert gc.isenabled()


def test_compiling_collects_nothing():
    collections = []

    def note(phase, info):
        collections.append(phase)

    function = jitney.jit(lambda x: sum(jnp.sin(x * k) for k in range(300)))
    lowered = function.lower(jnp.arange(7.0))
    gc.collect()
    gc.callbacks.append(note)
    try:
        lowered.compile()
    finally:
        gc.callbacks.remove(note)
    assert len(collections) <= 4        # those before and after, not one in a thousand objects


def test_rare_while_tracing_and_as_usual_afterwards():
    usual, seen = gc.get_threshold(), []

    def function(x):
        seen.append(gc.get_threshold()[0])
        return jitney.jit(lambda y: y * 2)(x) + 1

    jitney.make_jaxpr(function)(1.0)
    assert seen == [collector.RARELY]
    assert gc.get_threshold() == usual

    def fail(x):
        raise KeyError

    with pytest.raises(KeyError):
        jitney.make_jaxpr(fail)(1.0)
    assert gc.get_threshold() == usual


def test_a_threshold_set_while_tracing_stays():
    usual = gc.get_threshold()

    def function(x):
        gc.set_threshold(1234, *usual[1:])
        return x

    try:
        jitney.make_jaxpr(function)(1.0)
        assert gc.get_threshold()[0] == 1234
    finally:
        gc.set_threshold(*usual)
