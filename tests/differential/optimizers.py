#!/usr/bin/env python3
"""Three steps of each optimizer of `sbp-plan grad`, executed in float64, against formulas written here from the papers
and torch's documentation, not from rules/optimizer.rules.

The loss is the sum of w c + b e, so that the gradients are the inputs c and e themselves.
usage: optimizers.py PROGRAM
"""
import array
import json
import math
import pathlib
import random
import sys

import npz
from steps import call, norm, run_cases

ROWS, COLUMNS, LENGTH = 6, 4, 5
MODEL = {
    "kind": "sbp_plan.graph.v1", "name": "linear",
    "inputs": [{"name": "c", "type": f"f32[{ROWS},{COLUMNS}]"}, {"name": "e", "type": f"f32[{LENGTH}]"}],
    "parameters": [{"name": "w", "type": f"f32[{ROWS},{COLUMNS}]"}, {"name": "b", "type": f"f32[{LENGTH}]"}],
    "ops": [{"name": "wc", "type": "Mul", "inputs": ["w", "c"], "outputs": ["p"]},
            {"name": "be", "type": "Mul", "inputs": ["b", "e"], "outputs": ["q"]},
            {"name": "sp", "type": "ReduceSum", "inputs": ["p"], "outputs": ["sp"], "attributes": {"keepdims": 0}},
            {"name": "sq", "type": "ReduceSum", "inputs": ["q"], "outputs": ["sq"], "attributes": {"keepdims": 0}},
            {"name": "add", "type": "Add", "inputs": ["sp", "sq"], "outputs": ["loss"]}],
    "outputs": ["loss"]}


def zip_with(f, *lists):
    return [f(*each) for each in zip(*lists)]


def root_mean_square(values):
    return norm(values) / math.sqrt(len(values))


# Each takes a parameter, its gradient, its states by name (empty at first), the rate, the step, and options; returns the
# new parameter and changes the states.
def sgd(x, g, states, lr, step, o):
    return [a - lr * (b + o.get("weight_decay", 0) * a) for a, b in zip(x, g)]


def momentum(x, g, states, lr, step, o):
    mu = o.get("mu", 0.9)
    g = [b + o.get("weight_decay", 0) * a for a, b in zip(x, g)]
    buffer = states.get("momentum")
    buffer = list(g) if buffer is None else [mu * m + b for m, b in zip(buffer, g)]
    states["momentum"] = buffer
    update = [b + mu * m for b, m in zip(g, buffer)] if o.get("nesterov") else buffer
    return [a - lr * u for a, u in zip(x, update)]


def moments(g, states, beta1, beta2):
    m = states.get("m") or [0] * len(g)
    v = states.get("v") or [0] * len(g)
    states["m"] = [beta1 * a + (1 - beta1) * b for a, b in zip(m, g)]
    states["v"] = [beta2 * a + (1 - beta2) * b * b for a, b in zip(v, g)]


def adam_step(x, states, lr, step, beta1, beta2, epsilon):
    def one(a, m, v):
        return a - lr * (m / (1 - beta1 ** step)) / (math.sqrt(v / (1 - beta2 ** step)) + epsilon)

    return zip_with(one, x, states["m"], states["v"])


def adam(x, g, states, lr, step, o):
    beta1, beta2, epsilon = o.get("beta1", 0.9), o.get("beta2", 0.999), o.get("epsilon", 1e-8)
    moments([b + o.get("weight_decay", 0) * a for a, b in zip(x, g)], states, beta1, beta2)
    return adam_step(x, states, lr, step, beta1, beta2, epsilon)


def adamw(x, g, states, lr, step, o):
    beta1, beta2, epsilon = o.get("beta1", 0.9), o.get("beta2", 0.999), o.get("epsilon", 1e-8)
    moments(g, states, beta1, beta2)
    decayed = [a * (1 - lr * o.get("weight_decay", 0.01)) for a in x]
    return adam_step(decayed, states, lr, step, beta1, beta2, epsilon)


def lion(x, g, states, lr, step, o):
    beta1, beta2 = o.get("beta1", 0.9), o.get("beta2", 0.99)
    m = states.get("m") or [0] * len(g)
    signs = [math.copysign(1, u) if u else 0 for u in (beta1 * a + (1 - beta1) * b for a, b in zip(m, g))]
    states["m"] = [beta2 * a + (1 - beta2) * b for a, b in zip(m, g)]
    return [a * (1 - lr * o.get("weight_decay", 0)) - lr * s for a, s in zip(x, signs)]


def adafactor(x, g, states, lr, step, o):
    epsilon1, epsilon2, clip = 1.1920929e-07, 1e-3, 1.0
    share = step ** -0.8
    if len(g) == ROWS * COLUMNS:
        rows = [sum(b * b for b in g[i * COLUMNS:(i + 1) * COLUMNS]) / COLUMNS for i in range(ROWS)]
        columns = [sum(b * b for b in g[j::COLUMNS]) / ROWS for j in range(COLUMNS)]
        for name, found in (("rows", rows), ("columns", columns)):
            old = states.get(name) or [0] * len(found)
            states[name] = [a + share * (b - a) for a, b in zip(old, found)]
        mean = max(sum(states["rows"]) / ROWS, epsilon1)
        v = [r * c / mean for r in states["rows"] for c in states["columns"]]
    else:
        old = states.get("v") or [0] * len(g)
        v = states["v"] = [a + share * (b * b - a) for a, b in zip(old, g)]
    update = [b / math.sqrt(max(a, epsilon1 ** 2)) for a, b in zip(v, g)]
    rate = max(epsilon2, root_mean_square(x)) * min(lr, 1 / math.sqrt(step))
    rate /= max(1, root_mean_square(update) / clip)
    return [a * (1 - lr * o.get("weight_decay", 0)) - rate * u for a, u in zip(x, update)]


