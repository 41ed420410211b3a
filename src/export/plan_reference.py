"""What a program computes unsharded, by torch on one device, for comparison with the planned one.

Of a training step that `sbp-plan infer --train` made, the program is differentiated by torch's autograd and its weights
are updated by torch.optim, so that nothing of the planned graph is taken for true. Names are the plan's: `labels`, `lr`,
`grad/PARAMETER`, `next/...`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind
from torch.nn import functional
from torch.utils import _pytree as pytree

from plan_check import output_name, pairs
from plan_ops import DTYPES

Tensor = torch.Tensor
Inputs = Mapping[str, Tensor]

# The loss.


def _classes(logits: Tensor, labels: Tensor, ignored: int) -> Tensor:
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), ignore_index=ignored)


def _cross_entropy(value: Tensor, name: str, option: str, inputs: Inputs) -> Tensor:
    return _classes(value, inputs["labels"], int(option.removeprefix("ignore=") or -1))


def _causal(value: Tensor, name: str, option: str, inputs: Inputs) -> Tensor:
    ignored = int(option.removeprefix("ignore=") or -100)
    return _classes(value, functional.pad(inputs["labels"][:, 1:], (0, 1), value=ignored), ignored)


def _squared_error(value: Tensor, name: str, option: str, inputs: Inputs) -> Tensor:
    return functional.mse_loss(value, next(v for n, v in inputs.items() if n.startswith("target/")))


# By the form of --loss.
LOSSES: dict[str, Callable[[Tensor, str, str, Inputs], Tensor]] = {
    "sum": lambda value, name, option, inputs: value.sum(),
    "mean": lambda value, name, option, inputs: value.mean(),
    "mse": _squared_error, "cross-entropy": _cross_entropy, "causal-lm": _causal}

# By the name of --optimizer: the op, what torch has for it, and how it calls the states, in the order of the op's results.
OPTIMIZERS: dict[str, tuple[str, Callable[..., torch.optim.Optimizer], tuple[str, ...]]] = {
    "sgd": ("sbp::SGD", lambda p, get: torch.optim.SGD(p, weight_decay=get("weight_decay", 0.0)), ()),
    "momentum": ("sbp::Momentum", lambda p, get: torch.optim.SGD(
        p, momentum=get("mu", 0.9), nesterov=bool(get("nesterov", 0)), weight_decay=get("weight_decay", 0.0)),
        ("momentum_buffer",)),
    "adam": ("sbp::Adam", lambda p, get: torch.optim.Adam(p, **_adam(get, 0.0)), ("exp_avg", "exp_avg_sq")),
    "adamw": ("sbp::AdamW", lambda p, get: torch.optim.AdamW(p, **_adam(get, 0.01)), ("exp_avg", "exp_avg_sq")),
}


def _adam(get: Callable[[str, Any], Any], decay: float) -> dict[str, Any]:
    return {"betas": (get("beta1", 0.9), get("beta2", 0.999)), "eps": get("epsilon", 1e-8),
            "weight_decay": get("weight_decay", decay), "foreach": False}


class _Program(torch.fx.Interpreter):
    """Keeps the values of nodes; with `trains`, batches are normalised by their own statistics. Nothing is dropped at
    random: plans with `--train-mode`, which drop, are not exported."""

    def __init__(self, module: torch.fx.GraphModule, trains: bool = False) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.trains = trains

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if target is torch.ops.aten.batch_norm.default and self.trains:
            return _normalised_by_batch(args)
        if target in (torch.ops.aten.dropout.default, torch.ops.aten.feature_dropout.default):
            return args[0]
        if target is torch.ops.aten.native_dropout.default:
            return args[0], torch.ones_like(args[0], dtype=torch.bool)
        backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default
        if target is backward and args[5].ndim == 4:
            return _attention_backward(*args[:4], args[5], kwargs.get("scale"))
        return super().call_function(target, args, kwargs)


def _normalised_by_batch(args: tuple[Any, ...]) -> Tensor:
    """As the planner's BatchNormalization, which is ONNX's, keeps the batch's own variance; torch n / (n - 1) of it."""
    x, momentum = args[0], args[6]
    mean, variance = args[3].clone(), args[4].clone()  # autograd keeps those that the op is given
    made = torch.ops.aten.batch_norm.default(*args[:3], mean, variance, True, *args[6:])
    kept, share = args[4] * (1 - momentum), 1 - x.shape[1] / x.numel()
    args[3].copy_(mean)
    args[4].copy_(kept + (variance - kept) * share)
    return made


def _attention_backward(d_out: Tensor, q: Tensor, k: Tensor, v: Tensor, weights: Tensor, scale: float | None) -> Any:
    """Joint graphs of torch 2.15 give the weights of attention in the place of logsumexp, from which its kernel computes
    gradients that are wrong."""
    d_weights = d_out @ v.transpose(2, 3)
    d_scores = weights * (d_weights - (d_weights * weights).sum(3, keepdim=True)) * (scale or q.shape[3] ** -0.5)
    return d_scores @ k, d_scores.transpose(2, 3) @ q, weights.transpose(2, 3) @ d_out


