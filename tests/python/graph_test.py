#!/usr/bin/env python3
"""Graphs recorded from Python, planned and run, against numpy: graph_test.py PROGRAM [LIBRARY]. Skips where numpy is not."""
import os
import pathlib
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if not os.environ.get("SBP_PLAN_INSTALLED"):  # else that of the environment is tested
    sys.path.insert(0, str(ROOT / "python"))

import sbp_plan as sp  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@unittest.skipIf(numpy is None, "needs numpy")
class Recorded(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(3)

    def data(self, *shape):
        return self.random.standard_normal(shape, dtype=numpy.float32)

    def check(self, model, inputs, expected):
        for outputs in (model.run(inputs), model.run(inputs, mesh={"data": 2, "model": 2})):
            numpy.testing.assert_allclose(outputs["y"], expected, rtol=1e-4, atol=1e-5)

    def test_named_dimensions(self):
        w = self.data(16, 4)
        with sp.graph() as g:
            x = g.input("x", ("batch=8", 16))
            self.assertEqual((8, 16), x.shape)
            g.output(sp.ops.relu(x @ g.parameter("w", w)), "y")
        model = g.model()
        bound = lambda plan: plan.document["graph"]["bindings"]
        self.assertEqual({"batch": 8}, bound(model.plan(mesh={"data": 2})))
        self.assertEqual({"batch": 64}, bound(model.plan(mesh={"data": 2}, dim={"batch": 64})))
        self.assertEqual((8, 4), model.run()["y"].shape)
        for batch in (8, 12):  # arrays bring their own
            x = self.data(batch, 16)
            self.check(model, {"x": x}, numpy.maximum(x @ w, 0))
        self.assertEqual({"batch": 12}, model._said({}, {"x": [[0.0] * 16] * 12})["dim"])  # lists of numbers, too
        with self.assertRaisesRegex(sp.InputError, "12.*64|64.*12"):
            model.run({"x": self.data(12, 16)}, dim={"batch": 64})
        with sp.graph() as g:
            g.input("x", ("batch=8", 16))
            for shape, message in [(("batch=9", 4), "dimension batch is 8 already, not 9"), (("batch", 4), "such as"),
                                   (("batch=-1", 4), "such as"), (("=8", 4), "such as")]:
                with self.assertRaisesRegex(sp.CallError, message):
                    g.input("z", shape)

    def test_mlp_is_planned_trained_and_run(self):
        weights, x = [self.data(16, 32), self.data(32, 100)], self.data(8, 16)  # the second is no literal
        with sp.graph("mlp") as g:
            h = g.input("x", (8, 16))
            for i, w in enumerate(weights):
                with g.scope(f"layers.{i}"):
                    h = sp.ops.relu(h @ g.parameter("weight", w) + 0.5)
                self.assertEqual((8, w.shape[1]), h.shape)
            g.output(h, "y")
        expected = x
        for w in weights:
            expected = numpy.maximum(expected @ w + numpy.float32(0.5), 0)
        model = g.model()
        self.check(model, {"x": x}, expected)
        plan = model.plan(mesh={"data": 2})
        self.assertIn("layers.0.matmul", plan.signatures)
        self.assertTrue(sp.check(plan, model))
        step = model.train(loss="mean:y", optimizer="sgd").plan(mesh={"data": 2})
        self.assertIn("optimizer/layers.1.weight", step.signatures)
        step.run()

    def test_attention(self):
        x, w = self.data(2, 4, 8), self.data(8, 24)
        with sp.graph() as g:
            t = g.input("x", (2, 4, 8))
            qkv = t @ g.parameter("qkv", w)
            q, k, v = (sp.ops.transpose(sp.ops.reshape(part, sp.ops.concat(sp.ops.shape(t)[:2], [2, 4], axis=0)), perm=[0, 2, 1, 3])
                       for part in (qkv[..., 0:8], qkv[..., 8:16], qkv[..., 16:24]))
            scores = sp.ops.softmax(q @ sp.ops.transpose(k, perm=[0, 1, 3, 2]) * 0.5)
            g.output(sp.ops.reshape(sp.ops.transpose(scores @ v, perm=[0, 2, 1, 3]), [2, 4, 8]), "y")
        q, k, v = ((x @ w)[..., i:i + 8].reshape(2, 4, 2, 4).transpose(0, 2, 1, 3) for i in (0, 8, 16))
        expected = (softmax(q @ k.transpose(0, 1, 3, 2) / 2) @ v).transpose(0, 2, 1, 3).reshape(2, 4, 8)
        self.check(g.model(), {"x": x}, expected)

    def test_a_thousand_ops(self):
        start = time.monotonic()
        with sp.graph() as g:
            x = g.input("x", (4, 4))
            for _ in range(500):
                x = sp.ops.relu(x + x)
            g.output(x, "y")
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(1000, len(g.document()["ops"]))

    def test_arrays_are_computed_within(self):
        with sp.graph() as g:
            self.assertEqual([2.0], sp.ops.add(numpy.float32([1]), 1).tolist())
            noise = sp.ops.random_normal(shape=[2, 3])
            self.assertEqual((2, 3), noise.shape)
            g.output(noise)
        self.assertEqual(1, len(g.document()["ops"]))

    def test_notebooks_show_the_graph(self):
        with sp.graph("shown") as g:
            h = g.input("x", (4, 8))
            self.assertIn("shown: 1 inputs", g._repr_html_())
            g.output(sp.ops.relu(h), "y")
            with self.assertRaisesRegex(TypeError, '"x" is recorded and has no values'):
                numpy.asarray(h)
        self.assertTrue(g._repr_html_().startswith("<svg"))

    def test_bad_input(self):
        with sp.graph("one") as g:
            x = g.input("x", (2, 3))
            for ask, kind, text in [
                    (lambda: g.input("x", (1,)), sp.CallError, 'has a tensor "x" already'),
                    (lambda: g.input("z", ("batch", 2)), sp.CallError, "a name with the size while recording"),
                    (lambda: x @ x, sp.InputError, "MatMul"),
                    (lambda: sp.ops.softmax(x, axes=1), sp.CallError, 'did you mean "axis"'),
                    (lambda: g.model(), sp.CallError, "has no output"),
                    (lambda: x + sp.tensor([1.0], 2, "B"), sp.CallError, "not both"),
                    (lambda: x.__bool__(), TypeError, "truth")]:
                with self.assertRaisesRegex(kind, text):
                    ask()
            with sp.graph("two") as other:
                y = other.input("y", (2, 3))
                with self.assertRaisesRegex(sp.CallError, 'is a tensor of graph "(one|two)", not of'):
                    x + y
        with self.assertRaisesRegex(sp.CallError, 'graph "one" is closed'):
            x + x


if __name__ == "__main__":
    os.environ["SBP_PLAN_PROGRAM"] = str(pathlib.Path(sys.argv.pop(1)).resolve())
    os.environ["SBP_PLAN_LIBRARY"] = str(pathlib.Path(sys.argv.pop(1)).resolve()) if ".so" in "".join(sys.argv[1:2]) else ""
    unittest.main()
