"""The special cases of the array API standard, function by function, as tables.

A case is `arguments -> result`. Arguments are classes of values (`pos`: positive and finite, `>0`:
positive, infinity included); every member of a class is tried. Of complex functions only the cases
the standard lists are here: those of the conjugate argument follow, as the standard demands.
`?` before a number says that its sign is left open.
"""

REAL_UNARY = {
    "abs": "nan->nan  -0->+0  -inf->+inf",
    "acos": "nan->nan  >1->nan  <-1->nan  1->+0",
    "acosh": "nan->nan  <1->nan  1->+0  +inf->+inf",
    "asin": "nan->nan  >1->nan  <-1->nan  +0->+0  -0->-0",
    "asinh": "nan->nan  +0->+0  -0->-0  +inf->+inf  -inf->-inf",
    "atan": "nan->nan  +0->+0  -0->-0  +inf->pi/2  -inf->-pi/2",
    "atanh": "nan->nan  <-1->nan  >1->nan  -1->-inf  1->+inf  +0->+0  -0->-0",
    "ceil": "integer->x1  +inf->+inf  -inf->-inf  +0->+0  -0->-0  nan->nan",
    "cos": "nan->nan  0->1  inf->nan",
    "cosh": "nan->nan  0->1  inf->+inf",
    "exp": "nan->nan  0->1  +inf->+inf  -inf->+0",
    "expm1": "nan->nan  +0->+0  -0->-0  +inf->+inf  -inf->-1",
    "floor": "integer->x1  +inf->+inf  -inf->-inf  +0->+0  -0->-0  nan->nan",
    "isfinite": "inf->false  nan->false  finite->true",
    "isinf": "inf->true  nan->false  finite->false",
    "isnan": "nan->true  inf->false  finite->false",
    "log": "nan->nan  <0->nan  0->-inf  1->+0  +inf->+inf",
    "log1p": "nan->nan  <-1->nan  -1->-inf  -0->-0  +0->+0  +inf->+inf",
    "log2": "nan->nan  <0->nan  0->-inf  1->+0  +inf->+inf",
    "log10": "nan->nan  <0->nan  0->-inf  1->+0  +inf->+inf",
    "negative": "+0->-0  -0->+0  +inf->-inf  -inf->+inf  nan->nan",
    "positive": "finite->x1  inf->x1  nan->nan",
    "reciprocal": "nan->nan  +0->+inf  -0->-inf  +inf->+0  -inf->-0",
    "round": "integer->x1  +inf->+inf  -inf->-inf  +0->+0  -0->-0  nan->nan  tie->even",
    "sign": "<0->-1  0->+0  >0->1  nan->nan",
    "signbit": "+0->false  -0->true  >0->false  <0->true  nan->false  -nan->true",
    "sin": "nan->nan  +0->+0  -0->-0  inf->nan",
    "sinh": "nan->nan  +0->+0  -0->-0  +inf->+inf  -inf->-inf",
    "sqrt": "nan->nan  <0->nan  +0->+0  -0->-0  +inf->+inf",
    "square": "nan->nan  0->+0  inf->+inf",
    "tan": "nan->nan  +0->+0  -0->-0  inf->nan",
    "tanh": "nan->nan  +0->+0  -0->-0  +inf->1  -inf->-1",
    "trunc": "integer->x1  +inf->+inf  -inf->-inf  +0->+0  -0->-0  nan->nan",
}

