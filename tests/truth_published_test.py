#!/usr/bin/env python3
"""What scripts/truth-published makes of rows and predictions, on numbers made by hand; and that its architectures have
as many parameters as the runs state."""
import importlib.machinery
import importlib.util
import json
import math
import pathlib
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "scripts/truth-published"


def load():
    loader = importlib.machinery.SourceFileLoader("truth_published", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("truth_published", loader))
    loader.exec_module(module)
    return module


truth = load()
TABLES = json.loads((SCRIPT.parent / "truth_constants.json").read_text())
ROW = {"model": "MPT-7b", "system": "h100_80gb", "precision": "amp_bf16 DEFAULT", "gpus": "8", "gbs": "96", "mbs": "6",
       "seq": "2048", "fsdp": "FULL_SHARD", "tp": "1", "pp": "1", "cp": "1", "ep": "", "recompute": "none", "note": "",
       "tokens_s_gpu": "1000", "step_s": "", "memory_gib": ""}
# llm-foundry, scripts/train/benchmarking/README.md at 8c8dd48: model, sequence, parameters.
PUBLISHED_PARAMETERS = [("MPT-30b", 8192, 30019254272), ("MPT-30b", 4096, 29989894144), ("MPT-70b", 2048, 64862437376)]


class Commands(unittest.TestCase):
    def test_batch_accumulation_and_recipe(self):
        generate, infer, batch = truth.commands(ROW, "c.json", "optimal", None, TABLES)
        self.assertEqual(batch, 96)
        self.assertEqual(generate[generate.index("--batch") + 1], "48")
        self.assertEqual(infer[infer.index("--accumulate") + 1], "2")
        self.assertEqual(infer[infer.index("--recipe") + 1], "data=fsdp")

    def test_two_axes(self):
        _, infer, _ = truth.commands({**ROW, "tp": "4", "fsdp": ""}, "c.json", "optimal", "full", TABLES)
        self.assertEqual(infer[infer.index("--mesh") + 1], "data=2,model=4")
        self.assertEqual(infer[infer.index("--recipe") + 1], "data=dp,model=tp")
        self.assertEqual(infer[infer.index("--remat") + 1], "full")

    def test_what_is_not_predicted_says_why(self):
        for change, why in [({"pp": "2"}, "pipeline"), ({"precision": "INT4"}, "precision INT4"),
                            ({"model": "MPT-8b"}, "architecture unknown"), ({"gbs": ""}, "batch not stated"),
                            ({"system": "abacus"}, "system unknown")]:
            with self.assertRaisesRegex(truth.NotYet, why):
                truth.commands({**ROW, **change}, "c.json", "optimal", None, TABLES)

    def test_recomputation(self):
        self.assertEqual(truth.remat_of({"recompute": "full uniform"}, True), ("full", False))
        self.assertEqual(truth.remat_of({"recompute": "full"}, False), (None, True))
        self.assertEqual(truth.remat_of({"recompute": "none"}, False), (None, False))
        self.assertEqual(truth.remat_of({"recompute": "selective"}, True, {"policies": {"selective": "alternate"}}),
                         ("alternate", False))


