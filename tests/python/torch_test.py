#!/usr/bin/env python3
"""A module of torch, exported and planned from Python: torch_test.py PROGRAM. Skips (77) where torch is not."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

try:
    import torch
except ImportError:
    print("skipped: torch is not here")
    sys.exit(77)

import sbp_plan as sp  # noqa: E402


def main():
    os.environ["SBP_PLAN_PROGRAM"] = str(pathlib.Path(sys.argv[1]).resolve())
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
    model = sp.from_torch(torch.export.export(net, (torch.randn(8, 64),)))
    plan = model.plan(mesh={"data": 2, "model": 2}, pin=["0.weight==(B, S(0))"])
    assert plan.layouts["0.weight"] == "(B, S(0))", plan.layouts
    assert sp.check(plan, model), sp.check(plan, model).report
    x = torch.ones(8, 64, requires_grad=True)  # values alone are taken, weights as parameters are, too
    made = model.run({"0.weight": net[0].weight, plan.document["graph"]["inputs"][0]["name"]: x})
    torch.testing.assert_close(torch.from_numpy(next(iter(made.values()))), net(x).detach(), rtol=1e-4, atol=1e-5)
    try:
        sp.from_torch(net)
    except TypeError as error:
        assert "takes what torch.export.export(module, arguments) returns, not Sequential" in str(error), error
    else:
        raise AssertionError("a module is no exported program")
    step = model.train(loss="sum:output:0", optimizer="adamw").plan(mesh={"data": 2})
    assert any(op.startswith("optimizer/") for op in step.signatures), step.signatures
    print("ok:", len(plan.signatures), "ops,", len(step.signatures), "of the training step")


if __name__ == "__main__":
    main()
