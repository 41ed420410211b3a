#!/usr/bin/env python3
"""Plans of torch.export programs, run on DTensors by what `export --to dtensor` writes, equal the unsharded programs.

    dtensor_test.py SBP_PLAN

Eight ranks are simulated in one process (LocalTensorMode). Exit code 77: torch is not there.
"""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    import torch.distributed as dist
    from torch.distributed._local_tensor import LocalTensorMode
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor
    from torch.distributed.tensor.debug import CommDebugMode
    from torch.testing._internal.distributed.fake_pg import FakeStore
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TOLERANCE = 1e-5


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.norm = torch.nn.Linear(32, 64), torch.nn.Linear(64, 32), torch.nn.LayerNorm(32)

    def forward(self, x):
        return self.down(torch.relu(self.up(self.norm(x))))


class GroupedAttention(torch.nn.Module):
    """Eight heads of queries on four of keys and values, causal, with a residual."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (torch.nn.Linear(64, n, bias=False) for n in (64, 32, 32))
        self.o = torch.nn.Linear(64, 64, bias=False)

    def forward(self, x):
        batch, seq, _ = x.shape
        q, k, v = (f(x).view(batch, seq, -1, 8).transpose(1, 2) for f in (self.q, self.k, self.v))
        k, v = (t.repeat_interleave(2, 1) for t in (k, v))
        scores = q @ k.transpose(2, 3) / 8**0.5 + torch.full((seq, seq), -1e9).triu(1)
        mixed = torch.softmax(scores, -1) @ v
        return x + self.o(mixed.transpose(1, 2).reshape(batch, seq, 64))


CASES = {
    "mlp": (Mlp, (16, 32), ["--pin", "up.weight==(B, S(0))", "--pin", "down.weight==(B, S(1))"]),
    "attention": (GroupedAttention, (4, 16, 64), ["--pin", "q.weight==(B, S(0))", "--pin", "o.weight==(B, S(1))"]),
}
MESHES = {"data=2,model=4": True, "x=8": False}  # whether the pins, of two axes, are for it


def export(program, folder, planner, mesh, pins):
    """The module apply_plan, as written for a plan of the program."""
    model, plan, out = folder / "model.pt2", folder / "plan.json", folder / "out"
    torch.export.save(program, model)
    subprocess.run([planner, "infer", model, "--mesh", mesh, "-o", plan, *pins], check=True, capture_output=True)
    subprocess.run([planner, "export", "--to", "dtensor", plan, "-o", out], check=True, capture_output=True)
    spec = importlib.util.spec_from_file_location("apply_plan", out / "apply_plan.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_case(planner, name, mesh_text, pinned):
    module_class, shape, pins = CASES[name]
    torch.manual_seed(0)
    model, x = module_class().eval(), torch.randn(shape)
    program = torch.export.export(model, (x,))
    with tempfile.TemporaryDirectory() as folder:
        apply_plan = export(program, Path(folder), planner, mesh_text, pins if pinned else [])
        table = apply_plan.read_table()
        expected = model(x).detach()
        with LocalTensorMode(8), torch.no_grad():
            mesh = init_device_mesh("cpu", tuple(table["mesh_shape"]), mesh_dim_names=tuple(table["mesh_axes"]))
            sharded = apply_plan.apply(program, mesh)
            with CommDebugMode() as counted:
                (output,) = sharded(x)
            whole = output.full_tensor() if isinstance(output, DTensor) else output
            error = float((whole.reconcile() - expected).abs().max())
    counts = {str(k).split(".")[-1]: v for k, v in counted.get_comm_counts().items()}
    print(f"{name} on {mesh_text}: error {error:.1e}, collectives {counts}")
    print("".join(f"  {line}\n" for line in sharded.differences), end="")
    reduced = "all_reduce" in counts or "reduce_scatter_tensor" in counts
    if pinned and name == "attention" and not reduced:
        print("  the output projection, split over what it sums, was not reduced")
        return False
    return error <= TOLERANCE


def main():
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
    passed = [run_case(sys.argv[1], name, mesh, pinned) for name in CASES for mesh, pinned in MESHES.items()]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
