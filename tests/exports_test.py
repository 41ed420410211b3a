#!/usr/bin/env python3
"""What `export --to` writes of plans, read back and held against the plan's own file.

    exports_test.py SBP_PLAN
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
FAILURES = []


def expect(good, *what):
    if not good:
        FAILURES.append(" ".join(map(str, what)))


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    expect(done.returncode == code, words, "ends with", done.returncode, done.stderr)
    return done.stderr


def read(path):
    return json.loads(Path(path).read_text())


def make_plans(folder):
    """A forward plan, one on another mesh of as many devices, a training step."""
    model = SOURCE / "examples/megatron/graph.json"
    bound = ["--dim", "batch=8", "--dim", "seq=16", "-q"]
    run("infer", model, "--mesh", "data=2,model=4", *bound, "--pins", SOURCE / "examples/megatron/megatron.pins",
        "-o", folder / "megatron.json")
    run("infer", model, "--mesh", "data=2,model=4", *bound, "-o", folder / "free.json")
    run("generate", "llama", "--layers", 2, "--hidden", 64, "--ffn", 128, "--heads", 4, "--kv-heads", 2, "--vocab", 256,
        "--batch", 4, "--seq", 16, "-o", folder / "llama.json")
    run("infer", folder / "llama.json", "--train", "--loss", "cross-entropy:logits", "--optimizer", "adamw", "--mesh",
        "data=2,model=2", "--recipe", "data=zero3,model=sp", "-q", "-o", folder / "step.json")


def check_graph(plan, graph, pane, name):
    nodes = {node["id"]: node for node in graph["nodes"]}
    expect(len(nodes) == len(graph["nodes"]), name, "ids are not unique")
    parameters = plan["graph"].get("parameters", [])
    sources = len(plan["graph"]["inputs"]) + len(parameters)
    expect(len(nodes) == len(plan["graph"]["ops"]) + sources + len(plan["graph"]["outputs"]), name, len(nodes), "nodes")
    for op in plan["graph"]["ops"]:
        node = nodes.get(op["name"], {"attrs": [], "incomingEdges": []})
        expect(node.get("label") == op["type"] and node["namespace"] == op.get("scope", ""), name, op["name"], node)
        read = [tensor for tensor in op.get("inputs", []) if tensor]
        expect(len(node["incomingEdges"]) >= len(read), name, op["name"], "lacks edges")
    for node in nodes.values():
        for edge in node.get("incomingEdges", []):
            source = nodes.get(edge["sourceNodeId"])
            expect(source is not None, name, node["id"], "has an edge from nowhere")
            ids = [item["id"] for item in source["outputsMetadata"]] if source else []
            expect(edge["sourceNodeOutputId"] in ids, name, edge, "leaves no result")
        for key in ("inputsMetadata", "outputsMetadata"):
            for item in node.get(key, []):
                expect(all(isinstance(a["value"], str) for a in item["attrs"]), name, "a value is no text")
    kinds = {step["collective"] for transition in plan.get("transitions", []) for step in transition["steps"]}
    overlays = graph["tasksData"][pane][0]["overlays"]
    expect({overlay["name"] for overlay in overlays} == kinds, name, "overlays", kinds)
    for overlay in overlays:
        expect(overlay["edges"], name, "an overlay without edges")
        for edge in overlay["edges"]:
            expect(edge["sourceNodeId"] in nodes and edge["targetNodeId"] in nodes, name, edge)
    return nodes


def test_model_explorer(folder):
    for name in ("megatron", "step"):
        out = folder / f"me-{name}"
        run("export", "--to", "model-explorer", folder / f"{name}.json", "-o", out)
        plan, graph = read(folder / f"{name}.json"), read(out / "plan.json")["graphs"][0]
        nodes = check_graph(plan, graph, "edgeOverlaysDataListLeftPane", name)
        total = {"compute": plan["total"]["compute_seconds"], "collectives": plan["total"]["collective_seconds"]}
        for kind in ("compute", "collectives", "memory"):
            results = read(out / f"{kind}.json")["plan"]["results"]
            expect(results and results.keys() <= nodes.keys(), name, kind, "is of other nodes")
            seconds = sum(r["value"] for r in results.values()) * 1e-6
            expect(kind == "memory" or abs(seconds - total[kind]) < 1e-6 * total[kind], name, kind, seconds, total)
    out = folder / "me-two"
    run("export", "--to", "model-explorer", folder / "megatron.json", "--against", folder / "free.json", "-o", out)
    left, right = (read(out / f"{pane}.json")["graphs"][0] for pane in ("plan", "against"))
    check_graph(read(folder / "megatron.json"), left, "edgeOverlaysDataListLeftPane", "left")
    check_graph(read(folder / "free.json"), right, "edgeOverlaysDataListRightPane", "right")
    pairs = read(out / "sync.json")["mappingEntries"]
    expect(sorted(p["leftNodeIds"][0] for p in pairs) == sorted(n["id"] for n in left["nodes"]), "sync of one model")
    signature = lambda graph: {n["id"]: a["value"] for n in graph["nodes"] for a in n.get("attrs", [])
                               if a["key"] == "signature"}
    differ = {op for op, text in signature(left).items() if signature(right)[op] != text}
    expect(differ and read(out / "differences.json")["plan"]["results"].keys() == differ, "differences", differ)


def test_all_or_none(folder):
    """Of several files none is replaced where one cannot be written."""
    out = folder / "me-kept"
    (out / "memory.json").mkdir(parents=True)  # where a file has to go
    (out / "plan.json").write_text("the earlier file")
    said = run("export", "--to", "model-explorer", folder / "megatron.json", "-o", out, code=3)
    expect("memory.json" in said, "says", said)
    expect((out / "plan.json").read_text() == "the earlier file", "an earlier file has changed")
    expect(sorted(p.name for p in out.iterdir()) == ["memory.json", "plan.json"], "left behind", list(out.iterdir()))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_plans(folder)
        for test in (test_model_explorer, test_all_or_none):
            test(folder)
    print("\n".join(FAILURES) or "exports: all forms hold what their plans say")
    sys.exit(1 if FAILURES else 0)


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    main()
