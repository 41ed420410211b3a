#!/usr/bin/env python3
"""What scripts/truth makes of measurements, on numbers made by hand."""
import importlib.machinery
import importlib.util
import pathlib
import statistics
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "scripts/truth"


def load():
    loader = importlib.machinery.SourceFileLoader("truth", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("truth", loader))
    loader.exec_module(module)
    return module


truth = load()


def run(step, measured, peak=100, allocated=100, tasks=()):
    """A report of `run --compare`; tasks: (kind, tensor bytes, predicted, measured)."""
    return {"comparison": {"predicted_seconds": step, "measured_seconds": measured, "predicted_peak_bytes": peak,
                           "allocated_bytes": allocated},
            "tasks": [{"kind": "kernel", "predicted_seconds": 1, "measured_seconds": 9}] + [
                {"kind": kind, "tensor_bytes": size, "ranks": 2, "predicted_seconds": predicted,
                 "measured_seconds": seconds} for kind, size, predicted, seconds in tasks]}


class Judging(unittest.TestCase):
    def test_within_the_limit(self):
        row = truth.judge(1.09, [1.0, 1.0, 1.0], 0.10)
        self.assertAlmostEqual(row["error"], 0.09)
        self.assertTrue(row["good"])

    def test_beyond_the_limit_on_both_sides(self):
        self.assertFalse(truth.judge(1.11, [1.0], 0.10)["good"])
        self.assertFalse(truth.judge(0.89, [1.0], 0.10)["good"])

    def test_spread_allows_more(self):
        row = truth.judge(1.4, [0.8, 0.9, 1.0, 1.1, 1.2], 0.10)  # quartiles 0.9 and 1.1
        self.assertAlmostEqual(row["allowed"], 0.4)
        self.assertTrue(row["good"])
        self.assertFalse(truth.judge(1.41, [0.8, 0.9, 1.0, 1.1, 1.2], 0.10)["good"])

    def test_one_outlier_allows_nothing(self):
        self.assertFalse(truth.judge(1.2, [1.0, 1.0, 1.0, 1.0, 50.0], 0.10)["good"])

    def test_spread(self):
        self.assertEqual(truth.spread([3.0]), 0.0)
        self.assertEqual(truth.spread([0.0, 0.0]), 0.0)
        self.assertAlmostEqual(truth.spread([1.0, 2.0, 3.0]), 0.5)


class Ranks(unittest.TestCase):
    def test_order(self):
        self.assertAlmostEqual(truth.spearman([1, 2, 3, 4], [10, 20, 30, 400]), 1.0)
        self.assertAlmostEqual(truth.spearman([1, 2, 3, 4], [4, 3, 2, 1]), -1.0)
        self.assertAlmostEqual(truth.spearman([1, 2, 3, 4], [1, 2, 4, 3]), 0.8)

    def test_equal_predictions_share_their_rank(self):
        self.assertAlmostEqual(truth.spearman([1, 1, 2], [1, 2, 3]), 0.866, places=3)

    def test_nothing_to_rank(self):
        self.assertEqual(truth.spearman([1, 2], [1, 2]), 0.0)
        self.assertEqual(truth.spearman([1, 1, 1], [1, 2, 3]), 0.0)

    def test_relative_to_all_plans_of_a_turn(self):
        slow = truth.relative([[1.0, 2.0, 4.0], [4.0, 8.0, 16.0]])
        self.assertAlmostEqual(slow[0], 0.5)
        self.assertAlmostEqual(slow[1], 2.0)

    def test_plans_that_are_apart(self):
        self.assertEqual(truth.apart({"d": 2.0, "a": 1.0, "b": 1.01, "c": 1.05}), ["a", "c", "d"])


def runs_of(plans, factor=1.0, tasks=()):
    return {f"p{i}": [run(1 + i, (1 + i) * factor, tasks=tasks)] * 3 for i in range(plans)}


