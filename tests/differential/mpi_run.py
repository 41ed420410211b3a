"""Plans over MPI: the same outputs as on threads, byte for byte. Arguments: the program, then the launch command up to
the number of ranks (mpirun -n)."""
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM, LAUNCH = sys.argv[1], sys.argv[2:]

MLP = {
    "inputs": [{"name": "x", "type": "f32[6,16]"}],
    "parameters": [{"name": "w1", "type": "f32[16,32]"}, {"name": "w2", "type": "f32[32,16]"}],
    "ops": [
        {"name": "fc1", "type": "MatMul", "inputs": ["x", "w1"], "outputs": ["h"]},
        {"name": "act", "type": "Tanh", "inputs": ["h"], "outputs": ["a"]},
        {"name": "fc2", "type": "MatMul", "inputs": ["a", "w2"], "outputs": ["z"]},
        {"name": "add", "type": "Add", "inputs": ["x", "z"], "outputs": ["r"]},
        {"name": "softmax", "type": "Softmax", "inputs": ["r"], "outputs": ["y"]},
    ],
}
IMAGE = {
    "inputs": [{"name": "x", "type": "f32[2,3,9,8]"}],
    "parameters": [{"name": "w", "type": "f32[4,3,3,3]"}],
    "ops": [
        {"name": "conv", "type": "Conv", "inputs": ["x", "w"], "outputs": ["c"], "attributes": {"pads": [1, 1, 1, 1]}},
        {"name": "relu", "type": "Relu", "inputs": ["c"], "outputs": ["r"]},
        {"name": "mean", "type": "ReduceMean", "inputs": ["r"], "outputs": ["y"], "attributes": {"keepdims": 0}},
    ],
}
DROPOUT = {
    "inputs": [{"name": "x", "type": "f32[6,16]"}],
    "parameters": [{"name": "w", "type": "f32[16,12]"}],
    "ops": [
        {"name": "fc", "type": "MatMul", "inputs": ["x", "w"], "outputs": ["h"]},
        {"name": "drop", "type": "Dropout", "inputs": ["h"], "outputs": ["y"]},
    ],
}
TRAIN = ["--train", "--loss", "mse:y", "--optimizer", "adamw", "--train-mode", "--strategy", "greedy"]
MEGATRON = ["--pin", "w1=(B, S(1))", "--pin", "w2=(B, S(0))"]

# What is planned: name, graph; mesh, ranks; further arguments of infer and of run.
ROWS = [
    ("mlp", MLP, "data=2", 2, [], []),
    ("mlp", MLP, "data=2,model=2", 4, MEGATRON, ["--tensors"]),
    ("mlp", MLP, "model=3", 3, ["--pin", "w1=S(1)"], ["--micro-batches", "5"]),
    ("mlp", MLP, "data=2,model=2", 4, MEGATRON, ["--micro-batches", "3", "--dtype", "f64", "--until", "z"]),
    ("image", IMAGE, "data=2,rows=2", 4, ["--pin", "x=(S(0), S(2))", "--pin", "conv.x=(S(0), S(2))"], ["--tensors"]),
    ("dropout", DROPOUT, "2", 2, [*TRAIN, "--accumulate", "2"], ["--steps", "3"]),
]


def run(*command, folder):
    return subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True, timeout=120)


def problem_of(graph, mesh, ranks, planning, arguments, folder):
    """What is wrong with this row; None: nothing."""
    text = json.dumps({"kind": "sbp_plan.graph.v1", **graph, "outputs": ["y"]})
    (folder / "graph.json").write_text(text)
    made = run(PROGRAM, "infer", "graph.json", "--mesh", mesh, *planning, "-o", "plan.json", folder=folder)
    if made.returncode != 0:
        return f"infer: {made.stderr}"
    outputs = {}
    for backend, launch in (("cpu", []), ("mpi", [*LAUNCH, ranks])):
        file = folder / f"{backend}.npz"
        done = run(*launch, PROGRAM, "run", "plan.json", "--backend", backend, "--outputs", file, *arguments, folder=folder)
        if done.returncode != 0:
            return f"{backend}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        if done.stdout.count("good: ") != 1:
            return f"{backend}: not one report:\n{done.stdout}"
        outputs[backend] = file.read_bytes()
    return None if outputs["cpu"] == outputs["mpi"] else "the outputs differ"


def main():
    failed = 0
    for name, graph, mesh, ranks, planning, arguments in ROWS:
        with tempfile.TemporaryDirectory() as folder:
            problem = problem_of(graph, mesh, ranks, planning, arguments, pathlib.Path(folder))
        name = " ".join([name, "on", mesh, *arguments])
        print(f"{name}: {problem or 'equal'}")
        failed += problem is not None
    print(f"{len(ROWS) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


main()
