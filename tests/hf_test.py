#!/usr/bin/env python3
"""Tiny models of each family of config.json: what they compute is what transformers computed (scripts/make-hf).

    hf_test.py PROGRAM [FAMILY...]

Logits of the config with the checkpoint's weights, unsharded and under a plan on a mesh of 2 x 2; the loss of the next
token, of the training graph that `grad` makes.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent / "data/hf"
SIZES = ["--batch", "2", "--seq", "12"]
TOLERANCE = 1e-5


def run(program, arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(f"sbp-plan {' '.join(map(str, arguments))}\nexit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def error_of(program, arguments):
    report = json.loads(run(program, ["run", *arguments, "--format", "json"]))
    assert report["outputs"], "nothing was compared"
    return report["max_relative_error"]


def check(program, folder, scratch):
    config, plan, train = folder / "config.json", scratch / "plan.json", scratch / "train.json"
    data = ["--weights", folder, "--inputs", folder / "inputs.npz"]
    logits = ["--expect", folder / "logits.npz"]
    errors = {"logits": error_of(program, [config, "--unsharded", *data, *logits])}
    run(program, ["infer", config, *SIZES, "--mesh", "data=2,model=2", "--weights", folder, "-o", plan])
    errors["sharded"] = error_of(program, [plan, *data, *logits])
    run(program, ["grad", config, *SIZES, "--optimizer", "none", "-o", train])
    labels = ["--inputs", folder / "labels.npz", "--expect", folder / "loss.npz"]
    errors["loss"] = error_of(program, [train, "--unsharded", *data, *labels])
    wrong = {what: error for what, error in errors.items() if not error < TOLERANCE}
    if wrong:
        raise AssertionError(f"relative errors above {TOLERANCE}: {wrong}")


def main():
    program, names = sys.argv[1], sys.argv[2:]
    failed = 0
    folders = sorted(folder for folder in FOLDER.iterdir() if not names or folder.name in names)
    for folder in folders:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                check(program, folder, pathlib.Path(scratch))
            except AssertionError as error:
                failed += 1
                print(f"FAILED {folder.name}: {error}")
    print(f"{len(folders) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
