#!/usr/bin/env python3
"""Plans of torch.export programs, run on DTensors by what `export --to dtensor` writes, equal the unsharded programs.

    dtensor_test.py SBP_PLAN

Outputs, losses and gradients are compared, and what each rank sends with the plan, by kind, count and bytes. Exit code
77: torch is not there.
"""

import importlib.machinery
import importlib.util
import math
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from torch.export.experimental import _export_forward_backward

    import dtensor_bed as bed
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TOLERANCE = 1e-5
ROOT = Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("make_pt2", str(ROOT / "scripts/make-pt2"))
MODELS = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_pt2", LOADER))
LOADER.exec_module(MODELS)
MESHES = ("data=8", "model=8", "data=2,model=4")


def scaled(module):
    """With weights small enough for results of about 1."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.mul_(0.3)
    return module


def tokens():
    return torch.randint(0, 64, (8, 16))


def gpt(**options):
    return scaled(MODELS.Gpt(vocab=64, width=64, heads=8, positions=16, **options))


def regression():
    return MODELS.Regression(), (torch.randn(16, 8), torch.randn(16, 4))


def joint_gpt():
    return gpt(layers=1, tied=False, fused=False), (tokens(), tokens())


# Name -> module and inputs; whether with its backward pass; pins: a tensor's layout along data and along model.
CASES = {
    "mlp": (regression, False, [("x", "S(0)", "B"), ("net.0.weight", "B", "S(0)"), ("net.2.weight", "B", "S(1)")]),
    "gpt2": (lambda: (gpt(), (tokens(),)), False,
             [("tokens", "S(0)", "B"), ("*.c_fc.weight", "B", "S(0)"), ("*.mlp_proj.weight", "B", "S(1)"),
              ("*.c_proj.weight", "S(0)", "S(1)"), ("wte.weight", "S(1)", "S(0)")]),
    "llama": (lambda: (scaled(MODELS.Llama(64, 64, 8, 4, 96, 2)), (tokens(),)), False,
              [("tokens", "S(0)", "B"), ("*.q_proj.weight", "B", "S(0)"), ("*.o_proj.weight", "B", "S(1)"),
               ("*.gate_proj.weight", "S(0)", "S(0)"), ("*.down_proj.weight", "B", "S(1)")]),
    "moe": (lambda: (MODELS.Moe(16, 32, 8), (torch.randn(16, 16),)), False,
            [("x", "S(0)", "B"), ("up", "S(1)", "S(0)"), ("down", "B", "S(0)"), ("router.weight", "S(1)", "B")]),
    "resnet": (lambda: (MODELS.ResNet().eval(), (torch.randn(8, 3, 16, 16),)), False,
               [("x", "S(0)", "B"), ("layer2.conv2.weight", "B", "S(1)"), ("fc.weight", "B", "S(1)")]),
    "mlp joint": (regression, True, [("x", "S(0)", "B"), ("net.0.weight", "B", "S(0)"), ("net.2.weight", "B", "S(1)")]),
    "gpt2 joint": (joint_gpt, True, [("tokens", "S(0)", "B"), ("*.c_fc.weight", "B", "S(0)"),
                                     ("*.mlp_proj.weight", "B", "S(1)"), ("wte.weight", "S(1)", "S(0)")]),
}


def pins_for(mesh, pins):
    words = {"data=8": "{0}={1}", "model=8": "{0}={2}", "data=2,model=4": "{0}=({1}, {2})"}[mesh]
    return [argument for pin in pins for argument in ("--pin", words.format(*pin))]


def run_case(planner, folder, name, mesh, flags):
    """Whether all is as planned, and how many collectives each rank made."""
    model, plan_file, out = folder / f"{name}.pt2", folder / "plan.json", folder / "out"
    bed.run_planner(planner, "infer", model, "--mesh", mesh, "-o", plan_file, *flags)
    bed.run_planner(planner, "export", "--to", "dtensor", plan_file, "-o", out)
    apply_plan, program = bed.load_exported(out), torch.export.load(model)
    table, expected, inputs = apply_plan.read_table(), apply_plan.expected_outputs(program), dict(apply_plan.example_inputs(program))

    def work(rank):
        sharded = apply_plan.apply(program, apply_plan.make_mesh(table), table)
        with bed.Collectives() as counted:
            made = sharded.run(inputs)
        return apply_plan.largest_error(made, expected, sharded.mover), counted.sent

    ranks = bed.run_ranks(math.prod(table["mesh_shape"]), work)
    error = max(rank[0] for rank in ranks)
    other = bed.compare_collectives([rank[1] for rank in ranks], bed.read_plan(plan_file))
    count = sum(sent[0] for sent in ranks[0][1].values())
    print(f"{name} on {mesh}, {len(flags)} flags: error {error:.1e}, {count} collectives {'; '.join(other)}", flush=True)
    return error <= TOLERANCE and not other, count


def main():
    passed, collectives = True, 0
    for name, (make, joint, pins) in CASES.items():
        torch.manual_seed(0)
        module, inputs = make()
        program = torch.export.export(module, inputs)
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(_export_forward_backward(program) if joint else program, Path(folder) / f"{name}.pt2")
            for mesh in MESHES:
                good, count = run_case(sys.argv[1], Path(folder), name, mesh, pins_for(mesh, pins))
                passed, collectives = passed and good, collectives + count
    sys.exit(0 if passed and collectives > 0 else 1)


if __name__ == "__main__":
    main()
