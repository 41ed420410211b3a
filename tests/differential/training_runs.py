#!/usr/bin/env python3
"""Training steps run sharded, against the same steps unsharded: models, strategies, recipes, meshes, processes; and
checkpoints: a run that is killed resumes to the bytes of one that is not.

usage: training_runs.py PROGRAM MODELS [--all] [--mpirun PATH --ranks PROGRAM] [--gpus PROGRAM]

MODELS: shared/data/models/tiny. --all: every model, optimizer, strategy, recipe and mesh. Each plan is checked and run by
threads beside the unsharded steps; with --ranks (train_plans) by processes too, which must end with the same bytes. It
goes on where it stopped with --log, and in pieces with --shard.
"""
import argparse
import itertools
import json
import math
import os
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
# Of such small models a recipe's cheapest plan may gather the batch and compute all of it on each device; einsum goes by
# how operands lie.
RECIPES += [("--recipe", name, "--strategy", "einsum") for name in ("dp", "zero1", "zero2", "zero3")]
MESHES = ["2", "3", "data=2,model=2"]
STEPS, RATE = 3, 0.01
# Models of which no float parameter is trained, or whose result is no float; and joint graphs, which are steps already.
LEFT_OUT = {"mlp-dynamic-int8-tiny", "mlp-qoperator-int8-tiny", "gpt2-train-step-tiny", "cnn-train-step-tiny"}
QUICK = [("gpt2-tiny", "sgd", ("--strategy", "greedy"), "3", ["--accumulate", "3", "--clip-norm", "1"]),
         ("resnet-tiny", "adamw", ("--strategy", "optimal"), "2", []),
         ("llama-gqa-tiny", "muon", ("--recipe", "zero1"), "2", ["--gradient-buffers"]),
         ("vit-tiny", "adafactor", ("--recipe", "zero3", "--strategy", "einsum"), "3", ["--compute", "bf16"])]


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


class Standard(Trained):
    """What most checks run: its plan is searched once."""

    def __init__(self, program, models, folder):
        super().__init__(program, models, "gpt2-tiny", "adamw", ["--accumulate", "2"], folder)
        self.planned = self.plan(("--recipe", "data=zero3,model=tp"), "data=2,model=2", "standard.json")


def check_standard(program, standard, folder):
    """Beside the unsharded steps."""
    call(program, "check", standard.planned, "-q")
    call(program, "run", standard.planned, "--steps", STEPS, "--lr", RATE, "--save", folder / "saved.npz", "-q")


def check_run(program, models, case, folder):
    name, optimizer, choice, mesh, flags = case
    run_by_threads(program, Trained(program, models, name, optimizer, flags, folder), choice, mesh, "plan")


def run_by_threads(program, made, choice, mesh, title):
    """Beside the unsharded steps. The plan and its checkpoint."""
    plan, saved = made.plan(choice, mesh, f"{title}.json"), made.folder / f"{title}.threads.npz"
    call(program, "check", plan, "-q")
    call(program, "run", plan, "--steps", STEPS, "--lr", RATE, "--save", saved, "-q")
    return plan, saved


def start_ranks(mpirun, count, *command):
    return call(mpirun, "--allow-run-as-root", "--oversubscribe", "-n", count, *command)


def devices_of(mesh):
    return math.prod(int(axis.split("=")[-1]) for axis in mesh.split(","))


def run_by_ranks(program, mpirun, ranks, count, made, folder):
    """Plans for so many devices, in one launch; one by one where that fails, to tell which. Yields titles and errors."""
    def ended(title, plan, saved, together):
        return None if together.read_bytes() == saved.read_bytes() else f"{title}: ranks end with other bytes than threads"

    places = {title: folder / f"{title}.ranks.npz" for title in made}
    try:
        start_ranks(mpirun, count, ranks, "mpi", STEPS, RATE,
                    *(path for title, (plan, _) in made.items() for path in (plan, places[title])))
        for title, (plan, saved) in made.items():
            yield title, ended(title, plan, saved, places[title])
    except (RuntimeError, subprocess.TimeoutExpired):
        for title, (plan, saved) in made.items():
            try:
                start_ranks(mpirun, count, program, "run", plan, "--backend", "mpi", "--steps", STEPS, "--lr", RATE,
                            "--no-reference", "--save", places[title], "-q")
                yield title, ended(title, plan, saved, places[title])
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                yield title, f"by ranks: {error}"


