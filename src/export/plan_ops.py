"""The ops of a plan, computed by torch on the part that a rank holds: elementwise, products, reductions, shapes.

`@op(...)` registers a function of a Site and the op's operands, None where one is absent. Ops and attributes are
ONNX's, newest form, and those of the planner's rules. Positions count in the whole tensor: the Site knows the boxes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from plan_moves import Box, extents

Tensor = torch.Tensor
Results = Tensor | tuple[Tensor | None, ...]


@dataclass(frozen=True)
class Site:
    """Where an op runs: its attributes, and per operand and result the whole shape and the box that this rank holds."""

    name: str
    type: str
    attributes: dict[str, Any]
    shapes: list[Sequence[int]]
    boxes: list[Box]
    result_shapes: list[Sequence[int]]
    result_boxes: list[Box]
    result_dtypes: list[torch.dtype]

    def get(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def axis(self, default: int, operand: int = 0) -> int:
        """Attribute `axis`, counted from the front."""
        return int(self.get("axis", default)) % max(len(self.shapes[operand]), 1)

    def made(self, result: int = 0) -> list[int]:
        """The sizes of this rank's part of a result."""
        return extents(self.result_boxes[result])

    def refuse(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{self.name}: {what}")


OPS: dict[str, Callable[..., Results]] = {}


def op(*types: str) -> Callable[[Callable[..., Results]], Callable[..., Results]]:
    def register(function: Callable[..., Results]) -> Callable[..., Results]:
        OPS.update(dict.fromkeys(types, function))
        return function

    return register


# By the planner's names, and by ONNX's numbers, which attributes hold.
DTYPES: dict[str | int, torch.dtype] = {
    "f32": torch.float32, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
    "i64": torch.int64, "bool": torch.bool, "f16": torch.float16, "f64": torch.float64, "bf16": torch.bfloat16,
    "f8e4m3fn": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2,
    1: torch.float32, 2: torch.uint8, 3: torch.int8, 5: torch.int16, 6: torch.int32, 7: torch.int64, 9: torch.bool,
    10: torch.float16, 11: torch.float64, 16: torch.bfloat16, 17: torch.float8_e4m3fn, 19: torch.float8_e5m2}


def ints(value: Tensor | None) -> list[int] | None:
    return None if value is None else [int(n) for n in value.reshape(-1).tolist()]


# Elementwise.


def _unary(function: Callable[[Tensor], Tensor]) -> Callable[..., Results]:
    return lambda site, x: function(x)


def _binary(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Results]:
    return lambda site, a, b: function(a, b)


op("Abs")(_unary(torch.abs))
op("Acos")(_unary(torch.acos))
op("Acosh")(_unary(torch.acosh))
op("Asin")(_unary(torch.asin))
op("Asinh")(_unary(torch.asinh))
op("Atan")(_unary(torch.atan))
op("Atanh")(_unary(torch.atanh))
op("BitwiseNot")(_unary(torch.bitwise_not))
op("Ceil")(_unary(torch.ceil))
op("Cos")(_unary(torch.cos))
op("Cosh")(_unary(torch.cosh))
op("Erf")(_unary(torch.erf))
op("Exp")(_unary(torch.exp))
op("Floor")(_unary(torch.floor))
op("HardSwish")(_unary(functional.hardswish))
op("Identity", "sbp::StopGradient")(_unary(lambda x: x))
op("IsNaN")(_unary(torch.isnan))
op("Log")(_unary(torch.log))
op("Mish")(_unary(functional.mish))
op("Neg")(_unary(torch.neg))
op("Not")(_unary(torch.logical_not))
op("Reciprocal")(_unary(torch.reciprocal))
op("Relu")(_unary(torch.relu))
op("Round")(_unary(torch.round))
op("Sigmoid")(_unary(torch.sigmoid))
op("Sign")(_unary(torch.sign))
op("Sin")(_unary(torch.sin))
op("Sinh")(_unary(torch.sinh))
op("Softplus")(_unary(functional.softplus))
op("Sqrt")(_unary(torch.sqrt))
op("Tan")(_unary(torch.tan))
op("Tanh")(_unary(torch.tanh))
op("sbp::BesselI0e")(_unary(torch.special.i0e))
op("sbp::BesselI1e")(_unary(torch.special.i1e))
op("sbp::Digamma")(_unary(torch.special.digamma))
op("sbp::ErfInv")(_unary(torch.special.erfinv))
op("sbp::LogGamma")(_unary(torch.special.gammaln))
op("sbp::Trigamma")(_unary(lambda x: torch.special.polygamma(1, x)))

op("Add")(_binary(torch.add))
op("And")(_binary(torch.logical_and))
op("BitwiseAnd")(_binary(torch.bitwise_and))
op("BitwiseOr")(_binary(torch.bitwise_or))
op("BitwiseXor")(_binary(torch.bitwise_xor))
op("Equal")(_binary(torch.eq))
op("Greater")(_binary(torch.gt))
op("GreaterOrEqual")(_binary(torch.ge))
op("Less")(_binary(torch.lt))
op("LessOrEqual")(_binary(torch.le))
op("Mul")(_binary(torch.mul))
op("Or")(_binary(torch.logical_or))
op("Pow")(_binary(lambda a, b: torch.pow(a, b).to(a.dtype)))
op("Sub")(_binary(torch.sub))
op("Xor")(_binary(torch.logical_xor))


@op("Div")
def divide(site: Site, a: Tensor, b: Tensor) -> Tensor:
    return a / b if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")


@op("Mod")
def modulo(site: Site, a: Tensor, b: Tensor) -> Tensor:
    return torch.fmod(a, b) if site.get("fmod", 0) else torch.remainder(a, b)


@op("Max")
def maximum(site: Site, first: Tensor, *others: Tensor) -> Tensor:
    for other in others:
        first = torch.maximum(first, other)
    return first


@op("Min")
def minimum(site: Site, first: Tensor, *others: Tensor) -> Tensor:
    for other in others:
        first = torch.minimum(first, other)
    return first


@op("Sum")
def total(site: Site, first: Tensor, *others: Tensor) -> Tensor:
    for other in others:
        first = first + other
    return first


@op("BitShift")
def bit_shift(site: Site, x: Tensor, by: Tensor) -> Tensor:
    """By the type's width or more only a sign is left, of what goes right."""
    near = by.clamp(0, 8 * x.element_size() - 1)
    if site.get("direction") == "LEFT":
        return torch.where(by == near, x << near, 0)
    return torch.where(by == near, x >> near, -(x < 0).to(x.dtype))


@op("BitCast")
def bit_cast(site: Site, x: Tensor) -> Tensor:
    return x.contiguous().view(site.result_dtypes[0])


@op("Clip")
def clip(site: Site, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    return x if low is None and high is None else torch.clamp(x, low, high)


@op("Where")
def where(site: Site, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.where(condition, a, b)


@op("Cast")
def cast(site: Site, x: Tensor) -> Tensor:
    return x.to(site.result_dtypes[0])


@op("IsInf")
def is_infinite(site: Site, x: Tensor) -> Tensor:
    made = torch.isposinf(x) if site.get("detect_positive", 1) else torch.zeros_like(x, dtype=torch.bool)
    return made | torch.isneginf(x) if site.get("detect_negative", 1) else made


@op("Elu")
def elu(site: Site, x: Tensor) -> Tensor:
    return functional.elu(x, site.get("alpha", 1.0))


@op("Selu")
def selu(site: Site, x: Tensor) -> Tensor:
    alpha, gamma = site.get("alpha", 1.6732631921768188), site.get("gamma", 1.0507010221481323)
    return gamma * functional.elu(x, alpha)


@op("LeakyRelu")
def leaky_relu(site: Site, x: Tensor) -> Tensor:
    return torch.where(x < 0, x * site.get("alpha", 0.01), x)


@op("PRelu")
def parametric_relu(site: Site, x: Tensor, slope: Tensor) -> Tensor:
    return torch.where(x < 0, x * slope, x)


@op("Celu")
def celu(site: Site, x: Tensor) -> Tensor:
    return functional.celu(x, site.get("alpha", 1.0))


@op("HardSigmoid")
def hard_sigmoid(site: Site, x: Tensor) -> Tensor:
    return (x * site.get("alpha", 0.2) + site.get("beta", 0.5)).clamp(0, 1)


@op("Gelu")
def gelu(site: Site, x: Tensor) -> Tensor:
    return functional.gelu(x, approximate=site.get("approximate", "none"))


@op("sbp::GeluGrad")
def gelu_grad(site: Site, dy: Tensor, x: Tensor) -> Tensor:
    return torch.ops.aten.gelu_backward(dy, x, approximate=site.get("approximate", "none"))


@op("Swish")
def swish(site: Site, x: Tensor) -> Tensor:
    return x * torch.sigmoid(x * site.get("alpha", 1.0))


@op("sbp::SwishGrad")
def swish_grad(site: Site, dy: Tensor, x: Tensor) -> Tensor:
    alpha = site.get("alpha", 1.0)
    share = torch.sigmoid(x * alpha)
    return dy * (share + x * share * (1 - share) * alpha)


# Products.


@op("MatMul")
def matmul(site: Site, a: Tensor, b: Tensor) -> Tensor:
    return torch.matmul(a, b)


@op("Gemm")
def gemm(site: Site, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    y = (a.T if site.get("transA", 0) else a) @ (b.T if site.get("transB", 0) else b)
    alpha, beta = site.get("alpha", 1.0), site.get("beta", 1.0)
    y = y if alpha == 1 else y * alpha
    return y if c is None else y + (c if beta == 1 else c * beta)


@op("Einsum")
def einsum(site: Site, *operands: Tensor) -> Tensor:
    return torch.einsum(site.get("equation").replace(" ", ""), *operands)


def _own_experts(expert: Tensor, experts: int, begin: int, end: int, dtype: torch.dtype) -> Tensor:
    """(rows, experts of this rank): 1 at the expert of each row."""
    index = torch.where(expert < 0, expert + experts, expert).to(torch.int64)
    return (index[:, None] == torch.arange(begin, end)[None]).to(dtype)


@op("sbp::GroupedMatMul")
def grouped_matmul(site: Site, x: Tensor, w: Tensor, expert: Tensor) -> Tensor:
    own = _own_experts(expert, site.shapes[1][0], *site.boxes[1][0], x.dtype)
    return torch.einsum("me,mk,enk->mn" if site.get("transB", 0) else "me,mk,ekn->mn", own, x, w)


@op("sbp::GroupedOuter")
def grouped_outer(site: Site, a: Tensor, b: Tensor, expert: Tensor) -> Tensor:
    own = _own_experts(expert, site.result_shapes[0][0], *site.result_boxes[0][0], a.dtype)
    return torch.einsum("me,mk,mn->ekn", own, a, b)


# Reductions: parts of a mean are divided by the whole number of elements, so that they add up.


def _reduced_axes(site: Site, x: Tensor, axes: Tensor | None) -> list[int]:
    given = site.get("axes") if axes is None else ints(axes)
    if not given:
        return [] if site.get("noop_with_empty_axes", 0) else list(range(x.ndim))
    return sorted(a % x.ndim for a in given)


def _reduction(*types: str) -> Callable[[Callable[[Tensor, list[int]], Tensor]], None]:
    def register(function: Callable[[Tensor, list[int]], Tensor]) -> None:
        def run(site: Site, x: Tensor, axes: Tensor | None = None) -> Tensor:
            over = _reduced_axes(site, x, axes)
            made = function(x, over) if over else x
            return made if site.get("keepdims", 1) or not over else made.reshape(
                [n for d, n in enumerate(made.shape) if d not in over])

        op(*types)(run)

    return register


_reduction("ReduceSum")(lambda x, over: x.sum(over, keepdim=True))
_reduction("ReduceSumSquare")(lambda x, over: (x * x).sum(over, keepdim=True))
_reduction("ReduceMax")(lambda x, over: x.amax(over, keepdim=True))
_reduction("ReduceMin")(lambda x, over: x.amin(over, keepdim=True))
_reduction("ReduceL1")(lambda x, over: x.abs().sum(over, keepdim=True))
_reduction("ReduceL2")(lambda x, over: (x * x).sum(over, keepdim=True).sqrt())
_reduction("ReduceLogSum")(lambda x, over: x.sum(over, keepdim=True).log())
_reduction("ReduceLogSumExp")(lambda x, over: torch.logsumexp(x, over, keepdim=True))
_reduction("ReduceProd")(lambda x, over: functools.reduce(lambda y, d: y.prod(d, keepdim=True), over, x))


@op("ReduceMean")
def reduce_mean(site: Site, x: Tensor, axes: Tensor | None = None) -> Tensor:
    over = _reduced_axes(site, x, axes)
    count = math.prod(site.shapes[0][d] for d in over)
    return x.sum(over, keepdim=bool(site.get("keepdims", 1))) / count if over else x


@op("GlobalAveragePool")
def global_average_pool(site: Site, x: Tensor) -> Tensor:
    return x.sum(list(range(2, x.ndim)), keepdim=True) / math.prod(site.shapes[0][2:])


@op("GlobalMaxPool")
def global_max_pool(site: Site, x: Tensor) -> Tensor:
    return x.amax(list(range(2, x.ndim)), keepdim=True)


@op("CumSum")
def cumulative_sum(site: Site, x: Tensor, axis: Tensor) -> Tensor:
    return _running(site, x, int(axis), torch.cumsum, 0)


@op("CumProd")
def cumulative_product(site: Site, x: Tensor, axis: Tensor) -> Tensor:
    return _running(site, x, int(axis), torch.cumprod, 1)


def _running(site: Site, x: Tensor, axis: int, function: Callable[..., Tensor], first: int) -> Tensor:
    axis, reverse, size = axis % x.ndim, bool(site.get("reverse", 0)), x.shape[axis]
    made = function(x.flip(axis) if reverse else x, axis, dtype=x.dtype)
    if site.get("exclusive", 0) and size:  # each place has what is before it
        made = torch.cat([torch.full_like(made.narrow(axis, 0, 1), first), made.narrow(axis, 0, size - 1)], axis)
    return made.flip(axis) if reverse else made


def _places_of(function: Callable[..., Tensor], site: Site, x: Tensor) -> Tensor:
    axis, last = site.axis(0), bool(site.get("select_last_index", 0))
    at = function(x.flip(axis) if last else x, axis, keepdim=bool(site.get("keepdims", 1)))
    return x.shape[axis] - 1 - at if last else at


@op("ArgMax")
def arg_max(site: Site, x: Tensor) -> Tensor:
    return _places_of(torch.argmax, site, x)


@op("ArgMin")
def arg_min(site: Site, x: Tensor) -> Tensor:
    return _places_of(torch.argmin, site, x)


# Shapes.


@op("Reshape", "Flatten", "Unsqueeze", "Squeeze")
def reshape(site: Site, x: Tensor, *sizes: Tensor | None) -> Tensor:
    return x.reshape(site.made())


@op("Expand")
def expand(site: Site, x: Tensor, sizes: Tensor) -> Tensor:
    return x.expand(site.made())


@op("Tile")
def tile(site: Site, x: Tensor, repeats: Tensor) -> Tensor:
    own = [end - begin for begin, end in site.result_boxes[0]]  # of copies, a split one has its share
    return x.repeat([made // size if size else 1 for made, size in zip(own, x.shape)])


@op("Transpose")
def transpose(site: Site, x: Tensor) -> Tensor:
    return x.permute(site.get("perm", list(range(x.ndim))[::-1]))


@op("Concat")
def concat(site: Site, *parts: Tensor) -> Tensor:
    return torch.cat(parts, site.axis(0))


@op("Slice")
def slice_(site: Site, x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None,
           steps: Tensor | None = None) -> Tensor:
    first = ints(starts) or []
    dims, strides = ints(axes) or list(range(len(first))), ints(steps) or [1] * len(first)
    for start, dim, step in zip(first, dims, strides, strict=True):
        dim %= x.ndim
        size, (begin, end) = site.shapes[0][dim], site.boxes[0][dim]
        start = start + size if start < 0 else start
        start = max(0, min(start, size if step > 0 else size - 1))
        places = start + step * torch.arange(*site.result_boxes[0][dim]) - begin
        if places.numel() and not (0 <= int(places.min()) and int(places.max()) < end - begin):
            raise site.refuse(f"another rank holds what is read along dimension {dim}")
        x = x.index_select(dim, places)
    return x


@op("Pad")
def pad(site: Site, x: Tensor, pads: Tensor, value: Tensor | None = None, axes: Tensor | None = None) -> Tensor:
    given, dims, mode = ints(pads) or [], ints(axes) or list(range(x.ndim)), site.get("mode", "constant")
    widths = [0] * (2 * x.ndim)
    for i, dim in enumerate(dims):  # torch names the last dimension first
        last = 2 * (x.ndim - 1 - dim % x.ndim)
        widths[last], widths[last + 1] = given[i], given[i + len(dims)]
    if mode == "constant":
        return functional.pad(x, widths, value=0.0 if value is None else float(value))
    for dim, low, high in zip(reversed(range(x.ndim)), widths[::2], widths[1::2]):
        if (low, high) != (0, 0):  # of a whole dimension: what lies at its ends is repeated
            x = x.index_select(dim, _bordered(mode, torch.arange(-low, x.shape[dim] + high), x.shape[dim]))
    return x


def _bordered(mode: str, at: Tensor, size: int) -> Tensor:
    """Which elements stand at positions that may lie outside."""
    if mode == "reflect":
        at = at.remainder(max(2 * (size - 1), 1))
        return torch.minimum(at, 2 * (size - 1) - at)
    return at.clamp(0, size - 1) if mode == "edge" else at.remainder(size)


@op("Split")
def split(site: Site, x: Tensor, sizes: Tensor | None = None) -> Results:
    axis = site.axis(0)
    return tuple(torch.split(x, [box[axis][1] - box[axis][0] for box in site.result_boxes], axis))


@op("Range")
def range_(site: Site, start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    places = torch.arange(*site.result_boxes[0][0])
    return (start + places * delta).to(site.result_dtypes[0])


@op("Trilu")
def triangle(site: Site, x: Tensor, k: Tensor | None = None) -> Tensor:
    rows, columns = (torch.arange(*site.boxes[0][d]) for d in (-2, -1))
    off = columns[None] - rows[:, None] - (0 if k is None else int(k))
    return torch.where(off >= 0 if site.get("upper", 1) else off <= 0, x, torch.zeros((), dtype=x.dtype))


@op("EyeLike")
def eye_like(site: Site, x: Tensor) -> Tensor:
    rows, columns = (torch.arange(*site.result_boxes[0][d]) for d in (0, 1))
    return (columns[None] - rows[:, None] == site.get("k", 0)).to(site.result_dtypes[0])


@op("DepthToSpace")
def depth_to_space(site: Site, x: Tensor) -> Tensor:
    """Blocks of the channels that this rank holds: whole blocks, of whole channels."""
    block, (n, c, h, w) = int(site.get("blocksize")), x.shape
    c //= block * block
    if site.get("mode", "DCR") == "DCR":
        return x.reshape(n, block, block, c, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c, h * block, w * block)
    return x.reshape(n, c, block, block, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, c, h * block, w * block)


@op("SpaceToDepth")
def space_to_depth(site: Site, x: Tensor) -> Tensor:
    block, (n, c, h, w) = int(site.get("blocksize")), x.shape
    parts = x.reshape(n, c, h // block, block, w // block, block)
    turn = (0, 3, 5, 1, 2, 4) if site.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return parts.permute(turn).reshape(n, c * block * block, h // block, w // block)