class Verdicts(unittest.TestCase):
    def verdict(self, runs, priced=None):
        return truth.verdict(truth.judge_runs(runs, priced or {name: reports[0] for name, reports in runs.items()}))

    def test_all_good(self):
        tasks = [("all_reduce", 2e6, 1.0, 1.05), ("all_reduce", 1e3, 1.0, 5.0), ("slice", 2e6, 1.0, 5.0)]
        # 8 step times, 8 memories, the large all-reduce, the order; the small one and the slice are not judged.
        self.assertEqual(self.verdict(runs_of(8, tasks=tasks)), ("18 passed, 0 failed, 2 skipped", True))

    def test_a_collective_is_off(self):
        tasks = [("reduce_scatter", 2e6, 0.6, 1.0)]
        self.assertEqual(self.verdict(runs_of(8, tasks=tasks)), ("17 passed, 1 failed, 0 skipped", False))

    def test_a_collective_of_all_plans_is_judged_once(self):
        runs = runs_of(2, tasks=[("all_gather", 2e6, 1.0, 1.0)])
        result = truth.judge_runs(runs, {name: reports[0] for name, reports in runs.items()})
        self.assertEqual([c["tensor_bytes"] for c in result["collectives"]], [2e6])

    def test_steps_are_off(self):
        self.assertEqual(self.verdict(runs_of(8, factor=1.2)), ("9 passed, 8 failed, 0 skipped", False))

    def test_memory_is_off(self):
        runs = runs_of(8)
        runs["p0"] = [run(1, 1, peak=100, allocated=106)] * 3
        self.assertEqual(self.verdict(runs), ("16 passed, 1 failed, 0 skipped", False))

    def test_the_order_is_off(self):
        runs = {f"p{i}": [run(1 + 0.04 * i, 1 + 0.04 * (i ^ 1))] * 3 for i in range(8)}  # each within 10 %
        self.assertEqual(self.verdict(runs), ("16 passed, 1 failed, 0 skipped", False))

    def test_turns_of_a_slower_machine_leave_the_order(self):
        # In two turns of four the machine is half as fast, and noise moves the plans' medians across each other.
        speeds = [1.0, 1.0, 2.0, 2.0]
        runs = {f"p{i}": [run(1 + 0.04 * i, (1 + 0.04 * i) * speed * (1.2 if turn == 1 + i % 2 else 1))
                          for turn, speed in enumerate(speeds)] for i in range(8)}
        medians = [statistics.median(r["comparison"]["measured_seconds"] for r in reports) for reports in runs.values()]
        self.assertNotEqual(medians, sorted(medians))
        result = truth.judge_runs(runs, {name: reports[0] for name, reports in runs.items()})
        self.assertAlmostEqual(result["rank"]["apart"]["correlation"], 1.0)

    def test_other_predictions_are_judged_where_they_are_given(self):
        runs = runs_of(8, factor=1.2)
        priced = {name: run(1.2 * (1 + i), 1) for i, name in enumerate(runs)}
        self.assertEqual(self.verdict(runs, priced), ("17 passed, 0 failed, 0 skipped", True))

    def test_collectives_that_are_boxed_otherwise_are_left_out(self):
        runs = runs_of(8, tasks=[("all_gather", 2e6, 9.0, 1.0)])
        self.assertEqual(self.verdict(runs, {name: reports[0] for name, reports in runs_of(8).items()}),
                         ("17 passed, 0 failed, 0 skipped", True))

    def test_too_few_plans_are_not_ranked(self):
        self.assertEqual(self.verdict(runs_of(7)), ("14 passed, 0 failed, 1 skipped", True))


def cluster(bandwidth, samples, op_seconds):
    return {"name": "c", "num_nodes": 1, "intra_node": {"name": "l", "bandwidth": {"value": bandwidth, "source": "s"}},
            "samples": [{"collective": "all-gather", "bytes": size, "seconds": seconds} for size, seconds in samples],
            "device": {"name": "d", "flops": {"f32": {"value": bandwidth}},
                       "op_samples": [{"op": "Add", "flops": 1, "seconds": op_seconds}]}}


class Merging(unittest.TestCase):
    def test_medians(self):
        made = truth.merged([cluster(1, [(4, 1.0), (8, 5.0)], 3.0), cluster(9, [(4, 2.0)], 1.0),
                             cluster(2, [(4, 9.0)], 2.0)])
        self.assertEqual(made["intra_node"], {"name": "l", "bandwidth": {"value": 2, "source": "s"}})
        self.assertEqual(made["device"]["flops"]["f32"]["value"], 2)
        self.assertEqual([(s["bytes"], s["seconds"]) for s in made["samples"]], [(4, 2.0), (8, 5.0)])
        self.assertEqual([s["seconds"] for s in made["device"]["op_samples"]], [2.0])


    def test_zeros_are_left_out_of_files(self):
        some = cluster(4, [(4, 1.0)], 1.0)
        del some["intra_node"]["bandwidth"]["value"], some["samples"][0]["seconds"]
        made = truth.merged([some, cluster(4, [(4, 3.0)], 1.0)])
        self.assertEqual(made["intra_node"]["bandwidth"]["value"], 2)
        self.assertEqual(made["samples"][0]["seconds"], 1.5)


if __name__ == "__main__":
    unittest.main()
