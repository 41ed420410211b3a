"""Compiles plan.mlir, a model's StableHLO with the layouts of a plan as shardings, and runs it with JAX.

    load_plan.py --inputs inputs.npz [--expect outputs.npz] [--save outputs.npz] [--hlo FILE]
    from load_plan import load; planned = load(); outputs = planned.run({"x": array, ...})

Inputs are called as the plan calls them (`planned.inputs`); outputs are arrays of JAX, laid out as planned. Needs as many
devices as the plan has: on a CPU XLA_FLAGS=--xla_force_host_platform_device_count=N, which this sets where it is not set.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Mapping

from plan_run import main, make_mesh, set_devices, typed

HERE = Path(__file__).parent
SIGNATURE = json.loads((HERE / "plan_signature.json").read_text())
set_devices(SIGNATURE)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import export  # noqa: E402
from jax.extend import mlir  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "bool": "bool", "i8": "int8",
          "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
          "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


class Planned:
    """The planned function: `inputs` and `outputs` are names, `call` takes arrays in the order of `inputs`."""

    def __init__(self, text: str) -> None:
        self.mesh = make_mesh(SIGNATURE)
        self.inputs = [value["name"] for value in SIGNATURE["inputs"]]
        self.outputs = [value["name"] for value in SIGNATURE["outputs"]]
        self.shardings = [self._sharding(value) for value in SIGNATURE["inputs"]]
        shapes = [self._shape(value) for value in SIGNATURE["inputs"]]
        made = [self._shape(value) for value in SIGNATURE["outputs"]]
        # JAX wraps what it exports itself: a function of the same signature, whose body the text then is.
        like = jax.jit(lambda *_: tuple(jnp.zeros(m.shape, m.dtype) for m in made), keep_unused=True,
                       in_shardings=tuple(self.shardings),
                       out_shardings=tuple(self._sharding(value) for value in SIGNATURE["outputs"]))
        exported = export.export(like)(*shapes)
        text_as_bytes = mlir.serialize_portable_artifact(text, "1.9.0")
        self.exported = dataclasses.replace(exported, mlir_module_serialized=text_as_bytes)
        self.call = jax.jit(self.exported.call)

    def _sharding(self, value: Any) -> NamedSharding:
        return NamedSharding(self.mesh, PartitionSpec(*(tuple(axes) or None for axes in value["dims"])))

    @staticmethod
    def _shape(value: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(value["shape"], jnp.dtype(DTYPES[value["dtype"]]))

    def place(self, inputs: Mapping[str, Any]) -> list[jax.Array]:
        """Whole arrays by name as arrays laid out as the plan begins."""
        missing = [name for name in self.inputs if name not in inputs]
        if missing:
            raise ValueError(f"not given: {', '.join(missing)}")
        placed = []
        for value, sharding in zip(SIGNATURE["inputs"], self.shardings):
            array = typed(inputs[value["name"]], jnp.dtype(DTYPES[value["dtype"]]))
            if list(array.shape) != value["shape"]:
                raise ValueError(f"{value['name']} is {list(array.shape)}, and the plan is for {value['shape']}")
            placed.append(jax.device_put(array.astype(jnp.dtype(DTYPES[value["dtype"]])), sharding))
        return placed

    def run(self, inputs: Mapping[str, Any]) -> dict[str, jax.Array]:
        return dict(zip(self.outputs, self.call(*self.place(inputs))))

    def compiled_text(self) -> str:
        """HLO, as it runs on a device."""
        shapes = [jax.ShapeDtypeStruct(v["shape"], jnp.dtype(DTYPES[v["dtype"]]), sharding=s)
                  for v, s in zip(SIGNATURE["inputs"], self.shardings)]
        return self.call.lower(*shapes).compile().as_text()


def load() -> Planned:
    return Planned((HERE / "plan.mlir").read_text())


if __name__ == "__main__":
    main(load)
