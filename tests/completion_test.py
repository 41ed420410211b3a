"""Do the shells complete what the program takes? completion_test.py PROGRAM [FOLDER of share/ with installed scripts]"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
SCRIPTS = {"bash": "bash-completion/completions/sbp-plan", "fish": "fish/vendor_completions.d/sbp-plan.fish",
           "zsh": "zsh/vendor-completions/_sbp-plan"}
BASH = """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _sbp_plan; printf '%s\\n' "${COMPREPLY[@]}" """
FISH = 'source $argv[1]; complete -C $argv[2]'

# What is typed, and what must and must not be among the answers.
CASES = [
    (["sbp-plan", "inf"], {"infer"}, {"run"}),
    (["sbp-plan", ""], {"infer", "explain", "rules", "help"}, set()),
    (["sbp-plan", "infer", "--me"], {"--mesh", "--memory-limit"}, {"--pin"}),
    (["sbp-plan", "-q", "rules", ""], {"list", "candidates", "coverage"}, {"calibrate"}),
    (["sbp-plan", "rules", "candidates", "MatM"], {"MatMul", "MatMulInteger"}, {"Add"}),
    (["sbp-plan", "run", "plan.json", "--backend", ""], {"cpu", "cuda", "fake", "mpi"}, set()),
    (["sbp-plan", "cluster", "show", "8x"], {"8xH100"}, set()),
    (["sbp-plan", "infer", "model.onnx", "--cluster", "8xH1"], {"8xH100"}, set()),
    (["sbp-plan", "help", "expl"], {"explain"}, {"infer"}),
    (["sbp-plan", "check", "plan_of_"], {"plan_of_test.json"}, set()),
    (["sbp-plan", "infer", "m.onnx", "--dump-dir", "fol"], {"folder"}, {"plan_of_test.json"}),
    (["sbp-plan", "infer", "m.onnx", "--effort", ""], set(), {"plan_of_test.json"}),
]


def answers(shell, script, words, folder):
    if shell == "bash":
        command = ["bash", "--norc", "-c", BASH, "bash", script, *words]
    else:
        command = ["fish", "--no-config", "-c", FISH, script, " ".join(words)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0 and not run.stderr, f"{shell}: {words}: {run.stderr}"
    return {line.split("\t")[0].rstrip("/") for line in run.stdout.splitlines() if line}


def main():
    failures, shells = [], [shell for shell in SCRIPTS if shutil.which(shell)]
    with tempfile.TemporaryDirectory() as folder:
        for shell in SCRIPTS:
            written = subprocess.run([PROGRAM, "help", "--completion", shell], capture_output=True, check=True).stdout
            script = pathlib.Path(folder, "script." + shell)
            script.write_bytes(written)
            if len(sys.argv) > 2 and pathlib.Path(sys.argv[2], SCRIPTS[shell]).read_bytes() != written:
                failures.append(f"{shell}: what is installed is not what the program writes")
            if shell in shells:
                subprocess.run([shell, "-n", script], check=True)  # is it the shell's language?
        work = pathlib.Path(folder, "work")
        (work / "folder").mkdir(parents=True)
        (work / "plan_of_test.json").write_text("{}")
        for shell in [shell for shell in shells if shell != "zsh"]:  # zsh completes on a terminal only
            for words, must, must_not in CASES:
                found = answers(shell, pathlib.Path(folder, "script." + shell), words, work)
                if not must <= found or must_not & found:
                    failures.append(f"{shell}: {' '.join(words)}: {sorted(found)[:20]}")
    print("\n".join(failures) or f"completions: {', '.join(shells)}")
    sys.exit(1 if failures else 0)


main()
