"""docs/random.md says how near the draws are to JAX's."""

import re

import exactness
import pytest

CASES = [(name, arguments, dtype) for name, arguments, dtypes in exactness.rows()
         for dtype in dtypes]  # fmt: skip


def stated() -> dict[str, list[int]]:
    """Beginning of a row -> greatest distances with the setting on and off."""
    found = {}
    for line in exactness.PAGE.read_text().splitlines():
        parts = re.fullmatch(r"\| (`.*` \| \w+) \| (.*) \| .*\|", line)
        if parts:
            cells = parts[2].split(" · ")
            gaps = [0 if c == "exact" else int(c.split(" ulp")[0]) for c in cells]
            found[parts[1]] = gaps * (2 // len(gaps))
    return found


def test_the_page_has_all_rows_and_no_other():
    rows = {exactness.line(*case, [(0, 0.0)] * 2).split(" | exact")[0].removeprefix("| ")
            for case in CASES}  # fmt: skip
    assert rows == set(stated())


@pytest.mark.jax
@pytest.mark.parametrize("name, arguments, dtype", CASES)
def test_draws_are_as_near_as_the_page_says(name, arguments, dtype):
    """Exact where it says so; elsewhere another instruction set may change the last places."""
    pytest.importorskip("jax")
    found = exactness.measured(name, arguments, dtype)
    key = exactness.line(name, arguments, dtype, [(0, 0.0)] * 2).split(" | exact")[0]
    for (gap, share), limit in zip(found, stated()[key.removeprefix("| ")], strict=True):
        if limit == 0:
            assert gap == 0, f"{share:.1%} of the draws differ, by up to {gap} ulp"
        else:
            assert gap <= 8 * limit or share < 0.001 or limit > 64, (gap, limit)
