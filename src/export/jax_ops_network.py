"""Convolutions, pools and attention of a plan, computed by JAX on the part that a device holds: see jax_ops.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy
from jax import lax

from jax_ops import Array, Site, op


@dataclass(frozen=True)
class Window:
    """Strides, dilations and borders over the dimensions behind batch and channels."""

    sizes: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[tuple[int, int]]

    def reach(self, dim: int) -> int:
        return (self.sizes[dim] - 1) * self.dilations[dim] + 1


def _window(site: Site, sizes: Sequence[int], may_split: bool = False) -> Window:
    """Of a dimension that is split only windows that stand apart are computed: others need their neighbours' elements."""
    n, source = len(sizes), site.operand(0)
    strides, dilations = (list(site.get(name) or [1] * n) for name in ("strides", "dilations"))
    pads = list(site.get("pads") or [0] * (2 * n))
    window = Window(list(sizes), strides, dilations, list(zip(pads[:n], pads[n:])))
    automatic = site.get("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        for dim in range(n):
            size = source.shape[dim + 2]
            spare = max(0, (-(-size // strides[dim]) - 1) * strides[dim] + window.reach(dim) - size)
            window.pads[dim] = (spare // 2, spare - spare // 2) if automatic == "SAME_UPPER" else (spare - spare // 2, spare // 2)
    elif automatic == "VALID":
        window.pads[:] = [(0, 0)] * n
    if site.get("ceil_mode", 0):
        for dim, (low, high) in enumerate(window.pads):  # the last window may reach beyond the border
            over = (site.results[0].shape[dim + 2] - 1) * strides[dim] + window.reach(dim) - source.shape[dim + 2] - low
            window.pads[dim] = (low, max(high, over))
    for dim, held in enumerate(source.local()[2:]):
        apart = window.pads[dim] == (0, 0) and window.reach(dim) <= strides[dim] and held % strides[dim] == 0
        if source.is_split(dim + 2) and not (may_split and apart):
            raise site.refuse(f"windows slide over dimension {dim + 2}, which is split; pin it whole")
    return window


def _groups(site: Site, x: Array, weight: Array, channels: int) -> int:
    """Of the parts: a device has some of the groups, of each all input channels, or of the one group some channels."""
    held = x.shape[1] // channels
    if held * channels != x.shape[1] or weight.shape[0] % max(held, 1):
        raise site.refuse("groups of channels are cut")
    return held


def _convolved(x: Array, weight: Array, window: Window, groups: int) -> Array:
    return lax.conv_general_dilated(x, weight, window.strides, window.pads, rhs_dilation=window.dilations, feature_group_count=groups)


def _with_bias(made: Array, bias: Array | None) -> Array:
    return made if bias is None else made + bias.reshape([-1] + [1] * (made.ndim - 2))


@op("Conv")
def conv(site: Site, x: Array, weight: Array, bias: Array | None = None) -> Array:
    window = _window(site, weight.shape[2:], True)
    return _with_bias(_convolved(x, weight, window, _groups(site, x, weight, weight.shape[1])), bias)


@op("ConvTranspose")
def conv_transpose(site: Site, x: Array, weight: Array, bias: Array | None = None) -> Array:
    n, source, result = x.ndim - 2, site.operand(0), site.results[0]
    whole = int(site.get("group", 1))  # groups of the whole tensor
    split = site.operand(1).shape[0] // max(weight.shape[0], 1)
    if whole > 1 and whole % split:
        raise site.refuse("groups of channels are cut")
    groups = max(whole // split, 1)
    window = _window(site, weight.shape[2:])
    pads = []
    for dim in range(n):
        low, reach = window.pads[dim][0], window.reach(dim) - 1
        if site.get("output_shape") or site.get("auto_pad", "NOTSET") in ("SAME_UPPER", "SAME_LOWER"):
            extra = (site.get("output_padding") or [0] * n)[dim]
            spare = max(0, window.strides[dim] * (source.shape[dim + 2] - 1) + extra + reach + 1 - result.shape[dim + 2])
            low = spare // 2 if site.get("auto_pad") == "SAME_UPPER" else spare - spare // 2
        spread = (source.shape[dim + 2] - 1) * window.strides[dim] + 1
        pads.append((reach - low, result.shape[dim + 2] - spread + low))
    # A convolution of x with its elements apart, by the kernel turned around, whose outputs are of a group first.
    inner = weight.shape[0] // groups
    turned = jnp.flip(weight, range(2, n + 2)).reshape(groups, inner, weight.shape[1], *weight.shape[2:])
    turned = jnp.swapaxes(turned, 1, 2).reshape(groups * weight.shape[1], inner, *weight.shape[2:])
    made = lax.conv_general_dilated(x, turned, [1] * n, pads, window.strides, window.dilations, feature_group_count=groups)
    return _with_bias(made, bias)


def _slid(x: Array, start: Any, how: Callable[..., Array], window: Window) -> Array:
    return lax.reduce_window(x, jnp.asarray(start, x.dtype), how, (1, 1, *window.sizes), (1, 1, *window.strides),
                             ((0, 0), (0, 0), *window.pads), window_dilation=(1, 1, *window.dilations))


@op("AveragePool")
def average_pool(site: Site, x: Array) -> Array:
    window = _window(site, site.get("kernel_shape"), True)
    sums = _slid(x, 0, lax.add, window)
    if site.get("count_include_pad", 0) and not site.get("ceil_mode", 0):
        return sums / numpy.asarray(numpy.prod(window.sizes), x.dtype)
    counted, pads = jnp.ones((1, 1, *x.shape[2:]), x.dtype), list(site.get("pads") or [0] * (2 * len(window.sizes)))
    if site.get("count_include_pad", 0):  # the stated border counts, what is beyond it not
        n = len(window.sizes)
        stated = [(0, 0), (0, 0), *zip(pads[:n], pads[n:])]
        counted = jnp.pad(counted, stated, constant_values=1)
        over = [(0, max(0, high - end)) for (_, high), (_, end) in zip(window.pads, stated[2:])]
        window = Window(window.sizes, window.strides, window.dilations, over)
    return sums / _slid(counted, 0, lax.add, window)


@op("MaxPool")
def max_pool(site: Site, x: Array) -> Array | tuple[Array, ...]:
    window, n = _window(site, site.get("kernel_shape"), len(site.results) == 1), x.ndim - 2
    least = -jnp.inf if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min
    names = [bool(name) for name in site.written]
    values = _slid(x, least, lax.max, window) if names[0] else None
    if len(names) < 2 or not names[1]:
        return values
    if site.get("storage_order", 0):
        raise site.refuse("places that count the first dimension fastest are not computed")
    # The elements under each window, the first of the greatest: where it stands in the whole operand.
    source, plane = site.operand(0), list(x.shape[2:])
    place = numpy.arange(numpy.prod(plane)).reshape(1, 1, *plane)
    bordered = jnp.pad(x, [(0, 0), (0, 0), *window.pads], constant_values=least)
    places = numpy.pad(place, [(0, 0), (0, 0), *window.pads])
    best = at = None
    for offset in numpy.ndindex(*window.sizes):
        cut = (slice(None), slice(None), *(slice(o * d, o * d + (size - 1) * s + 1, s) for o, d, s, size in zip(
            offset, window.dilations, window.strides, site.results[-1].shape[2:])))
        value, here = bordered[cut], places[cut]
        best, at = (value, jnp.broadcast_to(here, value.shape)) if best is None else (
            jnp.where(value > best, value, best), jnp.where(value > best, here, at))
    number = source.begin(0) + jnp.arange(x.shape[0])
    channel = source.begin(1) + jnp.arange(x.shape[1])
    first = (number[:, None] * source.shape[1] + channel[None, :]) * int(numpy.prod(plane))
    at = at + first.reshape(*x.shape[:2], *[1] * n)
    return at if values is None else (values, at)


@op("GlobalAveragePool", "GlobalMaxPool")
def global_pool(site: Site, x: Array) -> Array:
    _window(site, x.shape[2:])
    reduce = jnp.mean if site.type == "GlobalAveragePool" else jnp.max
    return reduce(x, axis=tuple(range(2, x.ndim)), keepdims=True)


@op("GroupNormalization", "InstanceNormalization")
def group_norm(site: Site, x: Array, scale: Array, bias: Array) -> Array:
    """Of an instance each channel is a group; of channels a device has whole groups."""
    channels = site.operand(0).shape[1]
    groups = site.get("num_groups", channels) * x.shape[1] // channels
    wide = (x if x.dtype == jnp.float64 else x.astype(jnp.float32)).reshape(x.shape[0], groups, -1)
    off = wide - wide.mean(-1, keepdims=True)
    made = off * lax.rsqrt((off * off).mean(-1, keepdims=True) + site.get("epsilon", 1e-5))
    column = [-1] + [1] * (x.ndim - 2)
    return made.reshape(x.shape).astype(x.dtype) * scale.reshape(column) + bias.reshape(column)


# Attention.


def _seen(site: Site, scores: Array, mask: Array | None, rows: Array, first_key: Any = 0) -> Array:
    """Scores of heads (..., rows, keys), minus infinity where a row, whose position is in `rows`, does not see a key."""
    if site.get("softcap", 0.0):
        cap = site.get("softcap", 0.0)
        scores = jnp.tanh(scores / cap) * cap
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf) if mask.dtype == jnp.bool_ else scores + mask
    ahead = first_key + jnp.arange(scores.shape[-1])[None] - (rows + site.get("past", 0))[:, None]  # of the query's own position
    left, right = (site.get(f"{side}_window_size", -1) for side in ("left", "right"))
    right = 0 if site.get("is_causal", 0) else right
    if right != -1:
        scores = jnp.where(ahead > right, -jnp.inf, scores)
    return scores if left == -1 else jnp.where(-ahead > left, -jnp.inf, scores)


def _rows(site: Site, dim: int) -> Array:
    """Positions of the queries that this device holds."""
    queries = site.operand(0)
    return queries.begin(dim) + jnp.arange(queries.local()[dim])


PRECISIONS = {1: jnp.float32, 10: jnp.float16, 11: jnp.float64, 16: jnp.bfloat16}  # by ONNX's numbers


def _wide(x: Array) -> Array:
    return x if x.dtype == jnp.float64 else x.astype(jnp.float32)


def _log_sum_exp(scores: Array) -> Array:
    """The logarithm of the sum of powers of each row, (..., 1); of minus infinities alone minus infinity."""
    most = scores.max(-1, keepdims=True)
    most = jnp.where(jnp.isfinite(most), most, 0)
    return most + jnp.log(jnp.exp(scores - most).sum(-1, keepdims=True))


def _weights(site: Site, scores: Array) -> Array:
    """Softmax of each row, zeros of one that sees no key; in the type of softmax_precision."""
    scores = scores.astype(PRECISIONS.get(site.get("softmax_precision"), scores.dtype))
    most = scores.max(-1, keepdims=True)
    powers = jnp.exp(scores - jnp.where(jnp.isfinite(most), most, 0))
    total = powers.sum(-1, keepdims=True)
    return powers / jnp.where(total > 0, total, 1)


@op("Attention")
def attention(site: Site, q: Array, k: Array, v: Array, mask: Array | None = None, *others: Array | None) -> Any:
    if q.ndim != 4 or any(o is not None for o in others):
        raise site.refuse("packed heads, kept keys and lengths are not computed")
    queries, keys = site.operand(0), site.operand(1)
    group = queries.shape[1] // keys.shape[1]
    heads = (queries.begin(1) + jnp.arange(q.shape[1])) // group - keys.begin(1)  # of keys, for each head of queries
    k, v = (t if group == 1 else jnp.take(t, heads, axis=1) for t in (k, v))
    scale = site.get("scale")
    scores = jnp.einsum("bhsd,bhtd->bhst", q, k) * (q.shape[3] ** -0.5 if scale is None else scale)
    scores = _seen(site, scores, mask, _rows(site, 2))
    y = jnp.einsum("bhst,bhte->bhse", _weights(site, scores).astype(v.dtype), v).astype(q.dtype)
    made = (y, None, None, None, _log_sum_exp(_wide(scores))[..., 0])
    return tuple(value for value, name in zip(made, site.written) if name)


@op("sbp::FlashAttention")
def flash_attention(site: Site, q: Array, k: Array, v: Array, mask: Array | None = None, *others: Array | None) -> Any:
    """Heads (b, h, g, s, d) of queries, (b, h, t, d) of keys."""
    if any(o is not None for o in others):
        raise site.refuse("lengths and sinks are not computed")
    scores = _seen(site, jnp.einsum("bhgsd,bhtd->bhgst", q, k) * site.get("scale", 1.0), mask, _rows(site, 3))
    y = jnp.einsum("bhgst,bhte->bhgse", _weights(site, scores).astype(v.dtype), v).astype(q.dtype)
    made = (y, _log_sum_exp(_wide(scores))[..., 0])
    return tuple(value for value, name in zip(made, site.written) if name)


@op("sbp::AttentionScoresGrad")
def attention_scores_grad(site: Site, q: Array, k: Array, v: Array, mask: Array | None, lengths: Array | None, y: Array,
                          log_sum_exp: Array, d_y: Array, d_log_sum_exp: Array | None = None) -> Any:
    """The weights, and the cotangent of the scores that they are powers of, behind cap and mask."""
    made = _scores_grad(site, q, k, v, mask, lengths, y, log_sum_exp, d_y, d_log_sum_exp)
    return tuple(value for value, name in zip(made, site.written) if name)


def _scores_grad(site: Site, q: Array, k: Array, v: Array, mask: Array | None, lengths: Array | None, y: Array,
                 log_sum_exp: Array, d_y: Array, d_log_sum_exp: Array | None) -> tuple[Array, Array]:
    if lengths is not None:
        raise site.refuse("lengths are not computed")
    products = jnp.einsum("bhgsd,bhtd->bhgst", q, k) * site.get("scale", 1.0)
    scores = _seen(site, products, mask, _rows(site, 3), site.operand(1).begin(2)).astype(log_sum_exp.dtype)
    p = jnp.exp(scores - jnp.where(jnp.isinf(log_sum_exp), 0, log_sum_exp)[..., None])  # of a row without a key: powers of 0
    inner = (d_y.astype(p.dtype) * y.astype(p.dtype)).sum(-1, keepdims=True)
    inner = inner if d_log_sum_exp is None else inner - d_log_sum_exp[..., None]
    return p, p * (jnp.einsum("bhgse,bhte->bhgst", d_y, v).astype(p.dtype) - inner)


@op("sbp::FlashAttentionGrad")
def flash_attention_grad(site: Site, q: Array, k: Array, v: Array, mask: Array | None, lengths: Array | None, y: Array,
                         log_sum_exp: Array, d_y: Array, d_log_sum_exp: Array | None = None) -> Any:
    p, d_scores = _scores_grad(site, q, k, v, mask, lengths, y, log_sum_exp, d_y, d_log_sum_exp)
    scale, cap = site.get("scale", 1.0), site.get("softcap", 0.0)
    if cap:
        d_scores = d_scores * (1 - jnp.tanh(jnp.einsum("bhgsd,bhtd->bhgst", q, k) * scale / cap) ** 2)
    p, d_scores = p.astype(q.dtype), (d_scores * scale).astype(q.dtype)
    made = (jnp.einsum("bhgst,bhtd->bhgsd", d_scores, k), jnp.einsum("bhgst,bhgsd->bhtd", d_scores, q),
            jnp.einsum("bhgst,bhgse->bhte", p, d_y))
    return tuple(value for value, name in zip(made, site.written) if name)
