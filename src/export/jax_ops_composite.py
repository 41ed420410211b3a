"""Ops that stand for several primitives, computed by JAX on the part that a device holds: see jax_ops.py."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy
from jax import lax

from jax_ops import Array, Part, Site, ints, op


def _wide(x: Array) -> Array:
    return x if x.dtype == jnp.float64 else x.astype(jnp.float32)


def _written(site: Site, *made: Array | None) -> Any:
    wanted = [value for value, name in zip(made, site.written) if name]
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


def _whole_from(site: Site, axis: int) -> tuple[int, ...]:
    """Dimensions from `axis` on, which no device may hold a part of."""
    over = tuple(range(axis, len(site.operand(0).shape)))
    for dim in over:
        if site.operand(0).is_split(dim):
            raise site.refuse(f"dimension {dim} is split")
    return over


# Elementwise.


@op("Gelu")
def gelu(site: Site, x: Array) -> Array:
    return jax.nn.gelu(x, approximate=site.get("approximate", "none") == "tanh")


@op("sbp::GeluGrad")
def gelu_grad(site: Site, dy: Array, x: Array) -> Array:
    return jax.vjp(lambda value: gelu(site, value), x)[1](dy)[0]


@op("Swish")
def swish(site: Site, x: Array) -> Array:
    return x * jax.nn.sigmoid(x * site.get("alpha", 1.0))


@op("sbp::SwishGrad")
def swish_grad(site: Site, dy: Array, x: Array) -> Array:
    return jax.vjp(lambda value: swish(site, value), x)[1](dy)[0]


op("sbp::BesselI0e")(lambda site, x: jax.scipy.special.i0e(x))
op("sbp::BesselI1e")(lambda site, x: jax.scipy.special.i1e(x))
op("com.microsoft::Inverse")(lambda site, x: jnp.linalg.inv(x))
op("Det")(lambda site, x: jnp.linalg.det(x))
op("sbp::Cholesky")(lambda site, x: jnp.linalg.cholesky(x))
op("sbp::Digamma")(lambda site, x: jax.scipy.special.digamma(x))
op("sbp::ErfInv")(lambda site, x: jax.scipy.special.erfinv(x))
op("sbp::LogGamma")(lambda site, x: jax.scipy.special.gammaln(x))
op("sbp::Trigamma")(lambda site, x: jax.scipy.special.polygamma(1, x))


@op("sbp::TriangularSolve")
def triangular_solve(site: Site, a: Array, b: Array) -> Array:
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    upper, transpose, unit = (bool(site.get(name, 0)) for name in ("upper", "transpose", "unit"))
    a, b = jnp.broadcast_to(a, batch + a.shape[-2:]), jnp.broadcast_to(b, batch + b.shape[-2:])
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=not upper, transpose_a=transpose, unit_diagonal=unit)


@op("DFT")
def fourier(site: Site, x: Array, length: Array | None = None, axis: Array | None = None) -> Array:
    """Complex numbers are pairs in the last dimension; by halves: of real numbers, or back to such."""
    dim = (int(site.get("axis", -2)) if axis is None else ints(site, axis)[0]) % x.ndim
    spectrum = x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]
    inverse, half = bool(site.get("inverse", 0)), bool(site.get("onesided", 0))
    n = ints(site, length)[0] if length is not None else 2 * (x.shape[dim] - 1) if inverse and half else x.shape[dim]
    if inverse and half:
        return jnp.fft.irfft(spectrum, n, dim)[..., None].astype(x.dtype)
    made = (jnp.fft.ifft if inverse else jnp.fft.fft)(spectrum, n, dim)
    made = jnp.take(made, jnp.arange(n // 2 + 1), axis=dim) if half else made
    return jnp.stack([made.real, made.imag], -1).astype(x.dtype)


@op("Dropout")
def dropout(site: Site, x: Array, ratio: Array | None = None, training: Array | None = None) -> Any:
    if training is not None and (not isinstance(training, numpy.ndarray) or bool(training)):
        raise site.refuse("what is dropped in training is not computed; plan without --train-mode")
    return _written(site, x, jnp.ones(x.shape, bool))


@op("Elu")
def elu(site: Site, x: Array) -> Array:
    return jax.nn.elu(x, site.get("alpha", 1.0))


@op("Celu")
def celu(site: Site, x: Array) -> Array:
    return jax.nn.celu(x, site.get("alpha", 1.0))


@op("Selu")
def selu(site: Site, x: Array) -> Array:
    return site.get("gamma", 1.0507010221481323) * jax.nn.elu(x, site.get("alpha", 1.6732631921768188))


@op("LeakyRelu")
def leaky_relu(site: Site, x: Array) -> Array:
    return jnp.where(x < 0, x * site.get("alpha", 0.01), x)


@op("PRelu")
def parametric_relu(site: Site, x: Array, slope: Array) -> Array:
    return jnp.where(x < 0, x * slope, x)


@op("HardSigmoid")
def hard_sigmoid(site: Site, x: Array) -> Array:
    return jnp.clip(x * site.get("alpha", 0.2) + site.get("beta", 0.5), 0, 1)


@op("HardSwish")
def hard_swish(site: Site, x: Array) -> Array:
    return jax.nn.hard_swish(x)


@op("Mish")
def mish(site: Site, x: Array) -> Array:
    return jax.nn.mish(x)


@op("Softplus")
def softplus(site: Site, x: Array) -> Array:
    return jax.nn.softplus(x)


@op("Clip")
def clip(site: Site, x: Array, low: Array | None = None, high: Array | None = None) -> Array:
    return jnp.clip(x, low, high)


@op("Sum")
def total(site: Site, *operands: Array) -> Array:
    return sum(operands[1:], operands[0])


# Products.

# Rows of both are summed, of each group apart.
GROUPED_OUTER = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), lhs_ragged_dimensions=[0], rhs_group_dimensions=[])


@op("Gemm")
def gemm(site: Site, a: Array, b: Array, c: Array | None = None) -> Array:
    y = jnp.matmul(a.T if site.get("transA", 0) else a, b.T if site.get("transB", 0) else b)
    alpha, beta = site.get("alpha", 1.0), site.get("beta", 1.0)
    y = y if alpha == 1 else y * jnp.asarray(alpha, y.dtype)
    return y if c is None else y + (c if beta == 1 else c * jnp.asarray(beta, y.dtype))


def _by_expert(site: Site, expert: Array, experts: Part) -> tuple[Array, Array, Array]:
    """Rows in the order of the experts that this device holds, those of others behind them: places, whether a row there is
    of one that is held, and how many each has."""
    own = jnp.where(expert < 0, expert + experts.shape[0], expert) - experts.begin(0)
    held = experts.local()[0]
    own = jnp.where((own >= 0) & (own < held), own, held)
    order = jnp.argsort(own)
    return order, own[order] < held, jnp.bincount(own, length=held + 1)[:held].astype(jnp.int32)


@op("sbp::GroupedMatMul")
def grouped_matmul(site: Site, x: Array, w: Array, expert: Array) -> Array:
    order, is_held, sizes = _by_expert(site, expert, site.operand(1))
    made = lax.ragged_dot(x[order], jnp.swapaxes(w, 1, 2) if site.get("transB", 0) else w, sizes)
    return jnp.zeros_like(made).at[order].set(jnp.where(is_held[:, None], made, 0))


@op("sbp::GroupedOuter")
def grouped_outer(site: Site, a: Array, b: Array, expert: Array) -> Array:
    order, is_held, sizes = _by_expert(site, expert, site.results[0])
    rows = [jnp.where(is_held[:, None], x[order], 0) for x in (a, b)]
    return lax.ragged_dot_general(*rows, sizes, GROUPED_OUTER)


# Normalisation.


@op("LayerNormalization")
def layer_norm(site: Site, x: Array, w: Array, b: Array | None = None) -> Any:
    over = _whole_from(site, site.axis(-1))
    v = _wide(x)
    mean = v.mean(over, keepdims=True)
    inverse = lax.rsqrt(jnp.square(v - mean).mean(over, keepdims=True) + site.get("epsilon", 1e-5))
    y = ((v - mean) * inverse).astype(x.dtype) * w
    return _written(site, y if b is None else y + b, mean, inverse)


@op("RMSNormalization")
def rms_norm(site: Site, x: Array, w: Array) -> Array:
    over = _whole_from(site, site.axis(-1))
    v = _wide(x)
    return (v * lax.rsqrt(jnp.square(v).mean(over, keepdims=True) + site.get("epsilon", 1e-5))).astype(x.dtype) * w


@op("BatchNormalization")
def batch_norm(site: Site, x: Array, scale: Array, b: Array, mean: Array, var: Array) -> Any:
    def column(v: Array) -> Array:
        return v.reshape([-1] + [1] * (x.ndim - 2))

    epsilon, keep = site.get("epsilon", 1e-5), site.get("momentum", 0.9)
    if not site.get("training_mode", 0):
        return (x - column(mean)) * column(scale * lax.rsqrt(var + epsilon)) + column(b)
    over = tuple(d for d in range(x.ndim) if d != 1)
    for dim in over:
        _whole_axis(site, dim)
    own, spread = x.mean(over), x.var(over)
    y = (x - column(own)) * column(scale * lax.rsqrt(spread + epsilon)) + column(b)
    return _written(site, y, mean * keep + own * (1 - keep), var * keep + spread * (1 - keep), own, lax.rsqrt(spread + epsilon))


@op("Softmax")
def softmax(site: Site, x: Array) -> Array:
    _whole_axis(site, site.axis(-1))
    return jax.nn.softmax(x, axis=site.axis(-1))


@op("LogSoftmax")
def log_softmax(site: Site, x: Array) -> Array:
    _whole_axis(site, site.axis(-1))
    return jax.nn.log_softmax(x, axis=site.axis(-1))


@op("sbp::LogSoftmaxGrad")
def log_softmax_grad(site: Site, dy: Array, y: Array) -> Array:
    _whole_axis(site, site.axis(-1))
    return dy - jnp.exp(y) * dy.sum(axis=site.axis(-1), keepdims=True)


def _whole_axis(site: Site, axis: int) -> None:
    if site.operand(0).is_split(axis):
        raise site.refuse(f"dimension {axis} is split")


# Places.


@op("OneHot")
def one_hot(site: Site, indices: Array, depth: Array, values: Array) -> Array:
    axis, made = int(site.get("axis", -1)) % (indices.ndim + 1), site.results[0]
    at = jnp.expand_dims(jnp.where(indices < 0, indices + made.shape[axis], indices), axis)
    position = (made.begin(axis) + jnp.arange(made.local()[axis])).reshape([-1] + [1] * (indices.ndim - axis))
    return jnp.where(at == position, values[1], values[0])


@op("Split")
def split(site: Site, x: Array, sizes: Array | None = None) -> Any:
    axis = site.axis(0)
    _whole_axis(site, axis)
    parts = ints(site, sizes)
    if parts is None:
        each = -(-x.shape[axis] // len(site.written))
        parts = [max(0, min(each, x.shape[axis] - i * each)) for i in range(len(site.written))]
    begins = [sum(parts[:i]) for i in range(len(parts))]
    return _written(site, *(lax.slice_in_dim(x, begin, begin + size, axis=axis) for begin, size in zip(begins, parts)))


@op("Tile")
def tile(site: Site, x: Array, repeats: Array) -> Array:
    own = site.results[0].local()  # of copies, a split one has its share
    return jnp.tile(x, [made // size if size else 1 for made, size in zip(own, x.shape)])


@op("Trilu")
def trilu(site: Site, x: Array, k: Array | None = None) -> Array:
    part = site.operand(0)
    rows, columns = (part.begin(x.ndim - d) + jnp.arange(x.shape[x.ndim - d]) for d in (2, 1))
    off = columns[None] - rows[:, None] - (0 if k is None else k.reshape(()))
    return jnp.where(off >= 0 if site.get("upper", 1) else off <= 0, x, jnp.zeros((), x.dtype))


# Losses.


def _loss(site: Site, log_prob: Array, labels: Array, weights: Array | None) -> Array:
    """Parts of classes: a label in another part adds nothing. Parts of a mean over a known number of labels add up."""
    scores, ignored = site.operand(0), site.get("ignore_index")
    dim = min(1, log_prob.ndim - 1)
    own = labels.astype(jnp.int32)
    skipped = jnp.zeros_like(own, dtype=bool) if ignored is None else own == ignored
    at = jnp.where(skipped, 0, jnp.where(own < 0, own + scores.shape[dim], own)) - scores.begin(dim)
    inside = (at >= 0) & (at < log_prob.shape[dim])
    at = jnp.where(inside, at, 0)
    weight = jnp.ones(own.shape, log_prob.dtype) if weights is None else weights[at]
    weight = jnp.where(skipped | ~inside, 0, weight)
    each = -jnp.take_along_axis(log_prob, jnp.expand_dims(at, dim), dim).squeeze(dim) * weight
    reduction = site.get("reduction", "mean")
    if reduction == "none":
        return each
    if reduction == "sum":
        return each.sum()
    return each.sum() / (math.prod(site.operand(1).shape) if ignored is None and weights is None else weight.sum())


@op("SoftmaxCrossEntropyLoss")
def cross_entropy(site: Site, scores: Array, labels: Array, weights: Array | None = None) -> Any:
    dim = min(1, scores.ndim - 1)
    _whole_axis(site, dim)
    log_prob = jax.nn.log_softmax(scores, axis=dim)
    return _written(site, _loss(site, log_prob, labels, weights), log_prob)


@op("NegativeLogLikelihoodLoss")
def negative_log_likelihood(site: Site, scores: Array, labels: Array, weights: Array | None = None) -> Array:
    return _loss(site, scores, labels, weights)


# Optimizers, as `infer --train --optimizer` plans them: all elementwise. A state that is absent is zero.


def _gradient(p: Array, g: Array, scale: Array | None) -> Array:
    d = g.astype(p.dtype)
    return d if scale is None else d * scale


def _average(value: Array, before: Array | None, keep: float) -> Array:
    return value * (1 - keep) if before is None else before * keep + value * (1 - keep)


@op("sbp::SumOfSquares")
def sum_of_squares(site: Site, x: Array) -> Array:
    return jnp.square(x.astype(jnp.float32)).sum()


@op("sbp::SGD")
def sgd(site: Site, x: Array, g: Array, lr: Array, step: Array, scale: Array | None = None) -> Array:
    p = _wide(x)
    return p - (_gradient(p, g, scale) + p * site.get("weight_decay", 0.0)) * lr


@op("sbp::Momentum")
def momentum(site: Site, x: Array, g: Array, lr: Array, step: Array, scale: Array | None = None,
             before: Array | None = None) -> Any:
    p, mu = _wide(x), site.get("mu", 0.9)
    d = _gradient(p, g, scale) + p * site.get("weight_decay", 0.0)
    b = d if before is None else before * mu + d
    return _written(site, p - (d + b * mu if site.get("nesterov", 0) else b) * lr, b)


@op("sbp::Adam", "sbp::AdamW")
def adam(site: Site, x: Array, g: Array, lr: Array, step: Array, scale: Array | None = None,
         m: Array | None = None, v: Array | None = None) -> Any:
    p, is_adamw = _wide(x), site.type == "sbp::AdamW"
    d, decay = _gradient(p, g, scale), site.get("weight_decay", 0.01 if is_adamw else 0.0)
    p, d = (p - p * (lr * decay), d) if is_adamw else (p, d + p * decay)
    beta1, beta2 = site.get("beta1", 0.9), site.get("beta2", 0.999)
    m, v = _average(d, m, beta1), _average(d * d, v, beta2)
    time = step.astype(p.dtype)
    rate, root = lr / (1 - beta1 ** time), jnp.sqrt(1 - beta2 ** time)
    return _written(site, p - m * rate / (jnp.sqrt(v) / root + site.get("epsilon", 1e-8)), m, v)
