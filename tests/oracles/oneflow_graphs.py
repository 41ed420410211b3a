"""OneFlow's compiled graphs: each becomes a graph of ops of its own, which have exactly the recorded signatures.

A case on one mesh axis is planned as it is, and its ops are compared layout by layout. On more axes, and in training
graphs (whose layouts come after later passes), each op is planned from the layouts that its producers really wrote, and
compared by layout, else by price: ties are broken otherwise there.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import tempfile

from ask import ask

DTYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int8": "i8",
          "uint8": "u8", "bool": "bool", "float": "f32", "double": "f64", "half": "f16"}
BOUNDARY = ("input", "variable", "output")


def spell(sbp):
    return "P(sum)" if sbp == "P" else sbp


def joined(sbps):
    spelled = [spell(s) for s in sbps]
    return spelled[0] if len(spelled) == 1 else f"({', '.join(spelled)})"


def type_of(case, tensor):
    shape, dtype = case["tensors"][tensor]
    return f"{DTYPES.get(dtype, 'f32')}[{','.join(map(str, shape))}]"


def paragraph(case, name, op):
    """The op as a rule with nothing but the recorded signatures; all-B is always there."""
    arguments = ", ".join(f"Tensor i{k}" for k in range(len(op["in"])))
    results = ", ".join(f"Tensor<{DTYPES.get(case['tensors'][t][1], 'f32')}> o{k}" for k, (_, t) in enumerate(op["out"]))
    results = results or "Tensor<f32> done"  # an op that changes its operands in place
    dims = ", ".join(" ".join("_" for _ in case["tensors"][t][0]) for _, t in op["in"])
    out_dims = ", ".join(" ".join(map(str, case["tensors"][t][0])) for _, t in op["out"])
    lines = [f"op {name}({arguments}) -> {results}", f'  doc "{op["type"]}"', f"  rule {dims} -> {out_dims}"]
    signatures = list(op.get("signatures", []))
    if op["type"] == "hierarchical_parallel_cast":
        signatures += [f"{s} -> {s}" for s in dict.fromkeys(op["attrs"]["nd_sbp"])]
    for signature in dict.fromkeys(signatures):
        left, right = ([spell(s) for s in side.split()] for side in signature.split("->"))
        if set(left + right) - {"B"}:
            lines.append(f"       ; sig ({', '.join(left)}) -> {', '.join(right or ['B'])}")
    return "\n".join(lines)


def compared(case):
    """The ops that have a choice on the case's mesh, with their numbers."""
    return [(k, op) for k, op in enumerate(case["ops"])
            if op["type"] not in BOUNDARY and op.get("signatures") and op["in"] and op.get("mesh", case["mesh"]) == case["mesh"]]


def layout_of(op, argument):
    return joined(op["result"][argument])


def whole_graph(case):
    """(graph, rules, pins) of the case as it is; an output only passes on."""
    rules, ops, tensors, pins, outputs = [], [], {"input": [], "variable": []}, [], []
    for k, op in enumerate(case["ops"]):
        outs = [t for _, t in op["out"]]
        if op["type"] in tensors:
            tensors[op["type"]].append({"name": outs[0], "type": type_of(case, outs[0])})
            pins.append(f"{outs[0]}={joined(op['given'] if 'given' in op else op['result'][op['out'][0][0]])}")
        elif op["type"] == "output":
            outputs += [t for _, t in op["in"]]
        else:
            if op["type"] == "hierarchical_parallel_cast":
                pins.append(f"{outs[0]}={joined(op['attrs']['nd_sbp'])}")
            rules.append(paragraph(case, f"case::op{k}", op))
            outs = outs or [f"op{k}.done"]
            ops.append({"name": op["name"], "type": f"case::op{k}", "inputs": [t for _, t in op["in"]], "outputs": outs})
    graph = {"kind": "sbp_plan.graph.v1", "name": case["case"], "inputs": tensors["input"], "parameters": tensors["variable"],
             "ops": ops, "outputs": sorted(set(outputs))}
    return graph, rules, pins


