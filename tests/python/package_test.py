#!/usr/bin/env python3
"""The Python package, by the library or else by the program: package_test.py PROGRAM [LIBRARY]. Without torch; arrays only
where numpy is."""
import concurrent.futures
import copy
import io
import json
import os
import pathlib
import pickle
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
if not os.environ.get("SBP_PLAN_INSTALLED"):  # else that of the environment is tested
    sys.path.insert(0, str(ROOT / "python"))

import sbp_plan as sp  # noqa: E402
from sbp_plan import _program  # noqa: E402
from sbp_plan._program import call, flags  # noqa: E402

GRAPH = ROOT / "examples/megatron/graph.json"
MESH = {"data": 2, "model": 4}
# Before the classes, which ask.
os.environ["SBP_PLAN_PROGRAM"] = str(pathlib.Path(sys.argv.pop(1)).resolve())
LIBRARY = str(pathlib.Path(sys.argv.pop(1)).resolve()) if len(sys.argv) > 1 and ".so" in sys.argv[1] else ""
os.environ["SBP_PLAN_LIBRARY"] = LIBRARY
try:
    import numpy
except ImportError:
    numpy = None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


def model(seq=16):
    return sp.load(GRAPH, dim={"batch": 8, "seq": seq})


class Flags(unittest.TestCase):
    def test_every_kind_of_value(self):
        self.assertEqual(flags({"memory_limit": "75GB", "mesh": MESH, "dim": {"a": 1, "b": 2}, "pin": ["x=B", "y=B"],
                                "train": True, "bound": False, "seed": 0, "cluster": None, "log": pathlib.Path("l")}),
                         ["--memory-limit=75GB", "--mesh=data=2,model=4", "--dim=a=1", "--dim=b=2", "--pin=x=B", "--pin=y=B",
                          "--train", "--seed=0", "--log=l"])


    def test_numbers_of_bytes_are_bytes(self):
        self.assertEqual(flags({"memory_limit": 40_000_000, "prefetch": 0}), ["--memory-limit=40000000B", "--prefetch=0"])
        self.assertLessEqual(model().plan(mesh=MESH, memory_limit=40_000_000).cost.peak_bytes, 40_000_000)

    def test_lists_of_one_flag(self):
        self.assertEqual(flags({"axes": ["data", "model"], "remat": ("light:2", "full"), "pin": ("x=B",)}),
                         ["--axes=data,model", "--remat=light:2,full", "--pin=x=B"])
        plan = model().plan(devices=8, axes=["data", "model"], effort=0)
        self.assertRegex(plan.document["mesh"], "^(data|model)=")

    def test_a_mesh_without_names(self):
        with self.assertRaisesRegex(sp.UsageError, re.escape('mesh=(2, 4): axes have names: mesh={"axis0": 2, "axis1": 4}')):
            model().plan(mesh=(2, 4))


class Mistakes(unittest.TestCase):
    def test_what_is_no_plan_and_no_model(self):
        plan = model().plan(mesh={"data": 2})
        with self.assertRaisesRegex(TypeError, "takes plans.*not int"):
            sp.diff(plan, 3)
        with self.assertRaisesRegex(TypeError, "takes plans.*not str"):
            sp.check("plan.json")
        with self.assertRaisesRegex(sp.InputError, "graph.json: graph, expected a plan"):
            sp.load_plan(GRAPH)
        with self.assertRaisesRegex(TypeError, "from_onnx.*not int"):
            sp.from_onnx(3)
        with self.assertRaisesRegex(sp.UsageError, '--as "gif": expected one of dot, svg'):
            plan.render("gif")
        self.assertRegex(repr(plan), r"^<plan of .*megatron/graph.json on data=2: [0-9.e-]+ s a step>$")
        self.assertTrue(plan._repr_html_().startswith("<pre>") and model()._repr_html_().startswith("<svg"))


class Torch(unittest.TestCase):
    def test_without_torch(self):
        with unittest.mock.patch.dict(sys.modules, {"torch": None}):
            with self.assertRaisesRegex(ImportError, r"apply_torch\(\) runs plans by PyTorch, and torch is not installed"):
                model().plan(mesh={"data": 2}).apply_torch(object())


