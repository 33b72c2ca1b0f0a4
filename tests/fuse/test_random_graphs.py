"""Random programs give the same answer as graphs, as kernels and as machine code."""

import numpy as np
import pytest
from random_graphs import RandomGraph

from jitney.graph.graph import GraphBuilder
from jitney.testing.stages import check_graph

_LOOSE = {"rtol": 2e-3, "atol": 2e-3}


@pytest.mark.parametrize("seed", range(120))
def test_small_programs_agree_at_every_stage(seed):
    check_graph(*RandomGraph(seed).build(), **_LOOSE)


@pytest.mark.parametrize("seed", range(1000, 1025))
def test_larger_programs_agree(seed):
    check_graph(*RandomGraph(seed, size=10, big=True).build(), **_LOOSE)


@pytest.mark.parametrize("seed", range(2000, 2080))
def test_values_one_after_the_other(seed):
    check_graph(*RandomGraph(seed, size=6, big=seed % 2).build_joined(), **_LOOSE)


@pytest.mark.parametrize("code", ["f64", "f16", "bf16", "i8", "u8", "u32", "i64", "u64"])
def test_every_element_type(code):
    codes = (code, "i32", "b1") if code != "i32" else ("i32", "b1")
    for seed in range(3):
        check_graph(*RandomGraph(seed, size=6, codes=codes).build(), rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize("seed", range(40))
def test_many_outputs_of_one_web(seed):
    """Outputs that use one another: kernels for several of them must not wait for each other."""
    rng = np.random.default_rng(seed)
    g = GraphBuilder()
    pool = [g.input((6,), "f32")]
    for _ in range(25):
        a, b = pool[rng.integers(len(pool))], pool[rng.integers(len(pool))]
        two = rng.random() < 0.7
        op = ("add", "mul", "sub", "max")[rng.integers(4)] if two else ("tanh", "sin")[b.id % 2]
        made = g.ew(op, a, b) if two else g.ew(op, a)
        if rng.random() < 0.3:  # an output that others need all of
            made = g.broadcast(g.reduce("sum", made, (0,)), (6,), ())
        pool.append(made)
    outputs = [pool[i] for i in rng.permutation(np.arange(1, len(pool)))[:16]]
    check_graph(
        g.finish(outputs, "web"), g.table, [rng.normal(size=6).astype(np.float32)], **_LOOSE
    )
