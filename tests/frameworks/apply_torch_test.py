#!/usr/bin/env python3
"""Plan.apply_torch on ranks that are threads: modules sharded as their plans say equal the modules.

    apply_torch_test.py SBP_PLAN

Exit code 77: torch is not there.
"""

import os
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import torch
    from torch.distributed.device_mesh import DeviceMesh

    import dtensor_bed as bed
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import sbp_plan as sp  # noqa: E402

os.environ["SBP_PLAN_PROGRAM"] = str(Path(sys.argv.pop(1)).resolve())
os.environ["SBP_PLAN_LIBRARY"] = ""
TOLERANCE = 1e-5
MESH = {"data": 2, "model": 2}
PINS = ["x=(S(0), B)", "up.weight==(B, S(0))", "down.weight==(B, S(1))"]


class Net(torch.nn.Module):
    """Sums, norms, the largest and running sums, of which the gradient runs backwards."""

    def __init__(self, hidden=32):
        super().__init__()
        self.up, self.down = torch.nn.Linear(16, hidden), torch.nn.Linear(hidden, 16)
        self.register_buffer("scale", torch.full((16,), 0.5), persistent=False)

    def forward(self, x):
        y = torch.nn.functional.normalize(self.down(torch.relu(self.up(x))), dim=-1) * self.scale
        return torch.cumsum(y, 1), y.flip(-1).argmax(-1), y.prod(-1), torch.isinf(y) | (y.amax(1, keepdim=True) > y)


class Loss(Net):
    def forward(self, x):
        return (super().forward(x)[0] ** 2).sum()


def planned(net, train=None):
    torch.manual_seed(0)
    x = torch.randn(8, 4, 16)
    model = sp.from_torch(torch.export.export(net, (x,)))
    return x, (model.train(**train) if train else model).plan(mesh=MESH, pin=PINS)


class ApplyTorch(unittest.TestCase):
    def equal(self, made, expected):
        for value, right in zip(made, expected, strict=True):
            whole = value.full_tensor()
            self.assertLessEqual(float((whole.double() - right.detach().double()).abs().max()), TOLERANCE)

    def test_a_module_with_other_weights(self):
        x, plan = planned(Net())
        net = Net()  # its own weights are taken, not those that were exported

        def work(rank):
            mesh = DeviceMesh("cpu", torch.arange(4).reshape(2, 2), mesh_dim_names=("data", "model")) if rank % 2 else None
            sharded = plan.apply_torch(net, mesh)
            with bed.Collectives() as counted:
                made = sharded(x)
            self.equal(made, net(x))
            self.assertEqual(sharded.state["up.weight"].to_local().shape, (16, 16))
            return counted.sent

        counted = bed.run_ranks(4, work)
        self.assertGreater(sum(entry[0] for entry in counted[0].values()), 0)
        self.assertEqual(bed.compare_collectives(counted, plan.document), [])

    def test_a_training_step(self):
        net = Loss()
        x, plan = planned(net, {"loss": "output:0", "optimizer": "sgd"})
        loss = net(x)
        loss.backward()

        def work(rank):
            sharded = plan.apply_torch(net)
            made = sharded.run({"x": x, "lr": torch.tensor(0.5), "step": torch.tensor(1)})
            by_name = dict(net.named_parameters())
            self.equal([sharded.state[name] for name in by_name], [p - 0.5 * p.grad for p in by_name.values()])
            return [float(value.full_tensor()) for value in made.values() if value.ndim == 0]

        for values in bed.run_ranks(4, work):
            self.assertTrue(any(abs(value - float(loss)) < TOLERANCE for value in values), values)

    def test_refusals(self):
        x, plan = planned(Net())
        with self.assertRaisesRegex(sp.InputError, "there is no process group: .* --nproc-per-node 4"):
            plan.apply_torch(Net())
        with self.assertRaisesRegex(TypeError, "takes the torch.nn.Module that was exported, .* not Tensor"):
            plan.apply_torch(x)
        with self.assertRaisesRegex(sp.InputError, "no parameter up.weight"):
            plan.apply_torch(torch.nn.Linear(2, 2))
        with self.assertRaisesRegex(TypeError, "takes a torch DeviceMesh, not dict"):
            plan.apply_torch(Net(), MESH)

        def other_axes(rank):
            mesh = DeviceMesh("cpu", torch.arange(4).reshape(2, 2), mesh_dim_names=("dp", "tp"))
            with self.assertRaisesRegex(sp.InputError, "axes are dp, tp, the plan's data, model"):
                plan.apply_torch(Net(), mesh)
            with self.assertRaisesRegex(sp.InputError, r"parameter up.weight is \[8, 16\], the plan's \[32, 16\]"):
                plan.apply_torch(Net(hidden=8))

        bed.run_ranks(4, other_axes)
        bed.run_ranks(2, lambda rank: self.assertRaisesRegex(sp.InputError, "for 4 ranks", plan.apply_torch, Net()))

    def test_a_plan_from_a_file(self):
        plan = planned(Net())[1]
        with tempfile.TemporaryDirectory() as folder:
            plan.save(Path(folder) / "plan.json")
            loaded = sp.load_plan(Path(folder) / "plan.json")
        del plan  # and its model's file
        with self.assertRaisesRegex(sp.InputError, "is not at hand: give apply_torch.. the torch.export program"):
            loaded.apply_torch(Net())


if __name__ == "__main__":
    unittest.main()