class Systems(unittest.TestCase):
    def test_variants_by_note(self):
        row = {"system": "Grand Teton H100 96GB", "note": "FSDP eager"}
        self.assertEqual(truth.system_of(row, TABLES["systems"])["changes"]["execution"], "eager")
        self.assertNotIn("execution", truth.system_of({**row, "note": ""}, TABLES["systems"])["changes"])

    def test_recipes(self):
        megatron = {"recipes": {"data": "zero1", "tensor": "sp"}}
        self.assertEqual(truth.recipes({}, megatron, False), ("zero1", "cp", "sp"))
        self.assertEqual(truth.recipes({}, {}, True), ("fsdp", "cp", "tp"))
        self.assertEqual(truth.recipes({"recompute": "selective attn + sequence parallel"}, {}, False), ("dp", "cp", "sp"))

    def test_changes_of_several_types(self):
        base = json.dumps({"device": {"ceilings": {}}})
        made = truth.cluster_document(base, {"changes": {"device.ceilings.bf16+f16": {"value": 0.5, "source": "x"}}}, 3)
        self.assertEqual(made["device"]["ceilings"], dict.fromkeys(["bf16", "f16"], {"value": 0.5, "source": "x"}))
        self.assertEqual(made["num_nodes"], 3)

    def test_changes_that_several_systems_have(self):
        base = json.dumps({"device": {"attention": [1]}})
        system = {"changes": {"device.attention": {"named": "kernel", "source": "x"}}}
        made = truth.cluster_document(base, system, 1, {"kernel": [{"head": 64}]})
        self.assertEqual(made["device"]["attention"], [{"head": 64}])
        self.assertIn("FlashAttention-2", TABLES["named"])


class Fit(unittest.TestCase):
    def system(self, *selectors):
        return {"system": "*", "fitted": {str(i): {"value": 0.2, "row": row} for i, row in enumerate(selectors)}}

    def test_rates_meet_their_rows(self):
        rows = [{**ROW, "seq": seq} for seq in ("1024", "8192")]
        system = {**self.system({"seq": "1024"}, {"seq": "8192"}), "reserve": {"value": 1, "row": {"seq": "1024"}}}
        rate = lambda i: system["fitted"][str(i)]["value"]

        # Two kinds of work: the first row is mostly of the first.
        def predicted(row):
            first, second = (4, 1) if row["seq"] == "1024" else (2, 6)
            return (first / rate(0) + second / rate(1), first / 0.7 + second / 0.4), (50, 60)

        truth.fit(rows, predicted, system, lambda line: None)
        self.assertAlmostEqual(rate(0), 0.7, delta=0.01)
        self.assertAlmostEqual(rate(1), 0.4, delta=0.01)
        self.assertEqual(system["reserve"]["value"], 1.2)

    def test_two_rows_at_most_and_each_one_row(self):
        rows = [{**ROW, "seq": seq} for seq in ("1", "2", "3")]
        with self.assertRaisesRegex(SystemExit, "more than two rows"):
            truth.fit(rows, None, self.system({"seq": "1"}, {"seq": "2"}, {"seq": "3"}), print)
        with self.assertRaisesRegex(SystemExit, "3 rows are"):
            truth.fit(rows, None, self.system({"gpus": "8"}), print)

    def test_every_system_names_its_rows(self):
        for system in TABLES["systems"]:
            rows = {json.dumps(constant["row"]) for constant in truth.fitted_constants(system).values()}
            self.assertLessEqual(len(rows), 2, system["system"])
            for change in [*system.get("changes", {}).values(), *([system["reserve"]] if "reserve" in system else [])]:
                self.assertTrue(isinstance(change, str) or change["source"], system["system"])
            self.assertTrue(all(system.get("flags", {}).values()), system["system"])

    def test_fitted_rows_are_not_judged(self):
        row = {**ROW, "tokens_s_gpu": "1000"}
        prediction = {"step_seconds": 1, "compute_seconds": 1, "collective_seconds": 0, "local_copy_seconds": 0,
                      "reserved_bytes": 0, "lacks_remat": False, "tokens": 8000}
        results = [truth.result_of(row, prediction, fitted) for fitted in (True, False)]
        self.assertEqual(truth.judge(results)["h100_80gb"]["rows"], 1)
        fitted = {"model": "MPT-3b", "gpus": "8", "seq": "4096", "mbs": "5", "precision": "amp_bf16 DEFAULT",
                  "system": "h100_80gb"}
        self.assertTrue(truth.is_fitted(fitted, TABLES))
        self.assertFalse(truth.is_fitted({**fitted, "seq": "8192"}, TABLES))


