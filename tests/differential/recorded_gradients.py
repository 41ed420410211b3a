#!/usr/bin/env python3
"""Gradients of `sbp-plan grad`, executed, against recorded ones (shared/data/grads/README.md).

Each case is differentiated with the recorded cotangents, run in float64, and compared element by element.
usage: recorded_gradients.py PROGRAM DATA [--only GLOB] [--keep FOLDER]
"""
import argparse
import concurrent.futures
import fnmatch
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import npz

# Cases that grad refuses, with the words of its error: what is not differentiated yet, or never.
REFUSED = {
}

SECOND_TOLERANCE = 1e-6  # of the largest magnitude of an array; the files state 2e-5 for float32


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr.strip()


class Case:
    flags = ()  # further ones of grad

    def __init__(self, data, group, entry):
        self.name = entry["name"] if "name" in entry else pathlib.Path(entry["model"]).stem
        self.group = group
        self.parameter = entry.get("parameter")  # second/: the one that has a direction
        self.facts = entry["grads"] if group == "ops" else {tensor["name"]: tensor for tensor in entry.get("tensors", ())}
        if group == "models":
            self.model = data.parent / "models" / "tiny" / f"{self.name}.onnx"
            self.inputs = npz.load(data.parent / "models" / "tiny" / f"{self.name}.inputs.npz")
            self.recorded = npz.load(data / "models" / f"{self.name}.grad.npz")
        else:
            self.model = data / group / f"{self.name}.onnx"
            self.inputs = {}
            self.recorded = npz.load(data / group / f"{self.name}.npz")

    def feeds(self):
        feeds = {name: self.inputs[name] for name in self.inputs}
        for key in self.recorded:
            kind, _, name = key.partition("/")
            if kind == "input":
                feeds[name] = self.recorded[key]
            if kind == "cotangent":
                feeds[key] = self.recorded[key]
        return feeds

    def cotangents(self):
        return [key.partition("/")[2] for key in self.recorded if key.startswith("cotangent/")]

    def differences(self, gradients):
        """One line for each tensor that differs."""
        lines = []
        for tensor, facts in self.facts.items():
            recorded = self.recorded[f"grad/{tensor}"]
            expected = npz.numbers(recorded)
            if f"grad/{tensor}" not in gradients:
                if any(expected):
                    lines.append(f"{tensor}: no gradient")
                continue
            given = gradients[f"grad/{tensor}"]
            if given.shape != recorded.shape:
                lines.append(f"{tensor}: shaped {given.shape}, not {recorded.shape}")
                continue
            found, low, high = npz.numbers(given), expected, expected
            if f"low/{tensor}" in self.recorded:
                low, high = (npz.numbers(self.recorded[f"{kind}/{tensor}"]) for kind in ("low", "high"))
            tolerance = facts["tol"]
            for at, value in enumerate(found):
                if not low[at] - tolerance <= value <= high[at] + tolerance:
                    lines.append(f"{tensor}: {value} for {expected[at]} at {at}, tolerance {tolerance}")
                    break
        return lines


def check(program, case, folder):
    """None: right; else what is wrong."""
    train, feeds, inputs, out = (folder / name for name in ("train.pb", "feeds.npz", "inputs.npz", "out.npz"))
    everything = case.feeds()
    shutil.copy(case.model, folder / "model.onnx")  # beside which the weights are found
    npz.save(feeds, everything)
    npz.save(inputs, {name: one for name, one in everything.items() if not name.startswith("cotangent/")})
    loss = "cotangents:" + ",".join(case.cotangents())
    command = [program, "grad", folder / "model.onnx", "--loss", loss, "--inputs", inputs, "-o", train, "-q", *case.flags]
    for tensor in case.facts:
        command += ["--wrt-inputs" if tensor in everything else "--wrt", re.sub(r"[*?]", "?", tensor)]
    code, text = run(command)
    if code != 0:
        return f"grad: {text.strip() or code}"
    out.unlink(missing_ok=True)
    code, text = run([program, "run", train, "--unsharded", "--inputs", feeds, "--outputs", out, "--dtype", "f64", "-q"])
    if code != 0:
        return f"run: {text.splitlines()[-1] if text else code}"
    gradients = npz.load(out)
    return "; ".join(case.differences(gradients)) or None


