"""Calls on integers and bits."""

from .arrays import MILLION, integers
from .catalogue import case, variant

LARGE = integers(MILLION, high=2**30)
SIGNED = integers(MILLION, low=-(2**30), high=2**30)
UNSIGNED = integers(MILLION, high=2**32, dtype="uint32")
SMALL = integers(MILLION, low=1, high=1000)
BYTES = integers(MILLION, high=100, dtype="int8")
SHIFTS = integers(MILLION, high=31)

_ARITHMETIC = [
    case("int32 + int32, 10^6", lambda a, b: a + b, SIGNED, SIGNED),
    case("int8 + int8, 10^6", lambda a, b: a + b, BYTES, BYTES),
    variant("int8 * int8, 10^6", lambda a, b: a * b, BYTES, BYTES),
    variant("uint8 + uint8, 10^6", lambda a, b: a + b,
            *[integers(MILLION, high=256, dtype="uint8")] * 2),
    variant("int16 * int16, 10^6", lambda a, b: a * b,
            *[integers(MILLION, high=200, dtype="int16")] * 2),
    case("uint32 * uint32 >> 3, 10^6", lambda a, b: (a * b) >> 3, UNSIGNED, UNSIGNED),
    case("int32 // int32, 10^6", lambda a, b: a // b, SIGNED, SMALL),
    case("int32 % int32, 10^6", lambda a, b: a % b, SIGNED, SMALL),
    variant("int32 // 10, 10^6", lambda a: a // 10, SIGNED),
    case("int32 % 7, 10^6", lambda a: a % 7, SIGNED),
    case("uint32 % 1000, 10^6", lambda a: a % 1000, UNSIGNED),
    variant("int8 // int8, 10^6", lambda a, b: a // b, BYTES,
            integers(MILLION, low=1, high=50, dtype="int8")),
    variant("int16 % int16, 10^6", lambda a, b: a % b, integers(MILLION, high=9999, dtype="int16"),
            integers(MILLION, low=1, high=50, dtype="int16")),
    variant("divmod, 10^6", "jnp.divmod", SIGNED, SMALL),
    variant("int32 / int32, 10^6", lambda a, b: a / b, SIGNED, SMALL),
    variant("int32 ** 3, 10^6", lambda a: a**3, SMALL),
    case("gcd, 100000", "jnp.gcd", *[integers(100000, high=2**20)] * 2),
    variant("lcm, 100000", "jnp.lcm", *[integers(100000, low=1, high=2**10)] * 2),
    case("clip int32, 10^6", lambda jnp, a: jnp.clip(a, 100, 5000), SIGNED),
    variant("clip uint8, 10^6", lambda jnp, a: jnp.clip(a, 20, 200),
            integers(MILLION, high=256, dtype="uint8")),
    variant("absolute of int16, 10^6", "jnp.abs",
            integers(MILLION, low=-99, high=99, dtype="int16")),
    variant("sign of int32, 10^6", "jnp.sign", SIGNED),
    variant("powers by squaring, 10^6", lambda lax, a: lax.integer_pow(a, 13), SMALL),
]  # fmt: skip

_BITS = [
    case("and, or, exclusive or, 10^6", lambda a, b: (a & b) | (a ^ (b >> 1)), SIGNED, SIGNED),
    variant("not of uint8, 10^6", lambda a: ~a, integers(MILLION, high=256, dtype="uint8")),
    variant("shift left by array, 10^6", lambda a, b: a << b, LARGE, SHIFTS),
    case("shift right by array, 10^6", lambda a, b: a >> b, SIGNED, SHIFTS),
    variant("logical shift right by 5, 10^6", lambda lax, a: lax.shift_right_logical(a, a * 0 + 5),
            SIGNED),
    variant("rotation of bits, 10^6", lambda a: (a << 13) | (a >> 19), UNSIGNED),
    variant("xorshift hash, 10^6",
            lambda a: (lambda b: (b ^ (b >> 15)) * 0x2C1B3C6D)(a ^ (a >> 16)),
            UNSIGNED),
    case("population_count, 10^6", "lax.population_count", LARGE),
    variant("population_count uint8, 10^6", "lax.population_count",
            integers(MILLION, high=256, dtype="uint8")),
    variant("count of leading zeros, 10^6", "lax.clz", LARGE),
    case("packbits, 10^6", "jnp.packbits", integers(MILLION, high=2, dtype="uint8")),
    case("unpackbits, 125000", "jnp.unpackbits", integers(MILLION // 8, high=256, dtype="uint8")),
    variant("Morton codes, 10^6",
            lambda a: (lambda b: (b | (b << 2)) & 0x33333333)((a | (a << 4)) & 0x0F0F0F0F),
            UNSIGNED),
]  # fmt: skip

_INDICES = [
    case("ravel_multi_index, 10^6",
         lambda jnp, a, b: jnp.ravel_multi_index((a, b), (1000, 1000), mode="clip"),
         SMALL, SMALL),
    variant("unravel_index, 10^6", lambda jnp, a: jnp.unravel_index(a, (100, 100, 100)),
            integers(MILLION, high=MILLION)),
    variant("comparison of int8, 10^6", lambda a, b: a < b, BYTES, BYTES),
    variant("equality of int32, 10^6", lambda a, b: a == b, SMALL, SMALL),
]  # fmt: skip

CASES = [*_ARITHMETIC, *_BITS, *_INDICES]