class Remarks(unittest.TestCase):
    TABLES = {"remarks": [{"rows": [{"model": "MPT-1b"}], "why": "one"},
                          {"rows": [{"model": "MPT-7b", "seq": "4096"}, {"system": "h100*", "seq": "2048"}], "why": "two"}]}

    def test_all_patterns_of_one_entry_fit(self):
        self.assertEqual(truth.remark_on(ROW, self.TABLES), 2)
        self.assertIsNone(truth.remark_on({**ROW, "seq": "8192"}, self.TABLES))
        self.assertIsNone(truth.remark_on(ROW, {}))

    def test_rows_name_them_and_they_stand_below(self):
        result = truth.result_of(ROW, {"step_seconds": 1, "compute_seconds": 1, "collective_seconds": 0,
                                       "local_copy_seconds": 0, "reserved_bytes": 2.0**30, "lacks_remat": False,
                                       "tokens": 8000})
        written = truth.text([{**result, "remark": 2}], {}, False, self.TABLES["remarks"]).splitlines()
        self.assertTrue(written[1].endswith("  (2)"), written[1])
        self.assertEqual(written[-1], "(2) two")


class Judgement(unittest.TestCase):
    def result(self, predicted, tokens_s_gpu, lacks=False):
        row = {**ROW, "tokens_s_gpu": str(tokens_s_gpu)}
        return truth.result_of(row, {"step_seconds": predicted, "compute_seconds": predicted,
                                     "collective_seconds": 0, "local_copy_seconds": 0, "reserved_bytes": 2.0**30,
                                     "lacks_remat": lacks, "tokens": 8000})

    def test_error(self):
        self.assertAlmostEqual(self.result(1.1, 1000)["error"], 0.1)

    def test_pairs_and_shares(self):
        rows = [self.result(1.0, 1000), self.result(1.5, 500), self.result(0.9, 400), self.result(9, 1000, lacks=True)]
        judged = truth.judge(rows)["h100_80gb"]
        self.assertEqual((judged["rows"], judged["pairs"], judged["pairs_right"]), (3, 3, 1))
        self.assertAlmostEqual(judged["median_error"], 0.25)
        self.assertAlmostEqual(judged["tenth_error"], 0.64)  # of three rows: the worst

    def test_fp8_is_judged_apart(self):
        rows = [self.result(1.0, 1000), {**self.result(1.5, 1000), "precision": "amp_fp8"}]
        judged = truth.judge(rows)
        self.assertEqual((judged["h100_80gb"]["rows"], judged["h100_80gb, FP8"]["rows"]), (1, 1))
        self.assertAlmostEqual(judged["all of FP8"]["median_error"], 0.5)

    def test_close_pairs_do_not_count(self):
        self.assertEqual(truth.pairs_right([self.result(1, 1000), self.result(2, 980)]), (0, 0))

    def test_rank_correlation(self):
        self.assertAlmostEqual(truth.rank_correlation([1, 2, 3], [10, 20, 30]), 1)
        self.assertAlmostEqual(truth.rank_correlation([1, 2, 3], [30, 20, 10]), -1)
        self.assertIsNone(truth.rank_correlation([1, 2], [1, 2]))


class Architectures(unittest.TestCase):
    def test_parameters_are_as_published(self):
        for model, sequence, published in PUBLISHED_PARAMETERS:
            row = {**ROW, "model": model, "seq": str(sequence)}
            generate, _, _ = truth.commands(row, "c.json", "optimal", None, TABLES)
            with tempfile.TemporaryDirectory() as folder:
                truth.run([word.replace("graph.pb", "graph.json") for word in generate], folder)
                graph = json.loads(pathlib.Path(folder, "graph.json").read_text())
            count = sum(math.prod(map(int, parameter["type"].split("[")[1].rstrip("]").split(",")))
                        for parameter in graph["parameters"])
            self.assertEqual(count, published, model)


if __name__ == "__main__":
    unittest.main()
