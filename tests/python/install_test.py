#!/usr/bin/env python3
"""`pip install .` in a fresh virtual environment, then a plan with what it installed: install_test.py PROGRAM.

Skips (77) where there is no venv, or pip cannot get setuptools."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
USE = """
import sbp_plan, pathlib
assert "site-packages" in sbp_plan.__file__, sbp_plan.__file__
assert (pathlib.Path(sbp_plan.__file__).parent / "py.typed").exists()
import sbp_plan._library
assert (sbp_plan._library.library() is not None) == LIBRARY, "the library beside the program comes along"
plan = sbp_plan.load(GRAPH, dim={"batch": 8, "seq": 16}).plan(mesh={"data": 2})
assert sbp_plan.check(plan) and "data=2" in plan.summary()
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        python = pathlib.Path(folder) / "venv/bin/python"
        if subprocess.run([sys.executable, "-m", "venv", python.parents[1]]).returncode != 0:
            print("skipped: no venv here")
            return 77
        if subprocess.run([python, "-m", "pip", "-q", "download", "-d", folder, "--no-deps", "setuptools", "wheel"]).returncode != 0:
            print("skipped: pip cannot get setuptools here")
            return 77
        sources = pathlib.Path(folder) / "sources"  # what a build leaves in its folder must not stay in ours
        sources.mkdir()
        for name in ("pyproject.toml", "setup.py", "README.md", "python"):
            subprocess.run(["cp", "-r", ROOT / name, sources], check=True)
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("SBP_", "PYTHON"))}
        subprocess.run([python, "-m", "pip", "-q", "install", sources], check=True,
                       env={**environment, "SBP_PLAN_BUILT": str(pathlib.Path(sys.argv[1]).resolve())})
        library = pathlib.Path(sys.argv[1]).with_name("libsbp_plan.so").exists()
        given = f"LIBRARY = {library}\nGRAPH = {str(ROOT / 'examples/megatron/graph.json')!r}\n"
        alone = {"env": {**environment, "PATH": "/usr/bin:/bin"}, "cwd": folder}
        subprocess.run([python, "-W", "error", "-c", given + USE], check=True, **alone)
        for words in ([python.with_name("sbp-plan")], [python, "-m", "sbp_plan"]):
            said = subprocess.run([*words, "--version"], check=True, capture_output=True, text=True, **alone).stdout
            assert said.startswith("sbp-plan "), said
    return 0


if __name__ == "__main__":
    sys.exit(main())
