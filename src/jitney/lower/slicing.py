"""Lowering of static and dynamic slices."""

from .rules import Pair, lower_rule


@lower_rule("slice")
def lower_slice(ctx, eqn, x):
    p = eqn.params
    return ctx.each(
        x, lambda n: ctx.g.slice(n, p["start_indices"], p["limit_indices"], p["strides"])
    )


@lower_rule("dynamic_slice")
def lower_dynamic_slice(ctx, eqn, x, *starts):
    sizes = eqn.params["slice_sizes"]
    return ctx.each(x, lambda n: ctx.g.dynamic_slice(n, starts[: len(sizes)], sizes))


@lower_rule("dynamic_update_slice")
def lower_dynamic_update_slice(ctx, eqn, x, update, *starts):
    if isinstance(x, Pair):
        return Pair(
            ctx.g.dynamic_update_slice(x.re, update.re, starts),
            ctx.g.dynamic_update_slice(x.im, update.im, starts),
        )
    return ctx.g.dynamic_update_slice(x, update, starts)
