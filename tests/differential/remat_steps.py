#!/usr/bin/env python3
"""Training steps that compute activations again, against the same steps without: every output, updated parameters and
running statistics among them, and the memory that was measured.

Both run on two devices, in f64; each is also compared with its own unsharded run. Random ops must draw the same again.
usage: remat_steps.py PROGRAM MODELS [--all]    (shared/data/models/tiny; without --all a few of its models)
"""
import array
import json
import shutil
import sys

import npz
from steps import arguments, call, norm, run_cases

TOLERANCE = 1e-6  # of an output's norm: some constants of f64 runs are f32
POLICIES = ["light", "selective", "alternate", "full"]
# Model, loss, dimensions, flags; whether a quick run has it.
ROWS = [
    ("gpt2-tiny", "cross-entropy:logits", {"batch": 4, "seq": 10}, ["--optimizer", "adam"], False),
    ("gpt2-tiny", "cross-entropy:logits", {"batch": 2, "seq": 10}, ["--optimizer", "sgd", "--accumulate", "3"], True),
    ("gpt2-tiny-torchscript", "cross-entropy:logits", {"batch": 4, "seq": 10}, ["--optimizer", "sgd"], False),
    ("llama-gqa-tiny", "cross-entropy:logits", {"batch": 4, "seq": 12}, ["--optimizer", "sgd"], True),
    ("llama-attention-op-tiny", "cross-entropy:logits", {"batch": 4, "seq": 10}, ["--optimizer", "sgd"], False),
    ("bert-tiny", "cross-entropy:logits", {"batch": 4, "seq": 9}, ["--optimizer", "sgd", "--clip-norm", "1"], False),
    ("bart-crossattention-tiny", "cross-entropy:logits", {"batch": 4, "src_seq": 11, "tgt_seq": 6},
     ["--optimizer", "sgd"], False),
    ("vit-tiny", "cross-entropy:logits", {"batch": 4}, ["--optimizer", "sgd"], False),
    ("cnn-batchnorm-pool-tiny", "mse:prob", {"batch": 4}, ["--optimizer", "sgd", "--train-mode"], True),
    ("resnet-tiny", "mse:logits", {"batch": 6}, ["--optimizer", "sgd"], False),
    ("mobilenet-v3-tiny", "mse:logits", {"batch": 4}, ["--optimizer", "sgd"], False),
    ("mixtral-moe-tiny", "cross-entropy:logits", {"batch": 4, "seq": 6}, ["--optimizer", "sgd"], False),
    ("moe-gshard-tiny", "cross-entropy:logits", {"batch": 4, "seq": 6}, ["--optimizer", "sgd"], False),
    ("unet-tiny", "mse:out", {"batch": 2}, ["--optimizer", "sgd"], False),
    ("convtranspose-decoder-tiny", "mse:image", {"batch": 6}, ["--optimizer", "sgd"], False),
    ("lstm-tagger-tiny", "mse:logp", {"batch": 6, "seq": 9}, ["--optimizer", "sgd"], False),
    ("dropout", "mse:y", {}, ["--optimizer", "sgd", "--train-mode"], True),
    ("batch-norm", "mse:y", {}, ["--optimizer", "sgd", "--train-mode"], True),
]


def layered(name, body):
    """Three equal layers over x; `body` gives a layer's ops from the name of its input, and its parameters."""
    graph = {"kind": "sbp_plan.graph.v1", "name": name, "inputs": [], "parameters": [], "ops": [], "outputs": ["y"]}
    at = "x"
    for layer in range(3):
        out = "y" if layer == 2 else f"x{layer}"
        body(graph, f"net/h.{layer}", f"l{layer}", at, out)
        at = out
    return graph


def add(graph, scope, type_, name, inputs, outputs, **attributes):
    graph["ops"].append({"name": name, "type": type_, "inputs": inputs, "outputs": outputs, "scope": scope,
                         **({"attributes": attributes} if attributes else {})})


def dropout_layer(graph, scope, p, at, out):
    if at == "x":
        graph["inputs"] = [{"name": "x", "type": "f32[8,16]"}]
    graph["parameters"] += [{"name": f"{p}.w", "type": "f32[16,16]"}, {"name": f"{p}.v", "type": "f32[16,16]"}]
    add(graph, scope, "MatMul", f"{p}/up", [at, f"{p}.w"], [f"{p}.h"])
    add(graph, scope, "Gelu", f"{p}/act", [f"{p}.h"], [f"{p}.a"])
    add(graph, scope, "Dropout", f"{p}/drop", [f"{p}.a"], [f"{p}.d"])
    add(graph, scope, "MatMul", f"{p}/down", [f"{p}.d", f"{p}.v"], [f"{p}.o"])
    add(graph, scope, "Softmax", f"{p}/soft", [f"{p}.o"], [f"{p}.s"])
    add(graph, scope, "Dropout", f"{p}/drop_2", [f"{p}.s"], [f"{p}.t"])
    add(graph, scope, "Tanh", f"{p}/tanh", [f"{p}.t"], [f"{p}.u"])
    add(graph, scope, "Add", f"{p}/add", [at, f"{p}.u"], [out])


