"""Plans how a model is sharded over devices.

    import sbp_plan as sp
    model = sp.load("model.onnx", dim={"batch": 8})           # or sp.from_torch(torch.export.export(net, arguments))
    plan = model.plan(mesh={"data": 2, "model": 4}, memory_limit="75GB")
    print(plan.summary()); print(plan.explain("logits")); plan.save("plan.json")

Options are the command line's flags, by the same names with `_` for `-`; errors have its messages. `sp.ops` has a function
for every op, for arrays, for global tensors (`sp.tensor`) and for graphs that are recorded (`sp.graph`).
"""
from . import ops
from .errors import CallError, DefectError, Error, ExecutionError, InputError, NoPlanError, UsageError
from .global_tensor import GlobalTensor, tensor
from .model import Model, from_jax, from_onnx, from_torch, load
from .ops import ops_of
from .plan import Check, Cost, Diff, Plan, Transition, check, diff, load_plan
from .recorded import Graph, RecordedTensor, graph

__version__ = "0.1.0"
__all__ = [
    "CallError", "Check", "Cost", "DefectError", "Diff", "Error", "ExecutionError", "GlobalTensor", "Graph", "InputError", "Model",
    "NoPlanError", "Plan", "RecordedTensor", "Transition", "UsageError", "check", "diff", "from_jax", "from_onnx",
    "from_torch", "graph", "load", "load_plan", "ops", "ops_of", "tensor",
]
