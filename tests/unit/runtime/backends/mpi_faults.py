"""Faults over MPI: exit codes, messages and time. Arguments: the launch command, the program."""
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time

COMMAND = sys.argv[1:]

# Fault: is the exit code 0?, what the output holds, seconds.
ROWS = [
    ("none", True, [], 10),
    ("abort", False, [f'rank {r}: device 2, MatMul "fc": boom' for r in range(4)], 10),
    ("kill", False, ["rank 2"], 10),
    ("stop", False, ["rank 2 has given no sign of life"], 10),
    ("lag", False, ["waited 500 ms in a collective for rank 2"], 10),
]


def failures_of(row):
    fault, good, texts, seconds = row
    start = time.monotonic()
    # No folder and no input in common: launchers that start and end at once may get in each other's way.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            run = subprocess.run([*COMMAND, fault], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                                 env={**os.environ, "TMPDIR": folder})
        except subprocess.TimeoutExpired:
            return [f"{fault}: hangs"]
    took = time.monotonic() - start
    output = run.stdout + run.stderr
    print(f"{fault}: exit {run.returncode} after {took:.1f} s")
    failures = []
    if (run.returncode == 0) != good:
        failures.append(f"{fault}: exit code {run.returncode}, with:\n{output}")
    if took > seconds:
        failures.append(f"{fault}: took {took:.1f} s")
    return failures + [f"{fault}: no {text!r} in:\n{output}" for text in texts if text not in output]


def main():
    # Side by side: they wait more than they compute.
    with concurrent.futures.ThreadPoolExecutor(len(ROWS)) as pool:
        failures = [failure for found in pool.map(failures_of, ROWS) for failure in found]
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


main()
