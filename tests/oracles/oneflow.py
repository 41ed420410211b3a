"""OneFlow: registered signatures, greedy choice on whole graphs, boxing prices, N-d reshape."""
import re

from ask import OTHER_OPS, ask, ints, operand
from oneflow_graphs import joined, spell
from ops_oneflow import translate


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