def norm_layer(graph, scope, p, at, out):
    if at == "x":
        graph["inputs"] = [{"name": "x", "type": "f32[4,6,5,5]"}]
    graph["parameters"] += [{"name": f"{p}.{k}.w", "type": "f32[6,6,3,3]"} for k in "ab"]
    for k, read in (("a", at), ("b", f"{p}.a.r")):
        graph["parameters"] += [{"name": f"{p}.{k}.{r}", "type": "f32[6]"} for r in ("scale", "bias", "mean", "var")]
        add(graph, scope, "Conv", f"{p}/{k}/conv", [read, f"{p}.{k}.w"], [f"{p}.{k}.c"], pads=[1, 1, 1, 1])
        add(graph, scope, "BatchNormalization", f"{p}/{k}/norm",
            [f"{p}.{k}.c"] + [f"{p}.{k}.{r}" for r in ("scale", "bias", "mean", "var")], [f"{p}.{k}.n"])
        add(graph, scope, "Relu", f"{p}/{k}/act", [f"{p}.{k}.n"], [f"{p}.{k}.r"])
    add(graph, scope, "Sigmoid", f"{p}/gate", [f"{p}.b.r"], [f"{p}.g"])
    add(graph, scope, "Add", f"{p}/add", [at, f"{p}.g"], [out])


MADE = {"dropout": dropout_layer, "batch-norm": norm_layer}


def run(program, folder, model, loss, dims, flags, policy):
    """The outputs of a step with the policy, and what was measured."""
    plan = folder / "plan.json"
    dims = [part for key, size in dims.items() for part in ("--dim", f"{key}={size}")]
    call(program, "infer", folder / model, *dims, "--train", "--loss", loss, *flags, "--remat", policy, "--mesh", "x=2",
         "--cluster", "cpu", "-o", plan, "-q")
    again = sum(op["name"].startswith("again/") for op in json.loads(plan.read_text())["graph"]["ops"])
    # A rate at which a wrong gradient is seen beside the parameter.
    npz.save(folder / "in.npz", {"lr": npz.Array((), "<f4", array.array("f", [1]).tobytes())})
    report = json.loads(
        call(program, "run", plan, "--inputs", folder / "in.npz", "--outputs", folder / "out.npz", "--dtype", "f64",
             "--tolerance", TOLERANCE, "--format", "json", "-q"))
    call(program, "check", plan, "-q")
    return {name: npz.numbers(one) for name, one in npz.load(folder / "out.npz").items()}, again, report["peak_bytes"]


def difference(outputs, plain):
    if set(outputs) != set(plain):
        return f"outputs {sorted(set(outputs) ^ set(plain))}"
    for name, values in plain.items():
        error = norm([a - b for a, b in zip(outputs[name], values)])
        if not error <= TOLERANCE * max(norm(values), 1e-6):
            return f"{name} differs by {error} of {norm(values)}"
    return None if any(name.startswith("next/") for name in plain) else "no parameter is updated"


def check(program, models, row, folder):
    name, loss, dims, flags, _ = row
    file = f"{name}.json" if name in MADE else f"{name}.onnx"
    if name in MADE:
        (folder / file).write_text(json.dumps(layered(name, MADE[name])))
    else:
        shutil.copy(models / file, folder)
    plain, added, peak = run(program, folder, file, loss, dims, flags, "none")
    if added:
        return f"none adds {added} ops"
    lines, counts = [f"none {peak} B"], []
    for policy in POLICIES:
        outputs, added, used = run(program, folder, file, loss, dims, flags, policy)
        problem = difference(outputs, plain)
        if problem:
            return f"{policy}: {problem}"
        counts.append(added)
        lines.append(f"{policy} +{added} ops {used} B")
    print(f"{name} {' '.join(flags)}: {', '.join(lines)}")
    if counts[-1] == 0:
        return "full computes nothing again"
    return None


def main():
    program, models = arguments()
    rows = [row for row in ROWS if row[-1] or "--all" in sys.argv]
    return run_cases([(f"{row[0]} {' '.join(row[3])}", check, (program, models, row)) for row in rows])


if __name__ == "__main__":
    sys.exit(main())
