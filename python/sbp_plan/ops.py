"""A function for every op of the rules: `ops.matmul(a, b)`, `ops.softmax(x, axis=1)`.

Names are snake_case; `MatMul` itself and the name with its domain in front (`microsoft_gelu`, `sbp_adam`, `onnx_gelu`) do
as well, and `find("com.microsoft::Gelu")` takes any. A plain name is ONNX's op where there is one, else the only op that has
it. `help(ops.conv)` tells what an op takes. Operands are arrays (numpy's, or by DLPack or the array protocol), numbers and
lists beside them, global tensors (`sp.tensor`), or tensors of a graph (`sp.graph`); attributes are keywords.
"""
from __future__ import annotations

import functools
import os
from collections.abc import Sequence

from ._functions import Function, Functions, load_functions
from ._program import Path


@functools.lru_cache(maxsize=1)
def _builtin() -> Functions:
    return load_functions()


def find(name: str) -> Function:
    """The function of an op by any of its names. Raises AttributeError with the nearest name."""
    return _builtin().__getattr__(name)


def ops_of(rules: Path | Sequence[Path]) -> Functions:
    """The functions of the built-in ops and of those in files of rules (rules/README.md): `ops_of("my.rules").my_op(x)`.
    Raises InputError where a file is wrong."""
    paths = [rules] if isinstance(rules, (str, os.PathLike)) else list(rules)
    return load_functions([os.path.abspath(path) for path in paths])


def __getattr__(name: str) -> Function:
    if name.startswith("__"):
        raise AttributeError(name)
    return find(name)


def __dir__() -> list[str]:
    return ["find", "ops_of", *_builtin().__dir__()]
