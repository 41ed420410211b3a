"""What tests of training steps share: the program called, norms, and a run over cases that ends as ctest wants it."""
import math
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77  # for ctest


def call(*command):
    """Its stdout. RuntimeError with what it said: it failed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        said = (done.stderr + done.stdout).strip()[-500:]
        raise RuntimeError(f"{' '.join(str(part) for part in command[1:4])}: {said}")
    return done.stdout


def norm(values):
    return math.sqrt(sum(v * v for v in values))


def arguments():
    """PROGRAM and MODELS; ends where there are no models."""
    program, models = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    if not models.is_dir():
        print(f"skipped: no folder {models}")
        sys.exit(SKIPPED)
    return program, models


def run_cases(cases):
    """(title, function, arguments): called with a folder for files as well, it returns what is wrong or None."""
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        for title, check, given in cases:
            try:
                problem = check(*given, pathlib.Path(name))
            except RuntimeError as error:
                problem = str(error)
            if problem:
                failed += 1
                print(f"FAILED {title}: {problem}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0
