#!/usr/bin/env python3
"""Plans of StableHLO, run by JAX on eight devices of a CPU as `export --to jax` writes them, equal the unsharded functions.

    jax_test.py SBP_PLAN [NAME...]

Both forms, of each family forward and with gradients, those of JAX and those of --train: with shardings for a partitioner that is free, and exact, whose compiled program must have the plan's
collectives, by kind, count and bytes. Exit code 77: jax is not there.
"""

import functools
import importlib.machinery
import importlib.util
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("make_stablehlo", str(ROOT / "scripts/make-stablehlo"))
MODELS = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_stablehlo", LOADER))
try:
    LOADER.exec_module(MODELS)
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

numpy = MODELS.numpy

MESHES = ("data=8", "model=8", "data=2,model=4")
BYTES = {"pred": 1, "u8": 1, "s8": 1, "bf16": 2, "f16": 2, "f32": 4, "s32": 4, "u32": 4, "f64": 8, "s64": 8, "u64": 8}
# Bytes that a device of n sends for a result of so many, as plans count them.
SENT = {"all-gather": lambda size, n: size * (n - 1) / n, "all-reduce": lambda size, n: 2 * size * (n - 1) / n,
        "reduce-scatter": lambda size, n: size * (n - 1), "all-to-all": lambda size, n: size * (n - 1) / n}
COLLECTIVE = re.compile(r"= (.*?) (all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute)(?:-start)?\(.*?"
                        r"replica_groups=(\{\{.*?\}\}|\[[\d,]+\]<=)")


def scanned(p, x):
    """A loss over states of a linear recurrence, by an associative scan over time."""
    jax = MODELS.jax
    gates, values = jax.nn.sigmoid(x @ p["gate"]), x @ p["value"]
    step = lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1])  # noqa: E731
    return (jax.lax.associative_scan(step, (gates, values), axis=1)[1] ** 2).mean()


def cases():
    """Name -> function, arguments; pins: an argument's layout along data and along model."""
    normal, jax, jnp = MODELS.normal, MODELS.jax, MODELS.jax.numpy
    weights = {"w1": normal(16, 64), "b1": normal(64), "w2": normal(64, 32), "b2": normal(32)}
    mlp_pins = [("x", "S(0)", "B"), ("p.w1", "B", "S(1)"), ("p.w2", "S(1)", "S(0)")]
    heads = tuple(normal(8, 16, n, 16) for n in (8, 8, 8))
    ids = MODELS.RANDOM.integers(0, 32, (8, 17), "i")
    yield "mlp", MODELS.mlp, (weights, normal(16, 16)), mlp_pins
    logits = lambda p, x: jax.nn.gelu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]  # noqa: E731
    yield "mlp-logits", logits, (weights, normal(16, 16)), mlp_pins
    yield "mlp-grad", jax.value_and_grad(MODELS.loss), (weights, normal(16, 16)), mlp_pins
    yield "attention", MODELS.attention, heads, [("q", "S(0)", "S(2)"), ("k", "S(0)", "S(2)")]
    yield "attention-grad", jax.value_and_grad(MODELS.attention, (0, 1, 2)), heads, [("q", "S(0)", "S(2)"), ("k", "S(0)", "B")]
    embedding = lambda table, tokens: table[tokens] * 2  # noqa: E731
    yield "embedding", embedding, (normal(32, 16), ids), [("table", "B", "S(0)"), ("tokens", "S(0)", "B")]
    buckets = lambda q, x: jnp.digitize(x @ q["w1"], jnp.array([-1.0, 0.0, 1.0]))  # noqa: E731
    yield "buckets", buckets, ({"w1": normal(16, 64)}, normal(16, 16)), [("x", "S(0)", "B"), ("q.w1", "B", "S(1)")]
    scan = {"gate": normal(16, 32), "value": normal(16, 32)}
    scan_pins = [("p.gate", "B", "S(1)"), ("p.value", "B", "S(1)"), ("x", "S(0)", "B")]
    yield "scan-grad", jax.value_and_grad(scanned), (scan, normal(8, 7, 16)), scan_pins
    # A family's inference, its loss's gradients, and pins that hold for both: p is what the text calls the parameters.
    text, picture = (ids[:, :-1], ids[:, 1:]), (normal(8, 16, 16, 3), MODELS.RANDOM.integers(0, 8, (8,), "i"))
    families = {
        "gpt2": (MODELS.decoder, MODELS.decoder_loss, MODELS.decoder_weights(32, 32), text,
                 [("tokens", "S(0)", "B"), ("{p}.h.*.c_fc", "B", "S(1)"), ("{p}.h.*.mlp_proj", "B", "S(0)"), ("{p}.wte", "S(1)", "S(0)")]),
        "llama": (functools.partial(MODELS.llama, heads=8, groups=4), functools.partial(MODELS.llama_loss, heads=8, groups=4),
                  MODELS.llama_weights(32, 32), text,
                  [("tokens", "S(0)", "B"), ("{p}.layers.gate", "B", "S(2)"), ("{p}.layers.up", "B", "S(2)"),
                   ("{p}.layers.down", "B", "S(1)"), ("{p}.head", "B", "S(1)")]),
        "moe": (MODELS.moe, MODELS.moe_loss, MODELS.moe_weights(16, 32, 8), text,
                [("tokens", "S(0)", "B"), ("{p}.h.*.up", "B", "S(0)"), ("{p}.h.*.down", "B", "S(0)")]),
        "resnet": (MODELS.resnet, MODELS.resnet_loss, MODELS.resnet_weights(8, 8), picture,
                   [("x", "S(0)", "B"), ("{p}.stem", "B", "S(3)"), ("{p}.blocks.0.conv2", "B", "S(3)"), ("{p}.dense", "B", "S(0)")])}
    for name, (function, loss, params, data, pins) in families.items():
        called = [(tensor.format(p="p"), *layouts) for tensor, *layouts in pins]
        yield name, function, (params, data[0]), called
        called = [(tensor.format(p="params"), *layouts) for tensor, *layouts in pins]
        yield f"{name}-grad", jax.value_and_grad(loss), (params, *data), called


