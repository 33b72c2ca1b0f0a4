"""Every public function has a row in the table; every other name has a test file that mentions it."""

import json
import re
from pathlib import Path

import elsewhere
import pytest
from test_table import ROWS

from jitney.tools import coverage

ROOT = Path(__file__).resolve().parents[2]
STATS = """bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom gumbel_l
    gumbel_r laplace logistic multinomial multivariate_normal nbinom norm pareto poisson t truncnorm
    uniform vonmises wrapcauchy""".split()
MODULES = ["jax." + name for name in """numpy numpy.linalg numpy.fft lax lax.linalg random nn
    nn.initializers scipy.special scipy.linalg scipy.stats scipy.signal scipy.optimize scipy.ndimage
    scipy.integrate scipy.interpolate scipy.cluster.vq scipy.sparse.linalg scipy.fft tree tree_util
    errors ops image dtypes flatten_util dlpack experimental.ode test_util""".split()]
MODULES += [f"jax.scipy.stats.{name}" for name in STATS]


def listed(table: dict, module: str) -> dict[str, str]:
    """name -> test file."""
    return {n: file for file, names in table.get(module, {}).items() for n in names.split()}


@pytest.mark.parametrize("module", MODULES)
def test_every_function_has_a_row(module):
    rows = {row.name for row in ROWS if row.module == module}
    functions = set(coverage.present_functions(module))
    known = rows | set(listed(elsewhere.FUNCTIONS, module))
    assert sorted(functions - known) == [], "give them a row in tests/table"
    assert sorted(known - functions) == [], "rows of functions that are not there"


@pytest.mark.parametrize("module", MODULES)
def test_every_other_name_has_a_test(module):
    functions = set(coverage.present_functions(module))
    others = {n for n, v in coverage.public_names(module).items()
              if n not in functions and not n.endswith("_p") and not coverage.reason_of(v)}
    known = set(listed(elsewhere.OTHERS, module))
    assert sorted(others - known) == [], "name the test file in tests/table/elsewhere.py"
    assert sorted(known - others) == []


@pytest.mark.parametrize("table", [elsewhere.FUNCTIONS, elsewhere.OTHERS])
def test_the_files_named_have_the_names(table):
    for module in table:
        for name, file in listed(table, module).items():
            assert re.search(rf"\b{name}\b", (ROOT / file).read_text()), (name, file)


def test_all_stored_names_of_numpy_are_public():
    names = json.loads((ROOT / "tests/numpy/public_names.json").read_text())
    missing = set(names) - set(coverage.public_names("jax.numpy"))
    assert missing <= {"linalg", "fft", "int1", "uint1"}


def test_rows_are_read_as_written():
    import doctest

    import rows

    assert doctest.testmod(rows).failed == 0
    with pytest.raises(ValueError, match="'flaot' in the row of sin is no option"):
        rows.table("m", "p", "np", "sin: x @ flaot")
