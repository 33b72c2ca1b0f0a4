"""Programs spread over devices, and the collectives in them: one Python step each.

In: `shard_map` and collective equations. Out: `python` calls of their references, which start the
devices' threads, or meet the other ones (`placement.members`). The program of each device is
compiled by itself, so that what lies between two collectives is machine code.
"""

from .python_steps import call_python
from .rules import lower_rule

COLLECTIVES = (
    "psum", "psum_invariant", "pmax", "pmin", "axis_index", "all_gather", "reduce_scatter",
    "all_to_all", "ppermute",
)


@lower_rule("shard_map", *COLLECTIVES)
def lower_to_python_step(ctx, eqn, *values):
    results = call_python(ctx, eqn, values)
    return results if eqn.primitive.multiple_results else results[0]


@lower_rule("pvary", "sharding_constraint")
def lower_identity(ctx, eqn, x):
    return x


@lower_rule("device_put")
def lower_identities(ctx, eqn, *xs):
    return list(xs)
