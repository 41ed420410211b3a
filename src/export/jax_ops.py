"""The ops and collectives of a plan, computed by JAX on the part that a device holds, within jax.shard_map.

`@op(...)` registers a function of a Site and the op's operands, None where one is absent. Ops and attributes are
ONNX's, newest form. Positions count in the whole tensor: a Part knows where its device's part begins, as traced numbers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy
from jax import lax

Array = Any  # of JAX, or of numpy where its numbers are known while tracing
Layout = tuple[str, ...]

DTYPES: dict[str, Any] = {
    "f32": jnp.float32, "f64": jnp.float64, "f16": jnp.float16, "bf16": jnp.bfloat16, "bool": jnp.bool_, "i8": jnp.int8,
    "i16": jnp.int16, "i32": jnp.int32, "i64": jnp.int64, "u8": jnp.uint8, "u16": jnp.uint16, "u32": jnp.uint32,
    "u64": jnp.uint64, "f8e4m3fn": jnp.float8_e4m3fn, "f8e5m2": jnp.float8_e5m2}


@functools.lru_cache(maxsize=None)
def parse_layout(text: str) -> Layout:
    """`(S(0), P(sum))` as `("S(0)", "P(sum)")`."""
    return tuple(re.findall(r"S\(\d+\)|B|P\(\w+\)", text))


def split_dim(word: str) -> int | None:
    return int(word[2:-1]) if word[0] == "S" else None


@dataclass(frozen=True)
class Part:
    """What a device holds of a tensor of this shape."""

    shape: Sequence[int]
    layout: Layout
    axes: Sequence[tuple[str, int]]  # of the mesh, name and size

    def local(self) -> list[int]:
        sizes = list(self.shape)
        for word, (_, parts) in zip(self.layout, self.axes):
            if word[0] == "S":
                sizes[int(word[2:-1])] //= parts
        return sizes

    def is_split(self, dim: int) -> bool:
        return any(split_dim(word) == dim for word in self.layout)

    def begin(self, dim: int) -> Array:
        """Where the part begins along a dimension; 0, a number, where it is whole."""
        at: Array = 0
        size = self.shape[dim]
        for word, (name, parts) in zip(self.layout, self.axes):
            if split_dim(word) == dim:
                size //= parts
                at = at + lax.axis_index(name) * size
        return at


@dataclass(frozen=True)
class Site:
    """Where an op runs: its attributes, operands and results."""

    name: str
    attributes: dict[str, Any]
    operands: list[Part | None]
    results: list[Part]  # those that are written
    dtypes: list[Any]  # of these
    type: str = ""
    written: Sequence[str] = ()  # names of all results, "" of what nobody reads

    def get(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def operand(self, number: int) -> Part:
        part = self.operands[number]
        assert part is not None
        return part

    def axis(self, default: int) -> int:
        return int(self.get("axis", default)) % max(len(self.operand(0).shape), 1)

    def refuse(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{self.name}: {what}")


OPS: dict[str, Callable[..., Any]] = {}


def op(*types: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        OPS.update(dict.fromkeys(types, function))
        return function

    return register


def ints(site: Site, value: Array | None) -> list[int] | None:
    if value is None:
        return None
    if not isinstance(value, numpy.ndarray):
        raise site.refuse("sizes that are computed are not known while tracing")
    return [int(n) for n in value.reshape(-1)]


# Elementwise.


def _each(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda site, *operands: function(*operands)


def _many(function: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    return lambda site, *operands: functools.reduce(function, operands)


op("Abs")(_each(jnp.abs))
op("Acos")(_each(jnp.arccos))
op("Acosh")(_each(jnp.arccosh))
op("Asin")(_each(jnp.arcsin))
op("Asinh")(_each(jnp.arcsinh))
op("Atan")(_each(jnp.arctan))
op("Atanh")(_each(jnp.arctanh))
op("Ceil")(_each(jnp.ceil))
op("Cos")(_each(jnp.cos))
op("Cosh")(_each(jnp.cosh))
op("Erf")(_each(jax.scipy.special.erf))
op("Exp")(_each(jnp.exp))
op("Floor")(_each(jnp.floor))
op("Identity", "sbp::Refetch", "sbp::StopGradient")(_each(jnp.asarray))
op("IsNaN")(_each(jnp.isnan))
op("Log")(_each(jnp.log))
op("Neg")(_each(jnp.negative))
op("Not")(_each(jnp.logical_not))
op("Reciprocal")(_each(jnp.reciprocal))
op("Relu")(_each(jax.nn.relu))
op("Round")(_each(jnp.round))
op("Sigmoid")(_each(jax.nn.sigmoid))
op("Sign")(_each(jnp.sign))
op("Sin")(_each(jnp.sin))
op("Sinh")(_each(jnp.sinh))
op("Sqrt")(_each(jnp.sqrt))
op("Tan")(_each(jnp.tan))
op("Tanh")(_each(jnp.tanh))
op("Add")(_each(jnp.add))
op("And")(_each(jnp.logical_and))
op("BitwiseAnd")(_each(jnp.bitwise_and))
op("BitwiseNot")(_each(jnp.bitwise_not))
op("BitwiseOr")(_each(jnp.bitwise_or))
op("BitwiseXor")(_each(jnp.bitwise_xor))
op("Equal")(_each(jnp.equal))
op("Greater")(_each(jnp.greater))
op("GreaterOrEqual")(_each(jnp.greater_equal))
op("Less")(_each(jnp.less))
op("LessOrEqual")(_each(jnp.less_equal))
op("Max")(_many(jnp.maximum))
op("Min")(_many(jnp.minimum))
op("Mul")(_each(jnp.multiply))
op("Or")(_each(jnp.logical_or))
op("Pow")(_each(jnp.power))
op("Sub")(_each(jnp.subtract))
op("Where")(_each(jnp.where))
op("Xor")(_each(jnp.logical_xor))
op("BitCast")(lambda site, x: lax.bitcast_convert_type(x, site.dtypes[0]))
op("BitShift")(lambda site, x, by: (jnp.left_shift if site.get("direction") == "LEFT" else jnp.right_shift)(x, by))


@op("IsInf")
def is_infinite(site: Site, x: Array) -> Array:
    above = jnp.isposinf(x) if site.get("detect_positive", 1) else jnp.zeros(x.shape, jnp.bool_)
    return above | jnp.isneginf(x) if site.get("detect_negative", 1) else above


@op("Div")
def divide(site: Site, a: Array, b: Array) -> Array:
    return lax.div(*jnp.broadcast_arrays(a, b)) if jnp.issubdtype(a.dtype, jnp.integer) else jnp.divide(a, b)


@op("Mod")
def modulo(site: Site, a: Array, b: Array) -> Array:
    return jnp.fmod(a, b) if site.get("fmod", 0) else jnp.mod(a, b)


@op("Cast")
def cast(site: Site, x: Array) -> Array:
    return x.astype(site.dtypes[0])


# Products.


@op("MatMul")
def matmul(site: Site, a: Array, b: Array) -> Array:
    return jnp.matmul(a, b)


@op("Einsum")
def einsum(site: Site, *operands: Array) -> Array:
    return jnp.einsum(site.get("equation").replace(" ", ""), *operands)


# Orders along an axis that is whole.


@op("TopK")
def top_k(site: Site, x: Array, number: Array) -> Array | tuple[Array, ...]:
    axis = int(site.get("axis", -1)) % x.ndim
    _whole(site, axis)
    count = (ints(site, number) or [0])[0]
    order = jnp.argsort(x, axis=axis, stable=True, descending=bool(site.get("largest", 1)))  # of equals the first
    at = lax.slice_in_dim(order, 0, count, axis=axis)
    made = (jnp.take_along_axis(x, at, axis), at)
    wanted = [value for value, name in zip(made, site.written) if name]
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


@op("CumSum", "CumProd")
def running(site: Site, x: Array, axis: Array) -> Array:
    dim = (ints(site, axis) or [0])[0] % x.ndim
    _whole(site, dim)
    if site.get("reverse", 0):
        x = jnp.flip(x, dim)
    made = (jnp.cumsum if site.type == "CumSum" else jnp.cumprod)(x, dim, dtype=x.dtype)
    if site.get("exclusive", 0):
        edge = jnp.full_like(lax.slice_in_dim(made, 0, 1, axis=dim), 0 if site.type == "CumSum" else 1)
        made = jnp.concatenate([edge, lax.slice_in_dim(made, 0, x.shape[dim] - 1, axis=dim)], dim)
    return jnp.flip(made, dim) if site.get("reverse", 0) else made


# Reductions. What a device holds only a part of it makes a partial value of.


def _reduce(function: Callable[..., Array], site: Site, x: Array, axes: Array | None) -> Array:
    over = site.get("axes") if axes is None else ints(site, axes)
    if not over:
        if site.get("noop_with_empty_axes", 0):
            return x
        over = range(x.ndim)
    return function(x, axis=tuple(a % x.ndim for a in over), keepdims=bool(site.get("keepdims", 1)))


@op("ReduceSum")
def reduce_sum(site: Site, x: Array, axes: Array | None = None) -> Array:
    return _reduce(jnp.sum, site, x, axes)


@op("ReduceMax")
def reduce_max(site: Site, x: Array, axes: Array | None = None) -> Array:
    return _reduce(jnp.max, site, x, axes)


@op("ReduceMin")
def reduce_min(site: Site, x: Array, axes: Array | None = None) -> Array:
    return _reduce(jnp.min, site, x, axes)


@op("ReduceMean")
def reduce_mean(site: Site, x: Array, axes: Array | None = None) -> Array:
    made = _reduce(jnp.sum, site, x, axes)
    return made / numpy.asarray(numpy.prod(site.operand(0).shape) / max(numpy.prod(site.results[0].shape), 1), made.dtype)


@op("ReduceProd")
def reduce_prod(site: Site, x: Array, axes: Array | None = None) -> Array:
    return _reduce(jnp.prod, site, x, axes)


@op("ReduceL1")
def reduce_l1(site: Site, x: Array, axes: Array | None = None) -> Array:
    return _reduce(jnp.sum, site, jnp.abs(x), axes)


@op("ReduceL2")
def reduce_l2(site: Site, x: Array, axes: Array | None = None) -> Array:
    return jnp.sqrt(_reduce(jnp.sum, site, x * x, axes))


@op("ReduceSumSquare")
def reduce_sum_square(site: Site, x: Array, axes: Array | None = None) -> Array:
    return _reduce(jnp.sum, site, x * x, axes)


@op("ReduceLogSumExp")
def reduce_log_sum_exp(site: Site, x: Array, axes: Array | None = None) -> Array:
    return _reduce(jax.scipy.special.logsumexp, site, x, axes)


def _whole(site: Site, axis: int) -> None:
    if site.operand(0).is_split(axis):
        raise site.refuse(f"dimension {axis} is split")



def _arg(function: Callable[..., Array], site: Site, x: Array) -> Array:
    _whole(site, site.axis(0))
    last = bool(site.get("select_last_index", 0))
    at = function(jnp.flip(x, site.axis(0)) if last else x, axis=site.axis(0), keepdims=bool(site.get("keepdims", 1)))
    return x.shape[site.axis(0)] - 1 - at if last else at


@op("ArgMax")
def arg_max(site: Site, x: Array) -> Array:
    return _arg(jnp.argmax, site, x)


@op("ArgMin")
def arg_min(site: Site, x: Array) -> Array:
    return _arg(jnp.argmin, site, x)


# Shapes.


@op("Reshape", "Flatten", "Unsqueeze", "Squeeze")
def reshape(site: Site, x: Array, *sizes: Array | None) -> Array:
    return x.reshape(site.results[0].local())


@op("Expand")
def expand(site: Site, x: Array, sizes: Array) -> Array:
    return jnp.broadcast_to(x, site.results[0].local())


@op("EyeLike")
def eye_like(site: Site, x: Array) -> Array:
    rows, columns = (site.results[0].begin(d) + jnp.arange(site.results[0].local()[d]) for d in (0, 1))
    return (columns[None] - rows[:, None] == site.get("k", 0)).astype(site.dtypes[0])


@op("Transpose")
def transpose(site: Site, x: Array) -> Array:
    return jnp.transpose(x, site.get("perm"))


@op("Concat")
def concat(site: Site, *parts: Array) -> Array:
    _whole(site, site.axis(0))
    return jnp.concatenate(parts, site.axis(0))


@op("Slice")
def slice_(site: Site, x: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None) -> Array:
    source, made, first = site.operand(0), site.results[0], ints(site, starts) or []
    dims, strides = ints(site, axes) or list(range(len(first))), ints(site, steps) or [1] * len(first)
    for start, dim, step in zip(first, dims, strides):
        dim %= x.ndim
        size = source.shape[dim]
        start = max(0, min(start + size if start < 0 else start, size if step > 0 else size - 1))
        if start == 0 and step == 1 and made.shape[dim] == size:
            continue
        if source.is_split(dim) or made.is_split(dim):
            raise site.refuse(f"dimension {dim} is cut, and split over devices")
        places = start + step * numpy.arange(made.shape[dim])
        x = lax.slice_in_dim(x, start, int(places[-1]) + 1, step, dim) if step > 0 and len(places) else jnp.take(x, places, dim)
    return x


@op("Pad")
def pad(site: Site, x: Array, pads: Array, value: Array | None = None, axes: Array | None = None) -> Array:
    given, dims, mode = ints(site, pads) or [], ints(site, axes) or list(range(x.ndim)), site.get("mode", "constant")
    widths = [(0, 0, 0)] * x.ndim
    for i, dim in enumerate(dims):
        widths[dim % x.ndim] = (given[i], given[i + len(dims)], 0)
        if widths[dim % x.ndim] != (0, 0, 0):
            _whole(site, dim % x.ndim)
    if mode == "constant":
        return lax.pad(jnp.asarray(x), jnp.asarray(0 if value is None else value, x.dtype).reshape(()), widths)
    for dim, (low, high, _) in enumerate(widths):  # what lies at the ends is repeated
        if (low, high) != (0, 0):
            size, at = x.shape[dim], numpy.arange(-low, x.shape[dim] + high)
            turned = at % max(2 * (size - 1), 1)
            place = {"reflect": numpy.minimum(turned, 2 * (size - 1) - turned), "edge": at.clip(0, size - 1)}.get(mode, at % size)
            x = jnp.take(x, place, axis=dim)
    return x


@op("Range")
def range_(site: Site, start: Array, limit: Array, delta: Array) -> Array:
    places = site.results[0].begin(0) + jnp.arange(site.results[0].local()[0])
    return start + places.astype(site.dtypes[0]) * delta


# Reading and writing at places. What lies in another device's part contributes nothing.


def _places(site: Site, indices: Array, dim: int) -> tuple[Array, Array]:
    """Indices along a dimension of operand 0 as indices into its part; and whether they are inside."""
    part = site.operand(0)
    at = jnp.where(indices < 0, indices + part.shape[dim], indices) - part.begin(dim)
    return at, (at >= 0) & (at < part.local()[dim])


@op("Gather")
def gather(site: Site, data: Array, indices: Array) -> Array:
    axis = site.axis(0)
    at, inside = _places(site, indices, axis)
    made = jnp.take(data, jnp.where(inside, at, 0), axis)
    if not site.operand(0).is_split(axis):
        return made
    return jnp.where(inside.reshape([1] * axis + list(indices.shape) + [1] * (data.ndim - axis - 1)), made, 0)


@op("GatherElements")
def gather_elements(site: Site, data: Array, indices: Array) -> Array:
    axis = site.axis(0)
    at, inside = _places(site, indices, axis)
    made = jnp.take_along_axis(data, jnp.where(inside, at, 0), axis)
    return jnp.where(inside, made, 0) if site.operand(0).is_split(axis) else made


@op("GatherND")
def gather_nd(site: Site, data: Array, indices: Array) -> Array:
    batches, depth = site.get("batch_dims", 0), indices.shape[-1]
    found = [_places(site, indices[..., d], batches + d) for d in range(depth)]
    rows = jnp.meshgrid(*(jnp.arange(n) for n in indices.shape[:-1]), indexing="ij", sparse=True)[:batches]
    made = jnp.asarray(data)[(*rows, *(jnp.where(inside, at, 0) for at, inside in found))]
    good = functools.reduce(jnp.logical_and, (inside for _, inside in found))
    return jnp.where(good.reshape(good.shape + (1,) * (made.ndim - good.ndim)), made, 0)


def _write(site: Site, data: Array, at: tuple[Array, ...], updates: Array) -> Array:
    place, reduction = jnp.asarray(data).at[at], site.get("reduction", "none")
    write = {"none": place.set, "add": place.add, "mul": place.multiply, "max": place.max, "min": place.min}[reduction]
    return write(updates, mode="drop")


@op("ScatterElements")
def scatter_elements(site: Site, data: Array, indices: Array, updates: Array) -> Array:
    axis = site.axis(0)
    at, inside = _places(site, indices, axis)
    grid = list(jnp.meshgrid(*(jnp.arange(n) for n in indices.shape), indexing="ij", sparse=True))
    grid[axis] = jnp.where(inside, at, data.shape[axis])  # outside: dropped
    return _write(site, data, tuple(grid), updates)


@op("ScatterND")
def scatter_nd(site: Site, data: Array, indices: Array, updates: Array) -> Array:
    at = []
    for d in range(indices.shape[-1]):
        place, inside = _places(site, indices[..., d], d)
        at.append(jnp.where(inside, place, data.shape[d]))
    return _write(site, data, tuple(at), updates)


# Collectives, each on one axis of the mesh.


def move(entry: dict[str, Any], local: Array, axes: Sequence[tuple[str, int]]) -> Array:
    """One step of a plan between two layouts, which differ on mesh axis `axis` alone."""
    axis = entry["axis"]
    name, parts = axes[axis]
    source, target = (parse_layout(entry[end])[axis] for end in ("from", "to"))
    kind = entry["kind"]
    if kind in ("all-gather", "all-to-all", "all-reduce", "reduce-scatter"):
        local = lax.optimization_barrier(local)  # XLA would leave out what it sees to be constant, or sent twice
    if kind == "all-gather":
        return lax.all_gather(local, name, axis=split_dim(source), tiled=True)
    if kind == "all-to-all":
        return lax.all_to_all(local, name, split_axis=split_dim(target), concat_axis=split_dim(source), tiled=True)
    if kind in ("all-reduce", "reduce-scatter"):
        return _reduced(kind, source[2:-1], split_dim(target), local, name)
    number = lax.axis_index(name)
    if kind == "slice":
        dim = split_dim(target)
        size = local.shape[dim] // parts
        return lax.dynamic_slice_in_dim(jnp.asarray(local), number * size, size, dim)
    neutral = {"sum": 0, "prod": 1}.get(target[2:-1])
    if kind == "fill":  # of maxima and minima every device keeps what it has
        return local if neutral is None else jnp.where(number == 0, local, jnp.asarray(neutral, local.dtype))
    if kind == "pad" and neutral is not None:
        dim = split_dim(source)
        shape = list(local.shape)
        shape[dim] *= parts
        return lax.dynamic_update_slice_in_dim(jnp.full(shape, neutral, local.dtype), local, number * local.shape[dim], dim)
    raise NotImplementedError(f"{kind} from {source} to {target}")


def _reduced(kind: str, reduction: str, dim: int | None, local: Array, name: str) -> Array:
    sent = local.astype(jnp.uint8) if local.dtype == jnp.bool_ else local  # whose maximum is "or"
    if kind == "reduce-scatter":
        if reduction != "sum":
            raise NotImplementedError(f"a reduce-scatter of P({reduction}), which JAX has not")
        made = lax.psum_scatter(sent, name, scatter_dimension=dim, tiled=True)
    else:
        reduce = {"sum": lax.psum, "max": lax.pmax, "min": lax.pmin}.get(reduction)
        if reduce is None:
            raise NotImplementedError(f"an all-reduce of P({reduction}), which JAX has not")
        made = reduce(sent, name)
    return made.astype(local.dtype)
