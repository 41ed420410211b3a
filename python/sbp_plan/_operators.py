"""What tensors that are no arrays have alike, global ones and recorded ones: Python's operators, as calls of ops."""
from __future__ import annotations

import abc
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._binding import Call

_FAR = 2**62  # before the first element, going backwards


class TensorLike(abc.ABC):
    """A tensor that ops.py's functions take. numpy's operators leave it to ours."""

    __array_priority__ = 1000.0
    __array_ufunc__ = None
    __hash__ = object.__hash__

    @property
    @abc.abstractmethod
    def dtype(self) -> str:
        """"f32"."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]: ...

    @abc.abstractmethod
    def _compute(self, call: Call) -> Any:
        """Carries out a call, one of whose operands this is."""

    @property
    def type(self) -> str:
        """"f32[2,3]"."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def T(self) -> Any:
        return _op("Transpose")(self)

    def __add__(self, other: Any) -> Any:
        return _op("Add")(self, other)

    def __radd__(self, other: Any) -> Any:
        return _op("Add")(other, self)

    def __sub__(self, other: Any) -> Any:
        return _op("Sub")(self, other)

    def __rsub__(self, other: Any) -> Any:
        return _op("Sub")(other, self)

    def __mul__(self, other: Any) -> Any:
        return _op("Mul")(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _op("Mul")(other, self)

    def __truediv__(self, other: Any) -> Any:
        return _op("Div")(self, _divisor(self, other))

    def __rtruediv__(self, other: Any) -> Any:
        return _op("Div")(_divisor(self, other), self)

    def __matmul__(self, other: Any) -> Any:
        return _op("MatMul")(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _op("MatMul")(other, self)

    def __pow__(self, other: Any) -> Any:
        return _op("Pow")(self, other)

    def __neg__(self) -> Any:
        return _op("Neg")(self)

    def __bool__(self) -> bool:
        raise TypeError("the truth of such a tensor is not known here; compare arrays (numpy())")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def __iter__(self) -> Any:
        raise TypeError("such a tensor is not iterated over; index it, or use ops.split")

    def __getitem__(self, index: Any) -> Any:
        """Integers, slices, None and ... as in numpy; elements at an array's places are ops.gather's."""
        return _index(self, index if isinstance(index, tuple) else (index,))


def _op(name: str) -> Any:
    from . import ops

    return ops.find(name)


def _divisor(tensor: TensorLike, other: Any) -> Any:
    """Refuses what is no true division: Div of integers rounds towards 0."""
    from .errors import CallError

    if tensor.dtype[0] in "iu":
        raise CallError(f"/ of {tensor.dtype}: ops.div rounds quotients of integers; cast to a float first, or call it")
    return other


def _index(tensor: TensorLike, entries: tuple[Any, ...]) -> Any:
    from .errors import CallError

    consumed = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if consumed > tensor.ndim:
        raise IndexError(f"{consumed} indices for a tensor of rank {tensor.ndim}")
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise IndexError("an index has at most one ...")
    if Ellipsis not in [entry for entry in entries if entry is None or entry is Ellipsis]:
        entries = (*entries, Ellipsis)
    starts: list[int] = []
    ends: list[int] = []
    axes: list[int] = []
    steps: list[int] = []
    dropped: list[int] = []
    added: list[int] = []
    axis, out = 0, 0
    for entry in entries:
        if entry is Ellipsis:
            axis, out = axis + tensor.ndim - consumed, out + tensor.ndim - consumed
            continue
        if entry is None:
            added.append(out)
            out += 1
            continue
        length = tensor.shape[axis]
        if isinstance(entry, slice):
            start, end, step = entry.indices(length)
            if (start, end, step) != (0, length, 1):
                starts, ends = [*starts, start], [*ends, end if end >= 0 else -_FAR]
                axes, steps = [*axes, axis], [*steps, step]
            out += 1
        elif hasattr(entry, "__index__") and not isinstance(entry, bool) and not getattr(entry, "shape", ()):
            at = entry.__index__()
            if not -length <= at < length:
                raise IndexError(f"index {at} is out of bounds for dimension {axis} of size {length}")
            at %= length
            starts, ends, axes, steps = [*starts, at], [*ends, at + 1], [*axes, axis], [*steps, 1]
            dropped.append(axis)
        else:
            raise CallError(f"an index must be an integer, a slice, None or ..., not {type(entry).__name__}; "
                            "ops.gather takes elements at places that a tensor holds")
        axis += 1
    result: Any = tensor
    if starts:
        result = _op("Slice")(result, starts, ends, axes, steps)
    if dropped:
        result = _op("Squeeze")(result, dropped)
    if added:
        result = _op("Unsqueeze")(result, added)
    return result if result is not tensor else _op("Identity")(tensor)
