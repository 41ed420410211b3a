#!/usr/bin/env python3
"""Gradients through If, Loop, Scan and sequences, against derivatives written by hand.

usage: control_gradients.py PROGRAM
"""
import array
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import npz

X, W = [0.3, -0.7, 1.1], [0.5, 0.4, -0.2]  # the operands of every case
R = [1.5, -0.5, 2.0]  # the cotangent of y


def op(type, inputs, outputs, attributes=None, captures=None):
    made = {"name": f"{type}_{outputs[0]}", "type": type, "inputs": inputs, "outputs": outputs}
    if attributes:
        made["attributes"] = attributes
    if captures:
        made["captures"] = captures
    return made


def graph(ops, inputs=(), outputs=("y",), parameters=(), **types):
    return {"inputs": [{"name": name, "type": "undefined[...]" if name not in types else types[name]} for name in inputs],
            "parameters": list(parameters), "ops": ops, "outputs": list(outputs)}


def number(name, value, type="i64[]"):
    literal = {"floats": [value]} if type.startswith("f") else {"ints": [value]}
    return {"name": name, "type": type, "literal": literal}


def model(ops, parameters=()):
    made = graph(ops, ("x", "w"), x="f64[3]", w="f64[3]", parameters=parameters)
    return {"kind": "sbp_plan.graph.v1", "name": "control", **made}


def branch():
    """x w where the sum of x is above 0, else sin(w), by a condition that only running decides; x by a constant in both."""
    then = graph([op("Mul", ["x", "w"], ["t"]), op("Mul", ["t", "two"], ["y"])], ("x", "w", "two"))
    other = graph([op("Sin", ["w"], ["s"]), op("Mul", ["s", "two"], ["y"])], ("w", "two"))
    return model([op("ReduceSum", ["x"], ["sum"], {"keepdims": 0}), op("Greater", ["sum", "zero"], ["c"]),
                  op("If", ["c"], ["y"], {"else_branch": {"graph": other}, "then_branch": {"graph": then}},
                     ["w", "two", "x", "w", "two"])],
                 [number("zero", 0.0, "f64[]"), number("two", 2.0, "f64[]")])


def expected_branch(x, w):
    if sum(x) > 0:
        return [2 * b * r for b, r in zip(w, R)], [2 * a * r for a, r in zip(x, R)]
    return None, [2 * math.cos(b) * r for b, r in zip(w, R)]


def loop():
    """h = h w + x, four times, by a counter that the body compares; an If of unknown condition inside is taken each time."""
    then = graph([op("Mul", ["h", "w"], ["m"])], ("h", "w"), ("m",))
    other = graph([op("Add", ["h", "w"], ["m"])], ("h", "w"), ("m",))
    body = graph([op("Add", ["n", "one"], ["next"]), op("Less", ["next", "four"], ["go"]),
                  op("If", ["c"], ["m"], {"else_branch": {"graph": other}, "then_branch": {"graph": then}},
                     ["h", "w", "h", "w"]),
                  op("Add", ["m", "x"], ["h2"])],
                 ("i", "before", "n", "h", "w", "x", "c"), ("go", "next", "h2"),
                 [number("one", 1), number("four", 4)], i="i64[]", before="bool[]", n="i64[]", h="f64[3]")
    return model([op("ReduceSum", ["x"], ["sum"], {"keepdims": 0}), op("Greater", ["sum", "zero"], ["c"]),
                  op("Loop", ["most", "", "start", "x"], ["count", "y"], {"body": {"graph": body}}, ["w", "x", "c"])],
                 [number("zero", 0.0, "f64[]"), number("most", 2**40), number("start", 0)])


def expected_loop(x, w):
    by_x, by_w = [], []
    for a, b, r in zip(x, w, R):
        h, dx, dw = a, 1.0, 0.0
        for _ in range(4):
            if sum(x) > 0:
                h, dx, dw = h * b + a, dx * b + 1, dw * b + h
            else:
                h, dx, dw = h + b + a, dx + 1, dw + 1
        by_x.append(dx * r)
        by_w.append(dw * r)
    return by_x, by_w


def sequence():
    """The parts of x, each times the first of w, joined again."""
    body = graph([op("Mul", ["part", "f"], ["m"])], ("part", "f"), ("m",))
    return model([op("SplitToSequence", ["x"], ["parts"]), op("SplitToSequence", ["w", "one"], ["others"]),
                  op("SequenceAt", ["others", "zero"], ["first"]),
                  op("SequenceMap", ["parts"], ["made"], {"body": {"graph": body}}, ["first"]),
                  op("ConcatFromSequence", ["made"], ["y"], {"axis": 0})],
                 [number("one", 1), number("zero", 0)])


def expected_sequence(x, w):
    return [w[0] * r for r in R], [sum(a * r for a, r in zip(x, R)), 0.0, 0.0]


def vector(values):
    return npz.Array((len(values),), "<f8", array.array("d", values).tobytes())


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())


def problem_of(program, make, expected, x, folder):
    (folder / "model.json").write_text(json.dumps(make()))
    npz.save(folder / "in.npz", {"x": vector(x), "w": vector(W), "cotangent/y": vector(R)})
    run(program, "grad", folder / "model.json", "--loss", "cotangents", "--wrt-inputs", "x", "--wrt-inputs", "w", "-o",
        folder / "train.json", "-q")
    run(program, "run", folder / "train.json", "--unsharded", "--inputs", folder / "in.npz", "--outputs", folder / "out.npz")
    found = npz.load(folder / "out.npz")
    for name, numbers in zip(("x", "w"), expected(x, W)):
        given = list(npz.numbers(found[f"grad/{name}"])) if f"grad/{name}" in found else None
        wanted = numbers if numbers is not None else [0.0] * len(x)
        if given is None or max(abs(a - b) for a, b in zip(given, wanted)) > 1e-12:
            return f"grad/{name} is {given}, expected {wanted}"
    return None


def main():
    wrong = 0
    cases = [("branch", branch, expected_branch), ("loop", loop, expected_loop), ("sequence", sequence, expected_sequence)]
    for name, make, expected in cases:
        for x in (X, [-a for a in X]):
            with tempfile.TemporaryDirectory() as folder:
                problem = problem_of(sys.argv[1], make, expected, x, pathlib.Path(folder))
            if problem:
                wrong += 1
                print(f"{name}, x {x}: {problem}")
    print(f"{2 * len(cases) - wrong} right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
