"""DTensor: single ops judged by execution, views, and small modules."""
import re

from ask import ask, ints, operand
from ops_dtensor import DTYPES, translate

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
    """Our candidates seen on the case's tensors; further operands of ours must be whole."""
    names = [i["name"] for i in case["inputs"]]
    found = set()
    for c in candidates:
        if c["halo_bytes"] > 0:
            continue
        layout = dict.fromkeys(names, None)
        fits = True
        for entry, sbp in zip(op.operands, c["inputs"]):
            if isinstance(entry, str):
                layout[entry] = sbp
            elif entry is not None and sbp != "B":
                fits = False
        if fits:
            outs = tuple("-" if o is None else c["outputs"][o] for o in op.outs)
            found.add((tuple(layout[n] or "B" for n in names), outs))
    return found


def compare_ops(program, data, tally):
    jobs = []
    for case in data:
        if "legal_by_execution" not in case or (op := translate(case)) is None:
            tally.skip(case["op"].removeprefix("aten."))
            continue
        shapes = {i["name"]: i for i in case["inputs"]}
        operands = [operand(shapes[e]["shape"], DTYPES[shapes[e]["dtype"]]) if isinstance(e, str) else e for e in op.operands]
        jobs.append((case, op, {"ask": "candidates", "op": op.op, "operands": operands, "attributes": op.attributes,
                                "results": op.results, "mesh": f"x={case['mesh'][0]}"}))
    for (case, op, _), answer in zip(jobs, ask(program, [q for _, _, q in jobs])):
        compare_op(case, op, answer, tally)


def matches(legal, found):
    """Is a legal layout among ours? Outputs that are not compared ('-') agree with anything."""
    if legal in found:
        return True
    return any(ins == legal[0] and all(a == b or "-" in (a, b) for a, b in zip(outs, legal[1])) for ins, outs in found)


def compare_op(case, op, answer, tally):
    name = case["op"].removeprefix("aten.")
    if "error" in answer:
        tally.bad("dtensor_ops", name, case, {"kind": "error", "found": answer["error"]})
        return
    found = project(case, op, answer["candidates"])
    legal = [p for p in map(parse_legal, case["legal_by_execution"]) if p]
    missing = [p for p in legal if not matches(p, found)]
    legal_set = set(legal)
    unsound = []
    for entry in case["entries"]:
        if entry.get("sound") is False:
            sides = [tuple(placement(p) or "?" for p in entry[k]) for k in ("in", "out")]
            if tuple(sides) in found and tuple(sides) not in legal_set:
                unsound.append(tuple(sides))
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
                                            "mesh": mesh}))
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


def compare_modules(program, data, tally):
    import modules
    modules.compare(program, data, tally)
