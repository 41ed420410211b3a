#!/usr/bin/env python3
"""run.py PROGRAM [--verbose] [--sample K] [--shared FOLDER] [FILE...]: see README.md."""
import argparse
import collections
import gzip
import json
import pathlib
import sys
import traceback

import dtensor
import eager
import justified
import modules
import oneflow
import oneflow_graphs
import paddle

SKIPPED = 77  # the exit status that ctest takes as skipped

# Format: which fields some case of such a file has, and who compares it. The first that fits is taken.
FORMATS = {
    "paddle_rules": ({"rule", "direction"}, paddle.compare_rules),
    "dtensor_modules": ({"module", "computes"}, modules.compare),
    "dtensor_ops": ({"op", "entries"}, dtensor.compare_ops),
    "dtensor_views": ({"op", "target", "shape"}, dtensor.compare_views),
    "oneflow_signatures": ({"op", "soundness"}, oneflow.compare_signatures),
    "oneflow_graphs": ({"case", "ops", "tensors"}, oneflow_graphs.compare),
    "oneflow_eager": ({"case", "op", "in"}, eager.compare),
    "oneflow_reshape_nd": ({"in_shape", "out_shape", "hierarchy"}, oneflow.compare_reshape_nd),
    "oneflow_boxing_costs": ({"case", "from", "to", "direct"}, oneflow.compare_boxing),
}


class Tally:
    """Counts verdicts; a difference may be justified by a class."""

    def __init__(self, verbose):
        self.verbose, self.passed, self.failed = verbose, 0, 0
        self.skipped, self.classes, self.failures = collections.Counter(), collections.Counter(), collections.Counter()

    def good(self):
        self.passed += 1

    def skip(self, what):
        self.skipped[what] += 1

    def bad(self, file_format, name, case, detail):
        """`detail`: expected and found, and what kind of difference it is, for the predicates."""
        reason = justified.justify(file_format, case, detail)
        if reason:
            self.classes[reason] += 1
            return
        self.failed += 1
        self.failures[f"{name.split('-')[0]} ({detail['kind']})"] += 1
        if self.verbose:
            print(f"FAILED {name}: {json.dumps(detail)[:600]}")

    def report(self):
        for name, count in self.failures.most_common():
            print(f"  failed {count}: {name}")
        for reason, count in sorted(self.classes.items()):
            print(f"  justified {count}: {reason}")
        if self.skipped:
            print("  skipped: " + ", ".join(f"{what} ({count})" for what, count in sorted(self.skipped.items())))

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped.update(other.skipped)
        self.classes.update(other.classes)

    def counts(self):
        return f"{self.passed} passed, {self.failed} failed, {sum(self.skipped.values())} skipped"


def load(path):
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def sampled(data, step):
    """Every step-th case."""
    if isinstance(data, list):
        return data[::step]
    return {key: value[::step] if isinstance(value, list) else value for key, value in data.items()}


def format_of(data):
    cases = data if isinstance(data, list) else [c for value in data.values() if isinstance(value, list) for c in value]
    fields = [set(c) for c in cases[:200] if isinstance(c, dict)]
    return next((name for name, (wanted, _) in FORMATS.items() if any(wanted <= f for f in fields)), None)


def compare_file(program, path, options):
    tally = Tally(options.verbose)
    data = sampled(load(path), options.sample)
    name = format_of(data)
    if name is None:
        print(f"{path.name}: of no known format ({', '.join(FORMATS)})")
        tally.failed += 1
        return tally
    try:
        FORMATS[name][1](program, data, tally)
    except Exception:  # pylint: disable=broad-except  # a file of another shape must not hide the others' results
        traceback.print_exc(file=sys.stdout)
        tally.failed += 1
        tally.failures[f"{path.name} (could not be read to its end)"] += 1
    print(f"{path.name}: {tally.counts()}, {sum(tally.classes.values())} justified")
    tally.report()
    return tally


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true", help="print each failed case")
    parser.add_argument("--sample", type=int, default=1, metavar="K", help="compare only every K-th case")
    parser.add_argument("--shared", type=pathlib.Path, help="where to find the files when none is given: its data/oracles")
    options = parser.parse_intermixed_args()
    files = options.files
    if not files:
        folder = options.shared / "data" / "oracles" if options.shared else pathlib.Path()
        files = sorted(f for f in folder.glob("*.json*"))
        if not options.shared or not files:
            print(f"no recorded cases in {folder}")
            sys.exit(SKIPPED)
    total = Tally(False)
    for path in files:
        total.add(compare_file(options.program, path, options))
    print(f"{sum(total.classes.values())} justified")
    print(total.counts())
    sys.exit(1 if total.failed else 0)


if __name__ == "__main__":
    main()
