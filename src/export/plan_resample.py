"""Where elements of a resized image are read, and their weights, as ONNX's Resize says: what programs of a plan share.

No framework is needed: lists of numbers, of one dimension of whole tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Taps = list[list[tuple[int, float]]]  # per element of the result: which elements are read, and their weights


class Unknown(Exception):
    """An attribute has a value that is not computed."""


def _position(mode: str, at: int, size: int, made: int, scale: float) -> float:
    """Where an element of the result lies among those of the operand."""
    if mode == "align_corners":
        return at * (size - 1) / (scale * size - 1) if scale * size != 1 else 0.0
    if mode == "asymmetric":
        return at / scale
    if mode == "pytorch_half_pixel" and made <= 1:
        return 0.0
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return (at + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return size / 2 * (1 - made / (scale * size)) + (at + 0.5) / scale - 0.5
    raise Unknown(f"coordinate_transformation_mode {mode} is not computed")


def _nearest(mode: str, x: float) -> int:
    return {"floor": math.floor(x), "ceil": math.ceil(x), "round_prefer_ceil": math.floor(x + 0.5)}.get(mode, math.ceil(x - 0.5))


def _weight(mode: str, a: float, distance: float) -> float:
    d = abs(distance)
    if mode == "linear":
        return max(0.0, 1 - d)
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else 0.0


def taps_of(get: Callable[[str, Any], Any], size: int, made: int, scale: float) -> Taps:
    """Along a dimension of `size` elements that becomes `made`; `get` gives an attribute or a default."""
    if get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise Unknown("a kept ratio of sizes is not computed")
    where, mode, taps = get("coordinate_transformation_mode", "half_pixel"), get("mode", "nearest"), []
    for at in range(made):
        x = _position(where, at, size, made, scale)
        if mode == "nearest":
            place = _nearest(get("nearest_mode", "round_prefer_floor"), x)
            taps.append([(min(max(place, 0), size - 1), 1.0)])
            continue
        # A smaller result is smoothed first: what is read grows as the size shrinks.
        shrink = min(scale, 1.0) if get("antialias", 0) else 1.0
        reach, base = (1 if mode == "linear" else 2) / shrink, math.ceil(x) - 1
        first = math.floor(-reach) + 1
        near = [(base + i, _weight(mode, get("cubic_coeff_a", -0.75), shrink * (base + i - x))) for i in range(first, 2 - first)]
        if get("exclude_outside", 0):
            near = [(i, w if 0 <= i < size else 0.0) for i, w in near]
        total = sum(w for _, w in near) if get("antialias", 0) or get("exclude_outside", 0) else 1.0
        taps.append([(min(max(i, 0), size - 1), w / total) for i, w in near])
    return taps


def scales_of(shape: Sequence[int], made: Sequence[int], axes: Sequence[int] | None, scales: Sequence[float] | None) -> list[float]:
    """Of each dimension; `axes` says of which `scales` are, none: of all."""
    each = [new / old if old else 1.0 for old, new in zip(shape, made)]
    for axis, scale in zip(range(len(shape)) if axes is None else axes, scales or ()):
        each[axis % len(shape)] = float(scale)
    return each
