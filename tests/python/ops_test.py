#!/usr/bin/env python3
"""Functions of ops, on arrays: ops_test.py PROGRAM [LIBRARY]."""
import importlib.machinery
import importlib.util
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if not os.environ.get("SBP_PLAN_INSTALLED"):  # else that of the environment is tested
    sys.path.insert(0, str(ROOT / "python"))

import sbp_plan as sp  # noqa: E402
from sbp_plan import _program  # noqa: E402
from sbp_plan._binding import python_name  # noqa: E402
from sbp_plan._schema import long_name, snake_case  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None


def rules():
    """What the program prints, without the package."""
    output = subprocess.run([_program.program(), "rules", "list", "--format", "json"], capture_output=True, check=True)
    return json.loads(output.stdout)["ops"]


def paragraph(op):
    return subprocess.run([_program.program(), "rules", "show", op], capture_output=True, check=True, text=True).stdout


class Stubs(unittest.TestCase):
    def test_they_are_those_of_the_rules(self):
        loader = importlib.machinery.SourceFileLoader("make_op_stubs", str(ROOT / "scripts/make-op-stubs"))
        sys.dont_write_bytecode = True
        stubs = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(stubs)
        self.assertEqual((ROOT / "python/sbp_plan/ops.pyi").read_text().splitlines(), stubs.text().splitlines(),
                         "run scripts/make-op-stubs PROGRAM")


class Names(unittest.TestCase):
    def test_snake_case(self):
        for op, name in {"MatMul": "matmul", "Relu": "relu", "PRelu": "prelu", "IsNaN": "is_nan", "LSTM": "lstm", "TopK": "top_k",
                         "ReduceL2": "reduce_l2", "And": "and_", "com.microsoft::MoE": "moe", "GatherND": "gather_nd",
                         "com.microsoft::MatMulNBits": "matmul_nbits", "LayerNormalization": "layer_normalization"}.items():
            self.assertEqual(name, snake_case(op))
        self.assertEqual(("microsoft_gelu", "onnx_gelu", "training_adam", "onnx_and"), tuple(map(long_name, (
            "com.microsoft::Gelu", "Gelu", "ai.onnx.preview.training::Adam", "And"))))

    def test_every_op_has_a_function_by_each_of_its_names(self):
        listed = rules()
        self.assertGreater(len(listed), 250)
        for row in listed:
            for name in (row["op"], long_name(row["op"])):
                self.assertEqual(row["op"], sp.ops.find(name).op)
        names = {row["op"] for row in listed}
        for row in listed:  # whose the plain name is
            plain, owners = snake_case(row["op"]), [op for op in names if snake_case(op) == snake_case(row["op"])]
            onnx = [op for op in owners if "::" not in op]
            if onnx or len(owners) == 1:
                self.assertEqual((onnx or owners)[0], getattr(sp.ops, plain).op)
            else:
                with self.assertRaisesRegex(AttributeError, "several ops: .*" + long_name(row["op"])):
                    getattr(sp.ops, plain)
        self.assertEqual("Gelu", sp.ops.gelu.op)
        self.assertEqual("com.microsoft::Gelu", sp.ops.microsoft_gelu.op)
        self.assertLessEqual({"matmul", "MatMul", "microsoft_gelu", "find"}, set(dir(sp.ops)))
        self.assertEqual([], [name for name in dir(sp.ops) if not hasattr(sp.ops, name)])

    def test_misspelt(self):
        with self.assertRaisesRegex(AttributeError, 'no op is called "matmull" .did you mean "matmul"'):
            sp.ops.matmull
        with self.assertRaisesRegex(AttributeError, "several ops: sbp_adam, training_adam"):
            sp.ops.adam


class Signatures(unittest.TestCase):
    def test_of_every_op(self):
        for row in rules():
            function = sp.ops.find(row["op"])
            made = inspect.signature(function).parameters
            for signature in row["signatures"]:
                for parameter in signature["parameters"]:
                    python = made[python_name(parameter["name"])]
                    keyword = python.kind == python.KEYWORD_ONLY
                    every = [p for s in row["signatures"] for p in s["parameters"] if p["name"] == parameter["name"]]
                    self.assertEqual(all(p.get("attribute", False) for p in every), keyword, row["op"])
                    self.assertEqual(parameter.get("variadic", False), python.kind == python.VAR_POSITIONAL, row["op"])
                    in_all = all(parameter["name"] in [p["name"] for p in s["parameters"]] for s in row["signatures"])
                    required = in_all and not any(parameter.get(k) for k in ("optional", "variadic")) and "default" not in parameter
                    operands = [p["name"] for p in signature["parameters"] if not p.get("attribute")]
                    behind = parameter["name"] in operands and any(p.get("optional") or "default" in p for p in
                                                 signature["parameters"][:operands.index(parameter["name"])])
                    if python.kind != python.VAR_POSITIONAL and not behind:  # Python has none that is required behind those
                        self.assertEqual(required, python.default is python.empty, (row["op"], parameter["name"]))
                self.assertIn(signature["text"], function.__doc__)
            self.assertTrue(function.__doc__.startswith(row["doc"]), row["op"])

    def test_defaults_are_those_of_the_text(self):
        for op, name, text, value in [("Softmax", "axis", "int axis=-1", -1), ("Gemm", "alpha", "float alpha=1.0", 1.0),
                                      ("Conv", "auto_pad", 'string auto_pad="NOTSET"', "NOTSET"),
                                      ("HannWindow", "periodic", "bool periodic=1", True)]:
            self.assertIn(text, paragraph(op))
            parameter = inspect.signature(sp.ops.find(op)).parameters[name]
            self.assertEqual((value, type(value)), (parameter.default, type(parameter.default)))
        self.assertEqual("(a: 'Tensor', b: 'Tensor') -> 'Tensor'", str(inspect.signature(sp.ops.matmul)))
        self.assertEqual("matmul", sp.ops.matmul.__name__)


