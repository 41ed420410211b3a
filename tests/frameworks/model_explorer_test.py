#!/usr/bin/env python3
"""What `export --to model-explorer` writes is what Model Explorer's own classes take, nothing missing or unknown.

    model_explorer_test.py SBP_PLAN

Exit code 77: ai-edge-model-explorer (or dacite, which it brings) is not there.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import dacite
    from model_explorer import graph_builder, node_data_builder
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SOURCE = Path(__file__).resolve().parent.parent.parent
STRICT = dacite.Config(strict=True)


def read(path):
    return json.loads(path.read_text())


def graphs_of(path):
    collection = dacite.from_dict(graph_builder.GraphCollection, read(path), STRICT)
    assert collection.graphs and collection.graphs[0].nodes, path
    return {graph.id: {node.id for node in graph.nodes} for graph in collection.graphs}


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = lambda *words: subprocess.run([program, *map(str, words)], check=True, capture_output=True)
        model, bound = SOURCE / "examples/megatron/graph.json", ["--dim", "batch=8", "--dim", "seq=16", "-q"]
        run("infer", model, "--mesh", "data=2,model=4", *bound, "-o", folder / "a.json")
        run("infer", model, "--mesh", "data=2,model=4", *bound, "--strategy", "einsum", "--pins",
            SOURCE / "examples/megatron/megatron.pins", "-o", folder / "b.json")
        run("export", "--to", "model-explorer", folder / "a.json", "--against", folder / "b.json", "-o", folder / "out")
        nodes = graphs_of(folder / "out/plan.json") | graphs_of(folder / "out/against.json")
        for kind in ("compute", "collectives", "memory"):
            for graph, data in read(folder / f"out/{kind}.json").items():
                parsed = dacite.from_dict(node_data_builder.GraphNodeData, data, STRICT)
                assert parsed.results.keys() <= nodes[graph] and (parsed.results or kind == "collectives"), (kind, graph)
        sync = read(folder / "out/sync.json")
        assert sync["type"] == "sync_navigation" and sync["mappingEntries"], sync.keys()
        for entry in sync["mappingEntries"]:
            assert set(entry["leftNodeIds"]) <= nodes["plan"] and set(entry["rightNodeIds"]) <= nodes["against"], entry
        broken = read(folder / "out/plan.json")["graphs"][0]
        broken["nodes"][0]["nameSpace"] = "x"
        try:
            dacite.from_dict(graph_builder.Graph, broken, STRICT)
        except dacite.UnexpectedDataError:
            print("model-explorer: both plans, their data and what joins them are as its classes say")
            return
        raise AssertionError("a key that Model Explorer does not know went unnoticed")


if __name__ == "__main__":
    main()
