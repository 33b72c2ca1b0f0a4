"""Functions that are not timed, or not against the bare NumPy function, with the reason."""

from __future__ import annotations

_QUESTION = "answers a question about types or shapes; touches no element"
_TEXT = "makes text; its time is that of formatting numbers, by NumPy in both libraries"
_FILE = "reads or writes files, by NumPy in both libraries"

LEFT_OUT: dict[str, str] = {
    **dict.fromkeys("broadcast_shapes can_cast iscomplexobj isdtype isrealobj isscalar "
                    "issubdtype iterable ndim promote_types result_type shape size "
                    "einsum_path".split(), _QUESTION),
    **dict.fromkeys("array_repr array_str get_printoptions printoptions set_printoptions".split(),
                    _TEXT),
    **dict.fromkeys("fromfile load save savez".split(), _FILE),
    "asarray": "gives its argument back",
    "from_dlpack": "shares the memory of its argument",
    "fromiter": "takes Python numbers one by one, in both libraries",
    "fromstring": "parses text, by NumPy in both libraries",
}

# Where NumPy's result is a view of its argument, a copy in memory order is timed with it: jitney's
# arrays cannot change, so a result is an array of its own (or the argument itself).
VIEWS: tuple[str, ...] = (
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "diagonal",
    "expand_dims", "flip", "fliplr", "flipud", "matrix_transpose", "moveaxis", "permute_dims",
    "ravel", "reshape", "rollaxis", "rot90", "split", "array_split", "hsplit", "vsplit", "dsplit",
    "unstack", "squeeze", "swapaxes", "transpose", "linalg.diagonal", "linalg.matrix_transpose",
    "real", "imag", "ix_", "frombuffer", "einsum [transpose]",
)  # fmt: skip
