"""What is kept about objects goes with them, and without a line of Python."""

import gc
import re
import sys
from pathlib import Path

import pytest

import jitney
from jitney.base.weak_memo import WeakMemo

ROOT = Path(jitney.__file__).parent


class Named:
    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


def python_functions_called(work):
    """Names of the functions in Python that run during `work()`, itself left out."""
    seen = []
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == "call"
                   else None)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen[1:]


def test_entries_are_found_by_equality():
    memo, key = WeakMemo(), Named("a")
    memo[key] = 1
    assert memo.get(Named("a")) == 1 and memo.get(Named("b")) is None
    assert memo.setdefault(Named("a"), 2) == 1 and memo.values() == [1]
    memo[key] = 3
    assert memo.get(key) == 3 and len(memo) == 1


def test_entries_go_with_their_keys():
    memo, keys = WeakMemo(), [Named(k) for k in range(9)]
    for key in keys:
        memo.setdefault(key, {})["own"] = key.name
    del key, keys[2:]
    assert [v["own"] for v in memo.values()] == [0, 1]


@pytest.mark.parametrize("in_a_cycle", [False, True])
def test_no_python_runs_when_a_key_dies(in_a_cycle):
    """There an exception, that of Ctrl-C too, would be lost."""
    memo, holder = WeakMemo(), [Named("a")]
    memo[holder[0]] = {}
    if in_a_cycle:
        holder[0].own = holder[0]

    def die():
        holder.clear()
        if in_a_cycle:
            gc.collect()

    before = list(gc.callbacks)
    gc.callbacks.clear()  # those of other libraries
    try:
        assert python_functions_called(die) == [] and len(memo) == 0
    finally:
        gc.callbacks.extend(before)


def test_clear_when_values_hold_keys(capfd):
    memo = WeakMemo()
    chain = [Named(k) for k in range(5)]
    for key, held in zip(chain, chain[1:] + [None], strict=True):
        memo[key] = held
    del key, held, chain[1:]
    assert len(memo) == 5
    memo.clear()
    assert len(memo) == 0 and capfd.readouterr().err == ""


@pytest.mark.parametrize("key", [[], 3, {}])
def test_keys_without_hash_or_weak_references(key):
    memo = WeakMemo()
    for use in (lambda: memo.get(key), lambda: memo.setdefault(key, 1),
                lambda: memo.__setitem__(key, 1)):
        with pytest.raises(TypeError):
            use()


def test_the_package_keeps_no_other_weak_dictionary():
    forbidden = re.compile(r"weakref\.(WeakKeyDictionary|WeakValueDictionary|finalize)\(")
    used = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*.py") if forbidden.search(p.read_text())]
    assert not used, f"{used}: use base.weak_memo, whose entries go without running Python"
