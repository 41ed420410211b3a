"""OneFlow: registered signatures, greedy choice on whole graphs, boxing prices, N-d reshape."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import tempfile

from ask import ask, ints, operand
from ops_oneflow import translate


def spell(sbp):
    return {"P": "P(sum)"}.get(sbp, sbp)


def flat_arguments(inputs):
    """argument -> shape, repeated ones as name[i]."""
    out = {}
    for name, shape in inputs.items():
        if shape and isinstance(shape[0], list):
            out.update({f"{name}[{k}]": s for k, s in enumerate(shape)})
        else:
            out[name] = shape
    return out


def compare_signatures(program, data, tally):
    jobs = []
    for case in data:
        inputs = case["case"]["inputs"]
        op = translate(case["op"], inputs, case["case"]["attrs"])
        if op is None:
            tally.skip(case["op"])
            continue
        shapes = flat_arguments(inputs)
        operands = [operand(shapes[e], op.dtypes.get(e, "f32")) if isinstance(e, str) else e for e in op.operands]
        results = max([o for o in op.outs if o is not None]) + 1
        jobs.append((case, op, {"ask": "candidates", "op": op.op, "operands": operands, "attributes": op.attributes,
                                "results": results, "mesh": f"x={case['case']['hierarchy_value']}"}))
    for (case, op, _), answer in zip(jobs, ask(program, [q for _, _, q in jobs])):
        compare_signature(case, op, answer, tally)


def compare_signature(case, op, answer, tally):
    if "error" in answer:
        tally.bad("oneflow_signatures", case["op"], case, {"kind": "error", "found": answer["error"]})
        return
    outputs = case["case"]["outputs"]
    found = []
    for c in answer["candidates"]:
        layout = {e: s for e, s in zip(op.operands, c["inputs"]) if isinstance(e, str)}
        rest = [s for e, s in zip(op.operands, c["inputs"]) if not isinstance(e, str)]
        if c["halo_bytes"] == 0 and all(s == "B" for s in rest):
            found.append({**layout, **{o: c["outputs"][r] for o, r in zip(outputs, op.outs) if r is not None}})
    order = []
    for signature, verdict in zip(case["signatures"], case["soundness"]):
        # Repeated arguments are named in_0 there and in[0] here.
        names = {re.sub(r"_(\d+)$", r"[\1]", k) if k not in case["case"]["inputs"] and k not in outputs else k: spell(v)
                 for k, v in signature.items()}
        wanted = {k: v for k, v in names.items() if any(k in f for f in found)}
        at = next((i for i, f in enumerate(found) if all(f.get(k) == v for k, v in wanted.items())), None)
        detail = {"op": op.op, "signature": names}
        if verdict in ("ok", "kernel_aware"):
            if at is None:
                tally.bad("oneflow_signatures", case["op"], case, {"kind": "missing", **detail})
            else:
                tally.good()
                order.append(at)
        elif verdict == "unsound":
            tally.good() if at is None else tally.bad("oneflow_signatures", case["op"], case, {"kind": "unsound", **detail})
    if order != sorted(order):
        tally.bad("oneflow_signatures", case["op"], case, {"kind": "order", "op": op.op, "found": order})


DTYPE_NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8",
               "bool": "bool", "float": "f32", "double": "f64"}


def graph_documents(case):
    """The case as a graph of ops of its own, each with exactly the recorded signatures, and the rules that say so."""
    rules, ops, inputs, parameters, pins, outputs = [], [], [], [], [], []
    mesh_axes = len(case["mesh"])

    def type_of(tensor):
        shape, dtype = case["tensors"][tensor]
        return f"{DTYPE_NAMES[dtype]}[{','.join(map(str, shape))}]"

    def layout(sbps):
        spelled = [spell(s) for s in sbps]
        return spelled[0] if mesh_axes == 1 else f"({', '.join(spelled)})"
    for number, op in enumerate(case["ops"]):
        outs = [t for _, t in op["out"]]
        if op["type"] in ("input", "variable"):
            (inputs if op["type"] == "input" else parameters).append({"name": outs[0], "type": type_of(outs[0])})
            pins.append(f"{outs[0]}={layout(op['given'] if 'given' in op else op['result'][op['out'][0][0]])}")
            continue
        name = f"case::op{number}"
        arguments = ", ".join(f"Tensor i{k}" for k in range(len(op["in"])))
        results = ", ".join(f"Tensor<{DTYPE_NAMES[case['tensors'][t][1]]}> o{k}" for k, t in enumerate(outs))
        dims = ", ".join(" ".join("_" for _ in case["tensors"][t][0]) for _, t in op["in"])
        out_dims = ", ".join(" ".join(map(str, case["tensors"][t][0])) for t in outs)
        signatures = [s for s in op.get("signatures", []) if set(re.split(r"\s+|->", s)) - {"B", ""}]
        if op["type"] == "hierarchical_parallel_cast":
            pins.append(f"{outs[0]}={layout(op['attrs']['nd_sbp'])}")
        lines = []
        for s in signatures:
            left, right = s.split("->")
            lines.append(f"       ; sig ({', '.join(map(spell, left.split()))}) -> {', '.join(map(spell, right.split()))}")
        rules.append(f"op {name}({arguments}) -> {results}\n  doc \"{op['type']}\"\n  rule {dims} -> {out_dims}\n" + "\n".join(lines))
        ops.append({"name": op["name"], "type": name, "inputs": [t for _, t in op["in"]], "outputs": outs})
        outputs += outs
    graph = {"kind": "sbp_plan.graph.v1", "name": case["case"], "inputs": inputs, "parameters": parameters, "ops": ops, "outputs": outputs}
    return graph, "\n\n".join(rules) + "\n", pins


def run_graph(program, case):
    graph, rules, pins = graph_documents(case)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "graph.json").write_text(json.dumps(graph))
        (path / "case.rules").write_text(rules)
        (path / "pins.txt").write_text("\n".join(pins) + "\n")
        mesh = ",".join(map(str, case["mesh"]))
        command = [program, "infer", str(path / "graph.json"), "--rules", str(path / "case.rules"), "--pins", str(path / "pins.txt"),
                   "--mesh", mesh, "--strategy", "greedy", "--cost", "copy-cost", "--no-ties", "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip()}


def compare_graphs(program, data, tally):
    jobs = []
    for case in data:
        if "abort" in case or "error" in case:
            tally.skip("graph that OneFlow refused")
        elif case["training"]:
            tally.skip("training graph (layouts after optimisation passes)")
        elif any(op.get("mesh", case["mesh"]) != case["mesh"] for op in case["ops"]):
            tally.skip("graph on several meshes")
        else:
            jobs.append(case)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, answer in zip(jobs, pool.map(lambda c: run_graph(program, c), jobs)):
            compare_graph(case, answer, tally)


def compare_graph(case, answer, tally):
    if "error" in answer:
        tally.bad("oneflow_graphs", case["case"], case, {"kind": "error", "found": answer["error"][:300]})
        return
    found = {op["name"]: op for op in answer["ops"]}
    wrong = []
    for op in case["ops"]:
        if op["name"] not in found or op["type"] in ("input", "variable"):
            continue
        ours = found[op["name"]]
        expected = [joined(op["result"][a]) for a, _ in op["in"]], [joined(op["result"][a]) for a, _ in op["out"]]
        if (ours["inputs"], ours["outputs"]) != (list(expected[0]), list(expected[1])):
            wrong.append({"op": op["name"], "expected": expected, "found": [ours["inputs"], ours["outputs"]]})
    if not wrong:
        tally.good()
    else:
        tally.bad("oneflow_graphs", case["case"], case, {"kind": "layout", "wrong": wrong, "ops": len(case["ops"])})


def joined(sbps):
    spelled = [spell(s) for s in sbps]
    return spelled[0] if len(spelled) == 1 else f"({', '.join(spelled)})"


EAGER = {"add_bias": ("Add", {}), "matmul": ("MatMul", {})}


def compare_eager(program, data, tally):
    import eager
    eager.compare(program, data, tally)


def compare_boxing(program, data, tally):
    """Every transition with a price is reachable; the one-axis price equals `direct` less 16500 a hop."""
    jobs = []
    for row in data["nccl_use_compute_stream_off"]:
        match = re.match(r"^(\d)d_same_(.*)$", row["case"])
        if not match or row["total"] is None:
            tally.skip("other devices, or no price")
            continue
        sizes = re.findall(r"\d+", match.group(2).split("_shape")[0])
        shape = "6,4" if "shape_6x4" in row["case"] else "64,64"
        if "to" in match.group(2):
            tally.skip("another hierarchy")
            continue
        jobs.append((row, {"ask": "boxing", "type": f"f32[{shape}]", "mesh": ",".join(sizes),
                           "from": re.sub(r"\bP\b", "P(sum)", row["from"]), "to": re.sub(r"\bP\b", "P(sum)", row["to"])}))
    for (row, question), answer in zip(jobs, ask(program, [q for _, q in jobs])):
        if "error" in answer or not answer["reachable"]:
            tally.bad("oneflow_boxing_costs", row["case"], row, {"kind": "unreachable", **question, **answer})
            continue
        tally.good()
        one_axis = "," not in question["mesh"]
        if one_axis and row["direct"] is not None and "P" not in row["to"]:
            direct = row["direct"] - 16500 if row["direct"] else 0
            if abs(answer["bytes_price"] - direct) <= 1:
                tally.good()
            else:
                tally.bad("oneflow_boxing_costs", row["case"], row, {"kind": "price", "expected": direct, **question, **answer})


def compare_reshape_nd(program, data, tally):
    questions = [{"ask": "candidates", "op": "Reshape", "operands": [operand(c["in_shape"]), ints(c["out_shape"])],
                  "mesh": ",".join(map(str, c["hierarchy"]))} for c in data]
    for case, answer in zip(data, ask(program, questions)):
        found = {(c["inputs"][0], c["outputs"][0]) for c in answer.get("candidates", [])}
        for signature in case["signatures"]:
            pair = joined(signature["in"]), joined(signature["out"])
            if pair in found:
                tally.good()
            else:
                tally.bad("oneflow_reshape_nd", "reshape", case, {"kind": "missing", "signature": pair})