class Options(unittest.TestCase):
    def test_what_the_package_gives_itself(self):
        for ask in (lambda: model().plan(mesh=MESH, output="plan.json"), lambda: model().run(outputs="y.npz"),
                    lambda: model().plan(mesh=MESH).render("svg", output="x.svg")):
            with self.assertRaisesRegex(sp.UsageError, "output"):
                ask()

    def test_what_only_a_plan_runs(self):
        with self.assertRaisesRegex(sp.UsageError, "runs as a plan"):
            sp.load(GRAPH, dtype="bf16").run()
        with self.assertRaisesRegex(sp.UsageError, "runs as a plan"):
            model().train(loss="mean:logits").run()

    def test_a_warning_names_who_asked(self):
        with self.assertWarns(UserWarning) as told:
            _program._warn("note: a\nwarning: b\n")
        self.assertEqual((__file__, "b"), (told.filename, str(told.warning)))

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_numbers_of_numpy(self):
        self.assertEqual(flags({"devices": numpy.int64(8), "gap": numpy.float32(0.5)}), ["--devices=8", "--gap=0.5"])


class Planning(unittest.TestCase):
    def test_megatron(self):
        plan = model().plan(mesh=MESH, strategy="einsum", pins=ROOT / "examples/megatron/megatron.pins")
        self.assertIn("mesh data=2,model=4", plan.summary())
        self.assertEqual({("all-reduce",)}, {row.collectives for row in plan.collectives})
        self.assertEqual(4, len(plan.collectives))  # two a layer
        self.assertAlmostEqual(sum(row.seconds for row in plan.collectives), plan.cost.collective_seconds)
        self.assertEqual(plan.cost.step_seconds, plan.figures["schedule"]["seconds"])
        self.assertIn(f"{plan.cost.step_seconds:.4g} s a step", repr(plan))
        self.assertEqual("(B, S(1))", plan.layouts["layers.0.mlp.fc1.weight"])
        self.assertEqual("(S(0), S(2))", plan.layouts["layers.0.mlp.fc1.out"])
        self.assertEqual("(S(0), P(sum))", plan.layouts["layers.0.mlp.fc2.out"])
        self.assertEqual({tensor["name"] for tensor in plan.document["graph"]["tensors"]} - plan.layouts.keys(), set())
        self.assertEqual("(S(0), B), (B, S(1)) -> (S(0), S(2))", plan.signatures["layers.0.mlp.fc1"])
        self.assertIn("MatMul", plan.explain("layers.0.mlp.fc1"))
        self.assertIn(b"<svg", plan.render())
        self.assertIn("<iframe sandbox=", plan._repr_html_())

    def test_files_and_comparison(self):
        plan, other = model().plan(mesh=MESH), model().plan(mesh=MESH, strategy="replicate")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("plan.json", "plan.pb", "plan.prototxt"):
                plan.save(pathlib.Path(folder) / name)
                self.assertFalse(sp.diff(plan, sp.load_plan(pathlib.Path(folder) / name)), name)
        self.assertTrue(sp.check(plan, model()))
        self.assertTrue(sp.diff(plan, other))
        wrong = sp.Plan(plan._document.replace(b'"peak_bytes": 5', b'"peak_bytes": 6'))
        self.assertNotEqual(wrong._document, plan._document)
        self.assertFalse(sp.check(wrong))

    def test_training_step(self):
        step = model().train(loss="mean:output:0", optimizer="sgd")
        self.assertIn("optimizer/layers.0.mlp.fc1.weight", step.plan(mesh=8, strategy="einsum").signatures)

    def test_threads(self):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            made = list(pool.map(lambda seq: model(seq).plan(mesh=MESH), (16, 32, 16)))
        self.assertFalse(sp.diff(made[0], made[2]))
        self.assertTrue(sp.diff(made[0], made[1]))


class Errors(unittest.TestCase):
    def test_kind_and_text(self):
        for options, kind, text in [
                ({"mesch": "4"}, sp.UsageError, 'has no flag "--mesch" (did you mean "--mesh"?)'),
                ({"mesh": "4", "pin": "nope=B"}, sp.InputError, 'no tensor is called "nope"'),
                ({"mesh": "4", "memory_limit": "1kB"}, sp.NoPlanError, "no plan fits into --memory-limit")]:
            with self.assertRaises(kind) as caught:
                model().plan(**options)
            self.assertIn(text, str(caught.exception))
            self.assertIsInstance(caught.exception, sp.Error)
        with self.assertRaises(FileNotFoundError):
            sp.load("nowhere.onnx")
        with self.assertRaises(sp.InputError):
            sp.Plan(b"{}").explain("x")

    def test_name_that_looks_like_a_flag(self):
        with self.assertRaises(sp.InputError):
            model().plan(mesh=MESH).explain("--all")

    def test_interrupt_stops_the_search(self):
        timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
        start = time.monotonic()
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            sp.load(ROOT / "examples/gpt2/graph.json", dim={"batch": 8, "seq": 1024}).plan(
                mesh=MESH, memory_limit="400MB", gap="0", time=60)
        self.assertLess(time.monotonic() - start, 4 if LIBRARY else 30)  # after the first second
        self.assertTrue(model().plan(mesh=2).summary())  # the next call is not cancelled


