"""DTensor: single ops judged by execution, views, and small modules."""
import re

from ask import OTHER_OPS, ask, ints, operand
from dtensor_forms import DTYPES
from ops_dtensor import translate

KINDS = {"R": "B", "P(or)": "P(max)", "P(and)": "P(min)", "P(product)": "P(prod)", "P(masked_sum)": "P(sum)"}
OURS = re.compile(r"^(B|S\(\d+\)|P\((sum|max|min|prod)\)|-)$")


def placement(text):
    """Our spelling, or None for what we do not have (P(avg), strided splits, norms)."""
    text = KINDS.get(text.strip(), text.strip())
    return text if OURS.match(text) else None


def parse_legal(line):
    """'S(1), R -> P(sum) [attrs]' -> (inputs, outputs), None when it holds a kind that we do not have."""
    line = re.sub(r" \[(attrs|masked)\]", "", line)
    left, right = line.split("->")
    sides = [[placement(p) for p in re.split(r",\s*(?![^()]*\))", side.strip())] if side.strip() else [] for side in (left, right)]
    return None if any(p is None for side in sides for p in side) else tuple(map(tuple, sides))


def project(case, op, candidates):
    """Our candidates seen on the case's tensors; one that our op does not read may have any layout (None)."""
    names = [i["name"] for i in case["inputs"]]
    found = set()
    for c in candidates:
        seen = op.candidate(c) if c["halo_bytes"] == 0 else None
        if seen is not None:
            inputs, outs = seen
            found.add((tuple(inputs.get(n) for n in names), tuple(outs)))
    return found


def compare_ops(program, data, tally):
    jobs = []
    for case in data:
        name = case["op"].removeprefix("aten.").removesuffix(".default")
        translated = translate(case) if "legal_by_execution" in case else None
        if translated is None:
            tally.skip(name)
            continue
        shown, op = translated
        shapes = {i["name"]: i for i in shown["inputs"]}
        question = op.question(lambda n: shapes[n]["shape"], lambda n: DTYPES[shapes[n]["dtype"]])
        jobs.append((case, shown, op, {"ask": "candidates", **question, "mesh": f"x={case['mesh'][0]}"}))
    for (case, shown, op, _), answer in zip(jobs, ask(program, [j[3] for j in jobs], OTHER_OPS)):
        if "error" in answer and op.tentative:
            tally.skip(case["op"].removeprefix("aten.").removesuffix(".default"))
        else:
            compare_op(case, shown, op, answer, tally)


def matches(legal, found):
    """Is a legal layout among ours? Outputs that are not compared ('-') agree with anything, and so do operands not read."""
    if legal in found:
        return True
    return any(all(a is None or a == b for a, b in zip(ins, legal[0])) and all(a == b or "-" in (a, b) for a, b in zip(outs, legal[1]))
               for ins, outs in found)


def compare_op(case, shown, op, answer, tally):
    name = case["op"].removeprefix("aten.")
    if "error" in answer:
        tally.bad("dtensor_ops", name, case, {"kind": "error", "found": answer["error"]})
        return
    found = project(shown, op, answer["candidates"])
    legal = [p for p in map(parse_legal, case["legal_by_execution"]) if p]
    missing = [p for p in legal if not matches(p, found)]
    unsound = []
    for entry in case["entries"]:
        if entry.get("sound") is False:
            layout = tuple(tuple(placement(p) or "?" for p in entry[k]) for k in ("in", "out"))
            if layout in found and layout not in legal:
                unsound.append(layout)
    # One verdict for each layout: a class justifies single layouts.
    for kind, layouts in (("missing", missing), ("unsound", unsound)):
        for layout in layouts:
            tally.bad("dtensor_ops", name, case, {"kind": kind, "op": op.op, "inputs": list(layout[0]), "outputs": list(layout[1])})
    for _ in range(len(legal) - len(missing)):
        tally.good()


def compare_views(program, data, tally):
    """legal_out: what needs no data movement must be offered; even sizes."""
    jobs = []
    for case in data:
        layouts = [placement(p) for p in case["in"]]
        legal = [out for out in ([placement(p) for p in o] for o in case.get("legal_out", [])) if None not in out]
        if None in layouts or uneven(case["shape"], case["in"], case["mesh"]):
            tally.skip("view (uneven or strided)")
            continue
        mesh = ",".join(f"a{i}={n}" for i, n in enumerate(case["mesh"]))
        jobs.append((case, layouts, legal, {"ask": "candidates", "op": "Reshape", "operands": [operand(case["shape"]), ints(case["target"])],
                                            "attributes": {"allowzero": int(0 in case["target"])}, "mesh": mesh}))
    for (case, layouts, legal, _), answer in zip(jobs, ask(program, [j[3] for j in jobs])):
        if "error" in answer:
            tally.bad("dtensor_views", "view", case, {"kind": "error", "found": answer["error"]})
            continue
        spell = layouts[0] if len(layouts) == 1 else f"({', '.join(layouts)})"
        found = {c["outputs"][0] for c in answer["candidates"] if c["inputs"][0] == spell}
        for out in legal:
            text = out[0] if len(out) == 1 else f"({', '.join(out)})"
            if uneven(case["target"], out, case["mesh"]):
                tally.skip("view (uneven or strided)")
            elif text in found:
                tally.good()
            else:
                tally.bad("dtensor_views", "view", case, {"kind": "missing", "in": spell, "out": text, "found": sorted(found)})
        for text in found - {o[0] if len(o) == 1 else f"({', '.join(o)})" for o in legal}:
            tally.bad("dtensor_views", "view", case, {"kind": "unsound", "in": spell, "out": text})


def uneven(shape, layouts, mesh):
    sizes = list(shape)
    for layout, n in zip(layouts, mesh):
        if layout.startswith("S("):
            d = int(layout[2:-1])
            if sizes[d] % n:
                return True
            sizes[d] //= n
    return False

