"""Runs a plan with JAX, one program for all devices by jax.shard_map, with exactly the plan's collectives.

    load_plan.py --inputs inputs.npz [--expect outputs.npz] [--save outputs.npz] [--hlo FILE]
    from load_plan import load; planned = load(); outputs = planned.run({"x": array, ...})

Inputs are called as the plan calls them (`planned.inputs`); outputs are arrays of JAX, laid out as planned. Needs as many
devices as the plan has: on a CPU XLA_FLAGS=--xla_force_host_platform_device_count=N, which this sets where it is not set.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping

from plan_run import main, make_mesh, set_devices, typed

TABLE = json.loads(Path(__file__).with_name("plan_table.json").read_text())
set_devices(TABLE)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

import jax_ops_composite  # noqa: E402, F401  registers its ops
import jax_ops_image  # noqa: E402, F401  registers its ops
import jax_ops_network  # noqa: E402, F401  registers its ops
import jax_ops_recurrent  # noqa: E402, F401  registers its ops
from jax_ops import DTYPES, OPS, Layout, Part, Site, move, parse_layout, split_dim  # noqa: E402

jax.config.update("jax_enable_x64", True)  # types are the plan's, as they stand


def literal(tensor: Any) -> numpy.ndarray:
    """The value of a constant that the plan holds."""
    shape = tensor["shape"]
    if "values" in tensor:
        values = [float(v) if isinstance(v, str) else v for v in tensor["values"]]
        return numpy.array(values).astype(jnp.dtype(DTYPES[tensor["dtype"]])).reshape(shape)
    value = numpy.full(shape, tensor["grid"]["offset"], dtype="int64")
    for dim, stride in enumerate(tensor["grid"]["strides"]):
        value += stride * numpy.arange(shape[dim]).reshape([-1] + [1] * (len(shape) - 1 - dim))
    return value.astype(jnp.dtype(DTYPES[tensor["dtype"]]))


class Planned:
    """The planned function: `inputs` and `outputs` are names, `call` takes a dictionary of arrays, which may be whole."""

    def __init__(self) -> None:
        self.mesh = make_mesh(TABLE)
        self.axes = list(zip(TABLE["mesh_axes"], TABLE["mesh_shape"]))
        self.tensors: dict[str, Any] = TABLE["tensors"]
        self.layouts = {name: parse_layout(tensor["layout"]) for name, tensor in self.tensors.items()}
        self.constants = {name: literal(t) for name, t in self.tensors.items()
                          if t["role"] == "parameter" and ("values" in t or "grid" in t)}
        self.starts = [name for name, t in self.tensors.items() if t["role"] != "activation" and name not in self.constants]
        self.wholes = {name: self.tensors[name].get("part", {}).get("whole", name) for name in self.starts}
        self.inputs = list(dict.fromkeys(self.wholes.values()))
        self.outputs = [output["name"] for output in TABLE["outputs"]]
        starts = {name: self._spec(name, self.layouts[name]) for name in self.starts}
        ends = {o["name"]: self._spec(o["name"], parse_layout(o["layout"])) for o in TABLE["outputs"]}
        self.shardings = {name: NamedSharding(self.mesh, spec) for name, spec in starts.items()}
        self.call = jax.jit(jax.shard_map(self._device, mesh=self.mesh, in_specs=(starts,), out_specs=ends, check_vma=False))

    def place(self, inputs: Mapping[str, Any]) -> dict[str, jax.Array]:
        """Whole arrays by name as arrays laid out as the plan begins; parts of fused weights are cut."""
        missing = [name for name in self.inputs if name not in inputs]
        if missing:
            raise ValueError(f"not given: {', '.join(missing)}")
        placed = {}
        for name in self.starts:
            tensor = self.tensors[name]
            array = typed(inputs[self.wholes[name]], jnp.dtype(DTYPES[tensor["dtype"]]))
            if "part" in tensor:
                part = tensor["part"]
                array = numpy.take(array, numpy.arange(part["start"], part["start"] + tensor["shape"][part["axis"]]), part["axis"])
            if list(array.shape) != tensor["shape"]:
                raise ValueError(f"{name} is {list(array.shape)}, and the plan is for {tensor['shape']}")
            placed[name] = jax.device_put(array.astype(jnp.dtype(DTYPES[tensor["dtype"]])), self.shardings[name])
        return placed

    def run(self, inputs: Mapping[str, Any]) -> dict[str, jax.Array]:
        made = self.call(self.place(inputs))
        return {name: made[name] for name in self.outputs}

    def compiled_text(self) -> str:
        """HLO, as it runs on a device."""
        shapes = {name: jax.ShapeDtypeStruct(self.tensors[name]["shape"], DTYPES[self.tensors[name]["dtype"]],
                                             sharding=self.shardings[name]) for name in self.starts}
        return self.call.lower(shapes).compile().as_text()

    def _spec(self, name: str, layout: Layout) -> PartitionSpec:
        dims = range(len(self.tensors[name]["shape"]))
        names = [tuple(axis for word, (axis, _) in zip(layout, self.axes) if split_dim(word) == dim) for dim in dims]
        return PartitionSpec(*(axes or None for axes in names))

    def _part(self, name: str, layout: Layout) -> Part:
        return Part(self.tensors[name]["shape"], layout, self.axes)

    def _device(self, given: dict[str, Any]) -> dict[str, Any]:
        """What one device computes, of its parts."""
        env: dict[tuple[str, Layout], Any] = {(name, self.layouts[name]): value for name, value in given.items()}
        for name, value in self.constants.items():
            part = self._part(name, self.layouts[name])
            for dim in range(value.ndim):
                if part.is_split(dim):
                    value = lax.dynamic_slice_in_dim(jnp.asarray(value), part.begin(dim), part.local()[dim], dim)
            env[name, self.layouts[name]] = value
        for step in TABLE["steps"]:
            if "type" in step:
                self._compute(step, env)
                continue
            name = step["tensor"]
            local = env[name, parse_layout(step["from"])]
            for entry in step["moves"]:
                try:
                    local = move(entry, local, self.axes)
                except NotImplementedError as refused:
                    raise SystemExit(f"{name}: {refused}") from refused
            env[name, parse_layout(step["to"])] = local
        return {o["name"]: env[o["name"], parse_layout(o["layout"])] for o in TABLE["outputs"]}

    def _compute(self, step: Any, env: dict[tuple[str, Layout], Any]) -> None:
        reads = [None if use is None else (use["name"], parse_layout(use["layout"])) for use in step["inputs"]]
        results = [name for name in step["outputs"] if name]
        site = Site(step["op"], step["attributes"], [None if use is None else self._part(*use) for use in reads],
                    [self._part(name, self.layouts[name]) for name in results],
                    [DTYPES[self.tensors[name]["dtype"]] for name in results], step["type"], step["outputs"])
        try:
            made = OPS[step["type"]](site, *(None if use is None else env[use] for use in reads))
        except NotImplementedError as refused:
            raise SystemExit(str(refused)) from refused
        for number, (name, value) in enumerate(zip(results, made if isinstance(made, tuple) else (made,))):
            if list(value.shape) != site.results[number].local():
                raise RuntimeError(f"{step['op']} makes {list(value.shape)}, the plan has {site.results[number].local()}")
            env[name, self.layouts[name]] = value.astype(site.dtypes[number])


def load() -> Planned:
    return Planned()


if __name__ == "__main__":
    main(load)
