"""Plans how a model is sharded over devices.

    import sbp_plan as sp
    model = sp.load("model.onnx", dim={"batch": 8})           # or sp.from_torch(torch.export.export(net, arguments))
    plan = model.plan(mesh={"data": 2, "model": 4}, memory_limit="75GB")
    print(plan.summary()); print(plan.explain("logits")); plan.save("plan.json")

Options are the command line's flags, by the same names with `_` for `-`; errors have its messages.
"""
from .errors import DefectError, Error, ExecutionError, InputError, NoPlanError, UsageError
from .model import Model, from_jax, from_onnx, from_torch, load
from .plan import Check, Cost, Diff, Plan, Transition, check, diff, load_plan

__version__ = "0.1.0"
__all__ = [
    "Check", "Cost", "DefectError", "Diff", "Error", "ExecutionError", "InputError", "Model", "NoPlanError", "Plan",
    "Transition", "UsageError", "check", "diff", "from_jax", "from_onnx", "from_torch", "load", "load_plan",
]