def train_step(folder, name, function, arguments):
    """What --train makes of the function, by JAX: NAME-train.outputs.npz beside the text NAME.mlir, and the target of its
    loss. Squares do not cancel: the mean of an output near 0 would be its rounding, and say nothing of the step."""
    target = MODELS.normal(*MODELS.jax.eval_shape(function, *arguments).shape)
    squared = lambda params, *data: ((function(params, *data) - target) ** 2).mean()  # noqa: E731
    loss, grads = MODELS.jax.value_and_grad(squared)(*arguments)
    leaves = MODELS.jax.tree_util.tree_leaves_with_path(grads)
    names = [MODELS.dotted("p" + MODELS.jax.tree_util.keystr(path)) for path, _ in leaves]
    made = {f"grad/{leaf}": value for leaf, (_, value) in zip(names, leaves)}
    numpy.savez(folder / f"{name}-train.outputs.npz", loss=loss, **made)
    numpy.save(folder / f"{name}-train.target.npy", target)


def inputs_of(model, plan, trained):
    """The archive of the model's inputs; of a training step with the target of its loss."""
    given = model.with_suffix(".inputs.npz")
    if not trained:
        return given
    target = next(row["name"] for row in plan["graph"]["inputs"] if row["name"].startswith("target/"))
    step = model.with_name(f"{model.stem}-train.inputs.npz")
    numpy.savez(step, **numpy.load(given), **{target: numpy.load(model.with_name(f"{model.stem}-train.target.npy"))})
    return step


def run(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.stdout[-500:]}{done.stderr[-1500:]}")
    return done.stdout + done.stderr


def pins_for(mesh, pins):
    words = {"data=8": "{0}={1}", "model=8": "{0}={2}", "data=2,model=4": "{0}=({1}, {2})"}[mesh]
    return [argument for pin in pins for argument in ("--pin", words.format(*pin))]


