#!/usr/bin/env python3
"""The graph of a page is laid out in C++ (src/page/graph_layout.cc, layout_section.cc) and in JavaScript: equally.

  tests/page_layout_test.py SBP_PLAN HTML_DIR

Node runs the modules of the page on the documents of several plans, computes again what C++ wrote into them, and then
opens and closes every group. Exits with 77 where there is no Node, in CI with 1.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

CHECK = """
import {readFileSync} from "node:fs";
import {GraphFacts} from "./graph_facts.js";
import {placeMarks} from "./graph_mark_places.js";
import {Scene} from "./graph_scene.js";
import {Model} from "./model.js";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const model = new Model(JSON.parse(readFileSync(process.argv[2])).plans[0]);
const written = model.layout;
const scene = new Scene(model);
scene.given.clear();
scene.layouts.clear();
let problems = [];
written.open.forEach((group, i) => {
  const {width, height, at, edges, routes} = scene.layoutOf(group);
  const pairs = edges.map(({from, to, mark}) => [from, to, mark ? 1 : 0]);
  if (!same([width, height], written.size[i])) problems.push(`group ${group}: ${[width, height]}, not ${written.size[i]}`);
  if (!same(at.flat(), written.at[i])) problems.push(`group ${group}: places ${at}, not ${written.at[i]}`);
  if (!same(pairs, written.edges[i])) problems.push(`group ${group}: edges ${pairs}, not ${written.edges[i]}`);
  if (!same(routes.map((route) => route.flat()), written.routes[i])) problems.push(`group ${group}: other routes`);
});
// What is opened later keeps boxes apart and inside of their group.
model.outline.kind.forEach((_, node) => scene.setOpen(scene.shown(node), true));
scene.place();
let boxes = 0;
for (const group of scene.boxOfGroup.values()) {
  const sorted = [...group.children].sort((a, b) => a.y - b.y);
  boxes += sorted.length;
  sorted.forEach((box, i) => {
    const inside = box.x >= group.x && box.y >= group.y && box.x + box.width <= group.x + group.width &&
        box.y + box.height <= group.y + group.height;
    if (!inside) problems.push(`item ${box.item} is not inside of ${group.item}`);
    for (let k = i + 1; k < sorted.length && sorted[k].y < box.y + box.height; ++k) {
      const other = sorted[k];
      if (other.x < box.x + box.width && box.x < other.x + other.width) problems.push(`items ${box.item} and ${other.item} overlap`);
    }
  });
}
if (written.open.length < 2 || boxes < 5) problems.push("nothing was compared");
// Marks of collectives and their words stand apart.
const facts = new GraphFacts(model, scene);
const widthAt = (scale) => (text) => 6.6 * scale * text.length;  // DejaVu Sans, bold, of 10 pixels
let marks = 0;
let words = 0;
for (const [group, scale] of [...scene.boxOfGroup.values()].flatMap((one) => [[one, 1], [one, 1.75]])) {
  if (!group.open) continue;
  const widthOf = widthAt(scale);
  const rooms = placeMarks(group, scene, facts, {widthOf, scale}).flatMap(({shapes}) => shapes).flatMap(({x, y, radius, label, side}) => {
    const start = x + side * (radius + 4);
    const end = start + side * widthOf(label);
    marks += 1;
    words += label === "" ? 0 : 1;
    const shape = {what: "a mark", left: x - radius, right: x + radius, top: y - radius, bottom: y + radius};
    return label === "" ? [shape] : [shape, {what: label, left: Math.min(start, end), right: Math.max(start, end), top: y - 5 * scale, bottom: y + 5 * scale}];
  }).sort((a, b) => a.top - b.top);
  rooms.forEach((room, i) => {
    for (let k = i + 1; k < rooms.length && rooms[k].top < room.bottom; ++k) {
      const other = rooms[k];
      if (other.left < room.right && room.left < other.right) problems.push(`group ${group.item}: ${room.what} and ${other.what} overlap`);
    }
  });
}
const uses = [...scene.boxOfGroup.values()].flatMap((group) => group.edges).filter((edge) => facts.collectivesOf(edge).length > 0);
if (marks < 2 * uses.length) problems.push(`${marks} marks for ${uses.length} edges with collectives`);
console.log(JSON.stringify({problems: problems.slice(0, 5), groups: written.open.length, boxes, marks, words}));
"""


# Training steps with many collectives, as transformers' config.json says them.
CONFIGS = {
    "gpt2": {"model_type": "gpt2", "n_embd": 256, "n_head": 4, "n_layer": 3, "n_positions": 128, "vocab_size": 1000},
    "llama": {"model_type": "llama", "hidden_size": 256, "intermediate_size": 704, "num_attention_heads": 4, "num_hidden_layers": 3,
              "num_key_value_heads": 4, "vocab_size": 1000},
    "mixtral": {"model_type": "mixtral", "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4, "num_hidden_layers": 3,
                "num_key_value_heads": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 1000},
}
AGAIN = {"gpt2": ["--remat", "light"]}  # segments that nothing joins
TRAINED = ["--train", "--loss", "causal-lm:logits", "--optimizer", "adamw", "--recipe", "data=zero3,model=tp", "--strategy", "einsum"]


def document_of(page):
    return zlib.decompress(base64.b64decode(re.search(r'id="document">([^<]*)<', page.read_text()).group(1)))


def residual_graph(blocks):
    """Layers with a skip each, a source that all of them read, and collectives on a mesh of two axes."""
    ops, last = [], "x"
    for i in range(blocks):
        for name, kind, inputs in (("up", "MatMul", [last, "w1"]), ("act", "Relu", [f"up{i}"]), ("down", "MatMul", [f"act{i}", "w2"]),
                                   ("scaled", "Mul", [f"down{i}", "scale"]), ("sum", "Add", [f"scaled{i}", last])):
            ops.append({"name": f"block.{i}/{name}", "type": kind, "inputs": inputs, "outputs": [f"{name}{i}"], "scope": f"block.{i}/mlp" if name != "sum" else f"block.{i}"})
        last = f"sum{i}"
    ops.insert(0, {"name": "scale", "type": "Sigmoid", "inputs": ["s"], "outputs": ["scale"]})
    return {"kind": "sbp_plan.graph.v1", "name": "blocks", "inputs": [{"name": "x", "type": "f32[512,256]"}, {"name": "s", "type": "f32[512,256]"}],
            "parameters": [{"name": "w1", "type": "f32[256,1024]"}, {"name": "w2", "type": "f32[1024,256]"}], "ops": ops, "outputs": [last]}


def main():
    program, html = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    if shutil.which("node") is None:
        print("no node: scripts/setup --ci installs it")
        return 1 if os.environ.get("CI") else 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for module in html.glob("*.js"):
            shutil.copy(module, folder)
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "check.js").write_text(CHECK)

        def run(*words):
            subprocess.run([program, *words], cwd=folder, check=True, capture_output=True)

        (folder / "blocks.graph.json").write_text(json.dumps(residual_graph(6)))
        run("grad", "blocks.graph.json", "--loss", "sum:sum5", "--optimizer", "adam", "-o", "step.graph.json")
        run("generate", "transformer", "--ops", "1500", "-o", "transformer.graph.json")
        failed = 0
        for model in (*("blocks", "step", "transformer"), *CONFIGS):
            if model in CONFIGS:
                (folder / model).mkdir()
                (folder / model / "config.json").write_text(json.dumps(CONFIGS[model]))
                source = [f"{model}/config.json", "--dim", "batch=8", "--dim", "seq=64", *TRAINED, *AGAIN.get(model, [])]
            else:
                source = [f"{model}.graph.json", "--strategy", "greedy"]
            run("infer", *source, "--mesh", "data=2,model=4", "-o", f"{model}.json")
            run("render", f"{model}.json", "-o", f"{model}.html")
            (folder / f"{model}.document.json").write_bytes(document_of(folder / f"{model}.html"))
            ran = subprocess.run(["node", "check.js", f"{model}.document.json"], cwd=folder, capture_output=True, text=True, check=False)
            answer = json.loads(ran.stdout) if ran.returncode == 0 else {"problems": [ran.stderr[-2000:]]}
            print(model, answer)
            failed += len(answer["problems"])
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
