#!/usr/bin/env python3
"""Plans changed by hand, field by field: what reads them says so, and never fails with a defect of ours.

    tamper_test.py PROGRAM [--all] [--jobs N] [--share I/N]

Each field of each plan is changed in a few ways: numbers grow, shrink, turn negative or huge; texts change to others of the
file; entries of lists and objects go, double and change places. Of equal kinds of fields (the same path but for positions
and names) one is taken, with --all every one. `check` is the judge: where it is not good, `run` and `render --view
tasks` must refuse with exit 3; explain, diff, render and convert must end with an exit code of their own, never 70, a
signal or a time-out.
"""
import argparse
import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SECONDS = 60
CODES = {0, 1, 3, 4, 5}  # 2, wrong usage, would be this test's own mistake

MLP = {
    "kind": "sbp_plan.graph.v1", "name": "mlp",
    "inputs": [{"name": "x", "type": "f32[4,8]"}],
    "parameters": [{"name": "a", "type": "f32[8,16]"}, {"name": "b", "type": "f32[16,8]"},
                   {"name": "bias", "type": "f32[8]", "literal": {"floats": [1, 2, 3, 4, 5, 6, 7, 8]}},
                   {"name": "axes", "type": "i64[1]", "literal": {"ints": [1]}}],
    "ops": [{"name": "first", "type": "MatMul", "inputs": ["x", "a"], "outputs": ["h"]},
            {"name": "act", "type": "Relu", "inputs": ["h"], "outputs": ["r"]},
            {"name": "second", "type": "MatMul", "inputs": ["r", "b"], "outputs": ["s"]},
            {"name": "add", "type": "Add", "inputs": ["s", "bias"], "outputs": ["t"]},
            {"name": "sum", "type": "ReduceSum", "inputs": ["t", "axes"], "outputs": ["y"],
             "attributes": {"keepdims": 1}}],
    "outputs": ["y"]}

TRIPS = 3  # left as it is: many trips take their time, rightly

# A loop that stays, sizes that data decide.
CONTROL = {
    "kind": "sbp_plan.graph.v1", "name": "control",
    "inputs": [{"name": "h0", "type": "f32[4]"}, {"name": "c", "type": "bool[]"}, {"name": "v", "type": "f32[6]"}],
    "parameters": [{"name": "m", "type": "i64[]", "literal": {"ints": [TRIPS]}},
                   {"name": "flat", "type": "i64[1]", "literal": {"ints": [-1]}}],
    "ops": [
        {"name": "repeat", "type": "Loop", "inputs": ["m", "", "h0"], "outputs": ["h", "each"],
         "attributes": {"body": {"graph": {
             "inputs": [{"name": "i", "type": "i64[]"}, {"name": "go", "type": "bool[]"},
                        {"name": "h", "type": "f32[4]"}],
             "ops": [{"name": "add", "type": "Add", "inputs": ["h", "h"], "outputs": ["h2"]},
                     {"name": "scan", "type": "Identity", "inputs": ["h2"], "outputs": ["e"]}],
             "outputs": ["go", "h2", "e"]}}}},
        {"name": "choose", "type": "If", "inputs": ["c"], "outputs": ["y"], "captures": ["h", "h"], "attributes": {
            "then_branch": {"graph": {"inputs": [{"name": "a", "type": "f32[4]"}],
                                      "ops": [{"name": "n", "type": "Neg", "inputs": ["a"], "outputs": ["t"]}],
                                      "outputs": ["t"]}},
            "else_branch": {"graph": {"inputs": [{"name": "a", "type": "f32[4]"}],
                                      "ops": [{"name": "n", "type": "Abs", "inputs": ["a"], "outputs": ["t"]}],
                                      "outputs": ["t"]}}}},
        {"name": "find", "type": "NonZero", "inputs": ["v"], "outputs": ["places"]},
        {"name": "rows", "type": "Reshape", "inputs": ["places", "flat"], "outputs": ["row"]},
        {"name": "take", "type": "Gather", "inputs": ["v", "row"], "outputs": ["z"]}],
    "outputs": ["y", "each", "z"]}

# A value that an input decides.
GIVEN = {
    "kind": "sbp_plan.graph.v1", "name": "given",
    "inputs": [{"name": "x", "type": "f32[4,6]"}],
    "assumptions": {"n": {"literal": {"type": "i64[2]", "ints": [8, 3]}, "elements": [0, 1]}},
    "parameters": [{"name": "shape", "type": "i64[2]", "literal": {"ints": [8, 3]}}],
    "ops": [{"name": "regroup", "type": "Reshape", "inputs": ["x", "shape"], "outputs": ["y"]},
            {"name": "soft", "type": "Softmax", "inputs": ["y"], "outputs": ["z"], "attributes": {"axis": -1}}],
    "outputs": ["z"]}
GIVEN["inputs"].append({"name": "n", "type": "i64[2]"})

PLANS = [
    ("mlp", MLP, ["--mesh", "d=2,m=2", "--strategy", "einsum", "--pin", "a=(B, S(1))", "--physical"], "second"),
    ("mlp", MLP, ["--mesh", "2", "--strategy", "greedy", "--pin", "x=S(0)", "--pin", "add.a=B",
                  "--memory-limit", "1GB", "--cluster", "cpu"], "add"),
    ("control", CONTROL, ["--mesh", "2", "--strategy", "greedy", "--physical"], "choose"),
    ("given", GIVEN, ["--mesh", "2", "--pin", "x=S(0)"], "regroup"),
]


