"""Layouts of a plan on a device mesh: which box of a tensor a rank holds, and the collectives between two layouts.

A layout has one word per mesh axis, outermost first: S(d) splits dimension d, B repeats, P(kind) is a partial result.
Splits are balanced: of 15 over 4 the parts hold 4, 4, 4, 3; those of one dimension nest from the outermost axis in.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed._functional_collectives as funcol
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import Placement

Layout = tuple[str, ...]
Box = tuple[tuple[int, int], ...]  # per dimension [begin, end), in the whole tensor
Shape = Sequence[int]

NEUTRAL: dict[str, float] = {"sum": 0, "prod": 1}  # of maxima and minima every rank keeps what it has
DTENSOR_KINDS = {"prod": "product"}


@functools.lru_cache(maxsize=None)
def parse_layout(text: str) -> Layout:
    """`(S(0), P(sum))` as `("S(0)", "P(sum)")`."""
    return tuple(re.findall(r"S\(\d+\)|B|P\(\w+\)", text))


def split_dim(word: str) -> int | None:
    return int(word[2:-1]) if word[0] == "S" else None


def reduce_kind(word: str) -> str:
    """Of a partial word: sum, max, min, prod."""
    return word[2:-1]


def placements(layout: Layout) -> list[Placement]:
    def placement(word: str) -> Placement:
        dim = split_dim(word)
        if dim is not None:
            return Shard(dim)
        kind = reduce_kind(word)
        return Replicate() if word == "B" else Partial(DTENSOR_KINDS.get(kind, kind))

    return [placement(word) for word in layout]


def box_of(shape: Shape, layout: Layout, sizes: Shape, coordinates: Sequence[int]) -> Box:
    """What the rank at `coordinates` of a mesh of `sizes` holds."""
    box = [(0, size) for size in shape]
    for word, parts, part in zip(layout, sizes, coordinates, strict=True):
        dim = split_dim(word)
        if dim is not None:
            begin, end = box[dim]
            each, rest = divmod(end - begin, parts)
            first = begin + part * each + min(part, rest)
            box[dim] = (first, first + each + (part < rest))
    return tuple(box)


def is_even(shape: Shape, layout: Layout, sizes: Shape) -> bool:
    left = list(shape)
    for word, parts in zip(layout, sizes, strict=True):
        dim = split_dim(word)
        if dim is not None:
            if left[dim] % parts:
                return False
            left[dim] //= parts
    return True


def extents(box: Box) -> list[int]:
    return [end - begin for begin, end in box]


def overlap(a: Box, b: Box) -> Box:
    return tuple((max(p[0], q[0]), max(p[0], q[0], min(p[1], q[1]))) for p, q in zip(a, b, strict=True))


def cut(held: torch.Tensor, held_box: Box, wanted: Box) -> torch.Tensor:
    """The part `wanted` of `held`, which is the part `held_box` of a tensor; a view."""
    for dim, ((begin, _), (first, last)) in enumerate(zip(held_box, wanted, strict=True)):
        held = held.narrow(dim, first - begin, last - first)
    return held


@dataclass(frozen=True)
class Move:
    """One step between two layouts, which differ on mesh axis `axis` alone."""

    kind: str
    axis: int
    source: Layout
    target: Layout

    @staticmethod
    def of(entry: dict[str, Any]) -> Move:
        return Move(entry["kind"], entry["axis"], parse_layout(entry["from"]), parse_layout(entry["to"]))


class Mover:
    """Runs moves of local tensors on a mesh, each as one collective of one axis of the mesh, or as none."""

    def __init__(self, mesh: DeviceMesh) -> None:
        self.mesh, self.sizes = mesh, tuple(mesh.shape)
        coordinate = mesh.get_coordinate()
        if coordinate is None:
            raise ValueError("this rank is not in the mesh")
        self.coordinates = tuple(coordinate)
        self._kinds: dict[str, Callable[[Move, torch.Tensor, Shape], torch.Tensor]] = {
            "all-gather": self._all_gather, "all-reduce": self._all_reduce, "reduce-scatter": self._reduce_scatter,
            "all-to-all": self._all_to_all, "slice": self._slice, "fill": self._fill, "pad": self._pad}

    def box(self, shape: Shape, layout: Layout) -> Box:
        return box_of(shape, layout, self.sizes, self.coordinates)

    def start(self, whole: torch.Tensor, layout: Layout) -> torch.Tensor:
        """What this rank holds of a tensor that lies so; of a sum in parts the first rank has all, and others nothing."""
        held = cut(whole, tuple((0, n) for n in whole.shape), self.box(whole.shape, layout)).contiguous()
        for axis, word in enumerate(layout):
            neutral = NEUTRAL.get(reduce_kind(word)) if word[0] == "P" else None
            if neutral is not None and self.coordinates[axis] != 0:
                held = torch.full_like(held, neutral)
        return held

    def run(self, move: Move, local: torch.Tensor, shape: Shape) -> torch.Tensor:
        return self._kinds[move.kind](move, local, shape)

    def whole(self, local: torch.Tensor, shape: Shape, layout: Layout) -> torch.Tensor:
        """The whole tensor on every rank, axis by axis from the innermost."""
        for axis in reversed(range(len(layout))):
            if layout[axis] == "B":
                continue
            target = (*layout[:axis], "B", *layout[axis + 1:])
            kind = "all-gather" if layout[axis][0] == "S" else "all-reduce"
            local = self.run(Move(kind, axis, layout, target), local, shape)
            layout = target
        return local

    def _group(self, axis: int) -> tuple[DeviceMesh, int]:
        return self.mesh, axis

    def _boxes(self, shape: Shape, layout: Layout, axis: int) -> list[Box]:
        """Of the ranks that differ from this one on `axis` only."""
        at = list(self.coordinates)
        return [box_of(shape, layout, self.sizes, [*at[:axis], part, *at[axis + 1:]]) for part in range(self.sizes[axis])]

    def _all_gather(self, move: Move, local: torch.Tensor, shape: Shape) -> torch.Tensor:
        boxes = self._boxes(shape, move.source, move.axis)
        largest = max(math.prod(extents(box)) for box in boxes)
        flat = local.reshape(-1)
        sent = torch.cat([flat, flat.new_zeros(largest - flat.numel())]) if flat.numel() < largest else flat
        parts = _wait(_all_gather(_sendable(sent), 0, self._group(move.axis))).to(local.dtype).split(largest)
        target = self.box(shape, move.target)
        made = local.new_empty(extents(target))
        for part, box in zip(parts, boxes, strict=True):
            cut(made, target, box).copy_(part[:math.prod(extents(box))].view(extents(box)))
        return made

    def _all_reduce(self, move: Move, local: torch.Tensor, shape: Shape) -> torch.Tensor:
        kind = reduce_kind(move.source[move.axis])
        made = funcol.all_reduce(_sendable(local).contiguous(), DTENSOR_KINDS.get(kind, kind), self._group(move.axis))
        return _wait(made).to(local.dtype)

    def _reduce_scatter(self, move: Move, local: torch.Tensor, shape: Shape) -> torch.Tensor:
        kind, held = reduce_kind(move.source[move.axis]), self.box(shape, move.source)
        boxes = self._boxes(shape, move.target, move.axis)
        largest = max(math.prod(extents(box)) for box in boxes)
        sent = local.new_zeros(len(boxes), largest)
        for row, box in zip(sent, boxes, strict=True):
            row[:math.prod(extents(box))] = cut(local, held, box).reshape(-1)
        made = _reduce_scatter(_sendable(sent).view(-1), DTENSOR_KINDS.get(kind, kind), 0, self._group(move.axis))
        own = extents(self.box(shape, move.target))
        return _wait(made).to(local.dtype)[:math.prod(own)].view(own)

    def _all_to_all(self, move: Move, local: torch.Tensor, shape: Shape) -> torch.Tensor:
        held, target = self.box(shape, move.source), self.box(shape, move.target)
        sent = [cut(local, held, overlap(held, box)).reshape(-1) for box in self._boxes(shape, move.target, move.axis)]
        arriving = [overlap(box, target) for box in self._boxes(shape, move.source, move.axis)]
        sizes = [math.prod(extents(box)) for box in arriving]
        flat = _sendable(torch.cat(sent))
        received = funcol.all_to_all_single(flat, sizes, [part.numel() for part in sent], self._group(move.axis))
        made = local.new_empty(extents(target))
        for part, box in zip(_wait(received).to(local.dtype).split(sizes), arriving, strict=True):
            cut(made, target, box).copy_(part.view(extents(box)))
        return made

    def _slice(self, move: Move, local: torch.Tensor, shape: Shape) -> torch.Tensor:
        return cut(local, self.box(shape, move.source), self.box(shape, move.target)).contiguous()

    def _fill(self, move: Move, local: torch.Tensor, shape: Shape) -> torch.Tensor:
        neutral = NEUTRAL.get(reduce_kind(move.target[move.axis]))
        return local if neutral is None or self.coordinates[move.axis] == 0 else torch.full_like(local, neutral)

    def _pad(self, move: Move, local: torch.Tensor, shape: Shape) -> torch.Tensor:
        target = self.box(shape, move.target)
        made = local.new_full(extents(target), NEUTRAL[reduce_kind(move.target[move.axis])])
        cut(made, target, self.box(shape, move.source)).copy_(local)
        return made


# torch 2.15 renamed both.
_all_gather = getattr(funcol, "all_gather_single", None) or funcol.all_gather_tensor
_reduce_scatter = getattr(funcol, "reduce_scatter_single", None) or funcol.reduce_scatter_tensor


def _sendable(value: torch.Tensor) -> torch.Tensor:
    """Bools are sent as bytes, whose maximum is "or"."""
    return value.to(torch.uint8) if value.dtype == torch.bool else value


def _wait(value: torch.Tensor) -> torch.Tensor:
    return value.wait() if isinstance(value, funcol.AsyncCollectiveTensor) else value
