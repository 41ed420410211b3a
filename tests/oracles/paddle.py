"""PaddlePaddle's SPMD rules: one op asked forward or backward."""
from ask import ask, operand
from ops_paddle import translate

SUM_NAMES = {"sum": "sum", "max": "max", "min": "min", "prod": "prod", "all": "min", "any": "max", "avg": "avg"}


def flat(tensors):
    out = []
    for t in tensors:
        out += flat(t) if isinstance(t, list) else [t]
    return out


def spelled(tensor):
    """A tensor's layout in our text form of dims_mapping."""
    def dim(axes):
        if isinstance(axes, list):
            return str(axes[0]) if len(axes) == 1 else "[" + ",".join(map(str, sorted(axes))) + "]"
        return str(axes)
    text = "[" + ",".join(dim(d) for d in tensor["dims_mapping"]) + "]"
    partial = sorted((axis, SUM_NAMES.get(kind, kind)) for axis, kind in tensor.get("partial", []))
    return text + (" partial=[" + ",".join(f"{a}:{k}" for a, k in partial) + "]" if partial else "")


def question_of(case):
    inputs = flat(case["inputs"])
    if any(-1 in t["shape"] for t in inputs):
        return None, None
    op = translate(case["rule"], [t["shape"] for t in inputs], case.get("attrs", {}))
    if op is None:
        return None, None
    operands, layouts = [], []
    for entry in op.operands:
        if isinstance(entry, int):
            operands.append(operand(inputs[entry]["shape"], op.dtypes.get(entry) or "f32"))
            layouts.append(spelled(inputs[entry]))
        else:
            operands.append(entry)
            layouts.append(None)
    mesh = ",".join(f"{n}={s}" for n, s in zip(case["mesh"]["names"], case["mesh"]["shape"]))
    results = max([r for r in op.results if r is not None]) + 1
    question = {"ask": "infer", "op": op.op, "operands": operands, "attributes": op.attributes, "results": results,
                "mesh": mesh, "backward": case["direction"] == "backward"}
    if case["direction"] == "backward":
        given = flat(case["outputs"])
        outs = [None] * results
        for r, t in zip(op.results, given):
            if r is not None:
                outs[r] = spelled(t)
        question["outputs"] = outs
    else:
        question["inputs"] = layouts
    return op, question


def compare_rules(program, data, tally):
    jobs = []
    for case in data["cases"]:
        if case["direction"] == "grad":
            tally.skip(f"{case['rule']} (gradient)")
            continue
        op, question = question_of(case)
        if op is None:
            tally.skip(case["rule"])
            continue
        jobs.append((case, op, question))
    answers = ask(program, [q for _, _, q in jobs])
    # Is what we answered one of our own candidates, which execution proves?
    candidate_questions, positions = [], {}
    for _, _, question in jobs:
        key = (question["op"], str(question["operands"]), str(question["attributes"]), question["mesh"])
        if key not in positions:
            positions[key] = len(candidate_questions)
            candidate_questions.append({k: v for k, v in question.items() if k in ("op", "operands", "attributes", "results", "mesh")})
    candidates = ask(program, [{"ask": "candidates", "notation": "dims-mapping", **q} for q in candidate_questions])
    for (case, op, question), answer in zip(jobs, answers):
        key = (question["op"], str(question["operands"]), str(question["attributes"]), question["mesh"])
        compare(case, op, answer, candidates[positions[key]], tally)


def legal(answer, candidates):
    found = (answer["inputs"], answer["outputs"])
    return any((c["inputs"], c["outputs"]) == found for c in candidates.get("candidates", []))


def compare(case, op, answer, candidates, tally):
    if "error" in answer:
        tally.bad("paddle_rules", case["id"], case, {"kind": "error", "found": answer["error"]})
        return
    sound = legal(answer, candidates)
    if case.get("error") or case.get("sound") is not True or case.get("uneven"):
        if sound:
            tally.good()
        else:
            tally.bad("paddle_rules", case["id"], case, {"kind": "unsound", "found": [answer["inputs"], answer["outputs"]]})
        return
    expected_in, found_in = [], []
    theirs = flat(case["result"]["inputs"])
    for position, entry in enumerate(op.operands):
        if isinstance(entry, int):
            expected_in.append(spelled(theirs[entry]))
            found_in.append(answer["inputs"][position])
    outs = flat(case["result"]["outputs"])
    expected_out = [spelled(t) for r, t in zip(op.results, outs) if r is not None]
    found_out = [answer["outputs"][r] for r in op.results[:len(outs)] if r is not None]
    if (expected_in, expected_out) == (found_in, found_out):
        tally.good()
    else:
        tally.bad("paddle_rules", case["id"], case, {"kind": "differs", "sound": sound, "expected": [expected_in, expected_out],
                                                     "found": [found_in, found_out], "op": op.op})