def product(a, b):
    return [[sum(p * q for p, q in zip(row, column)) for column in zip(*b)] for row in a]


def transposed(a):
    return [list(column) for column in zip(*a)]


def muon(x, g, states, lr, step, o):
    if len(g) != ROWS * COLUMNS:
        return adamw(x, g, states, lr, step, o)
    mu = o.get("mu", 0.95)
    old = states.get("momentum") or [0] * len(g)
    states["momentum"] = [a + (1 - mu) * (b - a) for a, b in zip(old, g)]
    u = [b + mu * (m - b) for b, m in zip(g, states["momentum"])]
    size = norm(u) + 1e-7
    a = transposed([[u[i * COLUMNS + j] / size for j in range(COLUMNS)] for i in range(ROWS)])
    for _ in range(5):
        s = product(a, transposed(a))
        s2 = product(s, s)
        inner = [[-4.7750 * p + 2.0315 * q for p, q in zip(*rows)] for rows in zip(s, s2)]
        a = [[3.4445 * p + q for p, q in zip(*rows)] for rows in zip(a, product(inner, a))]
    flat = [v for row in transposed(a) for v in row]
    rate = lr * 0.2 * math.sqrt(max(ROWS, COLUMNS))
    return [p * (1 - lr * o.get("weight_decay", 0.1)) - rate * q for p, q in zip(x, flat)]


CASES = [
    ("sgd", sgd, [], {}),
    ("sgd", sgd, ["--weight-decay", "0.1", "--no-decay", "none*"], {"weight_decay": 0.1}),
    ("momentum", momentum, [], {}),
    ("momentum:mu=0.8,nesterov=true", momentum, [], {"mu": 0.8, "nesterov": True}),
    ("adam", adam, ["--weight-decay", "0.1", "--no-decay", "none*"], {"weight_decay": 0.1}),
    ("adamw:beta1=0.8,beta2=0.95,epsilon=1e-4", adamw, ["--no-decay", "none*"],
     {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-4}),
    ("adamw", adamw, ["--clip-norm", "0.7", "--loss-scale", "1024"], {"clip": 0.7, "vectors_decay": False}),
    ("lion", lion, ["--weight-decay", "0.2", "--no-decay", "none*"], {"weight_decay": 0.2}),
    ("adafactor", adafactor, [], {}),
    ("muon", muon, ["--no-decay", "none*", "--weight-decay", "0.1"], {"weight_decay": 0.1}),
]


def array_of(shape, values):
    return npz.Array(tuple(shape), "<f8", array.array("d", values).tobytes())


def shapes(graph):
    def entry(one):
        return one["name"], [int(part) for part in one["type"].partition("[")[2][:-1].split(",") if part]

    return dict(entry(one) for one in graph["inputs"] + graph["parameters"])


def check(program, name, formula, flags, options, folder):
    (folder / "model.json").write_text(json.dumps(MODEL))
    call(program, "grad", folder / "model.json", "--loss", "loss", "--optimizer", name, *flags, "-o", folder / "t.json", "-q")
    shape_of = shapes(json.loads((folder / "t.json").read_text()))
    chance = random.Random(name)
    values = {p: [chance.gauss(0, 1) for _ in range(math.prod(shape_of[p]))] for p in ("w", "b")}
    states = {"w": {}, "b": {}}
    for step in (1, 2, 3):
        lr = 0.1 / step
        gradients = {p: [chance.gauss(0, 0.3) for _ in values[p]] for p in values}
        feeds = {"c": gradients["w"], "e": gradients["b"], "lr": [lr], **values}
        for p, own in states.items():
            feeds.update({f"{state}/{p}": own.get(state) for state in own})
        arrays = {}
        for key, shape in shape_of.items():
            if key.startswith("backward/") or key == "step":
                continue
            arrays[key] = array_of(shape, feeds.get(key) or [0.0] * math.prod(shape))
        arrays["step"] = npz.Array((), "<i8", array.array("q", [step]).tobytes())
        npz.save(folder / "in.npz", arrays)
        call(program, "run", folder / "t.json", "--unsharded", "--dtype", "f64", "--inputs", folder / "in.npz",
             "--outputs", folder / "out.npz", "-q")
        out = npz.load(folder / "out.npz")
        if "clip" in options:
            both = norm(gradients["w"] + gradients["b"])
            gradients = {p: [g * min(1, options["clip"] / (both + 1e-6)) for g in gradients[p]] for p in gradients}
            if abs(npz.numbers(out["grad_norm"])[0] - both) > 1e-6 * both:
                return f"step {step}: grad_norm is {npz.numbers(out['grad_norm'])[0]}, not {both}"
        for p in values:
            own = dict(options)
            if p == "b" and not options.get("vectors_decay", True):
                own["weight_decay"] = 0
            values[p] = formula(values[p], gradients[p], states[p], lr, step, own)
            expected = {f"next/{p}": values[p], **{f"next/{s}/{p}": states[p][s] for s in states[p]}}
            for key, numbers in expected.items():
                if key not in out:
                    return f"step {step}: no output {key}"
                error = max(abs(a - b) for a, b in zip(npz.numbers(out[key]), numbers))
                if not error <= 2e-6 * max(abs(v) for v in numbers):  # constants of the graph are f32
                    return f"step {step}: {key} differs by {error}"
    return None


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    return run_cases([(f"{case[0]} {' '.join(case[2])}", check, (program, *case)) for case in CASES])


if __name__ == "__main__":
    sys.exit(main())
