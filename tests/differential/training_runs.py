#!/usr/bin/env python3
"""Training steps run sharded, against the same steps unsharded: models, strategies, recipes, meshes, processes; and
checkpoints: a run that is killed resumes to the bytes of one that is not.

usage: training_runs.py PROGRAM MODELS [--all] [--mpirun PATH] [--gpus PROGRAM]    (shared/data/models/tiny)
"""
import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

import npz

STRATEGIES = [("--strategy", "greedy"), ("--strategy", "einsum"), ("--strategy", "optimal")]
RECIPES = [("--recipe", name) for name in ("dp", "zero1", "zero2", "zero3", "tp", "sp", "ep", "cp")]
MESHES = ["2", "3", "data=2,model=2"]
# Models of which no float parameter is trained, or whose result is no float; and joint graphs, which are steps already.
LEFT_OUT = {"mlp-dynamic-int8-tiny", "mlp-qoperator-int8-tiny", "gpt2-train-step-tiny", "cnn-train-step-tiny"}
QUICK = [("gpt2-tiny", "adamw", ("--recipe", "data=zero3,model=tp"), "data=2,model=2", ["--accumulate", "2"]),
         ("gpt2-tiny", "sgd", ("--strategy", "greedy"), "3", ["--accumulate", "3", "--clip-norm", "1"]),
         ("resnet-tiny", "adamw", ("--strategy", "optimal"), "2", []),
         ("llama-gqa-tiny", "muon", ("--recipe", "zero1"), "2", []),
         ("vit-tiny", "adafactor", ("--recipe", "zero3"), "3", ["--compute", "bf16"])]


def call(*command, check=True, timeout=600):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout)
    if check and done.returncode != 0:
        words = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        told = [line for line in words if "error" in line or "BAD" in line or "above" in line] or words
        raise RuntimeError(f"{command[1]}: {' | '.join(told[-4:])[:600]}")
    return done


class Trained:
    """A training graph of a model, made once, and plans of it."""

    def __init__(self, program, models, name, optimizer, flags, folder):
        self.program, self.folder = program, folder
        shutil.copy(models / f"{name}.onnx", folder)
        self.inputs = models / f"{name}.inputs.npz"
        output = self.float_output(models / f"{name}.outputs.npz")
        call(program, "grad", folder / f"{name}.onnx", "--inputs", self.inputs, "--loss", f"mse:{output}", "--optimizer",
             optimizer, *flags, "-o", folder / "train.json", "-q")

    @staticmethod
    def float_output(path):
        arrays = npz.load(path)
        return next(name for name, one in arrays.items() if one.descr in ("<f4", "<f2", "<f8"))

    def plan(self, choice, mesh, name="plan.json"):
        call(self.program, "infer", self.folder / "train.json", "--mesh", mesh, *choice, "-o", self.folder / name, "-q")
        return self.folder / name


def check_run(program, models, case, mpirun, folder):
    """`mpirun`: by that many processes, too; None: by threads alone."""
    name, optimizer, choice, mesh, flags = case
    plan = Trained(program, models, name, optimizer, flags, folder).plan(choice, mesh)
    call(program, "check", plan, "-q")
    call(program, "run", plan, "--steps", "3", "--lr", "0.01", "-q")
    if mpirun:
        ranks = 4 if "," in mesh else int(mesh)
        call(mpirun, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), program, "run", plan, "--backend", "mpi",
             "--steps", "3", "--lr", "0.01", "-q")