LOOP = """{"kind": "sbp_plan.graph.v1", "name": "loop",
 "inputs": [{"name": "h0", "type": "f32[4]"}, {"name": "m", "type": "i64[]"}],
 "ops": [{"name": "repeat", "type": "Loop", "inputs": ["m", "", "h0"], "outputs": ["h"],
   "attributes": {"body": {"graph": {
    "inputs": [{"name": "i", "type": "i64[]"}, {"name": "go", "type": "bool[]"}, {"name": "h", "type": "f32[4]"}],
    "ops": [{"name": "add", "type": "Add", "inputs": ["h", "h"], "outputs": ["h2"]}],
    "outputs": ["go", "h2"]}}}}],
 "outputs": ["h"]}"""


@unittest.skipUnless(LIBRARY, "needs the library")
class InProcess(unittest.TestCase):
    def test_progress_is_told_and_may_stop(self):
        told = []
        model().plan(mesh=MESH, progress=lambda what: told.append((what, threading.current_thread())))
        self.assertIn("planning: strategy", [what for what, _ in told])
        self.assertEqual({threading.main_thread()}, {thread for _, thread in told})

        def stop(what):
            raise ZeroDivisionError(what)
        with self.assertRaises(ZeroDivisionError):
            model().plan(mesh=MESH, progress=stop)

    def test_calls_at_once_do_not_mix(self):
        def ask(number):
            if number % 3 == 0:
                with self.assertRaisesRegex(sp.InputError, f'no tensor is called "nope{number}"'):
                    model().plan(mesh=4, pin=f"nope{number}=B")
                return None
            return model(16 * number).plan(mesh={"a": 2, "b": number}, quiet=number % 2 == 0)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            plans = list(pool.map(ask, range(1, 13)))
        for number, plan in enumerate(plans, 1):
            if number % 3 != 0:
                self.assertIn(f"mesh a=2,b={number}", plan.summary())
                self.assertIn(f"seq={16 * number},", str(plan.document["graph"]["inputs"]))

    @unittest.skipIf(numpy is None, "numpy is not here")
    def test_runs_are_ended(self):
        """Whatever goes on without end: a plan, or a model, again and again, steps of training, a loop's body."""
        from sbp_plan import _library
        small = sp.load(ROOT / "examples/library/linear.json", dim={"batch": 8})
        halves = small.plan(mesh=2)
        steps = small.train(loss="mse:y", optimizer="adamw").plan(mesh={"data": 2})
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "loop.json"
        path.write_text(LOOP)
        loop, many = sp.load(path), {"m": numpy.int64(1 << 30), "h0": numpy.ones(4, "float32")}
        planned = loop.plan(mesh=2)
        for name, run in {"a plan": lambda tell: halves.run(compare=True, repeat=1 << 20, progress=tell),
                          "again": lambda tell: small.run(repeat=1 << 20, progress=tell),
                          "steps": lambda tell: steps.run(steps=1 << 20, progress=tell),
                          "a loop": lambda tell: loop.run(many, progress=tell),
                          "a plan's loop": lambda tell: planned.run(many, no_reference=True, progress=tell)}.items():
            began = []

            def stop(what):
                began.append(time.monotonic())
                if began[-1] - began[0] > 0.5:
                    raise ZeroDivisionError
            with self.subTest(name), self.assertRaises(ZeroDivisionError):
                run(stop)
            # The caller goes on after a second; what has not ended by then (memory is given back) does so soon.
            self.assertLess(time.monotonic() - began[-1], 4, name)
            for left in list(_library._running):
                left.thread.join(10)
            self.assertFalse(_library._running, name)

    def test_a_call_left_behind_ends_with_the_process(self):
        script = f"""
import sys, threading, time
sys.path.insert(0, {str(pathlib.Path(sp.__file__).parents[1])!r})
import sbp_plan as sp
told = []
def plan():
    try:
        sp.load({str(ROOT / 'examples/gpt2/graph.json')!r}, dim={{"batch": 8, "seq": 1024}}).plan(
            mesh={{"a": 2, "b": 2, "c": 2}}, memory_limit="300MB", gap="0", effort=1000, progress=told.append)
    except sp.Error:
        pass  # it was interrupted; whether it still comes here is a matter of time
threading.Thread(target=plan, daemon=True).start()
while not any("strategy" in what for what in told): time.sleep(0.01)
"""
        start = time.monotonic()
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertLess(time.monotonic() - start, 30)

    def test_pictures_at_once(self):
        plan = model().plan(mesh=MESH)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            pictures = list(pool.map(lambda _: plan.render("svg", view="overview"), range(4)))
        self.assertEqual(1, len(set(pictures)))

    def test_what_needs_the_program(self):
        with self.assertRaisesRegex(sp.UsageError, "of the program"):
            from sbp_plan import _library
            returned = _library.run(_library.library(), ["run", "-", "--backend=mpi"], b"{}", {}, {}, None)
            raise sp.UsageError(returned.chatter.decode()) if returned.code == 2 else AssertionError(returned)

    def test_memory_stays(self):
        def after_some():
            for _ in range(15):
                model().plan(mesh=MESH)
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        early = [after_some() for _ in range(3)]  # threads' pools of memory come and go, by some 10 MB
        late = [after_some() for _ in range(3)]
        self.assertLess(min(late) - max(early), 4 << 20)