@unittest.skipIf(numpy is None, "needs numpy")
class Eager(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(7)

    def data(self, *shape):
        return self.random.standard_normal(shape, dtype=numpy.float32)

    def close(self, expected, given):
        numpy.testing.assert_allclose(given, expected, rtol=2e-5, atol=2e-6)
        self.assertEqual(numpy.asarray(expected).dtype, given.dtype)

    def test_equals_numpy(self):
        a, b, w = self.data(3, 4), self.data(4), self.data(4, 5)
        e = numpy.exp(a - a.max(1, keepdims=True))
        integers = numpy.arange(6, dtype=numpy.int64)
        for expected, given in [
                (a + b, sp.ops.add(a, b)), (a @ w, sp.ops.matmul(a, w)), (numpy.maximum(a, 0), sp.ops.relu(a)),
                (a * numpy.float32(2.5), sp.ops.mul(a, 2.5)), (numpy.float32(1) - a, sp.ops.sub(1, a)),
                (e / e.sum(1, keepdims=True), sp.ops.softmax(a, axis=1)), (a.sum(1), sp.ops.reduce_sum(a, [1], keepdims=False)),
                (a.T, sp.ops.transpose(a)), (a.reshape(2, 6), sp.ops.reshape(a, [2, 6])), (a[:, 1:3], sp.ops.slice(a, [1], [3], [1])),
                (numpy.concatenate([a, a], 1), sp.ops.concat(a, a, axis=1)), (numpy.concatenate([a, a]), sp.ops.concat([a, a], axis=0)),
                (integers[[3, 1]], sp.ops.gather(integers, [3, 1])), (a > b, sp.ops.greater(a, b)),
                (numpy.where(a > 0, a, b), sp.ops.where(a > 0, a, b)), (a.astype(numpy.float64), sp.ops.cast(a, to="f64")),
                (a.astype(numpy.int32), sp.ops.cast(a, to=numpy.int32)), (numpy.einsum("ij,jk->ik", a, w), sp.ops.einsum(a, w, equation="ij,jk->ik")),
                (numpy.clip(a, -0.5, 0.5), sp.ops.clip(a, -0.5, 0.5)), (a.argmax(1), sp.ops.arg_max(a, axis=1, keepdims=False)),
                (numpy.arange(2, 12, 3), sp.ops.range(2, 12, 3)), (numpy.array([3, 4]), sp.ops.shape(a)),
                (numpy.logical_and(a > 0, a < 1), sp.ops.and_(a > 0, a < 1)), (numpy.pad(a, 1), sp.ops.pad(a, [1, 1, 1, 1])),
                (2.5 + numpy.zeros((2, 3), numpy.float32), sp.ops.constant_of_shape([2, 3], value=numpy.float32([2.5])))]:
            self.close(expected, given)

    def test_overloads_are_tried_in_order(self):
        a = numpy.float32([1, 2, 3])
        self.close(a ** numpy.float32(2), sp.ops.pow(a, 2))
        self.close(a ** a, sp.ops.pow(a, a))

    def test_several_results(self):
        values, indices = sp.ops.top_k(numpy.float32([3, 1, 2]), [2])
        self.close(numpy.float32([3, 2]), values)
        self.close(numpy.int64([0, 2]), indices)
        x, one = self.data(2, 4), numpy.ones(4, numpy.float32)
        self.assertEqual((2, 4), sp.ops.layer_normalization(x, one).shape)
        y, mean = sp.ops.layer_normalization(x, one, results=2)
        self.close(x.mean(1, keepdims=True), mean)
        first, second = sp.ops.split(x, axis=1, num_outputs=2)
        self.close(x[:, 2:], second)
        self.close(x[:, :2], sp.ops.split(x, axis=1, num_outputs=2, results=1))
        with self.assertRaisesRegex(sp.CallError, "'results' must be from 1 to any number, not 0"):
            sp.ops.split(x, axis=1, num_outputs=0)

    def test_other_types(self):
        self.close(numpy.float64([0.5]) + numpy.float64([1e-12]), sp.ops.add(numpy.float64([0.5]), numpy.float64([1e-12])))
        self.assertTrue(numpy.isnan(sp.ops.log(numpy.float32([-1]))).all())
        self.close(numpy.float32([1, numpy.inf]), sp.ops.identity(numpy.float32([1, numpy.inf])))
        self.assertEqual((0, 3), sp.ops.relu(numpy.zeros((0, 3), numpy.float32)).shape)
        fortran = numpy.asfortranarray(self.data(3, 4))
        self.close(fortran, sp.ops.identity(fortran))
        sequence = sp.ops.sequence_construct(numpy.float32([1]), numpy.float32([2, 3]))
        self.close(numpy.float32([2, 3]), sequence[1])
        self.close(numpy.float32([2, 3]), sp.ops.sequence_at(sequence, 1))

    def test_dlpack(self):
        class Other:
            def __init__(self, array):
                self.array = array

            dtype = property(lambda self: self.array.dtype)
            shape = property(lambda self: self.array.shape)

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        a = self.data(2, 3)
        self.close(a + a, sp.ops.add(Other(a), a))

    def test_users_rules(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "my.rules"
            path.write_text('op acme::Gate(Tensor x, Tensor w, *, float scale=2.0) -> Tensor y\n  doc "silu"\n'
                            '  rule ... k, k n -> ... n ; reduce none k\n  expand\n    h = MatMul(x, w)\n    y = h * Sigmoid(h) * scale\n')
            mine = sp.ops_of(rules=path)
            self.assertEqual("(x: 'Tensor', w: 'Tensor', *, scale: 'float' = 2.0) -> 'Tensor'", str(inspect.signature(mine.gate)))
            x, w = self.data(2, 3), self.data(3, 4)
            h = x @ w
            self.close(h / (1 + numpy.exp(-h)) * numpy.float32(3), mine.gate(x, w, scale=3))
            self.close(x + x, mine.add(x, x))
            self.assertIn("acme_gate", dir(mine))
            self.assertNotIn("gate", dir(sp.ops))
            path.write_text("op acme::Gate(")
            with self.assertRaisesRegex(sp.InputError, "my.rules:1:"):
                sp.ops_of(path)


@unittest.skipIf(numpy is None, "needs numpy")
class Errors(unittest.TestCase):
    def test_what_no_signature_takes(self):
        a = numpy.ones((2, 3), numpy.float32)
        for ask, text in [
                (lambda: sp.ops.relu(1), r"relu\(\): argument 'x' must be tensor, not int"),
                (lambda: sp.ops.relu("abc"), "must be tensor, not str"),
                (lambda: sp.ops.relu(), r"missing required argument 'x' \(Tensor\)"),
                (lambda: sp.ops.relu(a, a), "takes 1 positional argument, but 2 were given"),
                (lambda: sp.ops.softmax(a, axes=1), r"unknown argument 'axes' \(did you mean \"axis\"\?\)"),
                (lambda: sp.ops.softmax(a, axis="1"), "argument 'axis' must be int, not str '1'"),
                (lambda: sp.ops.softmax(a, axis=1.5), "argument 'axis' must be int, not float 1.5"),
                (lambda: sp.ops.concat(a, a), r"missing required attribute 'axis' \(int\)"),
                (lambda: sp.ops.reduce_sum(a, keepdims=2), r"must be bool \(True or False\), not int 2"),
                (lambda: sp.ops.cast(a, to="floot32"), 'no element type is called "floot32" .did you mean "float32"'),
                (lambda: sp.ops.add(a, a.astype("int64")), "must be f32 tensor as 'x' is, not i64 tensor"),
                (lambda: sp.ops.add(numpy.int64([1]), 1.5), "must be i64, not 1.5"),
                (lambda: sp.ops.add(numpy.uint8([1]), 300), "outside of its range"),
                (lambda: sp.ops.softmax(numpy.int64([1])), "must be float tensor, not i64 tensor"),
                (lambda: sp.ops.top_k(a, [1], results=3), "'results' must be from 2 to 2|unknown argument 'results'"),
                (lambda: sp.ops.pow("abc", 123), r"(?s)pow\(\): received an invalid combination.*\*0: Tensor .*must be tensor, not str"
                                                 r".*\*1: .*must be tensor.*received: \(str, int\)")]:
            with self.assertRaisesRegex(sp.CallError, text) as caught:
                ask()
            self.assertIsInstance(caught.exception, TypeError)

    def test_what_the_rule_refuses(self):
        with self.assertRaisesRegex(sp.InputError, r"^MatMul\(\): sizes of k differ"):
            sp.ops.matmul(numpy.ones((2, 3), numpy.float32), numpy.ones((4, 5), numpy.float32))


if __name__ == "__main__":
    os.environ["SBP_PLAN_PROGRAM"] = str(pathlib.Path(sys.argv.pop(1)).resolve())
    os.environ["SBP_PLAN_LIBRARY"] = str(pathlib.Path(sys.argv.pop(1)).resolve()) if ".so" in "".join(sys.argv[1:2]) else ""
    unittest.main()
