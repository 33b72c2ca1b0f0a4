"""Programs written against the standard: SciPy's functions on our arrays, in a process of its own.

SciPy assigns to elements unless it knows an array for a JAX array, hence the alias.
"""

import subprocess
import sys

import pytest

pytest.importorskip("scipy")

PROGRAM = """
import os, sys, warnings
os.environ["SCIPY_ARRAY_API"] = "1"
warnings.simplefilter("ignore")
import numpy as np
import jitney
import jitney.numpy
sys.modules["jax"], sys.modules["jax.numpy"] = jitney, jitney.numpy
jitney.config.update("jax_enable_x64", True)
import scipy.cluster, scipy.fft, scipy.integrate, scipy.signal, scipy.special, scipy.stats

plain = np.random.default_rng(0).standard_normal((20, 3))
calls = dict(
    zscore=lambda x: scipy.stats.zscore(x), skew=lambda x: scipy.stats.skew(x),
    ttest=lambda x: scipy.stats.ttest_1samp(x, 0.0).pvalue,
    gmean=lambda x: scipy.stats.gmean(abs(x)), kurtosis=lambda x: scipy.stats.kurtosis(x),
    pearsonr=lambda x: scipy.stats.pearsonr(x[:, 0], x[:, 1]).statistic,
    entropy=lambda x: scipy.stats.entropy(abs(x)), erf=lambda x: scipy.special.erf(x),
    logsumexp=lambda x: scipy.special.logsumexp(x, axis=0),
    softmax=lambda x: scipy.special.softmax(x, axis=0), fft=lambda x: scipy.fft.fft(x),
    whiten=lambda x: scipy.cluster.vq.whiten(x),
    trapezoid=lambda x: scipy.integrate.trapezoid(x, axis=0),
    detrend=lambda x: scipy.signal.detrend(x, axis=0))
for name, call in calls.items():
    found = call(jitney.numpy.asarray(plain))
    assert isinstance(found, jitney.Array), (name, type(found))
    np.testing.assert_allclose(np.asarray(found), call(plain), rtol=1e-9, atol=1e-12, err_msg=name)
print(len(calls), "functions")
"""


@pytest.mark.slow
def test_scipy():
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                         timeout=120)  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout == "14 functions\n"