def check_checkpoints(program, models, folder):
    """Resumed, killed and resumed, under another plan, by another number of devices."""
    made = Trained(program, models, "gpt2-tiny", "adamw", ["--accumulate", "2"], folder)
    plan = made.plan(("--recipe", "data=zero3,model=tp"), "data=2,model=2")
    other = made.plan(("--recipe", "dp"), "3", "other.json")
    whole, part, rest = (folder / name for name in ("whole.npz", "part.npz", "rest.npz"))
    quiet = ("--lr", "0.01", "--no-reference", "-q")
    call(program, "run", plan, "--steps", "6", "--save", whole, *quiet)
    call(program, "run", plan, "--steps", "4", "--save", part, *quiet)
    call(program, "run", plan, "--steps", "2", "--load", part, "--save", rest, *quiet)
    if rest.read_bytes() != whole.read_bytes():
        raise RuntimeError("a resumed run ends with other bytes")
    part.unlink()
    process = subprocess.Popen([str(program), "run", str(plan), "--steps", "100000", "--save", str(part), "--save-every", "1",
                                *quiet], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not part.exists() and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = int(npz.numbers(npz.load(part)["checkpoint/step"])[0])
    goal = done + 2
    call(program, "run", plan, "--steps", str(goal), "--save", whole, *quiet)
    call(program, "run", plan, "--steps", "2", "--load", part, "--save", rest, *quiet)
    if rest.read_bytes() != whole.read_bytes():
        raise RuntimeError(f"killed after step {done} and resumed, a run ends with other bytes")
    call(program, "run", other, "--steps", "2", "--load", part, "--lr", "0.01", "-q")
    failed = call(program, "run", plan, "--steps", "1", "--load", folder / "gpt2-tiny.onnx", "-q", check=False)
    if failed.returncode == 0 or "zip" not in failed.stderr:
        raise RuntimeError("a file that is no checkpoint was loaded")


def check_processes(program, models, mpirun, folder):
    made = Trained(program, models, "gpt2-tiny", "adamw", [], folder)
    plan = made.plan(("--recipe", "data=zero2,model=tp"), "data=2,model=2")
    alone, together = folder / "threads.npz", folder / "ranks.npz"
    call(program, "run", plan, "--steps", "3", "--lr", "0.01", "--save", alone, "-q")
    call(mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "4", program, "run", plan, "--backend", "mpi", "--steps",
         "3", "--lr", "0.01", "--save", together, "-q")
    if alone.read_bytes() != together.read_bytes():
        raise RuntimeError("ranks end with other bytes than threads")


def check_gpus(program, models, gpus, folder):
    """`gpus`: the program with threads of the process in the place of GPUs."""
    made = Trained(program, models, "gpt2-tiny", "adamw", ["--accumulate", "2"], folder)
    plan = made.plan(("--recipe", "data=zero3,model=tp"), "data=2,model=2")
    call(gpus, "run", plan, "--backend", "cuda", "--one-process", "--steps", "3", "--lr", "0.01", "--save",
         folder / "gpus.npz", "-q")
    call(program, "run", plan, "--steps", "1", "--lr", "0.01", "--load", folder / "gpus.npz", "-q")


def check_learns(program, models, folder):
    made = Trained(program, models, "gpt2-tiny", "adamw", [], folder)
    plan = made.plan(("--recipe", "data=dp,model=tp"), "data=2,model=2")
    steps = json.loads(call(program, "run", plan, "--steps", "200", "--lr", "0.003", "--format", "json").stdout)["steps"]
    if len(steps) != 200 or not steps[-1]["loss"] < 0.5 * steps[0]["loss"]:
        raise RuntimeError(f"the loss goes from {steps[0]['loss']} to {steps[-1]['loss']}")


def all_cases(models):
    """In an order that mixes all of it, so that those that fit into a time are of every kind; every fourth by processes
    too."""
    names = [path.stem for path in sorted(models.glob("*.onnx")) if path.stem not in LEFT_OUT]
    cases = [(name, optimizer, choice, mesh, []) for name in names for optimizer in ("adamw", "sgd")
             for choice in STRATEGIES + RECIPES for mesh in MESHES]
    return sorted(cases, key=lambda case: zlib.crc32(repr(case).encode()))


def title_of(case):
    return " ".join([case[0], case[1], *case[2], case[3]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--minutes", type=float, default=1e9, help="of --all: as many cases as fit")
    parser.add_argument("--mpirun")
    parser.add_argument("--gpus", type=pathlib.Path)
    given = parser.parse_args()
    if not given.models.is_dir():
        print(f"skipped: no folder {given.models}")
        return 77
    program = given.program.resolve()
    checks = [("checkpoints", check_checkpoints, (program, given.models))]
    if given.mpirun:
        checks.append(("processes", check_processes, (program, given.models, given.mpirun)))
    if given.gpus:
        checks.append(("GPUs", check_gpus, (program, given.models, given.gpus.resolve())))
    cases = all_cases(given.models) if given.all else QUICK
    if given.all:
        checks.append(("200 steps", check_learns, (program, given.models)))
    for number, case in enumerate(cases):
        mpirun = given.mpirun if given.all and number % 4 == 0 else None
        checks.append((title_of(case), check_run, (program, given.models, case, mpirun)))
    passed = failed = skipped = 0
    end = time.monotonic() + 60 * given.minutes
    for title, check, arguments in checks:
        if time.monotonic() > end:
            skipped += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(*arguments, pathlib.Path(folder))
                passed += 1
            except (RuntimeError, subprocess.TimeoutExpired, StopIteration) as error:
                failed += 1
                print(f"FAILED {title}: {error}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
