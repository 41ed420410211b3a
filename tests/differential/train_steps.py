#!/usr/bin/env python3
"""Training steps that another system's autograd exported, against ours of the same models.

Numbers: each updated parameter of the tiny steps. Plans: ours of our graph is not dearer than ours of theirs.
usage: train_steps.py PROGRAM MODELS    (shared/data/models)
"""
import array
import json
import shutil
import sys

import npz
from steps import arguments, call, norm, run_cases

TOLERANCE = 1e-4  # of the norm of a parameter's change; the recorded ones are f32
TINY = ["gpt2-train-step-tiny", "cnn-train-step-tiny"]
# Their step, the forward pass that ours is made of, and how its dimensions are bound.
PLANNED = [("gpt2-124m-train-step", "gpt2-124m-dynamo", "cross-entropy:logits", ["--dim", "batch=8", "--dim", "seq=1024"]),
           ("llama3-8b-2layer-train-step", "llama3-8b-2layer-train-step", "loss", [])]
# Of weights that the files also hold folded, transposed or sliced, only a part of the gradient reaches the parameter.
FOLDED = {"new.transformer.wte.weight"}
MESHES = ["data=8", "data=2,model=4"]


def updated(program, folder, inputs, lr):
    """next/P of a step of gradient descent."""
    feeds = dict(inputs)
    feeds["lr"] = npz.Array((), "<f4", array.array("f", [lr]).tobytes())
    feeds["step"] = npz.Array((), "<i8", array.array("q", [1]).tobytes())
    npz.save(folder / "in.npz", feeds)
    call(program, "run", folder / "own.json", "--unsharded", "--dtype", "f64", "--inputs", folder / "in.npz", "--outputs",
         folder / "out.npz", "-q")
    return {name: npz.numbers(one) for name, one in npz.load(folder / "out.npz").items() if name.startswith("next/")}


def check_numbers(program, models, name, folder):
    shutil.copy(models / "tiny" / f"{name}.onnx", folder)
    inputs = npz.load(models / "tiny" / f"{name}.inputs.npz")
    recorded = npz.load(models / "tiny" / f"{name}.outputs.npz")
    call(program, "grad", folder / f"{name}.onnx", "--loss", "loss", "--optimizer", "sgd", "-o", folder / "own.json", "-q")
    before, after = (updated(program, folder, inputs, lr) for lr in (0, 1))
    rate, seen = None, 0
    for key, one in recorded.items():
        if not key.startswith("new.") or key in FOLDED:
            continue
        words = key[4:].split(".")
        ours = [name for name in before if name.replace("/", ".").endswith("." + ".".join(words))]
        if len(ours) > 1:
            return f"{key}: {len(ours)} parameters of that name"
        if not ours:  # folded altogether
            continue
        gradient = [a - b for a, b in zip(before[ours[0]], after[ours[0]])]
        change = [a - b for a, b in zip(before[ours[0]], npz.numbers(one))]
        if rate is None:  # the step's own, a constant of the file
            rate = sum(a * b for a, b in zip(change, gradient)) / sum(g * g for g in gradient)
        error = norm([a - rate * b for a, b in zip(change, gradient)])
        if not error <= TOLERANCE * norm(change):
            return f"{key}: differs by {error} of {norm(change)}, at rate {rate}"
        seen += 1
    return None if seen >= 5 else f"only {seen} parameters were compared"


def step_seconds(program, graph, mesh):
    # Eager: theirs does not tell forward from backward, so that a fused kernel may span both.
    told = call(program, "infer", graph, "--mesh", mesh, "--execution", "eager", "--objective", "sum", "--format", "json",
                "-q")
    return json.loads(told)["sum"]["seconds"]


def check_plans(program, models, theirs, forward, loss, dims, folder):
    call(program, "grad", models / f"{forward}.onnx", "--loss", loss, *dims, "--optimizer", "sgd", "-o", folder / "own.json",
         "-q")
    for mesh in MESHES:
        ours, others = (step_seconds(program, graph, mesh) for graph in (folder / "own.json", models / f"{theirs}.onnx"))
        if ours > others:
            return f"{mesh}: our step takes {ours}, theirs {others}"
    return None


def main():
    program, models = arguments()
    cases = [(tiny, check_numbers, (program, models, tiny)) for tiny in TINY]
    return run_cases(cases + [(row[0], check_plans, (program, models, *row)) for row in PLANNED])


if __name__ == "__main__":
    sys.exit(main())
