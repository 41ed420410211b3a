"""Runs a torch.export program on DTensors, laid out as sbp-plan planned it.

    torchrun --nproc-per-node 8 apply_plan.py --model model.pt2     compares with the unsharded program
    from apply_plan import apply; sharded = apply(program, mesh)    then sharded(*inputs) gives DTensors

Of a training step that `infer --train` made, each call is one, with what it takes besides (labels, `lr`, `step`) by name:
`sharded.run({"tokens": tokens, "labels": labels, "lr": lr, "step": step})`; weights and states go on in `sharded.state`.

Parameters, inputs and outputs are DTensors. Between them each rank computes the plan's ops on the parts that it holds,
and sends what the plan sends: one collective for each of its steps (`plan_table.json`, written by sbp-plan).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.utils import _pytree as pytree

import plan_ops_network  # noqa: F401  registers its ops
import plan_ops_optimizer  # noqa: F401
import plan_ops_recurrent  # noqa: F401
from plan_check import check_program, fingerprint, output_name, pairs
from plan_moves import Layout, Move, Mover, parse_layout, placements
from plan_ops import DTYPES, OPS, Site
from plan_reference import UnshardedStep, example_inputs, example_step, expected_outputs

Table = dict[str, Any]


def read_table() -> Table:
    return json.loads(Path(__file__).with_name("plan_table.json").read_text())  # type: ignore[no-any-return]


def make_mesh(table: Table, device: str = "cpu") -> DeviceMesh:
    """The plan's mesh. Needs a process group of as many ranks."""
    sizes, ranks = table["mesh_shape"], table["mesh_ranks"] or list(range(math.prod(table["mesh_shape"])))
    if dist.get_world_size() != len(ranks):
        raise ValueError(f"the plan is for {len(ranks)} ranks ({table['mesh']}), and there are {dist.get_world_size()}")
    return DeviceMesh(device, torch.tensor(ranks).reshape(sizes), mesh_dim_names=tuple(table["mesh_axes"]))


def check_launch(table: Table) -> None:
    """Ends the program where no launcher has told this process its rank, or has started another number of them."""
    ranks, found = math.prod(table["mesh_shape"]), os.environ.get("WORLD_SIZE")
    if found != str(ranks) or "RANK" not in os.environ:
        said = "no launcher says which rank this is" if found is None or "RANK" not in os.environ else f"there are {found} ranks"
        raise SystemExit(f"{said}, and the plan is for {ranks} ({table['mesh']}): start it with torchrun "
                         f"--nproc-per-node {ranks} {sys.argv[0]} ...")


