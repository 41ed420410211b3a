#!/usr/bin/env python3
"""Texts of StableHLO: what they compute, unsharded and under a plan, is what JAX computed (scripts/make-stablehlo).

    stablehlo_test.py PROGRAM
"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent / "data/stablehlo"
TOLERANCE = 1e-5


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError(f"sbp-plan {' '.join(map(str, arguments))}\nexit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def error_of(program, *arguments):
    report = json.loads(run(program, "run", *arguments, "--format", "json"))
    assert report["outputs"], "nothing was compared"
    return report["max_relative_error"]


def pins_of(plan):
    """Models this small are planned whole on each device: here inputs and parameters begin split where they can be."""
    for tensor in plan["graph"].get("inputs", []) + plan["graph"].get("parameters", []):
        sizes = [int(size) for size in re.findall(r"\d+", tensor["type"].partition("[")[2])]
        for pieces, layout in ((4, "(S({0}), S({0}))"), (2, "(B, S({0}))")):
            dims = [dim for dim, size in enumerate(sizes) if size % pieces == 0]
            if dims and "literal" not in tensor:
                yield f"--pin={tensor['name']}={layout.format(dims[-1])}"
                break


def follows_shardings(program, text):
    """A text with shardings is planned on its mesh, as they say: does the plan hold them, and compute the same?"""
    with tempfile.TemporaryDirectory() as scratch:
        plan = pathlib.Path(scratch) / "plan.json"
        try:
            run(program, "infer", text, "-o", plan)
            made = json.loads(plan.read_text())
            assert made["mesh"] == "data=2,model=4", made["mesh"]
            pinned = {t["name"]: t["layout"] for t in made["graph"]["inputs"] + made["graph"]["parameters"] if "layout" in t}
            assert pinned == {"p.w1": "(B, S(1))", "p.w2": "(B, S(0))", "x": "(S(0), B)"}, pinned
            run(program, "check", plan)
            error = error_of(program, plan, "--inputs", text.with_suffix(".inputs.npz"), "--expect",
                             text.with_suffix(".outputs.npz"))
            assert error < TOLERANCE, f"relative error {error}"
        except AssertionError as error:
            print(f"FAILED {text.name} as its shardings say: {error}")
            return False
    return True


def is_right(program, text):
    """Unsharded, as planned, and under a plan that splits what it can."""
    data = ["--inputs", text.with_suffix(".inputs.npz"), "--expect", text.with_suffix(".outputs.npz")]
    with tempfile.TemporaryDirectory() as scratch:
        plan = pathlib.Path(scratch) / "plan.json"
        mesh = ["--ignore-annotations", "--mesh", "data=2,model=2", "-o", plan]
        try:
            errors = [error_of(program, text, "--unsharded", *data)]
            run(program, "infer", text, *mesh)
            errors.append(error_of(program, plan, *data))
            pins = pins_of(json.loads(plan.read_text()))
            run(program, "infer", text, "--strategy", "einsum", *pins, *mesh)
            split = [row for row in json.loads(plan.read_text())["decisions"] if "S(" in row["signature"]]
            assert split, "every op is computed whole on each device"
            errors.append(error_of(program, plan, *data))
            assert max(errors) < TOLERANCE, f"relative errors {errors}"
        except AssertionError as error:
            print(f"FAILED {text.name}: {error}")
            return False
    return True


def main():
    program, texts = sys.argv[1], sorted(FOLDER.glob("*.mlir"))
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        failed = [*threads.map(lambda text: is_right(program, text), texts)].count(False)
    failed += not follows_shardings(program, FOLDER / "sharded.mlir")  # where its shardings put it
    print(f"{len(texts) + 1 - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
