"""Products of few terms as elementwise products and sums, which fuse with what is around them.

In: two operands and the axes that are summed, and those that both have. Out: the node of the sum.
"""


def short_sum(g, x, y, contract, batch, code):
    """A product with few terms as an elementwise product and a sum: these fuse with anything."""
    (cx, cy), (bx, by) = contract, batch
    free_x = [i for i in range(len(x.shape)) if i not in cx and i not in bx]
    free_y = [i for i in range(len(y.shape)) if i not in cy and i not in by]
    n_batch, n_x, n_sum = len(bx), len(free_x), len(cx)
    place_x = {axis: i for i, axis in enumerate((*bx, *free_x, *cx))}
    order_y = (*by, *cy, *free_y)
    place_y = {axis: i if i < n_batch else i + n_x for i, axis in enumerate(order_y)}
    shape = [x.shape[i] for i in (*bx, *free_x, *cx)] + [y.shape[i] for i in free_y]
    terms = [
        g.broadcast(g.convert(v, code), shape, [place[i] for i in range(len(v.shape))])
        for v, place in ((x, place_x), (y, place_y))
    ]
    return g.reduce("sum", g.mul(*terms), range(n_batch + n_x, n_batch + n_x + n_sum))