class ShardedProgram:
    """The planned program on this rank. `state` holds parameters and buffers as DTensors by the model's names; a
    call that makes next values of buffers writes them there."""

    def __init__(self, program: torch.export.ExportedProgram, mesh: DeviceMesh, table: Table,
                 state: Mapping[str, torch.Tensor] | None = None) -> None:
        self.mesh, self.mover, self.table = mesh, Mover(mesh), table
        self.tensors: dict[str, Any] = table["tensors"]
        self.layouts = {name: parse_layout(t["layout"]) for name, t in self.tensors.items()}
        self.device = torch.device(mesh.device_type)
        self.order = [output_name(spec) for spec in program.graph_signature.output_specs]
        self.values: dict[str, torch.Tensor] = {}  # local parts of what only the plan knows
        self.state: dict[str, DTensor] = {}
        given = {**program.state_dict, **program.constants} if state is None else state
        for name, tensor in self.tensors.items():
            if tensor["role"] == "parameter":
                self._load(name, tensor, given)
        self.last_use = self._last_uses()

    def run(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, DTensor]:
        """Outputs by the plan's names: nodes, `grad/PARAMETER`, `next/STATE`. Inputs: whole, or DTensors; what is a
        state need not be given."""
        with torch.no_grad(), torch.device(self.device):
            env = self._start(inputs)
            for number, step in enumerate(self.table["steps"]):
                if "type" in step:
                    self._compute(step, env)
                else:
                    self._move(step, env)
                for key in self.last_use.get(number, ()):
                    env.pop(key, None)
            made = {o["name"]: self._wrap(o["name"], env[o["name"], parse_layout(o["layout"])], parse_layout(o["layout"]))
                    for o in self.table["outputs"]}
        for tie in self.table["ties"]:
            if not tie["restarts"]:
                self.state[tie["input"]] = made[tie["output"]]
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Inputs as the program takes them; its outputs in their order, without the new values of buffers."""
        names = self.table["inputs"]
        given = [v for v in pytree.tree_leaves((args, kwargs)) if isinstance(v, torch.Tensor)]
        wanted = [n for n in names if n not in self._states()]
        if len(given) != len(wanted):
            raise ValueError(f"{len(given)} tensors are given, and the plan has inputs {', '.join(wanted)}")
        made = self.run(dict(zip(wanted, given)))
        order = [n for n in self.order if n is not None] if set(self.order) - {None} <= set(made) else list(made)
        return [made[name] for name in order if not name.startswith("next/")]

    def _states(self) -> set[str]:
        return {tie["input"] for tie in self.table["ties"]}

    def _load(self, name: str, tensor: Any, given: Mapping[str, Any]) -> None:
        source = tensor.get("part", {}).get("whole", name)
        value = given.get(source)
        if (value is None or value.is_meta) and not ("values" in tensor or "grid" in tensor):
            raise ValueError(f"{name} has no value: the program holds none of {source}, and `state` does not give it")
        if value is None:
            self.values[name] = self._own(_literal(tensor), name)
            return
        value = pairs(value.detach())
        if "part" in tensor:
            value = value.narrow(tensor["part"]["axis"], tensor["part"]["start"], tensor["shape"][tensor["part"]["axis"]])
        self.state[name] = self._wrap(name, self._own(value.to(DTYPES[tensor["dtype"]]), name), self.layouts[name])

    def _own(self, whole: torch.Tensor, name: str) -> torch.Tensor:
        return self.mover.start(whole.to(self.device), self.layouts[name])

    def _wrap(self, name: str, local: torch.Tensor, layout: Layout) -> DTensor:
        shape = self.tensors[name]["shape"]
        stride = torch.empty(shape, device="meta").stride()
        return DTensor.from_local(local, self.mesh, placements(layout), run_check=False, shape=torch.Size(shape), stride=stride)

    def _start(self, inputs: Mapping[str, torch.Tensor]) -> dict[tuple[str, Layout], torch.Tensor]:
        env = {(name, self.layouts[name]): value for name, value in self.values.items()}
        env.update({(name, self.layouts[name]): value.to_local() for name, value in self.state.items()})
        states = self._states()
        for name in self.table["inputs"]:
            tensor, key = self.tensors[name], (name, self.layouts[name])
            value = inputs.get(name)
            if value is None and name in states:
                if key not in env:
                    env[key] = self._own(torch.zeros(tensor["shape"], dtype=DTYPES[tensor["dtype"]]), name)
                continue
            if value is None:
                raise ValueError(f"input {name} is not given")
            value = pairs(value)
            if list(value.shape) != tensor["shape"]:
                raise ValueError(f"input {name} is {list(value.shape)}, and the plan is for {tensor['shape']}")
            if isinstance(value, DTensor):
                value = value.full_tensor()
            env[key] = self._own(value.detach().to(DTYPES[tensor["dtype"]]), name)
        return env

    def _compute(self, step: Any, env: dict[tuple[str, Layout], torch.Tensor]) -> None:
        reads = [None if use is None else (use["name"], parse_layout(use["layout"])) for use in step["inputs"]]
        results = [(name, self.layouts[name]) if name else None for name in step["outputs"]]
        shapes = [self.tensors[use[0]]["shape"] if use else [] for use in reads]
        made_shapes = [self.tensors[r[0]]["shape"] if r else [] for r in results]
        site = Site(
            step["op"], step["type"], step["attributes"], shapes, [self.mover.box(s, u[1]) if u else () for s, u in zip(shapes, reads)],
            made_shapes, [self.mover.box(s, r[1]) if r else () for s, r in zip(made_shapes, results)],
            [DTYPES[self.tensors[r[0]]["dtype"]] if r else torch.float32 for r in results])
        try:
            made = OPS[step["type"]](site, *(None if use is None else env[use] for use in reads))
        except (RuntimeError, IndexError, TypeError) as error:
            raise RuntimeError(f"{step['op']} ({step['type']}): {error}") from error
        made = made if isinstance(made, tuple) else (made,)
        for number, (result, value) in enumerate(zip(results, made)):
            if result is None or value is None:
                continue
            if list(value.shape) != site.made(number):
                raise RuntimeError(f"{step['op']} makes {list(value.shape)}, where the plan has {site.made(number)}")
            env[result] = value.to(site.result_dtypes[number])

    def _move(self, step: Any, env: dict[tuple[str, Layout], torch.Tensor]) -> None:
        name, shape = step["tensor"], self.tensors[step["tensor"]]["shape"]
        local = env[name, parse_layout(step["from"])]
        for entry in step["moves"]:
            local = self.mover.run(Move.of(entry), local, shape)
        env[name, parse_layout(step["to"])] = local

    def _last_uses(self) -> dict[int, list[tuple[str, Layout]]]:
        """After which step a value is not read again."""
        last: dict[tuple[str, Layout], int] = {}
        for number, step in enumerate(self.table["steps"]):
            if "type" in step:
                keys = [(use["name"], parse_layout(use["layout"])) for use in step["inputs"] if use]
                keys += [(name, self.layouts[name]) for name in step["outputs"] if name]
            else:
                keys = [(step["tensor"], parse_layout(step["from"])), (step["tensor"], parse_layout(step["to"]))]
            last.update(dict.fromkeys(keys, number))
        for output in self.table["outputs"]:
            last.pop((output["name"], parse_layout(output["layout"])), None)
        free: dict[int, list[tuple[str, Layout]]] = {}
        for key, number in last.items():
            free.setdefault(number, []).append(key)
        return free


def _literal(tensor: Any) -> torch.Tensor:
    """The value of a constant that the plan holds."""
    dtype, shape = DTYPES[tensor["dtype"]], tensor["shape"]
    if "values" in tensor:
        return torch.tensor([float(v) if isinstance(v, str) else v for v in tensor["values"]], dtype=dtype).reshape(shape)
    value = torch.full(shape, tensor["grid"]["offset"], dtype=torch.int64)
    for dim, stride in enumerate(tensor["grid"]["strides"]):
        value += stride * torch.arange(shape[dim]).reshape([-1] + [1] * (len(shape) - 1 - dim))
    return value.to(dtype)


def apply(program: torch.export.ExportedProgram, mesh: DeviceMesh, table: Table | None = None,
          state: Mapping[str, torch.Tensor] | None = None) -> ShardedProgram:
    """`mesh` has the plan's shape; `table` is `plan_table.json` beside this file unless given; `state` are parameters,
    buffers and constants by name, the program's own unless given."""
    table = table or read_table()
    if list(mesh.shape) != table["mesh_shape"]:
        raise ValueError(f"the mesh is {list(mesh.shape)}, the plan's {table['mesh_shape']}")
    check_program(program, table, state)
    return ShardedProgram(program, mesh, table, state)