def largest_difference(found, recorded):
    """Relative to the largest magnitude that is recorded; None: right."""
    if found.shape != recorded.shape:
        return f"shaped {found.shape}, not {recorded.shape}"
    expected, given = npz.numbers(recorded), npz.numbers(found)
    error = max((abs(a - b) for a, b in zip(expected, given)), default=0)
    scale = max((abs(a) for a in expected), default=0)
    return None if error <= SECOND_TOLERANCE * scale else f"differs by {error} of {scale}"


def check_second(program, case, folder):
    """Gradient, Hessian-vector product, and the gradient of that once more."""
    train, third, feeds, inputs, out = (folder / name for name in ("hvp.pb", "third.pb", "feeds.npz", "in.npz", "out.npz"))
    shutil.copy(case.model, folder / "model.onnx")
    direction = case.recorded[f"direction/{case.parameter}"]
    given = case.feeds()
    npz.save(inputs, {name: one for name, one in given.items() if not name.startswith("cotangent/")})
    loss = ",".join(case.cotangents())
    names = sorted(key.partition("/")[2] for key in case.recorded if key.startswith("grad/"))
    wrt = [part for name in names for part in ("--wrt-inputs" if name in given else "--wrt", name)]
    command = [program, "grad", folder / "model.onnx", "--loss", f"cotangents:{loss}", "--inputs", inputs, "--hvp"]
    code, text = run([*command, *wrt, "-o", train, "-q"])
    if code != 0:
        return f"grad --hvp: {text}"
    feeds_of = dict(given)
    for name in names:
        like = case.recorded[f"grad/{name}"]
        feeds_of[f"v/{name}"] = direction if name == case.parameter else npz.zeros(like.shape, direction.descr)
    npz.save(inputs, feeds_of)
    command = [program, "grad", train, "--loss", f"cotangents:hvp/{case.parameter}", *wrt, "-o", third, "-q"]
    code, text = run(command)
    if code != 0:
        return f"grad of a gradient: {text}"
    problems = []
    for graph, kind in ((train, "grad"), (train, "hvp"), (third, "third")):
        if kind == "third":
            feeds_of[f"cotangent/hvp/{case.parameter}"] = direction
        npz.save(feeds, feeds_of)
        out.unlink(missing_ok=True)
        code, text = run([program, "run", graph, "--unsharded", "--inputs", feeds, "--outputs", out, "--dtype", "f64", "-q"])
        if code != 0:
            return f"run: {text.splitlines()[-1] if text else code}"
        outputs = npz.load(out)
        for name in names:
            recorded = case.recorded[f"{kind}/{name}"] if f"{kind}/{name}" in case.recorded else None
            ours = outputs.get(f"grad/{name}_2" if kind == "third" else f"{kind}/{name}")  # grad/NAME is there already
            if recorded is None:
                continue
            wrong = largest_difference(ours, recorded) if ours is not None else "missing" if any(npz.numbers(recorded)) else None
            if wrong:
                problems.append(f"{kind}/{name}: {wrong}")
    return "; ".join(problems) or None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--only", default="*")
    parser.add_argument("--groups", default="ops,models,second")
    parser.add_argument("--grad-flag", action="append", default=[], help="handed on to grad: --grad-flag=--decompose")
    arguments = parser.parse_args()
    Case.flags = arguments.grad_flag
    if not arguments.data.is_dir():
        print("the recorded gradients are not here")
        return 77
    index = json.loads((arguments.data / "index.json").read_text())
    wrong, right = [], 0
    cases = [Case(arguments.data, group, entry) for group in arguments.groups.split(",") for entry in index[group]]
    cases = [case for case in cases if fnmatch.fnmatch(case.name, arguments.only)]

    def problem_of(case):
        with tempfile.TemporaryDirectory() as folder:
            judge = check_second if case.group == "second" else check
            return judge(arguments.program, case, pathlib.Path(folder))

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for case, problem in zip(cases, pool.map(problem_of, cases)):
            expected = REFUSED.get(case.name)
            if problem is None and expected is None or problem is not None and expected is not None and expected in problem:
                right += 1
            else:
                wrong.append(f"{case.name}: {problem or 'is no longer refused'}")
    for line in wrong:
        print(line[:400])
    print(f"{right} right, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