def planned_collectives(plan):
    """kind -> [how many, bytes that all devices send]."""
    sent = defaultdict(lambda: [0, 0.0])
    for transition in plan.get("transitions", ()):
        for step in transition["steps"]:
            if step["collective"] in SENT:
                sent[step["collective"]][0] += 1
                sent[step["collective"]][1] += step.get("wire_bytes", 0)
    return dict(sent)


def compiled_collectives(text):
    """The same of a compiled program on eight devices."""
    sent = defaultdict(lambda: [0, 0.0])
    for result, kind, groups in COLLECTIVE.findall(text):
        size, parts = 0, re.findall(r"(\w+)\[([\d,]*)\]", result)  # several where XLA has combined what it sends at once
        for dtype, dims in parts:
            count = BYTES[dtype]
            for n in filter(None, dims.split(",")):
                count *= int(n)
            size += count
        sizes = [int(n) for n in re.findall(r"\d+", groups.split("<=")[0])]
        devices = sizes[1] if groups.startswith("[") else groups.split("}")[0].count(",") + 1
        sent[kind][0] += len(parts)
        sent[kind][1] += SENT.get(kind, lambda *_: 0)(size, devices) * 8
    return dict(sent)


def run_case(planner, folder, name, mesh, flags, trained=False):
    model, plan_file = folder / f"{name}.mlir", folder / "plan.json"
    expected = folder / f"{name}{'-train' if trained else ''}.outputs.npz"
    flags = [*flags, "--train", "--loss", "mse:output:0"] if trained else flags
    run(planner, "infer", model, "--mesh", mesh, "--even-only", "-o", plan_file, *flags)
    plan = json.loads(plan_file.read_text())
    planned, inputs = planned_collectives(plan), inputs_of(model, plan, trained)
    lines = []
    for form in ("exact",) if trained else ("annotate", "exact"):  # the text has no step of --train
        out = folder / f"{name}-{form}"
        run(planner, "export", "--to", "jax", f"--{form}", plan_file, "-o", out)
        said = run(sys.executable, out / "load_plan.py", "--inputs", inputs, "--expect", expected,
                   "--hlo", out / "program.hlo")
        lines.append(f"{form} {re.search(r'largest error (.*)', said)[1]}")
    compiled = compiled_collectives((out / "program.hlo").read_text())
    assert compiled.keys() == planned.keys(), f"collectives {compiled}, the plan has {planned}"
    for kind, (count, size) in planned.items():
        assert compiled[kind][0] == count and abs(compiled[kind][1] - size) < 0.5, f"{kind}: {compiled[kind]}, planned {planned[kind]}"
    return f"errors {', '.join(lines)}; {sum(count for count, _ in planned.values())} collectives"


# Forms of ops that no family has, as recorded: each device computes them whole.
RECORDED = ("convolutions", "convolutions-grad", "functions", "orders", "pools", "pools-grad", "random", "writes")


def checked(planner, folder, name, mesh, flags, trained=False):
    """How many collectives there were; None: it is not as planned."""
    try:
        line = run_case(planner, folder, name, mesh, flags, trained)
    except AssertionError as error:
        line = f"FAILED: {error}"
    print(f"{name}{' --train' if trained else ''} on {mesh}: {line}", flush=True)
    return None if line.startswith("FAILED") else int(line.split()[-2])


# Plans of other models than StableHLO's: each op of torch, images of other sizes, experts as
# grouped products, recurrent layers.
OF_TORCH = ("calls", "more-calls", "fourier-calls", "moe-sorted", "recurrent", "resized")
# Their steps, held against what `run` makes of the same plan, which holds itself against the unsharded step.
STEPS_OF_TORCH = {"spectral": ["--loss", "output:0"], "stopped": ["--loss", "output:0"], "sampled": ["--loss", "output:0"], "moe-sorted": ["--loss", "mse:output:0", "--pin", "block.experts.*==(B, S(0))"], "recurrent": ["--loss", "output:0"]}