def largest_error(made: Mapping[str, DTensor], expected: Mapping[str, torch.Tensor], mover: Mover) -> float:
    """Over all outputs; infinite where one alone is no number. Error: one of them makes outputs that the other does not."""
    if set(made) != set(expected):
        raise ValueError(f"outputs that only one of plan and program has: {', '.join(sorted(set(made) ^ set(expected)))}")
    errors = []
    for name, value in made.items():
        layout = tuple(_word(p) for p in value.placements)
        whole, wanted = mover.whole(value.to_local(), value.shape, layout).double(), expected[name].double()
        equal = (whole == wanted) | (whole.isnan() & wanted.isnan())
        errors.append(float(torch.where(equal, 0.0, whole - wanted).abs().nan_to_num(nan=torch.inf, posinf=torch.inf).max()))
    return max(errors)


def compare(program: torch.export.ExportedProgram, sharded: ShardedProgram, steps: int = 1) -> float:
    """The largest error on the program's example inputs; of a training step of so many steps, states included."""
    inputs, table = dict(example_inputs(program)), sharded.table
    if not table["train"]:
        return largest_error(sharded.run(inputs), expected_outputs(program), sharded.mover)
    unsharded, errors = UnshardedStep(program, table), []
    for number in range(1, steps + 1):
        given = example_step(program, inputs, table, number)
        made = {name: value for name, value in sharded.run(given).items() if name not in unsharded.unknown}
        errors.append(largest_error(made, unsharded.run(given), sharded.mover))
    return max(errors)


def _word(placement: Any) -> str:
    if placement.is_shard():
        return f"S({placement.dim})"
    return "B" if placement.is_replicate() else f"P({placement.reduce_op.replace('product', 'prod')})"


def main() -> None:
    parser = argparse.ArgumentParser(description="compare the planned program on DTensors with the unsharded one")
    parser.add_argument("--model", required=True, help="what torch.export.save wrote, with its example inputs")
    parser.add_argument("--tolerance", type=float, default=1e-5, help="greatest absolute difference (1e-5)")
    parser.add_argument("--steps", type=int, default=1, help="of a training step: how many, one after the other (1)")
    parser.add_argument("--backend", default="gloo", help="of torch.distributed: gloo (on CPUs), nccl (on GPUs)")
    options = parser.parse_args()
    table = read_table()
    check_launch(table)
    if table["fingerprint"] and (found := fingerprint(options.model)) not in (None, table["fingerprint"]):
        raise SystemExit(f"{options.model} is another file than the plan's model: its fingerprint is {found}, not "
                         f"{table['fingerprint']}; plan it again")
    program = torch.export.load(options.model)
    dist.init_process_group(options.backend)
    try:
        sharded = apply(program, make_mesh(table, "cuda" if options.backend == "nccl" else "cpu"), table)
        error = compare(program, sharded, options.steps)
    except ValueError as refused:
        raise SystemExit(str(refused)) from refused
    finally:
        rank = dist.get_rank()
        dist.destroy_process_group()
    if rank == 0:
        print(f"largest error {error:.2e}")
    if not error <= options.tolerance:
        raise SystemExit(f"the error is above {options.tolerance}")


if __name__ == "__main__":
    main()
