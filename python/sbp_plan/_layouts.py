"""Meshes and layouts as texts and as numbers: which part of a tensor a device has."""
from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from .errors import CallError

_REDUCERS = ("sum", "max", "min", "prod")
_MOST_DEVICES = 1024


@dataclass(frozen=True)
class Entry:
    """How a tensor lies on one axis of the mesh: "B"; "S" with its dimension; "P" with what combines the parts."""

    kind: str
    dim: int = -1
    reducer: str = ""

    def __str__(self) -> str:
        return "B" if self.kind == "B" else f"S({self.dim})" if self.kind == "S" else f"P({self.reducer})"


@dataclass(frozen=True)
class Mesh:
    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def devices(self) -> int:
        return math.prod(self.sizes)

    def coordinates(self, rank: int) -> tuple[int, ...]:
        result = []
        for size in reversed(self.sizes):
            result.append(rank % size)
            rank //= size
        return tuple(reversed(result))

    def __str__(self) -> str:
        return ",".join(f"{name}={size}" for name, size in zip(self.names, self.sizes))


Layout = tuple[Entry, ...]
MeshLike = Union[int, str, Mapping[str, int], Mesh]


def parse_mesh(mesh: MeshLike) -> Mesh:
    """Of {"data": 2, "model": 4}, "data=2,model=4" or 8. Raises CallError."""
    if isinstance(mesh, Mesh):
        return mesh
    if isinstance(mesh, int) and not isinstance(mesh, bool):
        mesh = {"x": mesh}
    if isinstance(mesh, str):
        words = [word.partition("=") for word in mesh.split(",")]
        try:
            mesh = {name.strip(): int(size) for name, _, size in words}
        except ValueError:
            raise CallError(f'mesh "{mesh}": expected axes with their sizes, "data=2,model=4"') from None
    if not isinstance(mesh, Mapping) or not mesh:
        raise CallError(f'mesh {mesh!r}: expected axes with their sizes, {{"data": 2, "model": 4}}')
    for name, size in mesh.items():
        if not re.fullmatch(r"\w+", str(name)) or isinstance(size, bool) or not hasattr(size, "__index__") or size < 1:
            raise CallError(f"mesh axis {name!r}: {size!r}: expected a name and a number of devices")
    made = Mesh(tuple(mesh), tuple(size.__index__() for size in mesh.values()))
    if made.devices > _MOST_DEVICES:
        raise CallError(f"mesh {made}: {made.devices} devices; threads stand for at most {_MOST_DEVICES}")
    return made


def parse_layout(text: Any, mesh: Mesh, rank: int) -> Layout:
    """Of "(S(0), B)", one entry an axis of the mesh; "B" alone on one axis. Raises CallError."""
    if not isinstance(text, str):
        text = "(" + ", ".join(map(str, text)) + ")" if isinstance(text, (list, tuple)) else str(text)
    inner = text.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    entries = []
    for word in re.split(r",(?![^(]*\))", inner):
        found = re.fullmatch(r"\s*(?:(B)|S\(\s*(-?\d+)\s*\)|P(?:\(\s*(\w*)\s*\))?)\s*", word)
        if found is None:
            raise CallError(f'layout "{text}": "{word.strip()}" is none of B, S(0), P(sum)')
        if found[1]:
            entries.append(Entry("B"))
        elif found[2]:
            dim = int(found[2])
            if not 0 <= dim < rank:
                raise CallError(f'layout "{text}": S({dim}) splits a dimension that a tensor of rank {rank} does not have')
            entries.append(Entry("S", dim))
        else:
            reducer = found[3] or "sum"
            if reducer not in _REDUCERS:
                raise CallError(f'layout "{text}": P({reducer}); partial values are combined by {", ".join(_REDUCERS)}')
            entries.append(Entry("P", -1, reducer))
    if len(entries) != len(mesh.sizes):
        raise CallError(f'layout "{text}" has {len(entries)} entries for mesh {mesh}, which has {len(mesh.sizes)} axes')
    if len({entry.reducer for entry in entries if entry.kind == "P"}) > 1:
        raise CallError(f'layout "{text}": partial values of two kinds are combined in no order')
    return tuple(entries)


def format_layout(layout: Sequence[Entry]) -> str:
    text = ", ".join(map(str, layout))
    return f"({text})" if len(layout) > 1 else text


def box(shape: Sequence[int], layout: Layout, mesh: Mesh, rank: int) -> tuple[slice, ...]:
    """The elements that a device has: parts are balanced, the first ones hold one more; axes split one after the other."""
    ranges = [(0, size) for size in shape]
    for entry, size, at in zip(layout, mesh.sizes, mesh.coordinates(rank)):
        if entry.kind == "S":
            begin, end = ranges[entry.dim]
            least, more = divmod(end - begin, size)
            start = begin + at * least + min(at, more)
            ranges[entry.dim] = (start, start + least + (at < more))
    return tuple(slice(begin, end) for begin, end in ranges)


def cut(array: Any, layout: Layout, mesh: Mesh) -> list[Any]:
    """The parts of all devices. Of a sum or product the first device has the values, the others 0 or 1; a largest or
    least value all have."""
    import numpy

    parts = []
    for rank in range(mesh.devices):
        part = numpy.ascontiguousarray(array[box(array.shape, layout, mesh, rank)])
        part = part.reshape(array[box(array.shape, layout, mesh, rank)].shape)
        others = any(entry.kind == "P" and entry.reducer in ("sum", "prod") and at
                     for entry, at in zip(layout, mesh.coordinates(rank)))
        if others:
            neutral = 1 if "prod" in {entry.reducer for entry in layout} else 0
            part = numpy.full_like(part, neutral)
        parts.append(part)
    return parts


def assemble(parts: Sequence[Any], shape: Sequence[int], layout: Layout, mesh: Mesh) -> Any:
    """The whole tensor, partial values combined; of copies the first counts."""
    import numpy

    combine = {"": None, "sum": numpy.add, "prod": numpy.multiply, "max": numpy.maximum, "min": numpy.minimum}[
        next((entry.reducer for entry in layout if entry.kind == "P"), "")]
    whole = numpy.empty(tuple(shape), parts[0].dtype)
    for rank in range(mesh.devices):
        where = mesh.coordinates(rank)
        if any(entry.kind == "B" and at for entry, at in zip(layout, where)):
            continue
        place = box(shape, layout, mesh, rank)
        first = not any(entry.kind == "P" and at for entry, at in zip(layout, where))
        whole[place] = parts[rank] if first or combine is None else combine(whole[place], parts[rank])
    return whole


def stack(parts: Sequence[Any], shape: Sequence[int], layout: Layout, mesh: Mesh) -> tuple[Any, Layout]:
    """Partial values as a tensor that is split: one more dimension in front for each axis where they are partial. The
    layout is of that tensor, of which each device has just its own values."""
    import numpy

    axes = [axis for axis, entry in enumerate(layout) if entry.kind == "P"]
    whole = numpy.zeros((*(mesh.sizes[axis] for axis in axes), *shape), parts[0].dtype)
    for rank in range(mesh.devices):
        where = mesh.coordinates(rank)
        if not any(entry.kind == "B" and at for entry, at in zip(layout, where)):
            place: tuple[Any, ...] = (*(where[axis] for axis in axes), *box(shape, layout, mesh, rank))
            whole[place] = parts[rank]
    entries = [Entry("S", axes.index(axis)) if entry.kind == "P" else
               Entry("S", entry.dim + len(axes)) if entry.kind == "S" else entry for axis, entry in enumerate(layout)]
    return whole, tuple(entries)