def weights_of(program):
    """Name -> array, of an archive of torch.export whose weights are of f32 and stand as they are."""
    with zipfile.ZipFile(program) as archive:
        config = next((n for n in archive.namelist() if n.endswith("model_weights_config.json")), None)
        rows = json.loads(archive.read(config))["config"] if config else {}
        assert all(row["tensor_meta"]["dtype"] == 7 for row in rows.values())
        return {name: numpy.frombuffer(archive.read(config.replace("model_weights_config.json", row["path_name"])), "<f4").reshape(
            [size["as_int"] for size in row["tensor_meta"]["sizes"]]) for name, row in rows.items()}


def inputs_of_torch(program, plan, trained):
    """By name; the target of a step is anything."""
    given = {**numpy.load(program.with_suffix(".inputs.npz")), **weights_of(program)}
    for row in plan["graph"]["inputs"] if trained else ():
        if row["name"].startswith("target/"):
            given[row["name"]] = MODELS.normal(*map(int, re.findall(r"\d+", row["type"].partition("[")[2])))
    return given


def is_torch_right(planner, name, step=None):
    """The exact form of a plan of what torch exported makes what torch made, or that of its step what `run` makes."""
    program, said = ROOT / f"tests/data/torch/{name}.pt2", "FAILED"
    with tempfile.TemporaryDirectory() as scratch:
        plan, out, inputs, made = (Path(scratch) / n for n in ("plan.json", "out", "inputs.npz", "made.npz"))
        try:
            train = ["--train", *step] if step else []
            run(planner, "infer", program, "--mesh", "data=2,model=2", "--even-only", "-o", plan, *train)
            numpy.savez(inputs, **inputs_of_torch(program, json.loads(plan.read_text()), bool(step)))
            if step:
                run(planner, "run", plan, "--inputs", inputs, "--outputs", made)
            run(planner, "export", "--to", "jax", "--exact", plan, "-o", out)
            expected = made if step else program.with_suffix(".outputs.npz")
            said = run(sys.executable, out / "load_plan.py", "--inputs", inputs, "--expect", expected)
            said = re.search(r"largest error .*", said)[0]
        except AssertionError as error:
            said = f"FAILED: {error}"
    print(f"{name}.pt2{' --train' if step else ''}: {said}", flush=True)
    return not said.startswith("FAILED")


def are_nans_seen():
    """What is no number where one is expected is no small error; where none is expected, none."""
    loader = importlib.machinery.SourceFileLoader("jax_run", str(ROOT / "src/export/jax_run.py"))
    program = importlib.util.module_from_spec(importlib.util.spec_from_loader("jax_run", loader))
    loader.exec_module(program)
    ones, nans = (numpy.full(3, value, "f") for value in (1, numpy.nan))
    found = [program.largest_error({"y": made}, {"y": wanted}) for made, wanted in ((nans, ones), (nans, nans), (ones, ones))]
    return found == [(numpy.inf, "y"), (0.0, "y"), (0.0, "y")]


def main():
    planner, counts, chosen = str(Path(sys.argv[1]).resolve()), [], sys.argv[2:]
    for name in RECORDED:
        if name in chosen or not chosen:
            with tempfile.TemporaryDirectory() as scratch:
                for file in (ROOT / "tests/data/stablehlo").glob(f"{name}.*"):
                    shutil.copy(file, scratch)
                counts.append(checked(planner, Path(scratch), name, MESHES[-1], []))
    for name, function, arguments, pins in cases():
        if chosen and name not in chosen:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            MODELS.write(folder, name, function, arguments)
            is_forward = any(tensor.startswith("p.") for tensor, *_ in pins) and not name.endswith("-grad")
            if is_forward:
                train_step(folder, name, function, arguments)
            for trained, mesh in itertools.product((False, True) if is_forward else (False,), MESHES):
                counts.append(checked(planner, folder, name, mesh, pins_for(mesh, pins), trained))
    right = [is_torch_right(planner, name) for name in OF_TORCH if name in chosen or not chosen]
    right += [is_torch_right(planner, name, step) for name, step in STEPS_OF_TORCH.items() if name in chosen or not chosen]
    right.append(are_nans_seen())
    passed = None not in counts and all(right) and (bool(chosen) or sum(counts) > 0)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