REAL_BINARY = {
    "add": """
        nan,any->nan  any,nan->nan  +inf,-inf->nan  -inf,+inf->nan  +inf,+inf->+inf
        -inf,-inf->-inf  +inf,finite->+inf  -inf,finite->-inf  finite,+inf->+inf  finite,-inf->-inf
        -0,-0->-0  -0,+0->+0  +0,-0->+0  +0,+0->+0  0,nonzero->x2  nonzero,0->x1  nonzero,-x1->+0
        """,
    "atan2": """
        nan,any->nan  any,nan->nan  >0,0->pi/2  +0,>0->+0  +0,+0->+0  +0,-0->pi  +0,<0->pi
        -0,>0->-0  -0,+0->-0  -0,-0->-pi  -0,<0->-pi  <0,0->-pi/2  pos,+inf->+0  pos,-inf->pi
        neg,+inf->-0  neg,-inf->-pi  +inf,finite->pi/2  -inf,finite->-pi/2  +inf,+inf->pi/4
        +inf,-inf->3pi/4  -inf,+inf->-pi/4  -inf,-inf->-3pi/4
        """,
    "copysign": """
        notnan,<0->-|x1|  notnan,-0->-|x1|  notnan,+0->|x1|  notnan,>0->|x1|  notnan,-nan->-|x1|
        notnan,nan->|x1|  nan,<0->-nan  nan,-0->-nan  nan,+0->+nan  nan,>0->+nan  nan,-nan->-nan
        nan,nan->+nan  -nan,nan->+nan  -nan,>0->+nan
        """,
    "divide": """
        nan,any->nan  any,nan->nan  inf,inf->nan  0,0->nan  +0,>0->+0  -0,>0->-0  +0,<0->-0
        -0,<0->+0  >0,+0->+inf  >0,-0->-inf  <0,+0->-inf  <0,-0->+inf  +inf,pos->+inf
        +inf,neg->-inf  -inf,pos->-inf  -inf,neg->+inf  pos,+inf->+0  pos,-inf->-0  neg,+inf->-0
        neg,-inf->+0
        """,
    "equal": """
        nan,any->false  any,nan->false  +inf,+inf->true  -inf,-inf->true  0,0->true
        nonzero,x1->true  +inf,-inf->false  finite,inf->false
        """,
    "floor_divide": """
        nan,any->nan  any,nan->nan  inf,inf->nan  0,0->nan  +0,>0->+0  -0,>0->-0  +0,<0->-0
        -0,<0->+0  >0,+0->+inf  >0,-0->-inf  <0,+0->-inf  <0,-0->+inf  +inf,pos->+inf
        +inf,neg->-inf  -inf,pos->-inf  -inf,neg->+inf  pos,+inf->+0  pos,-inf->-0  neg,+inf->-0
        neg,-inf->+0  pos,pos->signed  neg,neg->signed  pos,neg->signed  neg,pos->signed
        """,
    "hypot": """
        inf,any->+inf  any,inf->+inf  0,finite->|x2|  finite,0->|x1|  finite,nan->nan
        nan,nan->nan  nan,finite->nan
        """,
    "logaddexp": "nan,any->nan  any,nan->nan  +inf,notnan->+inf  notnan,+inf->+inf",
    "maximum": "nan,any->nan  any,nan->nan  +inf,notnan->+inf  -inf,notnan->x2",
    "minimum": "nan,any->nan  any,nan->nan  -inf,notnan->-inf  +inf,notnan->x2",
    "multiply": """
        nan,any->nan  any,nan->nan  inf,0->nan  0,inf->nan  +inf,>0->+inf  -inf,>0->-inf
        +inf,<0->-inf  -inf,<0->+inf  nonzero,inf->signed_inf  +0,pos->+0  +0,neg->-0  -0,pos->-0
        -0,neg->+0  -0,-0->+0  -0,+0->-0
        """,
    "nextafter": "nan,any->nan  any,nan->nan  -0,+0->+0  +0,-0->-0",
    "not_equal": """
        nan,any->true  any,nan->true  +inf,-inf->true  -inf,+inf->true  finite,inf->true
        0,0->false  nonzero,x1->false
        """,
    "pow": """
        not1,nan->nan  any,0->1  nan,nonzero->nan  nan,inf->nan  |>1|,+inf->+inf  |>1|,-inf->+0
        |1|,inf->1  1,notnan->1  |<1|,+inf->+0  |<1|,-inf->+inf  +inf,>0->+inf  +inf,<0->+0
        -inf,odd->-inf  -inf,>0notodd->+inf  -inf,-odd->-0  -inf,<0notodd->+0  +0,>0->+0
        +0,<0->+inf  -0,odd->-0  -0,>0notodd->+0  -0,-odd->-inf  -0,<0notodd->+inf
        neg,fraction->nan
        """,
    "remainder": """
        nan,any->nan  any,nan->nan  inf,inf->nan  0,0->nan  +0,>0->+0  -0,>0->+0  +0,<0->-0
        -0,<0->-0  >0,0->nan  <0,0->nan  inf,nonzero->nan  pos,+inf->x1  pos,-inf->x2
        neg,+inf->x2  neg,-inf->x1  nonzero,nonzero->python
        """,
    "subtract": """
        nan,any->nan  any,nan->nan  +inf,+inf->nan  -inf,-inf->nan  +inf,-inf->+inf
        -inf,+inf->-inf  +inf,finite->+inf  finite,+inf->-inf  -0,+0->-0  -0,-0->+0  +0,+0->+0
        nonzero,x1->+0  0,nonzero->-x2  nonzero,0->x1
        """,
}

