#!/usr/bin/env python3
"""Runs the commands of README.md's tour, in order, in a scratch folder in which examples/ and tests/ stand.

Every line of a fence without a language is run by the shell, as it stands (a line that ends in a backslash goes on), and
must end with 0; so must the Python fence, as one program, where numpy is. Not run, and counted as skipped: what SKIPPED
names, with the reason; with --slow the lines of SLOW are run too. A new line of the tour needs no entry here.

    readme_test.py PROGRAM [--slow]
"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = {"--backend cuda": "needs a GPU", "torchrun": "needs PyTorch", "scripts/": "is the build itself",
           "export PATH": "this test sets it"}
SLOW = ["sbp-plan calibrate", "--cluster here.json", "measured.json"]  # tens of seconds, and what follows from them


def commands(text):
    """The fenced lines, joined where they go on, and Python programs, as arguments of a process."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if language == "python":
            yield [sys.executable, "-c", block]
        elif not language:
            yield from (["bash", "-c", line] for line in block.replace("\\\n", " ").split("\n") if line)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--slow"]
    program, slow = pathlib.Path(arguments[0]).resolve(), "--slow" in sys.argv
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
                   "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    passed, failed, skipped = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("examples", "tests"):
            (pathlib.Path(folder) / name).symlink_to(ROOT / name)
        for command in commands((ROOT / "README.md").read_text()):
            line = command[-1]
            unwanted = [why for mark, why in SKIPPED.items() if mark in line]
            unwanted += ["needs mpirun"] if line.startswith("mpirun") and not shutil.which("mpirun") else []
            unwanted += ["needs numpy"] if "import sbp_plan" in line and not importlib.util.find_spec("numpy") else []
            if unwanted or (not slow and any(mark in line for mark in SLOW)):
                skipped += 1
                continue
            # What MPI keeps at its end is not ours to free (as in tests/CMakeLists.txt).
            leaks = {"ASAN_OPTIONS": "detect_leaks=0"} if line.startswith("mpirun") else {}
            done = subprocess.run(command, cwd=folder, env=environment | leaks, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=300)
            passed, failed = passed + (done.returncode == 0), failed + (done.returncode != 0)
            if done.returncode:
                print(f"FAILED {line}\nexit {done.returncode}\n{done.stderr}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not passed else 0)


main()
