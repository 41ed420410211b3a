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
ROW = {"model": "MPT-7b", "system": "h100_80gb", "precision": "amp_bf16 DEFAULT", "gpus": "8", "gbs": "96", "mbs": "6",
       "seq": "2048", "fsdp": "FULL_SHARD", "tp": "1", "pp": "1", "cp": "1", "ep": "", "recompute": "none",
       "tokens_s_gpu": "1000", "step_s": "", "memory_gib": ""}
# llm-foundry, scripts/train/benchmarking/README.md at 8c8dd48: model, sequence, parameters.
PUBLISHED_PARAMETERS = [("MPT-30b", 8192, 30019254272), ("MPT-30b", 4096, 29989894144), ("MPT-70b", 2048, 64862437376)]


class Commands(unittest.TestCase):
    def test_batch_accumulation_and_recipe(self):
        generate, infer, batch = truth.commands(ROW, "c.json", "optimal", None)
        self.assertEqual(batch, 96)
        self.assertEqual(generate[generate.index("--batch") + 1], "48")
        self.assertEqual(infer[infer.index("--accumulate") + 1], "2")
        self.assertEqual(infer[infer.index("--recipe") + 1], "data=zero3")

    def test_two_axes(self):
        _, infer, _ = truth.commands({**ROW, "tp": "4", "fsdp": ""}, "c.json", "optimal", "full")
        self.assertEqual(infer[infer.index("--mesh") + 1], "data=2,model=4")
        self.assertEqual(infer[infer.index("--recipe") + 1], "data=dp,model=tp")
        self.assertEqual(infer[infer.index("--remat") + 1], "full")

    def test_what_is_not_predicted_says_why(self):
        for change, why in [({"pp": "2"}, "pipeline"), ({"precision": "FP8"}, "precision FP8"),
                            ({"model": "MPT-8b"}, "architecture unknown"), ({"gbs": ""}, "batch not stated")]:
            with self.assertRaisesRegex(truth.NotYet, why):
                truth.commands({**ROW, **change}, "c.json", "optimal", None)

    def test_recomputation(self):
        self.assertEqual(truth.remat_of({"recompute": "full uniform"}, True), ("full", False))
        self.assertEqual(truth.remat_of({"recompute": "full"}, False), (None, True))
        self.assertEqual(truth.remat_of({"recompute": "none"}, False), (None, False))


class Judgement(unittest.TestCase):
    def result(self, predicted, tokens_s_gpu, lacks=False):
        row = {**ROW, "tokens_s_gpu": str(tokens_s_gpu)}
        return truth.result_of(row, {"step_seconds": predicted, "compute_seconds": predicted,
                                     "collective_seconds": 0, "local_copy_seconds": 0, "peak_bytes": 2.0**30,
                                     "lacks_remat": lacks, "tokens": 8000})

    def test_error(self):
        self.assertAlmostEqual(self.result(1.1, 1000)["error"], 0.1)

    def test_pairs_and_shares(self):
        rows = [self.result(1.0, 1000), self.result(1.5, 500), self.result(0.9, 400), self.result(9, 1000, lacks=True)]
        judged = truth.judge(rows)["h100_80gb"]
        self.assertEqual((judged["rows"], judged["pairs"], judged["pairs_right"]), (3, 3, 1))
        self.assertAlmostEqual(judged["median_error"], 0.25)

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
            generate, _, _ = truth.commands(row, "c.json", "optimal", None)
            with tempfile.TemporaryDirectory() as folder:
                truth.run([word.replace("graph.pb", "graph.json") for word in generate], folder)
                graph = json.loads(pathlib.Path(folder, "graph.json").read_text())
            count = sum(math.prod(map(int, parameter["type"].split("[")[1].rstrip("]").split(",")))
                        for parameter in graph["parameters"])
            self.assertEqual(count, published, model)


if __name__ == "__main__":
    unittest.main()