COMPLEX_UNARY = {
    "acos": """
        0,+0->pi/2,-0  0,nan->pi/2,nan  finite,+inf->pi/2,-inf  nonzero,nan->nan,nan
        -inf,pos->pi,-inf  +inf,pos->+0,-inf  -inf,+inf->3pi/4,-inf  +inf,+inf->pi/4,-inf
        inf,nan->nan,?inf  nan,finite->nan,nan  nan,+inf->nan,-inf  nan,nan->nan,nan
        """,
    "acosh": """
        0,+0->+0,pi/2  finite,+inf->+inf,pi/2  nonzero,nan->nan,nan  +0,nan->nan,?pi/2
        -inf,pos->+inf,pi  +inf,pos->+inf,+0  -inf,+inf->+inf,3pi/4  +inf,+inf->+inf,pi/4
        inf,nan->+inf,nan  nan,finite->nan,nan  nan,+inf->+inf,nan  nan,nan->nan,nan
        """,
    "asinh": """
        +0,+0->+0,+0  pos,+inf->+inf,pi/2  finite,nan->nan,nan  +inf,pos->+inf,+0
        +inf,+inf->+inf,pi/4  nan,+0->nan,+0  nan,nonzero->nan,nan  nan,+inf->?inf,nan
        nan,nan->nan,nan
        """,
    "atanh": """
        +0,+0->+0,+0  +0,nan->+0,nan  1,+0->+inf,+0  pos,+inf->+0,pi/2  nonzero,nan->nan,nan
        +inf,pos->+0,pi/2  +inf,+inf->+0,pi/2  +inf,nan->+0,nan  nan,finite->nan,nan
        nan,+inf->?0,pi/2  nan,nan->nan,nan
        """,
    "cosh": """
        +0,+0->1,+0  +0,+inf->nan,?0  +0,nan->nan,?0  nonzero,+inf->nan,nan  nonzero,nan->nan,nan
        +inf,+0->+inf,+0  +inf,nonzero->+inf*cis  +inf,+inf->?inf,nan  +inf,nan->+inf,nan
        nan,0->nan,?0  nan,nonzero->nan,nan  nan,nan->nan,nan
        """,
    "exp": """
        0,+0->1,+0  finite,+inf->nan,nan  finite,nan->nan,nan  +inf,+0->+inf,+0
        -inf,finite->+0*cis  +inf,nonzero->+inf*cis  -inf,+inf->?0,?0  +inf,+inf->?inf,nan
        -inf,nan->?0,?0  +inf,nan->?inf,nan  nan,+0->nan,+0  nan,nonzero->nan,nan  nan,inf->nan,nan
        nan,nan->nan,nan
        """,
    "expm1": """
        0,+0->0,+0  finite,+inf->nan,nan  finite,nan->nan,nan  +inf,+0->+inf,+0
        -inf,finite->+0*cis-1  +inf,nonzero->+inf*cis  -inf,+inf->-1,?0  +inf,+inf->?inf,nan
        -inf,nan->-1,?0  +inf,nan->?inf,nan  nan,+0->nan,+0  nan,nonzero->nan,nan  nan,inf->nan,nan
        nan,nan->nan,nan
        """,
    "log": """
        -0,+0->-inf,pi  +0,+0->-inf,+0  finite,+inf->+inf,pi/2  finite,nan->nan,nan
        -inf,pos->+inf,pi  +inf,pos->+inf,+0  -inf,+inf->+inf,3pi/4  +inf,+inf->+inf,pi/4
        inf,nan->+inf,nan  nan,finite->nan,nan  nan,+inf->+inf,nan  nan,nan->nan,nan
        """,
    "log1p": """
        -1,+0->-inf,+0  finite,+inf->+inf,pi/2  finite,nan->nan,nan  -inf,pos->+inf,pi
        +inf,pos->+inf,+0  -inf,+inf->+inf,3pi/4  +inf,+inf->+inf,pi/4  inf,nan->+inf,nan
        nan,finite->nan,nan  nan,+inf->+inf,nan  nan,nan->nan,nan
        """,
    "sign": "0,0->+0,+0  nan,any->nan,nan  any,nan->nan,nan",
    "sinh": """
        +0,+0->+0,+0  +0,+inf->?0,nan  +0,nan->?0,nan  pos,+inf->nan,nan  pos,nan->nan,nan
        +inf,+0->+inf,+0  +inf,pos->+inf*cis  +inf,+inf->?inf,nan  +inf,nan->?inf,nan
        nan,+0->nan,+0  nan,nonzero->nan,nan  nan,nan->nan,nan
        """,
    "sqrt": """
        0,+0->+0,+0  any,+inf->+inf,+inf  finite,nan->nan,nan  -inf,pos->+0,+inf  +inf,pos->+inf,+0
        -inf,nan->nan,?inf  +inf,nan->+inf,nan  nan,finite->nan,nan  nan,nan->nan,nan
        """,
    "tanh": """
        +0,+0->+0,+0  nonzero,+inf->nan,nan  +0,+inf->+0,nan  nonzero,nan->nan,nan  +0,nan->+0,nan
        +inf,pos->1,+0  +inf,+inf->1,?0  +inf,nan->1,?0  nan,+0->nan,+0  nan,nonzero->nan,nan
        nan,nan->nan,nan
        """,
}
# `tanh(inf + b i)` is `1 + 0j` by the standard, whatever the sign of sin 2b.

COMPLEX_TO_REAL = {
    "abs": """
        inf,any->+inf  any,inf->+inf  0,finite->|b|  finite,0->|a|  nan,finite->nan
        finite,nan->nan  nan,nan->nan
        """,
    "isfinite": """
        nan,any->false  any,nan->false  inf,any->false  any,inf->false  finite,finite->true
        """,
    "isinf": "inf,any->true  finite,inf->true  nan,inf->true  finite,finite->false  nan,nan->false",
    "isnan": "nan,any->true  any,nan->true  finite,finite->false  inf,finite->false",
}

ODD = ("asinh", "atanh", "sinh", "tanh", "asin", "atan", "sin", "tan")
EVEN = ("cosh", "cos")
TURNED = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh", "cos": "cosh"}
