#!/usr/bin/env python3
"""Global tensors against numpy: tensor_test.py PROGRAM [LIBRARY]. Skips where numpy is not."""
import itertools
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if not os.environ.get("SBP_PLAN_INSTALLED"):  # else that of the environment is tested
    sys.path.insert(0, str(ROOT / "python"))

import sbp_plan as sp  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None
try:
    import torch
except ImportError:
    torch = None
MESH = {"data": 2, "model": 2}


@unittest.skipIf(numpy is None, "needs numpy")
class Tensors(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(11)

    def data(self, *shape):
        return self.random.standard_normal(shape, dtype=numpy.float32)

    def close(self, expected, given):
        numpy.testing.assert_allclose(given, expected, rtol=2e-5, atol=2e-6)

    def test_parts(self):
        a = self.data(5, 3)
        t = sp.tensor(a, mesh={"x": 2}, sbp="S(0)")
        self.assertEqual(("S(0)", {"x": 2}, (5, 3), "f32"), (t.sbp, t.mesh, t.shape, t.dtype))
        self.close(a[:3], t.local(0))
        self.close(a[3:], t.local(1))
        t = sp.tensor(a, mesh=MESH, sbp="(S(0), S(0))")
        self.assertEqual([2, 1, 1, 1], [t.local(rank).shape[0] for rank in range(4)])
        p = sp.tensor(a, mesh=MESH, sbp="(P(sum), B)")
        self.close(a, p.local(1))
        self.close(0 * a, p.local(2))
        self.close(a, p.numpy())

    def test_is_an_array_for_numpy(self):
        a = self.data(5, 3)
        for layout in ("(S(0), B)", "(P(sum), S(1))"):
            t = sp.tensor(a, mesh=MESH, sbp=layout)
            self.close(a, numpy.asarray(t))
            self.assertEqual("float64", numpy.asarray(t, "f8").dtype)
            self.assertIsInstance(a + t, sp.GlobalTensor)  # operators stay ours
        with self.assertRaises(ValueError):
            numpy.array(t, copy=False)

    @unittest.skipIf(ml_dtypes is None, "needs ml_dtypes")
    def test_bf16(self):
        a = self.data(4, 6).astype(ml_dtypes.bfloat16)
        wide = a.astype("float32")
        self.assertEqual(a.dtype, sp.ops.relu(a).dtype)
        numpy.testing.assert_array_equal(numpy.maximum(wide, 0), sp.ops.relu(a).astype("float32"))
        self.assertEqual(a.dtype, sp.ops.cast(wide, to="bf16").dtype)
        numpy.testing.assert_array_equal(a, sp.ops.cast(wide, to="bf16"))
        for layout in ("(S(0), B)", "(P(sum), S(1))", "(B, P(max))"):
            t = sp.tensor(a, mesh=MESH, sbp=layout)
            self.assertEqual(("bf16", a.dtype, a.dtype), (t.dtype, t.local(1).dtype, t.numpy().dtype))
            moved = sp.ops.neg(t).to("(B, S(1))")
            self.assertEqual(("bf16", a.dtype), (moved.dtype, moved.local(0).dtype))
            numpy.testing.assert_array_equal(-wide, moved.numpy().astype("float32"))

    @unittest.skipIf(ml_dtypes is None or torch is None, "needs torch and ml_dtypes")
    def test_bf16_of_torch(self):
        a = torch.arange(24, dtype=torch.bfloat16).reshape(4, 6)
        whole = a.float().numpy()
        numpy.testing.assert_array_equal(whole.T + 1, sp.ops.add(a.t(), 1).astype("float32"))
        numpy.testing.assert_array_equal(whole, sp.tensor(a, MESH, "(S(0), B)").numpy().astype("float32"))
        with sp.graph() as g:
            g.output(g.input("x", (4, 6), torch.bfloat16) + g.parameter("w", a), "y")
        numpy.testing.assert_array_equal(2 * whole, g.model().run({"x": a})["y"])

    def test_every_layout_in_and_out(self):
        a = self.data(6, 4)
        layouts = ["B", "S(0)", "S(1)", "P(sum)", "P(max)"]
        for source, target in itertools.product(layouts, layouts):
            t = sp.tensor(a, mesh={"x": 2}, sbp=source)
            if target.startswith("P") and source.startswith("P") and target != source:
                continue
            moved = t.to(sbp=target)
            self.assertEqual(target, moved.sbp)
            self.close(a, moved.numpy())
            if source.startswith("S"):  # each part is the program's as it is ours
                self.close(t.local(1), sp.tensor(a, mesh={"x": 2}, sbp="B").to(sbp=source).local(1))
        self.assertEqual((("all-gather",),), tuple(row.collectives for row in sp.tensor(a, {"x": 2}, "S(0)").to("B").history))
        self.assertEqual((), sp.tensor(a, {"x": 2}, "S(0)").to("S(0)").history)

    def test_ops_on_every_layout(self):
        a, w = self.data(4, 6), self.data(6, 8)
        layouts = ["(B, B)", "(S(0), B)", "(S(0), S(1))", "(S(1), P(sum))", "(P(sum), S(0))"]
        for first, second in itertools.product(layouts, layouts):
            y = sp.tensor(a, mesh=MESH, sbp=first) @ sp.tensor(w, mesh=MESH, sbp=second)
            self.close(a @ w, y.numpy())
        for layout in layouts:
            t = sp.tensor(a, mesh=MESH, sbp=layout)
            self.close(numpy.maximum(a, 0), sp.ops.relu(t).numpy())
            self.close(a + a, (t + t).numpy())
            self.close(a.sum(1), sp.ops.reduce_sum(t, [1], keepdims=False).numpy())
            self.close(2 * a - 1, (t * 2.0 - 1).numpy())

    def test_partial_is_kept_and_operands_stay(self):
        a, w = self.data(4, 6), self.data(6, 8)
        x, v = sp.tensor(a, mesh={"x": 2}, sbp="S(1)"), sp.tensor(w, mesh={"x": 2}, sbp="S(0)")
        y = x @ v
        self.assertEqual(("P(sum)", ()), (y.sbp, y.history))
        self.close(a[:, :3] @ w[:3], y.local(0))
        self.close(a[:, 3:] @ w[3:], y.local(1))
        both = y + y
        self.assertEqual(("P(sum)", ()), (both.sbp, both.history))
        self.close(2 * (a[:, 3:] @ w[3:]), both.local(1))
        positive = sp.ops.relu(y)  # no relu of partial sums
        self.assertNotIn("P", positive.sbp)
        self.assertTrue(positive.history)
        self.close(numpy.maximum(a @ w, 0), positive.numpy())

    def test_other_operands(self):
        a, ids, table = self.data(2, 4), numpy.int64([3, 0]), numpy.arange(8, dtype=numpy.float32).reshape(4, 2)
        t = sp.tensor(a, {"x": 2}, "S(0)")
        self.close(a @ table, (t @ table).numpy())  # an array is on every device
        self.close(table @ a, (table @ t).numpy())
        self.close(6, (sp.tensor(3.0, {"x": 2}, "B") * 2).numpy())
        self.close(a.reshape(8), sp.ops.reshape(t, sp.tensor(numpy.int64([8]), {"x": 2}, "B")).numpy())
        self.close([2, 4], sp.ops.shape(t).local(1))
        rows = sp.ops.gather(sp.tensor(table, {"x": 2}, "S(0)"), sp.tensor(ids, {"x": 2}, "B"))
        self.close(table[ids], rows.numpy())
        self.close([[0, 0], [0, 1]], rows.local(0))  # row 3 is the other device's
        self.assertTrue(numpy.isnan(sp.ops.log(sp.tensor([-1.0, 1.0], {"x": 2}, "S(0)")).local(0)).all())
        self.close([6], sp.tensor([2.0, 3.0], {"x": 2}, "P(prod)").to("S(0)").local(0) * 3)

    def test_indexing(self):
        a = self.data(4, 6)
        t = sp.tensor(a, mesh={"x": 2}, sbp="S(0)")
        for index in (1, (slice(None), 2), slice(1, 3), (Ellipsis, -1), (None, slice(None, None, -1)), (slice(3, 0, -2), 1)):
            self.close(a[index], t[index].numpy())
        with self.assertRaises(IndexError):
            t[4]
        with self.assertRaisesRegex(sp.CallError, "ops.gather"):
            t[[0, 1]]

    def test_bad_input(self):
        a = self.data(4, 6)
        t = sp.tensor(a, mesh=MESH, sbp="(S(0), B)")
        for ask, text in [(lambda: sp.tensor(a, MESH, "S(0)"), "has 1 entries for mesh data=2,model=2, which has 2 axes"),
                          (lambda: sp.tensor(a, MESH, "(S(2), B)"), r"S\(2\) splits a dimension"),
                          (lambda: sp.tensor(a, MESH, "(Q, B)"), '"Q" is none of B'),
                          (lambda: sp.tensor(a, MESH, "(P(mean), B)"), "combined by sum, max, min, prod"),
                          (lambda: sp.tensor(a, MESH, "(P(sum), P(max))"), "two kinds"),
                          (lambda: sp.tensor(a, {"x": 0}, "B"), "number of devices"),
                          (lambda: t.local(4), "ranks 0 to 3"),
                          (lambda: t + sp.tensor(a, {"x": 4}, "B"), "different meshes, data=2,model=2 and x=4"),
                          (lambda: sp.tensor(numpy.int64([1]), 1, "B") / 2, "rounds quotients")]:
            with self.assertRaisesRegex(sp.CallError, text):
                ask()


if __name__ == "__main__":
    os.environ["SBP_PLAN_PROGRAM"] = str(pathlib.Path(sys.argv.pop(1)).resolve())
    os.environ["SBP_PLAN_LIBRARY"] = str(pathlib.Path(sys.argv.pop(1)).resolve()) if ".so" in "".join(sys.argv[1:2]) else ""
    unittest.main()
