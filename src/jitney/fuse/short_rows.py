"""Short rows as vectors: where these begin, and what it takes to pick a row's elements from them.

In: numbers of elements, lanes and steps. Out: numbers.
"""


def begins_of(count: int, lanes: int) -> list[int]:
    """Where the vectors of so many elements begin; the last is whole if there is a whole one.

    >>> begins_of(40, 16), begins_of(5, 16)
    ([0, 16, 24], [0])
    """
    return [*range(0, count - lanes, lanes), count - lanes] if count > lanes else [0]


def shuffles_of(step: int) -> int:
    """How many a vector of elements so far apart takes, where all between them are wanted, too:
    halves of an even step are picked first (codegen/strided.py).

    >>> [shuffles_of(step) for step in (2, 3, 4, 6, 7, 8)]
    [1, 3, 2, 4, 7, 3]
    """
    halves = (step & -step).bit_length() - 1
    odd = step >> halves
    return halves + (odd if odd > 1 else 0)