def single_ops(case):
    """(graph, rules, pins) in which each op stands alone, fed with what its producers wrote."""
    wrote = {t: layout_of(op, a) for op in case["ops"] for a, t in op["out"]}
    rules, ops, inputs, pins, outputs = [], [], [], [], []
    for k, op in compared(case):
        feeds = []
        for position, (_, tensor) in enumerate(op["in"]):
            feeds.append(f"op{k}.in{position}")
            inputs.append({"name": feeds[-1], "type": type_of(case, tensor)})
            pins.append(f"{feeds[-1]}={wrote[tensor]}")
        outs = [f"op{k}.out{position}" for position in range(max(1, len(op["out"])))]
        if op["type"] == "hierarchical_parallel_cast":
            pins.append(f"{outs[0]}={joined(op['attrs']['nd_sbp'])}")
        rules.append(paragraph(case, f"case::op{k}", op))
        ops.append({"name": op["name"], "type": f"case::op{k}", "inputs": feeds, "outputs": outs})
        outputs += outs
    graph = {"kind": "sbp_plan.graph.v1", "name": case["case"], "inputs": inputs, "ops": ops, "outputs": outputs}
    return graph, rules, pins


def plan(program, case, documents):
    """{op name: signature as text}, or {"error": text}."""
    graph, rules, pins = documents
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "graph.json").write_text(json.dumps(graph))
        (path / "case.rules").write_text("\n\n".join(rules) + "\n")
        (path / "pins.txt").write_text("\n".join(pins) + "\n")
        command = [program, "infer", path / "graph.json", "--rules", path / "case.rules", "--pins", path / "pins.txt",
                   "--mesh", ",".join(map(str, case["mesh"])), "--strategy", "greedy", "--cost", "copy-cost", "--no-ties",
                   "-o", path / "plan.json"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return {"error": done.stderr.strip()[:300]}
        decisions = json.loads((path / "plan.json").read_text())["decisions"]
        return {op: d["signature"] for d in decisions for op in d["ops"]}


def signature_text(op):
    outs = ", ".join(layout_of(op, a) for a, _ in op["out"])
    return ", ".join(layout_of(op, a) for a, _ in op["in"]) + " -> " + (outs or joined(["B"] * len(op["result"][op["in"][0][0]])))


def is_whole(case):
    return len(case["mesh"]) == 1 and not case["training"]


def prices(program, case, wanted):
    """For (op, signature text) the bytes that boxing its operands from what producers wrote moves."""
    wrote = {t: layout_of(op, a) for op in case["ops"] for a, t in op["out"]}
    questions, owners = [], []
    for op, text in wanted:
        layouts = re.findall(r"\([^()]*(?:\([^()]*\)[^()]*)*\)|[A-Z](?:\(\w+\))?", text.split("->")[0])
        if len(case["mesh"]) == 1:
            layouts = [s.strip() for s in text.split("->")[0].split(", ")]
        for (_, tensor), layout in zip(op["in"], layouts):
            questions.append({"ask": "boxing", "type": type_of(case, tensor), "mesh": ",".join(map(str, case["mesh"])),
                              "from": wrote[tensor], "to": layout})
            owners.append((op["name"], text))
    total = {}
    for owner, answer in zip(owners, ask(program, questions)):
        total[owner] = total.get(owner, 0) + answer.get("bytes_price", float("inf"))
    return total


def compare(program, data, tally):
    jobs = []
    for case in data:
        if "abort" in case or "error" in case:
            tally.skip("graphs that OneFlow refused")
        else:
            jobs.append(case)

    def run(case):
        return plan(program, case, whole_graph(case) if is_whole(case) and everywhere(case) else single_ops(case))
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        for case, found in zip(jobs, pool.map(run, jobs)):
            compare_graph(program, case, found, tally)


def everywhere(case):
    """Do all ops run on the case's mesh?"""
    return all(op.get("mesh", case["mesh"]) == case["mesh"] for op in case["ops"])


def compare_graph(program, case, found, tally):
    if "error" in found:
        tally.bad("oneflow_graphs", case["case"], case, {"kind": "error", "found": found["error"]})
        return
    wrong = []
    for _, op in compared(case):
        if found.get(op["name"]) == signature_text(op):
            tally.good()
        else:
            wrong.append(op)
    by_price = wrong and not (is_whole(case) and everywhere(case))
    total = prices(program, case, [(op, t) for op in wrong for t in (signature_text(op), found.get(op["name"], ""))]) if by_price else {}
    for op in wrong:
        theirs, ours = signature_text(op), found.get(op["name"], "")
        detail = {"kind": "layout", "op": op["name"], "type": op["type"], "expected": theirs, "found": ours}
        if by_price:
            detail.update(kind="price", expected_price=total.get((op["name"], theirs), 0), found_price=total.get((op["name"], ours), 0))
            if detail["found_price"] <= detail["expected_price"]:
                tally.good()
                continue
        tally.bad("oneflow_graphs", case["case"], case, detail)
