"""Runs the graph of a torch.export program on DTensors, laid out as sbp-plan planned it.

    torchrun --nproc-per-node 8 apply_plan.py --model model.pt2     compares with the unsharded program
    from apply_plan import apply; sharded = apply(program, mesh)    then sharded(*inputs) gives DTensors

Before a node runs, each argument is redistributed to the layout in which the plan reads it. Where DTensor cannot do
what the plan says, the node runs in another layout with the same result, and `sharded.differences` says so.
"""

from __future__ import annotations

import argparse
import json
import operator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.placement_types import Placement
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

Layout = tuple[Placement, ...]


def read_table() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("plan_table.json").read_text())


def layout_of(words: list[str]) -> Layout:
    """`["S(0)", "B", "P(max)"]` as placements, one per mesh axis."""

    def placement(word: str) -> Placement:
        argument = word.partition("(")[2].rstrip(")")
        if word.startswith("S"):
            return Shard(int(argument))
        return Replicate() if word == "B" else Partial({"": "sum", "prod": "product"}.get(argument, argument))

    return tuple(placement(word) for word in words)


class ShardedProgram(torch.fx.Interpreter):
    def __init__(self, program: torch.export.ExportedProgram, mesh: DeviceMesh, table: dict[str, Any]) -> None:
        super().__init__(program.graph_module)
        self.program, self.mesh = program, mesh
        self.layouts = {name: layout_of(words) for name, words in table["tensors"].items()}
        self.reads = {node: {t: layout_of(words) for t, words in uses.items()} for node, uses in table["reads"].items()}
        # Placeholders of parameters and constants have names of their own; the plan knows them as the state does.
        self.planned_name = {s.arg.name: s.target for s in program.graph_signature.input_specs if s.target is not None}
        self.whole: Layout = (Replicate(),) * mesh.ndim
        self.differences: list[str] = []
        self.state = [self._distribute(s.target, self._state(s)) for s in program.graph_signature.input_specs
                      if s.kind is not InputKind.USER_INPUT]

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The outputs, without the new values of buffers that the program writes."""
        self.differences.clear()
        state, given = iter(self.state), iter(pytree.tree_leaves((args, kwargs)))
        inputs = [self._distribute(s.arg.name, next(given)) if s.kind is InputKind.USER_INPUT else next(state)
                  for s in self.program.graph_signature.input_specs]
        outputs = self.run(*inputs)
        silent = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)
        return [o for o, s in zip(outputs, self.program.graph_signature.output_specs) if s.kind not in silent]

    def run_node(self, n: torch.fx.Node) -> Any:
        if n.op != "call_function" or n.target is operator.getitem:
            return super().run_node(n)
        if "_assert" in str(n.target):
            return None  # asserts of the export, of unsharded tensors
        reads = self.reads.get(n.name, {})
        args, kwargs = torch.fx.node.map_arg((n.args, n.kwargs), lambda a: self._read(n, a, reads))
        try:
            made = n.target(*args, **kwargs)
        except (RuntimeError, NotImplementedError, ValueError, AssertionError) as error:
            self.differences.append(f"{n.name}: runs whole on every device, as DTensor refuses: {error}".split("\n")[0])
            local = pytree.tree_map_only(DTensor, lambda t: t.redistribute(self.mesh, self.whole).to_local(), (args, kwargs))
            made = n.target(*local[0], **local[1])
        return self._lay_out(n, made)

    def _state(self, spec: Any) -> Any:
        named = self.program.state_dict.get(spec.target)
        return self.program.constants[spec.target] if named is None else named

    def _distribute(self, name: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        layout = self.layouts.get(name, self.whole)
        return distribute_tensor(value.detach(), self.mesh, layout)

    def _read(self, n: torch.fx.Node, argument: torch.fx.Node, reads: dict[str, Layout]) -> Any:
        value = self.env[argument]
        wanted = reads.get(self.planned_name.get(argument.name, argument.name))
        if not isinstance(value, DTensor) or wanted is None or wanted == value.placements:
            return value
        return self._redistribute(value, wanted, f"{n.name} reads {argument.name}")

    def _redistribute(self, value: DTensor, wanted: Layout, place: str) -> DTensor:
        """Partial values that are not there yet stay whole: DTensor makes them only of shards."""
        pairs = list(zip(value.placements, wanted))
        target = tuple(h if w.is_partial() and h != w and not h.is_shard() else w for h, w in pairs)
        if target != wanted:
            self.differences.append(f"{place}: {target} where the plan has {wanted}")
        return value if target == value.placements else value.redistribute(self.mesh, target)

    def _lay_out(self, n: torch.fx.Node, made: Any) -> Any:
        def whole(value: torch.Tensor) -> DTensor:
            return value if isinstance(value, DTensor) else DTensor.from_local(value, self.mesh, self.whole, run_check=False)

        made = pytree.tree_map_only(torch.Tensor, whole, made)
        wanted = self.layouts.get(n.name)
        if not isinstance(made, DTensor) or wanted is None or made.placements == wanted:
            return made
        # A slice of what is whole costs nothing; whatever else differs is redistributed by who reads it.
        slices = all(h == w or (h.is_replicate() and w.is_shard()) for h, w in zip(made.placements, wanted))
        if slices:
            return made.redistribute(self.mesh, wanted)
        self.differences.append(f"{n.name}: DTensor writes {made.placements} where the plan has {wanted}")
        return made


def apply(program: torch.export.ExportedProgram, mesh: DeviceMesh, table: dict[str, Any] | None = None) -> ShardedProgram:
    """`mesh` has the plan's shape; `table` is `plan_table.json` beside this file unless given."""
    table = table or read_table()
    if tuple(mesh.shape) != tuple(table["mesh_shape"]):
        raise ValueError(f"the mesh is {tuple(mesh.shape)}, the plan's {tuple(table['mesh_shape'])}")
    return ShardedProgram(program, mesh, table)


def main() -> None:
    parser = argparse.ArgumentParser(description="compare the planned program on DTensors with the unsharded one")
    parser.add_argument("--model", required=True, help="what torch.export.save wrote, with its example inputs")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    options = parser.parse_args()
    program, table = torch.export.load(options.model), read_table()
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", tuple(table["mesh_shape"]), mesh_dim_names=tuple(table["mesh_axes"]))
    sharded = apply(program, mesh, table)
    args, kwargs = program.example_inputs
    with torch.no_grad():
        outputs = [o.full_tensor() if isinstance(o, DTensor) else o for o in sharded(*args, **kwargs)]
        expected = pytree.tree_leaves(program.module()(*args, **kwargs))
    error = max(float((o - e).abs().max()) for o, e in zip(outputs, expected, strict=True))
    if dist.get_rank() == 0:
        print("\n".join([*sharded.differences, f"largest error {error:.2e}"]))
    dist.destroy_process_group()
    if not error <= options.tolerance:
        raise SystemExit(f"the error is above {options.tolerance}")


if __name__ == "__main__":
    main()
