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
        shapes = flat_arguments(case["case"]["inputs"])
        op = translate(case["op"], shapes, case["case"]["attrs"])
        if op is None or not op.fits(shapes):
            tally.skip(case["op"])
            continue
        question = op.question(shapes.__getitem__, lambda n: "f32")
        jobs.append((case, op, {"ask": "candidates", **question, "mesh": f"x={case['case']['hierarchy_value']}"}))
    for (case, op, _), answer in zip(jobs, ask(program, [j[2] for j in jobs], OTHER_OPS)):
        if "error" in answer and op.tentative:
            tally.skip(case["op"])
        else:
            compare_signature(case, op, answer, tally)


def output_names(case):
    """The case's outputs; 'out x2' is out[0], out[1]."""
    names = []
    for name in case["case"]["outputs"]:
        base, _, count = name.partition(" x")
        names += [f"{base}[{k}]" for k in range(int(count))] if count else [base]
    return names


def compare_signature(case, op, answer, tally):
    if "error" in answer:
        tally.bad("oneflow_signatures", case["op"], case, {"kind": "error", "found": answer["error"]})
        return
    outputs = output_names(case)
    known = {*flat_arguments(case["case"]["inputs"]), *outputs}
    found = []
    for candidate in answer["candidates"]:
        seen = op.candidate(candidate) if candidate["halo_bytes"] == 0 else None
        if seen is not None:
            found.append({**seen[0], **{o: s for o, s in zip(outputs, seen[1]) if s != "-"}})
    order = []
    for signature, verdict in zip(case["signatures"], case["soundness"]):
        # Elements of a list are named in_0 there and in[0] here; what our op does not name may lie as it will.
        layouts = {k if k in known else re.sub(r"_(\d+)$", r"[\1]", k): spell(v) for k, v in signature.items()}
        wanted = {k: v for k, v in layouts.items() if any(k in f for f in found)}
        at = next((i for i, f in enumerate(found) if all(f.get(k) == v for k, v in wanted.items())), None)
        detail = {"op": op.op, "verdict": verdict, "signature": layouts}
        if verdict in ("ok", "kernel_aware"):
            if at is None:
                tally.bad("oneflow_signatures", case["op"], case, {"kind": "missing", **detail})
            else:
                tally.good()
                order.append(at)
        elif verdict == "unsound":
            tally.good() if at is None else tally.bad("oneflow_signatures", case["op"], case, {"kind": "unsound", **detail})
    if order != sorted(order) and set(known) == {*(e for e in op.operands if isinstance(e, str)), *outputs}:
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
