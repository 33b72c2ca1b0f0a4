"""Effects inside loops and branches applied at once (outside jit) happen, once a step."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.experimental import io_callback


@pytest.mark.parametrize("wrap", [lambda f: f, jitney.jit], ids=["eager", "jit"])
def test_effects_of_loops(wrap):
    seen: list = []

    def note(x):
        io_callback(lambda v: seen.append(float(v)), None, x)

    def scanned(w):
        def body(carry, x):
            note(lax.stop_gradient(carry))
            return carry * w + x, None

        return lax.scan(body, 0.0, jnp.arange(3.0))[0]

    def looped(w):
        return lax.while_loop(lambda c: c < 3.0, lambda c: (note(c), c + w)[1], 0.0)

    def chosen(w):
        return lax.cond(w > 0.0, lambda x: (note(x), x)[1], lambda x: x, w)

    for f, want in ((scanned, [0.0, 0.0, 1.0]), (looped, [0.0, 2.0]), (chosen, [2.0]),
                    (jitney.grad(scanned), [0.0, 0.0, 1.0])):
        seen.clear()
        np.asarray(wrap(f)(2.0))
        jitney.effects_barrier()
        assert sorted(seen) == want
