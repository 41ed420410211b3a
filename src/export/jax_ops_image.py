"""Images of other sizes and forms, computed by JAX on the part that a device holds: see jax_ops.py."""

from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy
from jax import lax

from jax_ops import Array, Site, ints, op
from plan_resample import Unknown, scales_of, taps_of

@op("Resize")
def resize(site: Site, x: Array, roi: Array | None = None, scales: Array | None = None, sizes: Array | None = None) -> Array:
    source, result = site.operand(0), site.results[0]
    named = None if scales is None or scales.size == 0 else numpy.asarray(scales).tolist()
    for d, scale in enumerate(scales_of(source.shape, result.shape, site.get("axes"), named)):
        if source.shape[d] == result.shape[d] and scale == 1:
            continue
        repeats = site.get("mode", "nearest") == "nearest"
        if source.is_split(d) and not repeats:
            raise site.refuse(f"neighbours along dimension {d}, which is split, are mixed; pin it whole")
        try:
            taps = taps_of(site.get, source.shape[d], result.shape[d], scale)
        except Unknown as unknown:
            raise site.refuse(str(unknown)) from unknown
        places, weights = (numpy.array([[tap[i] for tap in row] for row in taps]) for i in (0, 1))
        if result.is_split(d):  # this device's elements
            places, weights = (lax.dynamic_slice_in_dim(jnp.asarray(v), result.begin(d), result.local()[d]) for v in (places, weights))
        places = places - source.begin(d)
        if repeats:
            x = jnp.take(x, places[:, 0], axis=d)
            continue
        column = [-1] + [1] * (x.ndim - 1 - d)
        x = sum(jnp.take(x, places[:, i], axis=d) * weights[:, i].astype(x.dtype).reshape(column) for i in range(places.shape[1]))
    return x


# Read at positions, (-1, 1) being the image.


def _within(padding: str, p: Array, size: int, low: float, extent: float, outside: Array) -> Array:
    """Positions outside as the border's, or mirrored there."""
    if padding == "border":
        return jnp.where(outside, jnp.clip(p, 0, size - 1), p)
    if padding != "reflection":
        return p
    off = jnp.mod(jnp.abs(p - low), max(2 * extent, 1.0))
    return jnp.where(outside, jnp.minimum(off, 2 * extent - off) + low, p)


def _neighbours(mode: str, t: Array) -> list[tuple[int, Array]]:
    """Which elements are read around a position whose fraction is t, and their weights."""
    if mode == "nearest":
        return [(0, jnp.ones_like(t))]
    if mode in ("linear", "bilinear"):
        return [(0, 1 - t), (1, t)]

    def near(u: Array) -> Array:
        return (u * 1.25 - 2.25) * u * u + 1

    def far(u: Array) -> Array:
        return (((u + 1) * -0.75 + 3.75) * (u + 1) - 6) * (u + 1) + 3

    return [(-1, far(t)), (0, near(t)), (1, near(1 - t)), (2, far(1 - t))]


@op("GridSample")
def grid_sample(site: Site, x: Array, grid: Array) -> Array:
    rank, corners, mode, padding = x.ndim - 2, site.get("align_corners", 0), site.get("mode", "linear"), site.get("padding_mode", "zeros")
    along = []  # of each dimension: index, weight and whether it lies inside, of each neighbour
    for d in range(rank):
        size, p = x.shape[d + 2], grid[..., rank - 1 - d]  # the grid names the last dimension first
        low, extent = (0.0, size - 1.0) if corners else (-0.5, float(size))
        p = (p + 1) * ((size - 1) / 2) if corners else ((p + 1) * size - 1) * 0.5
        p = jnp.round(p) if mode == "nearest" else p
        p = _within(padding, p, size, low, extent, (p < low) | (p > low + extent))
        base, each = jnp.floor(p), []
        for step, weight in _neighbours(mode, p - base):
            i = base + step
            inside = (i >= 0) & (i <= size - 1)
            if padding == "reflection":
                i = _within(padding, i, size, low, extent, ~inside)
            each.append((jnp.clip(i, 0, size - 1).astype(jnp.int32), weight, inside))
        along.append(each)
    pixels, made = jnp.moveaxis(x, 1, -1), None
    image = jnp.arange(x.shape[0]).reshape([-1] + [1] * rank)
    for taps in itertools.product(*along):
        weight, kept = taps[0][1], taps[0][2]
        for _, w, inside in taps[1:]:
            weight, kept = weight * w, kept & inside
        value = pixels[(image, *(i for i, _, _ in taps))] * weight[..., None].astype(x.dtype)
        value = jnp.where(kept[..., None], value, 0) if padding == "zeros" else value
        made = value if made is None else made + value
    return jnp.moveaxis(made, -1, 1)


# Channels as places, and back.


@op("DepthToSpace")
def depth_to_space(site: Site, x: Array) -> Array:
    """Blocks of the channels that this device holds: whole blocks, of whole channels."""
    block, (n, c, h, w) = int(site.get("blocksize")), x.shape
    c //= block * block
    if site.get("mode", "DCR") == "DCR":
        parts = x.reshape(n, block, block, c, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, c, block, block, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c, h * block, w * block)


@op("SpaceToDepth")
def space_to_depth(site: Site, x: Array) -> Array:
    block, (n, c, h, w) = int(site.get("blocksize")), x.shape
    turn = (0, 3, 5, 1, 2, 4) if site.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return x.reshape(n, c, h // block, block, w // block, block).transpose(turn).reshape(n, c * block * block, h // block, w // block)


@op("Col2Im")
def columns_to_image(site: Site, x: Array, image: Array, block: Array) -> Array:
    sizes, kernel = ints(site, image) or [], ints(site, block) or []
    rank, source = len(sizes), site.operand(0)
    strides, dilations = (list(site.get(name) or [1] * rank) for name in ("strides", "dilations"))
    pads = list(site.get("pads") or [0] * (2 * rank))
    if source.is_split(2):  # blocks of other devices add nothing here
        whole = jnp.zeros([*x.shape[:2], source.shape[2]], x.dtype)
        x = lax.dynamic_update_slice_in_dim(whole, x, source.begin(2), 2)
    padded = [size + pads[d] + pads[d + rank] for d, size in enumerate(sizes)]
    steps = [(padded[d] - dilations[d] * (kernel[d] - 1) - 1) // strides[d] + 1 for d in range(rank)]
    parts = x.reshape(x.shape[0], -1, *kernel, *steps)
    made = jnp.zeros([*parts.shape[:2], *padded], x.dtype)
    for offset in numpy.ndindex(*kernel):
        cut = tuple(slice(o * t, o * t + (n - 1) * s + 1, s) for o, t, n, s in zip(offset, dilations, steps, strides))
        made = made.at[(slice(None), slice(None), *cut)].add(parts[(slice(None), slice(None), *offset)])
    return made[(slice(None), slice(None), *(slice(pads[d], pads[d] + size) for d, size in enumerate(sizes)))]
