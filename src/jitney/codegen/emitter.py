"""`Emitter`: the operations of arithmetic, each with the instructions its target has.

In: operations on `Value`s, and a target. Out: their instructions (`Instructions`): floating-point
and integer arithmetic, and conversions between types. What a target lacks (fused multiply-adds,
rounding, 16-bit floats) is written with what it has; nothing calls the C library.
"""

from . import short_floats
from .constants_text import FLOAT_BITS, INTEGER_OF_FLOAT, bits_of_type
from .instructions import Instructions, Value

LINE_BYTES = 64
IN_REGISTERS = 4  # constants of multiply-adds that are left to LLVM
MOST_PLACES = 8  # of one constant in memory
IN_ASSEMBLY = {"double", "i64", "float", "i32", "i16", "i8"}  # elements of its vectors


class Emitter(Instructions):
    """Writes operations for a target."""

    def __init__(self, target, copies=1, prefix="t", block="entry"):
        super().__init__(copies, prefix, block)
        self.target = target
        self._uses: dict[str, int | None] = {}  # of constants in memory; None: in a register
        features = getattr(target, "features", "") or ""
        self.has_rounding = bool(target.avx2 or target.avx512 or "+sse4.1" in features)
        self.has_half = bool(target.avx2 or target.avx512 or "+f16c" in features)

    def sealed(self, name: str, type_: str, lanes: int) -> str:
        """A vector that LLVM does not look into: it is the result of assembly without a line. To
        choose instructions, LLVM tries to merge each shuffle with those that feed it, some levels
        deep. Where they are what they should be that is for nothing: rows of 16 turned in registers
        take 39 ms to compile so, and 29 sealed, and the code is the same; third elements picked 56
        and 29 (263 users' programs: LLVM takes .95 of the time)."""
        if self.target.arch != "x86_64" or type_ not in IN_ASSEMBLY:
            return name
        bits = lanes * bits_of_type(type_)
        if bits not in (128, 256, 512) or bits > self.target.vector_bits:
            return name
        vector, letter = f"<{lanes} x {type_}>", "v" if self.target.avx512 else "x"
        return self.instruction(f'call {vector} asm "", "={letter},0"({vector} {name})')

    # ---- floating point -----------------------------------------------------------------------

    def fadd(self, a, b):
        return self.binary("fadd", a, b)

    def fsub(self, a, b):
        return self.binary("fsub", a, b)

    def fmul(self, a, b):
        return self.binary("fmul", a, b)

    def fdiv(self, a, b):
        return self.binary("fdiv", a, b)

    def fneg(self, a):
        return self._write(f"fneg {a.text} {{0}}", (a,), a.type, a.lanes)

    def sqrt(self, a):
        return self.overloaded("sqrt", a)

    def fabs(self, a):
        return self.overloaded("fabs", a)

    def copysign(self, a, b):
        a, b = self.match(a, b)
        if a.lanes > 1:
            return self.overloaded("copysign", a, b)
        # scalars in integers: LLVM turns a narrowed copysign into a call of __truncdfhf2
        size, sign = self.bits(a), self.bits(b)
        mask = 1 << (bits_of_type(size.type) - 1)
        size = self.and_(size, self._integer(size, mask - 1))
        return self.bitcast(a.type, self.or_(size, self.and_(sign, self._integer(sign, mask))))

    def fma(self, a, b, c):
        """a*b + c with (nearly) one rounding on every target; see `muladd` for polynomials."""
        if self.target.fma:
            return self._fused(a, b, c)
        a, b, c = self.match(a, b, c)
        if a.type == "float":  # the product is exact in double
            wide = [self.cast("fpext", v, "double") for v in (a, b, c)]
            total = self.fadd(self.fmul(wide[0], wide[1]), wide[2])
            return self.cast("fptrunc", total, "float")
        return self._double_fma(a, b, c)

    def muladd(self, a, b, c):
        """a*b + c by the cheapest means: one rounding or two."""
        if self.target.fma:
            return self._fused(a, b, c)
        return self.fadd(self.fmul(a, b), c)

    def _fused(self, a, b, c):
        return self.overloaded("fma", *self._with_constants_in_memory(*self.match(a, b, c)))

    def _with_constants_in_memory(self, *operands):
        """AVX2: constants beyond the first few as operands in memory.

        Its sixteen registers do not hold the coefficients of a polynomial; LLVM then loads and
        spreads a number before each multiply-add, which is twice the instructions. A vector in
        memory is an operand of the multiply-add itself, if nothing else uses what is loaded: so
        there is one for each of the first uses.
        """
        first = operands[0]
        bits = first.lanes * FLOAT_BITS[first.type]
        if self.target.avx512 or bits % 256 or all(len(v.names) < self.copies for v in operands):
            return operands
        return [self._in_memory(v) if v.is_constant else v for v in operands]

    def _in_memory(self, constant):
        number = constant.names[0]
        if number not in self._uses:
            self._uses[number] = 0 if len(self._uses) >= IN_REGISTERS else None
        if self._uses[number] is None:
            return constant
        names = []
        for _ in range(self.copies):
            use = self._uses[number] = self._uses[number] + 1
            name = f"jitney.constant.{number}.{use % MOST_PLACES}"
            self.definitions.setdefault(
                name, f'@"{name}" = private constant {constant.text} {number}, align 32'
            )
            names.append(self.instruction(f'load {constant.text}, ptr @"{name}", align 32'))
        return Value(tuple(names), constant.type, constant.lanes)

    def zeros(self) -> str:
        """A line of zeros in memory."""
        text = f'@"jitney.zeros" = private constant [{LINE_BYTES} x i8] zeroinitializer, align 64'
        self.definitions.setdefault("jitney.zeros", text)
        return '@"jitney.zeros"'

    def _double_fma(self, a, b, c):
        """Dekker's product and a two-sum: wrong only by about 2^-100 of the larger term."""
        split = self.like(a, 134217729.0)

        def halves(v):
            t = self.fmul(v, split)
            high = self.fsub(t, self.fsub(t, v))
            return high, self.fsub(v, high)

        (ah, al), (bh, bl) = halves(a), halves(b)
        p = self.fmul(a, b)
        low = self.fsub(self.fmul(ah, bh), p)
        low = self.fadd(low, self.fmul(ah, bl))
        low = self.fadd(low, self.fmul(al, bh))
        low = self.fadd(low, self.fmul(al, bl))
        total = self.fadd(p, c)
        v = self.fsub(total, p)
        error = self.fadd(self.fsub(p, self.fsub(total, v)), self.fsub(c, v))
        correction = self.fadd(error, low)
        # none for huge operands, where the split overflows, nor for zeros, which keep their sign
        wanted = self.fcmp("one", correction, self.like(a, 0.0))
        return self.select(wanted, self.fadd(total, correction), total)

    def roundeven(self, a):
        if self.has_rounding:
            return self.overloaded("roundeven", a)
        return self._round_portably(a)

    def floor(self, a):
        if self.has_rounding:
            return self.overloaded("floor", a)
        r = self._round_portably(a)
        lower = self.fsub(r, self.like(a, 1.0))
        return self.copysign(self.select(self.fcmp("ogt", r, a), lower, r), a)

    def ceil(self, a):
        if self.has_rounding:
            return self.overloaded("ceil", a)
        return self.fneg(self.floor(self.fneg(a)))

    def trunc(self, a):
        if self.has_rounding:
            return self.overloaded("trunc", a)
        return self.copysign(self.floor(self.fabs(a)), a)

    def _round_portably(self, a):
        """Nearest integer, ties to even, by adding and subtracting 2^mantissa bits."""
        big = self.like(a, 2.0**23 if a.type == "float" else 2.0**52)
        size = self.fabs(a)
        r = self.fsub(self.fadd(size, big), big)
        return self.select(self.fcmp("olt", size, big), self.copysign(r, a), a)

    def maximum(self, a, b):
        """NaN if either is NaN; +0 above -0."""
        return self.overloaded("maximum", a, b)

    def minimum(self, a, b):
        """NaN if either is NaN; -0 below +0."""
        return self.overloaded("minimum", a, b)

    def fast_max(self, a, b):
        """One instruction: the larger; `b` when either is NaN or both are zero."""
        a, b = self.match(a, b)
        return self.select(self.fcmp("ogt", a, b), a, b)

    def fast_min(self, a, b):
        """One instruction: the smaller; `b` when either is NaN or both are zero."""
        a, b = self.match(a, b)
        return self.select(self.fcmp("olt", a, b), a, b)

    def clamp_fast(self, low, a, high):
        """`a` between two constants; NaN stays NaN. Two instructions."""
        if not isinstance(low, Value):
            low, high = self.like(a, low), self.like(a, high)
        return self.fast_min(high, self.fast_max(low, a))

    # ---- integers -----------------------------------------------------------------------------

    def add(self, a, b):
        return self.binary("add", a, b)

    def sub(self, a, b):
        return self.binary("sub", a, b)

    def mul(self, a, b):
        return self.binary("mul", a, b)

    def sdiv(self, a, b):
        return self.binary("sdiv", a, b)

    def udiv(self, a, b):
        return self.binary("udiv", a, b)

    def srem(self, a, b):
        return self.binary("srem", a, b)

    def urem(self, a, b):
        return self.binary("urem", a, b)

    def and_(self, a, b):
        return self.binary("and", a, b)

    def or_(self, a, b):
        return self.binary("or", a, b)

    def xor(self, a, b):
        return self.binary("xor", a, b)

    def not_(self, a):
        return self.binary("xor", a, self.like(a, -1))

    def shl(self, a, b):
        return self.binary("shl", a, b)

    def lshr(self, a, b):
        return self.binary("lshr", a, b)

    def ashr(self, a, b):
        return self.binary("ashr", a, b)

    def _integer(self, a, number):
        return self.constant(a.type, number, a.lanes)

    # ---- conversions --------------------------------------------------------------------------

    def bitcast(self, type, a):
        """Same bits, other element type of the same width."""
        return self.cast("bitcast", a, type)

    def bits(self, a):
        """A floating-point value as an integer of its width."""
        return self.cast("bitcast", a, INTEGER_OF_FLOAT[a.type])

    def sext(self, a, type):
        return self.cast("sext", a, type)

    def zext(self, a, type):
        return self.cast("zext", a, type)

    def trunc_int(self, a, type):
        return self.cast("trunc", a, type)

    def sitofp(self, a, type):
        if type in ("half", "bfloat"):
            return self.fptrunc(self.sitofp(a, _exact_float(a.type)), type)
        return self.cast("sitofp", a, type)

    def uitofp(self, a, type):
        if type in ("half", "bfloat"):
            return self.fptrunc(self.uitofp(a, _exact_float(a.type)), type)
        return self.cast("uitofp", a, type)

    def fptosi(self, a, type):
        """Toward zero; poison out of range (clamp first where that can happen)."""
        return self.cast("fptosi", self._widened(a), type)

    def fptoui(self, a, type):
        """Toward zero; poison out of range (clamp first where that can happen)."""
        return self.cast("fptoui", self._widened(a), type)

    def _widened(self, a):
        return self.fpext(a, "float") if FLOAT_BITS[a.type] == 16 else a

    def fpext(self, a, type):
        """To a wider floating-point type; never calls the C library."""
        if a.type == type:
            return a
        if a.type == "bfloat":
            return self.fpext(short_floats.bfloat_to_float(self, a), type)
        if a.type == "half" and not self.has_half:
            return self.fpext(short_floats.half_to_float(self, a), type)
        if a.type == "half" and type == "double":
            return self.cast("fpext", self.fpext(a, "float"), "double")
        if a.type == "half" and a.lanes == 1 and not a.is_constant:
            return self._lone_half(a)
        return self.cast("fpext", a, type)

    def _lone_half(self, a):
        """A half that is no vector, as float: in the first lane of zeros. LLVM would insert it in
        whatever a register holds, and wait for that: the product before (24,000 outer products of
        rows of 8: 370 us instead of 60)."""
        names = []
        for name in self.bits(a).names:
            first = self.instruction(
                f"insertelement <8 x i16> zeroinitializer, i16 {name}, i32 0"
            )
            halves = self.instruction(f"bitcast <8 x i16> {first} to <8 x half>")
            four = self.instruction(
                f"shufflevector <8 x half> {halves}, <8 x half> poison, "
                "<4 x i32> <i32 0, i32 1, i32 2, i32 3>"
            )
            floats = self.instruction(f"fpext <4 x half> {four} to <4 x float>")
            names.append(self.instruction(f"extractelement <4 x float> {floats}, i32 0"))
        return Value(tuple(names), "float", 1)

    def fptrunc(self, a, type):
        """To a narrower floating-point type, rounded once; never calls the C library."""
        if a.type == type:
            return a
        if type not in ("half", "bfloat"):
            return self.cast("fptrunc", a, type)
        if a.type == "double":
            a = short_floats.round_to_odd(self, a)
        elif a.type != "float":
            a = self.fpext(a, "float")
        if type == "bfloat":
            return short_floats.float_to_bfloat(self, a)
        if not self.has_half:
            return short_floats.float_to_half(self, a)
        return self.cast("fptrunc", a, "half")


def _exact_float(integer_type):
    """A float type that holds a short integer exactly (and a long one nearly)."""
    return "float" if bits_of_type(integer_type) <= 16 else "double"
