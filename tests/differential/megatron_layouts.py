#!/usr/bin/env python3
"""Megatron's layout on real exports: with every projection's weight pinned, a layer has an all-reduce after attention and
one after its MLP, and nothing else; with the default strategy, and pins of every use (==), each may be a reduce-scatter
and an all-gather.

  megatron_layouts.py PROGRAM MODELS [--all]     MODELS: the folder of real models, with tiny/ in it

Full-size models are planned, each with its first sizes on one of two meshes in turn, by weights or by modules; --all:
with all on both, in both ways. Tiny ones are also run, and compared with the outputs that onnxruntime recorded. Pins
name the weights as the file does; where a fused weight is planned in parts, its pin means each of them.
Ends with `N passed, M failed, K skipped`; exits with 1 on a failure, with 77 where no model is found.
"""
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Scopes (or names of weights) whose product is split by columns, and by rows.
COLUMNS = re.compile(r"(q|k|v|qkv|gate|up|gate_up)_proj|(^|\.)(q|k|v|gate|up|c_attn|c_fc|query|key|value|fc1|in_proj)"
                     r"|intermediate\.dense|mlp\.0|self_attention$")
ROWS = re.compile(r"(^|\.)(o|down|o_proj|out_proj|c_proj|down_proj|fc2)$|output\.dense|mlp\.3")
FULL = {
    "llama3-8b-bf16": [["batch=4", "seq=4096"], ["batch=8", "seq=4096"]],
    "llama3-8b-decode-kv-bf16": [["batch=16", "past_seq=4095"]],
    "llama32-1b-opset23-fp16": [["batch=8", "seq=2048"]],
    "llama32-1b-single-op-attention": [["batch=8", "seq=2048"]],
    "gpt2-124m-dynamo": [["batch=8", "seq=1024"]],
    "gpt2-124m-torchscript": [["batch=8", "seq=1024"]],
    "bert-base-mlm": [["batch=32", "seq=384"]],
    "vit-b16": [["batch=64"]],
    "speech2text-m": [["batch=16", "frames=1024", "tokens=128"]],
    "llama32-1b-genai-fp16": [["batch_size=8", "sequence_length=1", "past_sequence_length=2047",
                               "total_sequence_length=2048", "kv_cache_dim=64"]],
}
TINY = ["gpt2-tiny", "gpt2-tiny-torchscript", "bert-tiny"]  # the others' heads do not divide by 2, but by 3
TINY_BY_3 = ["llama-gqa-tiny", "llama-attention-op-tiny", "vit-tiny"]
# Models whose parts divide by different numbers: model, which projections (scopes), by how many.
PARTS = [
    ("llama-gqa-tiny", r"self_attn", 3), ("llama-gqa-tiny", r"\.mlp\.", 2),
    ("llama-attention-op-tiny", r"\.(q|k|v|o)$", 3), ("llama-attention-op-tiny", r"\.(gate|up|down)", 2),
    ("llama-genai-gqa-tiny", r"attn", 3), ("llama-genai-gqa-tiny", r"\.mlp\.", 2), ("vit-tiny", r"", 3),
    ("bart-crossattention-tiny", r"\.encoder\.", 2), ("bart-crossattention-tiny", r"\.decoder\.", 3),
]
# The pins that come with the program, by modules and roles.
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "pins"
BY_MODULE = {"llama3-8b-bf16": "llama", "llama3-8b-decode-kv-bf16": "llama", "gpt2-124m-dynamo": "gpt2",
             "gpt2-124m-torchscript": "gpt2", "bert-base-mlm": "bert", "vit-b16": "vit"}
OUTSIDE = 2  # collectives of the embedding and the head, whose weights no pin names


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}\n  exit {done.returncode}: {(done.stdout + done.stderr)[:1500]}")
    return done.stdout


def sizes(text):
    return text[text.index("[") + 1:-1].split(",")


def projections(graph, only=""):
    """Per product with a matrix of parameters: its weight, 'column' or 'row', and the weight's dimension to split. Of
    scopes that match `only`."""
    weights = {p["name"]: sizes(p["type"]) for p in graph["parameters"]}
    found = {}
    for op in graph["ops"]:
        if op["type"] not in ("MatMul", "Gemm") or len(weights.get(op["inputs"][1], [])) != 2:
            continue
        weight = op["inputs"][1]
        name = (op.get("scope") or "").replace("/", ".")
        if re.search(r"proj\.weight$|out_proj", weight):  # torchvision's attention has no scope of its own for it
            name = weight.removesuffix(".weight")
        kind = "row" if ROWS.search(name) else "column" if COLUMNS.search(name) else None
        if kind is None or not re.search(only, name):
            continue
        transposed = op.get("attributes", {}).get("transB", 0) == 1
        found[weight] = (kind, int((kind == "column") != transposed))
    return found


def plan(program, model, flags, mesh, folder, pins, more=(), pinned="=", strategy=("--strategy", "einsum")):
    file = folder / "pins"
    axes = mesh.count("=")
    file.write_text("".join(f"{weight}{pinned}({'B, ' * (axes - 1)}S({dim}))\n" for weight, (_, dim) in pins.items()))
    return json.loads(run(program, "infer", model, *flags, "--mesh", mesh, *strategy, "--pins", file,
                          "--format", "json", "-o", folder / "plan.json", *more))