def expected_outputs(program: torch.export.ExportedProgram) -> dict[str, torch.Tensor]:
    """What the program computes unsharded from its example inputs, by the plan's names."""
    state, given = {**program.state_dict, **program.constants}, iter(pytree.tree_leaves(program.example_inputs))
    inputs = [next(given) if s.kind is InputKind.USER_INPUT else state[s.target] for s in program.graph_signature.input_specs]
    with torch.no_grad():
        made = _Program(program.graph_module).run(*inputs)
    named = zip(map(output_name, program.graph_signature.output_specs), made)
    return {name: pairs(value) if isinstance(value, torch.Tensor) else value for name, value in named if name}


def example_inputs(program: torch.export.ExportedProgram) -> Iterator[tuple[str, torch.Tensor]]:
    given = iter(pytree.tree_leaves(program.example_inputs))
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            value = next(given)
            if isinstance(value, torch.Tensor):
                yield spec.arg.name, value


class UnshardedStep:
    """Steps of the program on one device; each call of `run` is one, and parameters and states go on from it."""

    def __init__(self, program: torch.export.ExportedProgram, table: dict[str, Any]) -> None:
        self.program, self.table = program, table
        self.flags = [(name, value) for name, value in table["train"]]
        self.state = self._leaves({**program.state_dict, **program.constants})
        rows = {op: (make, states) for op, make, states in OPTIMIZERS.values()}
        self.updates = [(step, rows[step["type"]]) for step in table["steps"] if step.get("type") in rows]
        # Gradients that torch has not: of buffers and constants, which a step without an optimizer may have.
        known = {*program.graph_signature.parameters, *program.graph_signature.user_inputs}
        self.unknown = {o["name"] for o in table["outputs"]
                        if o["name"].startswith("grad/") and self._whole(o["name"][5:]) not in known}
        self.optimizers: dict[str, torch.optim.Optimizer] = {}
        for step, (make, _) in self.updates:  # parts of one parameter are updated together
            whole = self._whole(step["inputs"][0]["name"])
            if whole not in self.optimizers:
                self.optimizers[whole] = make([self.state[whole]], lambda n, d, a=step["attributes"]: a.get(n, d))

    def run(self, inputs: Inputs) -> dict[str, Tensor]:
        """Outputs by the plan's names. `inputs` are all of the plan's but states."""
        wanted = [output["name"] for output in self.table["outputs"] if output["name"] not in self.unknown]
        given = {name: value.detach().clone() for name, value in inputs.items()}
        for name in wanted:
            if name.startswith("grad/") and name[5:] in given:
                given[name[5:]].requires_grad_()
        made, total, nodes = self._forward(given)
        leaves = {name: value for name, value in {**self.state, **given}.items()
                  if isinstance(value, Tensor) and value.requires_grad}
        gradients = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
        for (name, leaf), gradient in zip(leaves.items(), gradients, strict=True):
            made[f"grad/{name}"] = torch.zeros_like(leaf) if gradient is None else gradient
        self._update(made, given)
        for name in self.program.graph_signature.buffers:
            if self.state[name].grad_fn is not None:  # written in place; what wrote it is no part of the next step
                self.state[name].detach_()
        found = {name: self._find(name, made, nodes) for name in wanted}
        return {name: value.detach().clone() for name, value in found.items()}

    def flag(self, name: str) -> str:
        return next((value for flag, value in self.flags if flag == name), "")

    def _leaves(self, given: dict[str, Any]) -> dict[str, Any]:
        """Copies; what shares memory stays one. Parameters ask for gradients."""
        copies: dict[tuple[int, torch.Size], Tensor] = {}
        parameters, made = set(self.program.graph_signature.parameters), {}
        for name, value in given.items():
            key = (value.data_ptr(), value.shape) if isinstance(value, Tensor) else (0, torch.Size())
            made[name] = copies.setdefault(key, value.detach().clone()) if isinstance(value, Tensor) else value
            if name in parameters and made[name].is_floating_point():
                made[name].requires_grad_()
        return made

    def _forward(self, given: Inputs) -> tuple[dict[str, Tensor], Tensor, dict[str, Any]]:
        """The program's outputs, what is differentiated, and the values of all nodes."""
        specs = self.program.graph_signature.input_specs
        arguments = [given[s.arg.name] if s.kind is InputKind.USER_INPUT else self.state[s.target] for s in specs]
        interpreter = _Program(self.program.graph_module, bool(self.flag("train-mode")))
        results = interpreter.run(*arguments)
        outputs = dict(zip(map(output_name, self.program.graph_signature.output_specs), results))
        outputs = {name: value for name, value in outputs.items() if name and isinstance(value, Tensor)}
        for spec, value in zip(self.program.graph_signature.output_specs, results):
            if spec.kind is OutputKind.BUFFER_MUTATION:
                self.state[spec.target] = value.detach()
        nodes = {node.name: value for node, value in interpreter.env.items()}
        return self._loss(outputs, nodes, given)

    def _loss(self, outputs: dict[str, Tensor], nodes: dict[str, Any], given: Inputs) -> Any:
        def value_of(name: str) -> Tensor:
            if name in nodes or name in outputs:
                return nodes.get(name, outputs.get(name))  # type: ignore[return-value]
            results = [value for output, value in outputs.items() if not output.startswith("next/")]
            return results[int(name.removeprefix("output:"))]

        form, _, rest = self.flag("loss").partition(":")
        if form == "cotangents":
            seeds = [(name.removeprefix("cotangent/"), value) for name, value in given.items() if name.startswith("cotangent/")]
            return outputs, sum((value_of(name) * value).sum() for name, value in seeds), nodes
        if form in LOSSES:
            name, _, option = rest.partition(",")
            total = LOSSES[form](value_of(name), name, option, given)
        else:
            total = value_of(self.flag("loss"))
        return {**outputs, self.table["outputs"][0]["name"]: total}, total, nodes

    def _update(self, made: dict[str, Tensor], given: Inputs) -> None:
        if not self.optimizers:
            return
        for name in self.optimizers:
            self.state[name].grad = made[f"grad/{name}"].clone()
        if self.flag("clip-norm"):
            weights = [self.state[name] for name in self.optimizers]
            made["grad_norm"] = torch.nn.utils.clip_grad_norm_(weights, float(self.flag("clip-norm")))
        for optimizer in self.optimizers.values():
            optimizer.param_groups[0]["lr"] = float(given["lr"])
            optimizer.step()
        for step, (_, states) in self.updates:
            name = step["inputs"][0]["name"]
            whole = self._whole(name)
            weight = self.state[whole]
            results = [weight, *(self.optimizers[whole].state[weight][state] for state in states)]
            made.update((out, self._part(name, value)) for out, value in zip(step["outputs"], results))

    def _whole(self, name: str) -> str:
        return self.table["tensors"].get(name, {}).get("part", {}).get("whole", name)  # type: ignore[no-any-return]

    def _part(self, name: str, whole: Tensor) -> Tensor:
        tensor = self.table["tensors"].get(name, {})
        part = tensor.get("part")
        return whole if part is None else whole.narrow(part["axis"], part["start"], tensor["shape"][part["axis"]])

    def _find(self, name: str, made: dict[str, Tensor], nodes: dict[str, Any]) -> Tensor:
        if name in made:
            return made[name]
        if name.startswith("grad/"):
            return self._part(name[5:], made[f"grad/{self._whole(name[5:])}"])
        if name.startswith("next/") and name[5:] in self.program.graph_signature.buffers:  # a running statistic
            return self.state[name[5:]]  # type: ignore[no-any-return]
        if isinstance(nodes.get(name), Tensor):
            return nodes[name]  # type: ignore[no-any-return]
        raise ValueError(f"the plan has an output {name}, which the unsharded step does not make")