class Log:
    """What passed, in a file where a name is given: a line a case, which a later call takes as done."""

    def __init__(self, path):
        self.file = open(path, "a+") if path else None
        self.done = set()
        if self.file:
            self.file.seek(0)
            self.done = set(self.file.read().splitlines())

    def add(self, title):
        self.done.add(title)
        if self.file:
            self.file.write(title + "\n")
            self.file.flush()


def run_group(given, program, group, log):
    """Cases of one model and optimizer, on meshes of so many devices. Counts of passed and failed runs."""
    (name, optimizer, count), cases = group
    passed = failed = 0

    def note(title, kind, error):
        nonlocal passed, failed
        if error is None:
            passed += 1
            log.add(f"{kind} {title}")
        else:
            failed += 1
            print(f"FAILED {kind} {title}: {error}", flush=True)

    wanted = [case for case in cases if any(f"{kind} {title_of(case)}" not in log.done for kind in given.kinds)]
    passed += sum(f"{kind} {title_of(case)}" in log.done for kind in given.kinds for case in cases if case not in wanted)
    if not wanted:
        return passed, failed
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        try:
            trained = Trained(program, given.models, name, optimizer, [], folder)
        except (RuntimeError, subprocess.TimeoutExpired, StopIteration) as error:
            for case in wanted:
                note(title_of(case), "threads", error)
            return passed, failed
        made = {}
        for case in wanted:
            title = title_of(case)
            try:
                made[title] = run_by_threads(program, trained, case[2], case[3], title.replace(" ", "_"))
                note(title, "threads", None)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                note(title, "threads", error)
        if "ranks" in given.kinds and made:
            for title, error in run_by_ranks(program, given.mpirun, given.ranks.resolve(), count, made, folder):
                note(title, "ranks", error)
    return passed, failed


def check_checkpoints(program, standard, folder):
    """Resumed; under another plan, by another number of devices."""
    plan = standard.planned
    other = standard.plan(("--recipe", "dp"), "3", "other.json")
    whole, part, rest = (folder / name for name in ("whole.npz", "part.npz", "rest.npz"))
    quiet = ("--lr", "0.01", "--no-reference", "-q")
    call(program, "run", plan, "--steps", "6", "--save", whole, *quiet)
    call(program, "run", plan, "--steps", "4", "--save", part, *quiet)
    call(program, "run", plan, "--steps", "2", "--load", part, "--save", rest, *quiet)
    if rest.read_bytes() != whole.read_bytes():
        raise RuntimeError("a resumed run ends with other bytes")
    call(program, "run", other, "--steps", "2", "--load", part, "--lr", "0.01", "-q")
    failed = call(program, "run", plan, "--steps", "1", "--load", standard.folder / "gpt2-tiny.onnx", "-q",
                  check=False)
    if failed.returncode == 0 or "zip" not in failed.stderr:
        raise RuntimeError("a file that is no checkpoint was loaded")


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_writing(pid, folder):
    """Has the process, which stands still, a file of the folder open that has no name yet, or one for the meantime?"""
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        target = os.readlink(link)
        if target.startswith(f"{folder}/") and ("(deleted)" in target or ".tmp." in target):
            return True
    return False


def kill_while_it_writes(pids, folder):
    for attempt in range(20000):
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        for pid in pids:
            if is_writing(pid, folder):
                os.kill(pid, signal.SIGKILL)
                for other in pids:
                    os.kill(other, signal.SIGCONT)
                return
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.0003 * (attempt % 7 + 1))
    raise RuntimeError("the run was never seen to write")