def by_default(program, model, flags, mesh, folder, pins):
    """What the default strategy makes of the same weights: which of the two forms of a pair pays is its choice."""
    summary = plan(program, model, flags, mesh, folder, pins, pinned="==", strategy=())
    rows = sum(kind == "row" for kind, _ in pins.values())
    found = {c["kind"]: c["count"] for c in summary["collectives"]}
    scattered = found.get("reduce-scatter", 0)
    good = (rows > 0 and 0 <= found.get("all-reduce", 0) + scattered - rows <= OUTSIDE
            and found.get("all-gather", 0) <= scattered + OUTSIDE and found.get("all-to-all", 0) <= OUTSIDE)
    if not good:
        raise RuntimeError(f"expected {rows} all-reduces, or reduce-scatters with an all-gather each; found {found}")
    run(program, "check", folder / "plan.json", model)


def check_collectives(summary, pins):
    expected = sum(kind == "row" for kind, _ in pins.values())
    found = {c["kind"]: c["count"] for c in summary["collectives"]}
    if expected == 0 or found != {"all-reduce": expected}:
        raise RuntimeError(f"expected {expected} all-reduces, one per row-split product; found {found}")


def graph_of(program, model, folder):
    run(program, "convert", model, folder / "graph.json")
    return json.loads((folder / "graph.json").read_text())


def by_module(program, model, dims, folder):
    pins = projections(graph_of(program, model, folder))
    flags = [f for d in dims for f in ("--dim", d)]
    summary = json.loads(run(program, "infer", model, *flags, "--mesh", "data=2,model=4", "--strategy", "einsum",
                             "--pins", EXAMPLES / f"{BY_MODULE[model.stem]}.pins", "--format", "json",
                             "-o", folder / "plan.json"))
    check_collectives(summary, pins)


def full(program, model, dims, mesh, folder):
    pins = projections(graph_of(program, model, folder))
    flags = [f for d in dims for f in ("--dim", d)]
    check_collectives(plan(program, model, flags, mesh, folder, pins), pins)
    run(program, "check", folder / "plan.json", model)
    by_default(program, model, flags, mesh, folder, pins)
    written = plan(program, model, flags, mesh, folder, pins, ["--no-simplify"])
    run(program, "check", folder / "plan.json", model)
    return written


def part(program, model, mesh, only, folder):
    pins = projections(graph_of(program, model, folder), only)
    data = model.with_suffix("")
    inputs = ["--inputs", f"{data}.inputs.npz"]
    check_collectives(plan(program, model, inputs, mesh, folder, pins), pins)
    run(program, "check", folder / "plan.json", model)
    run(program, "run", folder / "plan.json", *inputs, "--expect", f"{data}.outputs.npz")
    run(program, "run", folder / "plan.json", *inputs, "--tensors")


def tiny(program, model, mesh, folder):
    part(program, model, mesh, "", folder)
    run_by_default(program, model, mesh, folder)


def run_by_default(program, model, mesh, folder):
    data = model.with_suffix("")
    inputs = ["--inputs", f"{data}.inputs.npz"]
    by_default(program, model, inputs, mesh, folder, projections(graph_of(program, model, folder)))
    run(program, "run", folder / "plan.json", *inputs, "--expect", f"{data}.outputs.npz")


def main():
    program, models = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    meshes, whole = ("data=2,model=4", "model=4"), "--all" in sys.argv[3:]
    planned = [(name, dims, mesh) for number, (name, lists) in enumerate(FULL.items())
               if whole or name not in BY_MODULE or name == "llama3-8b-bf16"
               for dims, mesh in (itertools.product(lists, meshes) if whole else [(lists[0], meshes[number % 2])])]
    cases = [(f"{name} {' '.join(dims)} on {mesh}", full, models / f"{name}.onnx", (dims, mesh))
             for name, dims, mesh in planned]
    cases += [(f"{name} on {mesh}", tiny, models / "tiny" / f"{name}.onnx", (mesh,))
              for name in TINY for mesh in ("model=2", "data=2,model=2")]
    cases += [(f"{name} on {mesh}", run_by_default, models / "tiny" / f"{name}.onnx", (mesh,))
              for name in TINY_BY_3 for mesh in ("model=3", "data=2,model=3")]
    cases += [(f"{name}, {only} on {mesh}", part, models / "tiny" / f"{name}.onnx", (mesh, only))
              for name, only, parts in PARTS for mesh in (f"model={parts}", f"data=2,model={parts}")]
    cases += [(f"{name} by {pins}.pins", by_module, models / f"{name}.onnx", (FULL[name][0],))
              for name, pins in BY_MODULE.items() if whole or name != "llama3-8b-bf16"]
    passed = failed = skipped = 0
    for name, case, model, arguments in cases:
        if not model.exists():
            skipped += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(program, model, *arguments, pathlib.Path(folder))
                passed += 1
            except (RuntimeError, subprocess.TimeoutExpired) as failure:
                failed += 1
                print(f"FAILED {name}: {failure}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 77 if passed == 0 else 0)


main()