def example_step(program: torch.export.ExportedProgram, inputs: Inputs, table: dict[str, Any], number: int) -> dict[str, Tensor]:
    """The program's example inputs, and what else a step takes, drawn: labels, targets, cotangents. Step `number` is
    counted from 1."""
    made, draw = dict(inputs), torch.Generator().manual_seed(number)
    for name in table["inputs"]:
        tensor = table["tensors"][name]
        if name in made or name in {tie["input"] for tie in table["ties"]}:
            continue
        if name == "step":
            made[name] = torch.tensor(number)
        elif name == "lr":
            made[name] = torch.tensor(_learning_rate(table))
        elif name == "labels":
            made[name] = torch.randint(0, _number_of_classes(program, table), tensor["shape"], generator=draw)
        else:
            made[name] = torch.randn(tensor["shape"], generator=draw, dtype=torch.float64).to(DTYPES[tensor["dtype"]])
    return made


def _learning_rate(table: dict[str, Any]) -> float:
    """Large enough that a wrong gradient is seen in the weights. Adam makes a whole step of a gradient of mere rounding,
    so that its steps have to be small."""
    optimizer = next((value for flag, value in table["train"] if flag == "optimizer"), "")
    return 1e-4 if optimizer.partition(":")[0] in ("adam", "adamw") else 0.1


def _number_of_classes(program: torch.export.ExportedProgram, table: dict[str, Any]) -> int:
    """The last dimension of what the loss compares with labels."""
    form = next(value for flag, value in table["train"] if flag == "loss")
    name = form.partition(":")[2].partition(",")[0]
    nodes = {node.name: node for node in program.graph.nodes}
    if name not in nodes:
        name = program.graph_signature.user_outputs[int(name.removeprefix("output:"))]
    return int(nodes[name].meta["val"].shape[-1])
