"""Unsharded runs against onnxruntime: a part of scripts/bench.

Both run the same model file on the same inputs and weights, warm, with as many threads; medians, in turns, and their
ratio. Models without weights get a file of random ones beside them, which both read. The results are compared too.
"""

import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy

REPEATS = 10
ROUNDS = 3
# Reduced bindings of full-size models: a batch, a short sequence.
FULL = [
    ("resnet50", {"batch": 4}),
    ("mobilenet-v3-large", {"batch": 4}),
    ("vit-b16", {"batch": 2}),
    ("bert-base-mlm", {"batch": 4, "seq": 16}),
    ("gpt2-124m-dynamo", {"batch": 4, "seq": 16}),
    ("convnext-base", {"batch": 2}),
]
NUMPY = {"FLOAT": "f4", "DOUBLE": "f8", "FLOAT16": "f2", "INT64": "i8", "INT32": "i4", "BOOL": "?"}


def random_inputs(entry, binding, generator):
    """Arrays by name: floats of a normal distribution, integers of 1 (a token, or a mask that hides nothing)."""
    arrays = {}
    for name, dtype, dims in entry["inputs"]:
        shape = [d if isinstance(d, int) else binding[d] for d in dims]
        floats = dtype in ("FLOAT", "DOUBLE", "FLOAT16")
        array = generator.standard_normal(shape) if floats else numpy.ones(shape)
        arrays[name] = array.astype(NUMPY[dtype])
    return arrays


def with_weights(program, model, entry, folder, generator):
    """The model in a folder with the weights that it misses: floats random, all else (positions, indices) 0."""
    link = folder / model.name
    link.symlink_to(model)
    bytes_left = int(entry["param_bytes"] * 1.01) + (1 << 20)
    graph = json.loads(subprocess.run([str(program), "convert", str(model), "-", "--to", "json"], capture_output=True,
                                      text=True, check=True).stdout)
    with open(folder / "weights.bin", "wb") as file:
        while bytes_left > 0:
            block = (generator.standard_normal(1 << 20) * 0.02).astype("f4").tobytes()
            bytes_left -= file.write(block)
        for parameter in graph["parameters"]:
            if "data" in parameter and not parameter["type"].startswith(("f32", "f64", "f16", "bf16")):
                file.seek(parameter["data"].get("offset", 0))
                file.write(bytes(parameter["data"]["length"]))
    return link


def ours(program, model, inputs, outputs):
    command = [program, "run", model, "--unsharded", "--inputs", inputs, "--outputs", outputs, "--repeat", REPEATS]
    done = subprocess.run([str(c) for c in [*command, "--format", "json"]], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()[-300:]
    return json.loads(done.stdout)["measured_seconds"], ""


def theirs(onnxruntime, model, arrays, threads):
    """A function that gives the median seconds of some warm runs, and one for the results."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Its default quantises the activations of an int4 product to int8, which changes results by 1 %.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    wanted = {i.name for i in session.get_inputs()}
    feed = {name: array for name, array in arrays.items() if name in wanted}

    def seconds():
        taken = []
        for _ in range(REPEATS + 1):
            start = time.perf_counter()
            session.run(None, feed)
            taken.append(time.perf_counter() - start)
        return statistics.median(taken[1:])

    return seconds, lambda: dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))


def error_of(outputs, reference):
    """The largest ||out - ref|| / ||ref|| of the outputs that both have."""
    worst = 0.0
    with numpy.load(outputs) as found:
        for name in set(found.files) & set(reference):
            a, b = numpy.asarray(found[name], "f8"), numpy.asarray(reference[name], "f8")
            norm = numpy.linalg.norm(b)
            worst = max(worst, float(numpy.linalg.norm(a - b) / norm) if norm > 0 else 0.0)
    return worst


def compare(program, onnxruntime, model, arrays, threads, folder):
    """(our seconds, their seconds, error), or a line that says why not."""
    inputs, outputs = folder / "inputs.npz", folder / "outputs.npz"
    numpy.savez(inputs, **arrays)
    try:
        their_seconds, their_results = theirs(onnxruntime, model, arrays, threads)
        reference = their_results()
    except Exception as failure:  # whatever onnxruntime cannot do
        return f"onnxruntime: {str(failure).splitlines()[0][:160]}"
    mine, other = [], []
    for _ in range(ROUNDS):
        seconds, said = ours(program, model, inputs, outputs)
        if seconds is None:
            return said
        mine.append(seconds)
        other.append(their_seconds())
    return statistics.median(mine), statistics.median(other), error_of(outputs, reference)


def bench(program, models, threads, names, report):
    """False where the models or onnxruntime are not there. No goal: the ratios are reported."""
    try:
        import onnxruntime
    except ImportError:
        return False
    if not (models / "index.json").exists():
        return False
    generator = numpy.random.default_rng(0)
    entries = {e["file"]: e for e in json.loads((models / "index.json").read_text())}
    print(f"onnxruntime {onnxruntime.__version__}, {threads} threads each, medians of {REPEATS} warm runs, {ROUNDS} rounds in turns")
    ratios = []
    cases = [(p.name.removesuffix(".onnx"), None) for p in sorted((models / "tiny").glob("*.onnx"))] + FULL
    for name, binding in cases:
        if names and not any(n in name or n in "onnxruntime" for n in names):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            if binding is None:
                model = models / "tiny" / f"{name}.onnx"
                with numpy.load(models / "tiny" / f"{name}.inputs.npz") as stored:
                    arrays = {k: stored[k] for k in stored.files}
            else:
                entry = entries[f"{name}.onnx"]
                model = with_weights(program, models / f"{name}.onnx", entry, folder, generator)
                arrays = random_inputs(entry, binding, generator)
            found = compare(program, onnxruntime, model, arrays, threads, folder)
        if isinstance(found, str):
            print(f"  {name:34} {found}", flush=True)
            continue
        mine, other, error = found
        ratios.append(mine / other)
        print(f"  {name:34} {mine * 1e3:9.2f} ms, onnxruntime {other * 1e3:9.2f} ms, ratio {mine / other:6.2f}, error {error:.1e}",
              flush=True)
    if ratios:
        report("onnxrt", f"{len(ratios)} models, our time over theirs: median {statistics.median(ratios):.2f}, "
               f"from {min(ratios):.2f} to {max(ratios):.2f}", True)
    return True
