#!/usr/bin/env python3
"""Placements that `export --to autoparallel` writes are what DTensor takes: each is spelled as torch spells it, and each node, given
its operands so, leaves what is written, without moving anything.

    autoparallel_test.py SBP_PLAN [NAME...]

Joint graphs of torch. Exit code 77: torch is not there.
"""

import importlib.machinery
import importlib.util
import json
import operator
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
    from torch.distributed.tensor._op_schema import OpSchema, _pretty_print_spec
    from torch.export.experimental import _export_forward_backward
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch.utils import _pytree as pytree
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("make_pt2", str(ROOT / "scripts/make-pt2"))
MODELS = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_pt2", LOADER))
LOADER.exec_module(MODELS)

def parse(text):
    """Placements of one tensor, `S(0)P(sum)`."""
    placements, at = [], 0
    while at < len(text):
        end = at + 1 if text[at] == "R" else text.index(")", at) + 1
        word, at = text[at:end], end
        placements.append(Replicate() if word == "R" else Shard(int(word[2:-1])) if word[0] == "S" else Partial(word[2:-1]))
    return placements


def spec_of(mesh, text, value):
    spec = DTensorSpec(mesh, tuple(parse(text)), TensorMeta(value.shape, value.stride(), value.dtype))
    assert _pretty_print_spec(spec) == text, (_pretty_print_spec(spec), text)
    return spec


def check_node(node, entry, mesh):
    """What DTensor does otherwise; "": nothing."""
    given, tensors = list(entry["inputs"]), [n for n in pytree.tree_leaves((node.args, node.kwargs)) if isinstance(n, torch.fx.Node)]
    if len(given) != len(tensors):
        return f"{len(given)} operands are written, it reads {len(tensors)}"
    specs = iter([spec_of(mesh, text, n.meta["val"]) for text, n in zip(given, tensors)])
    args, kwargs = pytree.tree_map(lambda n: next(specs) if isinstance(n, torch.fx.Node) else n, (node.args, node.kwargs),
                                   is_leaf=lambda n: isinstance(n, torch.fx.Node))
    propagator = DTensor._op_dispatcher.sharding_propagator
    info = propagator.op_to_schema_info.get(node.target) or propagator.op_to_schema_info_for_single_dim_strategy.get(node.target)
    try:
        output = propagator.propagate_op_sharding_non_cached(OpSchema(node.target, tuple(args), kwargs, info))
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        return f"is refused: {str(error).splitlines()[0]}"
    if output.needs_redistribute:
        moved = [_pretty_print_spec(s) for s in output.redistribute_schema.args_spec]
        if moved != given:
            return f"takes {' '.join(moved)} in the place of {' '.join(given)}"
    made = output.output_spec
    made = f"({', '.join(_pretty_print_spec(s) for s in made)})" if isinstance(made, (list, tuple)) else _pretty_print_spec(made)
    return "" if made == entry["output"] else f"of {' '.join(given)} makes {made}, written is {entry['output']}"


def run(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stderr


def tokens():
    return torch.randint(0, 64, (8, 16))


CASES = {  # module, inputs; pins
    "regression": (MODELS.Regression, lambda: (torch.randn(16, 8), torch.randn(16, 4)),
                   [("x==", "(S(0), B)"), ("net.0.weight==", "(B, S(0))"), ("net.2.weight==", "(B, S(1))")]),
    "gpt2": (lambda: MODELS.Gpt(vocab=64, width=64, heads=8, positions=16, layers=1, tied=False, fused=False),
             lambda: (tokens(), tokens()),
             [("tokens==", "(S(0), B)"), ("*.c_fc.weight==", "(B, S(0))"), ("*.mlp_proj.weight==", "(B, S(1))")]),
}


def check_case(planner, name, folder):
    make, inputs, pins = CASES[name]
    model, plan, out = folder / f"{name}.pt2", folder / "plan.json", folder / "placements.json"
    torch.export.save(_export_forward_backward(torch.export.export(make(), inputs())), model)
    run(planner, "infer", model, "--mesh", "data=2,model=4", "-q", "--no-simplify", "-o", plan,
        *(word for tensor, layout in pins for word in ("--pin", tensor + layout)))
    said = run(planner, "export", "--to", "autoparallel", "--lossy", plan, "-o", out)
    written = json.loads(out.read_text())
    assert written["version"] == 1 and written["mesh_shape"] == [2, 4] and written["mesh_dim_names"] == ["data", "model"]
    mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("data", "model"))
    program = torch.export.load(model)
    entries, nodes = written["placements"], {node.name: node for node in program.graph.nodes}
    unknown = sorted(set(entries) - set(nodes))
    wrong, checked = [f"{node}: no node of the graph" for node in unknown], 0
    for node in program.graph.nodes:
        entry = entries.get(node.name)
        if entry is None or node.op == "output":
            continue
        if node.op == "placeholder" or node.target is operator.getitem:
            texts = entry["inputs"] if node.target is not operator.getitem else [entry["inputs"][node.args[1]]]
            if texts != [entry["output"]]:
                wrong.append(f"{node.name}: {entry}")
            spec_of(mesh, entry["output"], node.meta["val"])
            checked += 1
            continue
        if not entry["inputs"]:  # made, as a whole
            checked += 1
            continue
        line = check_node(node, entry, mesh)
        checked += 1
        if line:
            wrong.append(f"{node.name} ({node.target}) {line}")
    split = sum("S(" in entry["output"] for entry in entries.values())
    left = [node.name for node in program.graph.nodes if node.name not in entries and node.op != "output"]
    print(f"{name}: {checked} nodes as DTensor has them, {split} split; {len(left)} left out", flush=True)
    for line in wrong:
        print(f"  {line}")
    return not wrong and checked > 20 and split > 5 and (not left or "left out" in said)


def main():
    planner, passed = str(Path(sys.argv[1]).resolve()), True
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
    for name in sys.argv[2:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            passed = check_case(planner, name, Path(folder)) and passed
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