@unittest.skipUnless(LIBRARY, "in this process")
class Documents(unittest.TestCase):
    """Models whose weights are in memory."""

    def test_weights_inside_the_model(self):
        folder = ROOT / "tests/data/torch"
        model = {"memory:m/gpt2.pt2": (folder / "gpt2.pt2").read_bytes()}
        given = ["--inputs", str(folder / "gpt2.inputs.npz"), "--expect", str(folder / "gpt2.outputs.npz")]
        call("run", ["memory:m/gpt2.pt2", "--unsharded", *given], documents=model)
        plan = call("infer", ["memory:m/gpt2.pt2", "--mesh=2", "-o", "memory:plan.json"], documents=model).documents
        call("run", ["memory:plan.json", *given], documents={**plan, **model})
        with self.assertRaisesRegex(sp.ExecutionError, "BAD: largest error"):  # without the model weights are random
            call("run", ["memory:plan.json", *given], documents=plan)
        with self.assertRaisesRegex(sp.InputError, "memory:other.pt2: no such document"):
            call("run", ["memory:plan.json", "memory:other.pt2", *given], documents=plan)

    def test_weights_of_hugging_face(self):
        folder = ROOT / "tests/data/hf/llama"
        documents = {f"memory:h/{name}": (folder / name).read_bytes() for name in ("config.json", "model.safetensors")}
        index = {"weight_map": {"lm_head.weight": "model.safetensors"}}
        documents["memory:h/model.safetensors.index.json"] = json.dumps(index).encode()
        words = ["memory:h/config.json", "--unsharded", "--batch=2", "--seq=12", f"--inputs={folder}/inputs.npz",
                 f"--expect={folder}/logits.npz"]
        for weights in ("model.safetensors", "model.safetensors.index.json"):
            call("run", [*words, f"--weights=memory:h/{weights}"], documents=documents)
        with self.assertRaisesRegex(sp.InputError, "no such document"):
            call("run", [*words, "--weights=memory:h/other.safetensors"], documents=documents)

    def test_weights_beside_the_model(self):
        graph = {"kind": "sbp_plan.graph.v1", "outputs": ["y"],
                 "parameters": [{"name": "w", "type": "f32[4]", "data": {"location": "w.bin", "offset": 4, "length": 16}}],
                 "ops": [{"name": "neg", "type": "Neg", "inputs": ["w"], "outputs": ["y"]}]}
        documents = {"memory:m/graph.json": json.dumps(graph).encode(), "memory:m/w.bin": struct.pack("<5f", 9, 1, 2, 3, 4)}
        words = ["memory:m/graph.json", "--unsharded", "--outputs=memory:y.npz"]
        written = call("run", words, documents=documents).documents["memory:y.npz"]
        with zipfile.ZipFile(io.BytesIO(written)) as archive:
            self.assertEqual(struct.unpack("<4f", archive.read("y.npy")[-16:]), (-1, -2, -3, -4))
        for size in (None, 19):
            missing = {name: content[:size] for name, content in documents.items() if size or name.endswith("json")}
            missing["memory:m/graph.json"] = documents["memory:m/graph.json"]
            said = call("run", words, documents=missing).output.decode()  # as of a file that is not there
            self.assertIn("random parameters: 1 whose values are not at hand", said)


