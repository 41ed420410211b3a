"""PaddlePaddle's SPMD rules: one op asked forward or backward.

A layout here is (mapping, partial): per dimension the sorted mesh axes on it, and a sorted list of (axis, kind).
"""
import json
import re

from ask import OTHER_OPS, ask
from ops_paddle import translate

KINDS = {"all": "min", "any": "max", "product": "prod"}


def flat(tensors):
    out = []
    for t in tensors:
        out += flat(t) if isinstance(t, list) else [t]
    return out


def layout(tensor):
    mapping = [sorted(d) if isinstance(d, list) else [d] if d >= 0 else [] for d in tensor["dims_mapping"]]
    partial = sorted((axis, KINDS.get(kind, kind)) for axis, kind in tensor.get("partial", []))
    return mapping, partial


def text(mapping, partial):
    dims = [str(axes).replace(" ", "") if len(axes) > 1 else str(axes[0]) if axes else "-1" for axes in mapping]
    tail = " partial=[" + ",".join(f"{a}:{k}" for a, k in partial) + "]" if partial else ""
    return "[" + ",".join(dims) + "]" + tail


def parse(spelled):
    head, _, tail = spelled.partition(" partial=")
    mapping = [sorted(d) if isinstance(d, list) else [d] if d >= 0 else [] for d in json.loads(head)]
    return mapping, sorted((int(a), k) for a, k in re.findall(r"(\d+):(\w+)", tail))


def without_averages(given):
    """P(avg) is no kind of ours: an operand given so is taken as resolved."""
    return given[0], [(a, k) for a, k in given[1] if k != "avg"]


def to_ours(given, dims):
    """A case's layout on our op's dimensions."""
    mapping, partial = given
    return (mapping if dims is None else [[] if d is None else mapping[d] for d in dims]), partial


def to_case(ours, dims, rank):
    mapping, partial = ours
    if dims is None:
        return mapping, partial
    out = [[] for _ in range(rank)]
    for place, axes in zip(dims, mapping):
        if place is not None:
            out[place] = axes
    return out, partial


def dims_in(op, entry):
    return op.shown[entry].dims if entry in op.shown else None


def question_of(case):
    inputs = flat(case["inputs"])
    if any(-1 in t.get("shape", [-1]) for t in inputs):
        return None, None
    op = translate(case, [t["shape"] for t in inputs])
    if op is None or not op.fits(range(len(inputs))):
        return None, None
    question = {"ask": "infer", **op.question(lambda e: inputs[e]["shape"], lambda e: "f32"),
                "mesh": ",".join(f"{n}={s}" for n, s in zip(case["mesh"]["names"], case["mesh"]["shape"])),
                "backward": case["direction"] == "backward"}
    if case["direction"] == "backward":
        given = [None] * op.results
        for result, tensor in zip(op.outs, flat(case["outputs"])):
            if result is not None:
                given[result] = text(*to_ours(without_averages(layout(tensor)), op.shown_outs.get(result)))
        question["outputs"] = given
    else:
        question["inputs"] = [text(*to_ours(without_averages(layout(inputs[e])), dims_in(op, e))) if isinstance(e, int) else None
                              for e in op.operands]
    return op, question


def compare_rules(program, data, tally):
    jobs = []
    for case in data["cases"] if isinstance(data, dict) else data:
        try:
            op, question = question_of(case)
        except (IndexError, KeyError, TypeError):
            op = None  # layouts of another rank than the tensors
        if op is None:
            tally.skip(f"{case['rule']}{' (gradient)' if case['direction'] == 'grad' else ''}")
        else:
            jobs.append((case, op, question))
    answers = ask(program, [q for _, _, q in jobs], OTHER_OPS)
    # Is what we answered one of our own candidates, which execution proves?
    distinct, position = [], []
    seen = {}
    for _, _, question in jobs:
        asked = {k: v for k, v in question.items() if k in ("op", "operands", "attributes", "results", "mesh")}
        key = json.dumps(asked)
        if key not in seen:
            seen[key] = len(distinct)
            distinct.append({"ask": "candidates", "notation": "dims-mapping", **asked})
        position.append(seen[key])
    legal = [{(tuple(c["inputs"]), tuple(c["outputs"])) for c in a.get("candidates", [])} for a in ask(program, distinct, OTHER_OPS)]
    for (case, op, _), answer, at in zip(jobs, answers, position):
        if "error" in answer and op.tentative:
            tally.skip(case["rule"])
        elif "error" in answer:
            tally.bad("paddle_rules", case["id"], case, {"kind": "error", "found": answer["error"]})
        else:
            compare(case, op, answer, (tuple(answer["inputs"]), tuple(answer["outputs"])) in legal[at], tally)


def sums(given, averages_given):
    """Theirs in our kinds: a mean is a P(sum) over a factor; what was given as an average was taken as resolved."""
    mapping, partial = given
    return mapping, [(a, "sum" if k == "avg" else k) for a, k in partial if not (k == "avg" and averages_given)]


def compare(case, op, answer, sound, tally):
    if not sound:
        tally.bad("paddle_rules", case["id"], case, {"kind": "unsound", "found": [answer["inputs"], answer["outputs"]]})
        return
    if case.get("error") or case.get("sound") is not True or case.get("uneven") or "result" not in case:
        tally.good()
        return
    theirs_in, theirs_out = flat(case["result"]["inputs"]), flat(case["result"]["outputs"])
    averages = any(k == "avg" for t in flat(case["inputs"]) for _, k in layout(t)[1])
    expected, found = [], []
    for place, entry in enumerate(op.operands):
        if isinstance(entry, int) and entry < len(theirs_in) and "dims_mapping" in theirs_in[entry]:
            expected.append(sums(layout(theirs_in[entry]), averages))
            found.append(to_case(parse(answer["inputs"][place]), dims_in(op, entry), len(expected[-1][0])))
    for result, tensor in zip(op.outs, theirs_out):
        if result is not None and "dims_mapping" in tensor:
            expected.append(sums(layout(tensor), averages))
            found.append(to_case(parse(answer["outputs"][result]), op.shown_outs.get(result), len(expected[-1][0])))
    if expected == found:
        tally.good()
        return
    given = [layout(t) for t in flat(case["outputs" if case["direction"] == "backward" else "inputs"])]
    tally.bad("paddle_rules", case["id"], case, {"kind": "differs", "op": op.op, "given": given, "expected": expected, "found": found})
