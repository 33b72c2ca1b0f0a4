"""Calls that work on each element of floating arrays, and change types."""

from .arrays import MILLION, integers, normals, uniforms, with_holes
from .catalogue import case, variant

LINE = normals(MILLION)
POSITIVE = uniforms(MILLION, low=0.01, high=10)
UNIT = uniforms(MILLION, low=-0.99, high=0.99)
MASKED = with_holes(MILLION)

_OF_ONE = [
    case(f"{name}, 10^6", f"jnp.{name}", maker)
    for name, maker in {
        "exp": LINE, "expm1": LINE, "log": POSITIVE, "log1p": POSITIVE, "cbrt": LINE, "sin": LINE,
        "tan": LINE, "arcsin": UNIT, "arctan": LINE, "tanh": LINE, "arctanh": UNIT,
        "sinc": LINE, "frexp": LINE,
    }.items()
] + [
    variant(f"{name}, 10^6", f"jnp.{name}", maker)
    for name, maker in {
        "exp2": LINE, "log2": POSITIVE, "sqrt": POSITIVE, "cos": LINE, "arccos": UNIT,
        "sinh": LINE, "cosh": LINE, "arcsinh": LINE,
        "arccosh": uniforms(MILLION, low=1.01, high=50), "floor": LINE, "sign": LINE,
        "signbit": LINE, "modf": LINE, "nan_to_num": MASKED, "i0": LINE, "spacing": LINE,
    }.items()
]  # fmt: skip

_OF_TWO = [
    case(f"{name}, 10^6", f"jnp.{name}", LINE, LINE)
    for name in ("arctan2", "hypot", "nextafter", "logaddexp", "isclose")
] + [
    variant(f"{name}, 10^6", f"jnp.{name}", LINE, LINE)
    for name in ("copysign", "heaviside", "maximum", "fmin")
] + [
    case("power, 10^6", lambda a, b: a**b, uniforms(MILLION), LINE),
    case("power with whole exponent, 10^6", lambda a: a**7, LINE),
    variant("power with half exponent, 10^6", lambda a: a**1.5, POSITIVE),
    case("fmod, 10^6", "jnp.fmod", normals(MILLION, scale=100), LINE),
    variant("remainder, 10^6", lambda a, b: a % b, normals(MILLION, scale=100), LINE),
    variant("floor_divide, 10^6", lambda a, b: a // b, normals(MILLION, scale=100), LINE),
    variant("ldexp, 10^6", "jnp.ldexp", LINE, integers(MILLION, high=5)),
    variant("float_power, 10^6", lambda jnp, a: jnp.float_power(a, 2.5), POSITIVE),
]  # fmt: skip

_CHOICES = [
    variant("round to two places, 10^6", "jnp.round", LINE, decimals=2),
    case("clip, 10^6", lambda jnp, x: jnp.clip(x, -1, 1), LINE),
    case("where with a number, 10^6", lambda jnp, x: jnp.where(x > 0, x, 0.0), LINE),
    variant("where with two numbers, 10^6", lambda jnp, x: jnp.where(x > 0, 1.0, -1.0), LINE),
    variant("where of two arrays, 10^6", lambda jnp, x, y: jnp.where(x > y, x, y), LINE, LINE),
    case("select of five, 10^6",
         lambda jnp, x: jnp.select([x < -1, x < 0, x < 1, x < 2], [x, x * 2, x * 3, x * 4], 0.0),
         LINE),
    case("piecewise, 10^6",
         lambda jnp, x: jnp.piecewise(x, [x < 0, x > 1], [lambda v: -v, lambda v: v * v, 0.5]),
         LINE),
    case("polynomial of degree 19, 10^6", "jnp.polyval", normals(20), uniforms(MILLION)),
    variant("vander, 100000 x 10", "jnp.vander", uniforms(100000), N=10),
    case("exp, sin and log in one, 10^6",
         lambda jnp, x: jnp.exp(-x * x) * jnp.sin(x) + jnp.log1p(jnp.abs(x)), LINE),
    case("Black-Scholes, 10^6",
         lambda jnp, scipy, s, k: s * scipy.special.ndtr(jnp.log(s / k) + 0.5)
         - k * scipy.special.ndtr(jnp.log(s / k) - 0.5), POSITIVE, POSITIVE),
]  # fmt: skip

_TYPES = [
    case("uint8 to float32, 10^6", lambda x: (x / 255.0).astype("float32"),
         integers(MILLION, high=256, dtype="uint8")),
    case("float32 to uint8, 10^6", lambda jnp, x: jnp.clip(x * 255, 0, 255).astype("uint8"),
         uniforms(MILLION)),
    case("float32 to bfloat16, 10^6", lambda x: x.astype("bfloat16"), LINE),
    variant("float32 to int8, 10^6", lambda x: x.astype("int8"), normals(MILLION, scale=30)),
    variant("int16 to float16, 10^6", lambda x: x.astype("float16"),
            integers(MILLION, high=1000, dtype="int16")),
    variant("float32 to truth values, 10^6", lambda x: x.astype("bool"), LINE),
    variant("float16 to float32 and back, 10^6",
            lambda x: (x.astype("float32") * 1.1).astype("float16"),
            normals(MILLION, dtype="float16")),
    variant("bits of float32, 10^6", lambda lax, x: lax.bitcast_convert_type(x, "uint32"), LINE),
]  # fmt: skip

_NARROW = [
    case(f"{name} {dtype}, 10^6", path, normals(MILLION, dtype=dtype),
         variant=(name, dtype) != ("gelu", "bfloat16"))
    for dtype in ("bfloat16", "float16")
    for name, path in {"gelu": "nn.gelu", "exp": "jnp.exp", "tanh": "jnp.tanh"}.items()
] + [
    case(f"add {dtype}, 10^6", lambda a, b: a + b, *[normals(MILLION, dtype=dtype)] * 2,
         variant=dtype == "float16")
    for dtype in ("bfloat16", "float16")
]  # fmt: skip

CASES = [*_OF_ONE, *_OF_TWO, *_CHOICES, *_TYPES, *_NARROW]