@unittest.skipIf(numpy is None, "numpy is not here")
class Running(unittest.TestCase):
    def test_plan_gives_what_the_model_gives(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "llama.json"
            call("generate", ["llama", "--layers=1", "--hidden=32", "--ffn=64", "--heads=4", "--kv-heads=2", "--vocab=64",
                              "--batch=2", "--seq=8", "--dtype=f32", "-o", str(path)])
            llama = sp.load(path)
            name = llama.plan(mesh=2).document["graph"]["inputs"][0]["name"]
            tokens = numpy.arange(16).reshape(2, 8) % 64
            whole, sharded = llama.run({name: tokens}), llama.run({name: tokens}, mesh={"data": 2})
            other = llama.run({name: tokens[:, ::-1].copy()})
            self.assertEqual(whole.keys(), sharded.keys())
            for output, value in whole.items():
                numpy.testing.assert_allclose(value, sharded[output], rtol=1e-4, atol=1e-5)
                self.assertFalse(numpy.allclose(value, other[output]))
            with self.assertRaises(sp.InputError):
                llama.run({name + "x": tokens})
            for bad in (tokens[:, :3], tokens.astype(object)):
                with self.assertRaises(sp.InputError if LIBRARY else Exception):
                    llama.run({name: bad})
            wide = numpy.zeros((4, 8), tokens.dtype)
            wide[::2] = tokens
            for same in (numpy.asfortranarray(tokens), tokens.astype(">i8"), wide[::2]):  # other bytes, the same numbers
                numpy.testing.assert_array_equal(llama.run({name: same})[output], whole[output])

    @unittest.skipIf(ml_dtypes is None, "needs ml_dtypes")
    def test_bf16_as_the_model_says(self):
        with sp.graph() as g:
            x, u = g.input("x", (4, 6), "bf16"), g.input("u", (4,), "u16")
            y = g.output(x @ g.parameter("w", numpy.ones((6, 4), ml_dtypes.bfloat16)), "y")
            g.output(g.input("v", (4, 4)) + sp.ops.cast(y, to="f32"), "z")
            g.output(sp.ops.sequence_construct(y, x), "pair")
            g.output(sp.ops.add(u, u), "twice")
        narrow = numpy.full((4, 6), 0.5, ml_dtypes.bfloat16)
        model = g.model()
        whole = model.run({"x": narrow, "v": narrow[:, :4], "u": numpy.arange(4, dtype="u2")})  # bf16 for f32: its values
        self.assertEqual({"y": narrow.dtype, "z": "float32", "pair/0": narrow.dtype, "pair/1": narrow.dtype, "twice": "uint16"},
                         {name: array.dtype for name, array in whole.items()})
        self.assertTrue((whole["z"] == 3.5).all() and (whole["pair/1"] == 0.5).all())
        halves = model.plan(mesh=2).run({"x": narrow.astype("f4"), "v": narrow[:, :4]})
        self.assertEqual(narrow.dtype, halves["y"].dtype)
        numpy.testing.assert_array_equal(whole["y"], halves["y"])
        with self.assertRaisesRegex(sp.InputError, r'"u".*bf16\[4\]; the model wants u16\[4\]'):  # bits are no numbers
            model.run({"u": narrow[0, :4]})
        with unittest.mock.patch.dict(sys.modules, {"ml_dtypes": None}):
            wide = model.run({"x": narrow})["y"]
        self.assertEqual("float32", wide.dtype)
        numpy.testing.assert_array_equal(whole["y"], wide)

    def test_arrays_of_every_type(self):
        """Of each element type: what ml_dtypes has, and what holds its values where that is not; as input, as parameter from a
        file, and out again."""
        limits = {"i4": (-8, 7), "u4": (0, 15), "i2": (-2, 1), "u2": (0, 3)}
        for dtype in sp._values.DTYPES:
            if dtype == "string":
                continue
            low, high = limits.get(dtype, (0, 1) if dtype in ("bool", "f8e8m0") else (0, 6))
            numbers = numpy.resize(numpy.arange(low, high + 1), 15).reshape(3, 5)  # an odd number of elements
            if dtype == "f8e8m0":
                numbers = 2.0 ** numbers
            elif dtype in ("f4e2m1", *(name for name in sp._values.GROUPS["float"] if name.startswith("f8"))):
                numbers = numpy.where(numbers == 5, 1.5, numbers)
            plain = numbers.astype(sp._values.plain_dtype(dtype))
            given = [plain]
            if sp._values.lacked_dtype(dtype) is not None:
                given.append(plain.astype(sp._values.lacked_dtype(dtype)))
            with self.subTest(dtype), tempfile.TemporaryDirectory() as folder:
                with sp.graph() as g:
                    g.output(sp.ops.identity(g.input("x", (3, 5), dtype)), "y")
                    # More elements than a document holds itself.
                    w = numpy.resize(given[-1], (5, 1001))
                    if sp._values.dtype_name(w.dtype) == dtype:
                        g.output(sp.ops.identity(g.parameter("w", w)), "v")
                g.save(pathlib.Path(folder) / "model.json")
                model = sp.load(pathlib.Path(folder) / "model.json")
                for array in given:
                    outputs = model.run({"x": array})
                    self.assertEqual(given[-1].dtype, outputs["y"].dtype)
                    numpy.testing.assert_array_equal(plain, outputs["y"].astype(plain.dtype))
                    if "v" in outputs:
                        self.assertEqual(given[-1].dtype, outputs["v"].dtype)
                        numpy.testing.assert_array_equal(w.astype(plain.dtype), outputs["v"].astype(plain.dtype))
                if dtype in limits:
                    wrong = plain.astype("int8")
                    wrong[1, 2] = high + 1
                    with self.assertRaisesRegex(sp.InputError, rf'"x".*{high + 1} at \[1, ?2\].*{dtype}.*{low} to {high}'):
                        model.run({"x": wrong})

    def test_what_is_pickled_has_its_weights(self):
        """Also once the process that made it has ended; of a plan from a file whose model is gone, a warning says so."""
        with tempfile.TemporaryDirectory() as folder:
            script = f"""
import sys, pickle
sys.path.insert(0, {str(pathlib.Path(sp.__file__).parents[1])!r})
import numpy, sbp_plan as sp
with sp.graph() as g:
    g.output(g.input("x", (4, 8)) @ g.parameter("w", numpy.arange(80000, dtype="f4").reshape(8, 10000)), "y")
model = g.model()
plan = model.plan(mesh=2)
with open({folder + "/made"!r}, "wb") as file: pickle.dump((model, plan), file)
plan.save({folder + "/plan.json"!r})
"""
            subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)
            with open(f"{folder}/made", "rb") as file:
                made = pickle.load(file)
            ones = numpy.ones((4, 8), "f4")
            wanted = numpy.arange(80000, dtype="f4").reshape(8, 10000).sum(0)
            for one in (*made, copy.deepcopy(made[1])):
                numpy.testing.assert_array_equal(one.run({"x": ones})["y"][0], wanted)
            self.assertTrue(sp.check(made[1], made[0]))
            with self.assertWarnsRegex(UserWarning, "the model of the plan is not at hand"):
                sp.load_plan(f"{folder}/plan.json").run({"x": ones})

    def test_arrays_have_names(self):
        small = sp.load(ROOT / "examples/library/linear.json", dim={"batch": 8})
        for run in (small.run, small.plan(mesh=2).run):
            with self.assertRaisesRegex(sp.InputError, "expected arrays by name, a dict, not list"):
                run([numpy.ones(3)])

    def test_what_numpy_does_not_take_is_named(self):
        small = sp.load(ROOT / "examples/library/linear.json", dim={"batch": 8})
        name = small.plan(mesh=2).document["graph"]["inputs"][0]["name"]
        for bad in ([[1, 2], [3]], {"a": 1}, "text", None):
            with self.assertRaisesRegex(sp.InputError, f'^"{name}": '):
                small.run({name: bad})

    def test_a_mismatch_says_where(self):
        small = sp.load(ROOT / "examples/library/linear.json", dim={"batch": 8})
        with tempfile.TemporaryDirectory() as folder:
            (output, value), = small.run().items()
            numpy.savez(pathlib.Path(folder) / "expected.npz", **{output: value + 1})
            with self.assertRaisesRegex(sp.ExecutionError, f'BAD: largest error .*, tolerance 0.0001, against .*: "{output}"$'):
                small.run(expect=f"{folder}/expected.npz")


if __name__ == "__main__":
    unittest.main()
