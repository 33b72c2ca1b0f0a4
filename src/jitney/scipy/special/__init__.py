"""Special functions, under the names of `jax.scipy.special`, imported when first used."""

import importlib
from typing import Any

_MODULES = {
    "bessel": "bessel_jn i0 i0e i1 i1e",
    "elementary": """
        boxcox boxcox1p entr expit kl_div log_softmax logit logsumexp rel_entr softmax
        xlog1py xlogy""",
    "errors": "dawsn erf erfc erfcx erfinv fresnel log_ndtr ndtr ndtri owens_t wofz",
    "exponential_integrals": "exp1 expi expn sici spence",
    "gammas": """
        bernoulli beta betainc betaln comb digamma factorial gamma gammainc gammaincc
        gammaln gammasgn loggamma multigammaln poch polygamma zeta""",
    "hypergeometric": "hyp1f1 hyp2f1 sph_harm_y",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name, name if name in _MODULES else None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = importlib.import_module(f"{__name__}.{module}")
    if name in _MODULE_OF:
        found = globals()[name] = getattr(found, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
