"""Programs with mistakes, as a user may write them; `test_messages.py` keeps what they are told.

Lines of this file are named in the messages: add new programs at the end.
"""

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney import lax

kept: list = []


def carry_changes_its_dtype():
    def count(state, x):
        return {"total": state["total"] + x, "n": state["n"] + 1.5}, None

    return lax.scan(count, {"total": jnp.float32(0), "n": jnp.int32(0)}, jnp.arange(3.0))


def carry_grows():
    def collect(seen, x):
        return jnp.append(seen, x), None

    return lax.scan(collect, jnp.zeros(2), jnp.arange(3.0))


def carry_gets_a_shape():
    return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * jnp.ones(4)),
                          (0, jnp.float32(1)))


def carry_changes_its_structure():
    return lax.fori_loop(0, 3, lambda i, state: (*state, i), (1.0, 2.0))


def tracer_leaves_a_scan():
    def body(carry, x):
        kept.append(carry * x)
        return carry + x, None

    lax.scan(body, 0.0, jnp.arange(3.0))
    return kept.pop() + 1.0


def tracer_leaves_a_while_loop():
    def body(carry):
        kept.append(carry)
        return carry + 1.0

    lax.while_loop(lambda c: c < 3.0, body, 0.0)
    return jnp.sin(kept.pop())


def tracer_leaves_a_gradient():
    def loss(x):
        kept.append(x * 2.0)
        return x * x

    jitney.grad(loss)(1.0)
    return kept.pop() + 1.0


def leak_is_looked_for():
    def body(carry, x):
        kept.append(carry * x)
        return carry + x, None

    try:
        with jitney.checking_leaks():
            lax.scan(body, 0.0, jnp.arange(3.0))
    finally:
        kept.clear()


def effect_in_a_transposed_scan():
    from jitney.experimental import io_callback

    def loss(w):
        def body(carry, x):
            logged = io_callback(lambda v: np.float32(v),
                                 jitney.ShapeDtypeStruct((), np.float32), carry)
            return carry * w + logged, None

        return lax.scan(body, 1.0, jnp.arange(3.0))[0]

    return jitney.grad(loss)(2.0)


def nan_in_a_backward_pass():
    def loss(x):
        return jnp.sqrt(x * 0.0)

    with jitney.debug_nans(True):
        return jitney.grad(loss)(1.0)


def nan_in_a_compiled_backward_pass():
    def loss(x):
        safe = jnp.where(x > 0.0, jnp.sqrt(x), 0.0)
        return jnp.sum(safe)

    with jitney.debug_nans(True):
        return jitney.jit(jitney.grad(loss))(jnp.array([1.0, 0.0]))


def nan_in_a_backward_scan():
    def loss(w):
        return lax.scan(lambda c, x: (jnp.sqrt(c * x), None), w, jnp.arange(3.0))[0]

    with jitney.debug_nans(True):
        return jitney.grad(loss)(1.0)


def nan_in_a_step():
    @jitney.jit
    def simulate(x):
        return lax.fori_loop(0, 8, lambda i, c: jnp.log(c) + 0.5, x)

    with jitney.debug_nans(True):
        return simulate(1.2)


def many_carries_change_their_dtype():
    def body(carry, x):
        return {k: v + 0.5 for k, v in carry.items()}, None

    return lax.scan(body, {f"w{i:02d}": jnp.int32(i) for i in range(12)}, jnp.arange(3.0))