def numbers(value):
    """Others in the place of a number."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, float):
        return [value * 2 + 1, -value - 1, 1e300, "nan"]
    return [value + 1, value - 1, -value - 1, value + (1 << 20), (1 << 62)]


def texts(value, others):
    changed = [value + "x", "", "é\n"]
    return changed + [t for t in others if t != value][:2]


def changes(value, others):
    """What a field may be changed into; None in a list: it is taken out."""
    if isinstance(value, bool) or isinstance(value, (int, float)):
        return numbers(value)
    if isinstance(value, str):
        return texts(value, others)
    if isinstance(value, list):
        found = [[]]
        if value:
            found += [value[1:], value + value[-1:], value[::-1]]
        return [f for f in found if f != value]
    if isinstance(value, dict):
        return [{}] if value else []
    return []


def walk(value, path=()):
    yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, path + (key,))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from walk(inner, path + (i,))


# Objects whose keys are names of the user's, not fields.
NAMED = {"decisions", "opsets", "bindings", "assumptions", "attributes", "flops"}


def kind_of(path):
    kind = []
    for i, step in enumerate(path):
        named = isinstance(step, int) or (i > 0 and path[i - 1] in NAMED)
        kind.append("*" if named else step)
    return tuple(kind)


def at(document, path):
    for step in path:
        document = document[step]
    return document


def mutants(plan, most, seen):
    """(what, document); kinds in `seen` are left out, and those met are added."""
    by_kind, texts_of = collections.defaultdict(list), collections.defaultdict(list)
    for path, value in walk(plan):
        if not path:
            continue
        kind = kind_of(path)
        by_kind[kind].append(path)
        if isinstance(value, str) and value not in texts_of[kind]:
            texts_of[kind].append(value)
    for kind, paths in by_kind.items():
        if kind in seen:
            continue
        paths = [path for path in paths if at(plan, path) != [TRIPS] and at(plan, path[:-1]) != [TRIPS]]
        if not paths:
            continue
        seen.add(kind)
        # The first, the last and some between.
        step = max(1, len(paths) // most)
        for path in (paths[::step] + paths[-1:] if len(paths) > most else paths):
            value = at(plan, path)
            for new in changes(value, texts_of[kind]):
                document = copy.deepcopy(plan)
                at(document, path[:-1])[path[-1]] = new
                yield f"{'/'.join(map(str, path))}: {str(value)[:60]!r} -> {str(new)[:60]!r}", document
            document = copy.deepcopy(plan)
            del at(document, path[:-1])[path[-1]]
            yield f"{'/'.join(map(str, path))}: removed", document


class Tester:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *words):
        try:
            done = subprocess.run([self.program, *words], capture_output=True, text=True, timeout=SECONDS,
                                  cwd=self.folder, errors="replace")
        except subprocess.TimeoutExpired:
            return None, "took too long"
        return done.returncode, (done.stderr + done.stdout).strip()[-400:]

    def try_one(self, case):
        number, name, good, op, what, document = case
        path = f"{name}-{number}.json"
        pathlib.Path(self.folder, path).write_text(json.dumps(document))
        failures = []
        checked, said = self.run("check", path)
        if checked not in (0, 1, 3):
            failures.append(f"check: {checked}: {said}")
        if checked == 3:  # it cannot be read, for all commands alike
            code, said = self.run("run", path)
            return what, checked, failures if code == 3 else failures + [f"run: {code} where check ends with 3: {said}"]
        commands = {"run": ("run", path), "tasks": ("render", path, "--view", "tasks", "-o", f"{path}.txt"),
                    "explain": ("explain", path, op), "diff": ("diff", good, path),
                    "render": ("render", path, "-o", f"{path}.md"), "convert": ("convert", path, f"{path}.pb"),
                    "start": ("infer", f"{name}.json", "--mesh", "2", "--strategy", "fixed", "--assignment", path)}
        for command, words in commands.items():
            code, said = self.run(*words)
            if code not in CODES and not (command == "start" and code == 2):
                failures.append(f"{command}: {code}: {said}")
            elif command in ("run", "tasks") and checked != 0 and code != 3:
                failures.append(f"{command}: {code} where check ends with {checked}: {said}")
        for end in ("", ".txt", ".md", ".pb"):
            pathlib.Path(self.folder, path + end).unlink(missing_ok=True)
        return what, checked, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--all", action="store_true", help="every field, not a few of a kind")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--most", type=int, default=1, help="fields of a kind")
    parser.add_argument("--share", default="0/1", help="only mutants of number I modulo N")
    flags = parser.parse_args()
    part, parts = map(int, flags.share.split("/"))
    program = str(pathlib.Path(flags.program).resolve())
    passed = failed = found = 0
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(program, folder)
        cases, seen = [], set()
        for index, (name, graph, words, op) in enumerate(PLANS):
            pathlib.Path(folder, f"{name}.json").write_text(json.dumps(graph))
            good = f"good{index}.json"
            code, said = tester.run("infer", f"{name}.json", *words, "-o", good)
            code, said = (code, said) if code != 0 else tester.run("run", good)
            if code != 0:
                sys.exit(f"{name}: {said}")
            plan = json.loads(pathlib.Path(folder, good).read_text())
            for what, document in mutants(plan, 1 << 30 if flags.all else flags.most, set() if flags.all else seen):
                cases.append((len(cases), name, good, op, f"plan {index}, {what}", document))
        cases = [case for case in cases if case[0] % parts == part]
        with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
            for what, checked, failures in pool.map(tester.try_one, cases):
                found += checked != 0
                passed += not failures
                failed += bool(failures)
                for failure in failures:
                    print(f"{what}\n  {failure}", flush=True)
    print(f"check refuses {found} of {len(cases)}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
