#!/usr/bin/env python3
"""run.py PROGRAM [--verbose] FILE...: see README.md."""
import collections
import gzip
import json
import pathlib
import sys

import dtensor
import eager
import justified
import modules
import oneflow
import oneflow_graphs
import paddle

# A file is of the format whose name its own begins with, before any suffix of the author's.
FORMATS = {
    "paddle_rules": paddle.compare_rules,
    "dtensor_ops": dtensor.compare_ops,
    "dtensor_views": dtensor.compare_views,
    "dtensor_modules": modules.compare,
    "oneflow_signatures": oneflow.compare_signatures,
    "oneflow_graphs": oneflow_graphs.compare,
    "oneflow_eager": eager.compare,
    "oneflow_boxing_costs": oneflow.compare_boxing,
    "oneflow_reshape_nd": oneflow.compare_reshape_nd,
}


class Tally:
    """Counts verdicts; a failed case may be justified by a class."""

    def __init__(self, verbose):
        self.verbose, self.passed, self.failed = verbose, 0, 0
        self.skipped, self.classes, self.failures = collections.Counter(), collections.Counter(), []

    def good(self):
        self.passed += 1

    def skip(self, what):
        self.skipped[what] += 1

    def bad(self, file_format, name, case, detail):
        """`detail`: expected and found, and what kind of difference it is, for the predicates."""
        reason = justified.justify(file_format, case, detail)
        if reason:
            self.passed += 1
            self.classes[reason] += 1
            return
        self.failed += 1
        self.failures.append((name, detail))
        if self.verbose:
            print(f"FAILED {name}: {json.dumps(detail)[:600]}")

    def report(self):
        groups = collections.Counter(name.split("-")[0].split("/")[0] for name, _ in self.failures)
        for name, count in groups.most_common(60):
            print(f"  failed {count}: {name}")
        for reason, count in sorted(self.classes.items()):
            print(f"  justified {count}: {reason}")
        if self.skipped:
            print("  skipped: " + ", ".join(f"{what} ({count})" for what, count in sorted(self.skipped.items())))


def load(path):
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--verbose"]
    program, paths = arguments[0], [pathlib.Path(a) for a in arguments[1:]]
    total = Tally(False)
    for path in paths:
        kind = next((k for k in sorted(FORMATS, key=len, reverse=True) if path.name.startswith(k)), None)
        if kind is None:
            sys.exit(f"{path}: the name must begin with one of {', '.join(FORMATS)}")
        tally = Tally("--verbose" in sys.argv)
        FORMATS[kind](program, load(path), tally)
        skipped = sum(tally.skipped.values())
        print(f"{path.name}: {tally.passed} passed, {tally.failed} failed, {skipped} skipped")
        tally.report()
        total.passed += tally.passed
        total.failed += tally.failed
        total.skipped.update(tally.skipped)
    print(f"{total.passed} passed, {total.failed} failed, {sum(total.skipped.values())} skipped")
    sys.exit(1 if total.failed else 0)


main()