def check_killed(program, standard, mpirun, moments, folder):
    """Killed at each moment, seconds after its first checkpoint (None: while it writes one), a run leaves a checkpoint
    from which it goes on to the bytes of one that was not killed. `mpirun`: by processes, one of which is killed."""
    plan = standard.planned
    part, whole, rest = (folder / name for name in ("part.npz", "whole.npz", "rest.npz"))
    quiet = ("--lr", "0.01", "--no-reference", "-q")
    ranks = (mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "4") if mpirun else ()
    start = (*ranks, program, "run", plan, *(("--backend", "mpi") if mpirun else ()))
    for number, moment in enumerate(moments):
        part.unlink(missing_ok=True)
        process = subprocess.Popen([str(word) for word in (*start, "--steps", "100000", "--save", part, "--save-every", "1",
                                                           *quiet)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            while not part.exists() and time.monotonic() < end:
                time.sleep(0.01)
            pids = children_of(process.pid) if mpirun else [process.pid]
            if moment is None:
                kill_while_it_writes(pids, folder.resolve())
            else:
                time.sleep(moment)
                os.kill(pids[number % len(pids)], signal.SIGKILL)
            if process.wait(timeout=60) == 0:
                raise RuntimeError("a run whose process was killed ends well")
        finally:
            process.kill()
            process.wait()
        done = int(npz.numbers(npz.load(part)["checkpoint/step"])[0])
        call(program, "run", plan, "--steps", done + 2, "--save", whole, *quiet)
        call(*start, "--steps", "2", "--load", part, "--save", rest, *quiet)
        if rest.read_bytes() != whole.read_bytes():
            when = "while it wrote" if moment is None else f"{moment} s after its first checkpoint"
            raise RuntimeError(f"killed {when}, after step {done}, and resumed, a run ends with other bytes")


def check_processes(program, standard, mpirun, folder):
    plan = standard.planned
    alone, together = folder / "threads.npz", folder / "ranks.npz"
    call(program, "run", plan, "--steps", "3", "--lr", "0.01", "--save", alone, "-q")
    start_ranks(mpirun, 4, program, "run", plan, "--backend", "mpi", "--steps", "3", "--lr", "0.01", "--save", together,
                "-q")
    if alone.read_bytes() != together.read_bytes():
        raise RuntimeError("ranks end with other bytes than threads")


def check_gpus(program, standard, gpus, folder):
    """`gpus`: the program with threads of the process in the place of GPUs."""
    plan = standard.planned
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
    """By model, optimizer and number of devices; in an order that mixes them, so that those that fit into a time are of
    every kind."""
    names = [path.stem for path in sorted(models.glob("*.onnx")) if path.stem not in LEFT_OUT]
    groups = {}
    for name, optimizer, choice, mesh in itertools.product(names, ("adamw", "sgd"), STRATEGIES + RECIPES, MESHES):
        groups.setdefault((name, optimizer, devices_of(mesh)), []).append((name, optimizer, choice, mesh, []))
    return sorted(groups.items(), key=lambda group: zlib.crc32(repr(group[0]).encode()))


def title_of(case):
    return " ".join([case[0], case[1], *case[2], case[3]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--minutes", type=float, default=1e9, help="of --all: as many cases as fit; no more than SBP_TRAINING_MINUTES")
    parser.add_argument("--shard", default="0/1", help="of --all: every N-th group of cases from the I-th on, as I/N")
    parser.add_argument("--log", help="of --all: what passed is noted there, and not run again")
    parser.add_argument("--mpirun")
    parser.add_argument("--ranks", type=pathlib.Path, help="train_plans")
    parser.add_argument("--gpus", type=pathlib.Path)
    given = parser.parse_args()
    if not given.models.is_dir():
        print(f"skipped: no folder {given.models}")
        return 77
    program = given.program.resolve()
    given.kinds = ["threads", "ranks"] if given.mpirun and given.ranks else ["threads"]
    moments = (None, 0, None, 0.03, None, 0.1, 0.3) if given.all else (None, 0.1)
    with tempfile.TemporaryDirectory() as folder:
        standard = Standard(program, given.models, pathlib.Path(folder))
        return run_all(given, program, checks_of(given, program, standard, moments))


def checks_of(given, program, standard, moments):
    """Titles, functions and their arguments but for the folder."""
    checks = [("the standard plan", check_standard, (program, standard)),
              ("checkpoints", check_checkpoints, (program, standard)),
              ("killed", check_killed, (program, standard, None, moments))]
    if given.mpirun:
        checks.append(("processes", check_processes, (program, standard, given.mpirun)))
    if given.gpus:
        checks.append(("GPUs", check_gpus, (program, standard, given.gpus.resolve())))
    if not given.all:
        return checks + [(title_of(case), check_run, (program, given.models, case)) for case in QUICK]
    checks.append(("200 steps", check_learns, (program, given.models)))
    if given.mpirun:
        checks.append(("ranks killed", check_killed, (program, standard, given.mpirun, moments)))
    return checks


def run_all(given, program, checks):
    groups = []
    if given.all:
        shard, shards = (int(part) for part in given.shard.split("/"))
        groups = all_cases(given.models)[shard::shards]
    passed = failed = skipped = 0
    end = time.monotonic() + 60 * min(given.minutes, float(os.environ.get("SBP_TRAINING_MINUTES", "inf")))
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
                print(f"FAILED {title}: {error}", flush=True)
    log = Log(given.log)
    for group in groups:
        if time.monotonic() > end:
            skipped += len(group[1]) * len(given.kinds)
            continue
        good, bad = run_group(given, program, group, log)
        passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
