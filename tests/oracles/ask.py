"""Questions to `sbp-plan rules ask`, one process a batch."""
import json
import pathlib
import subprocess

OTHER_OPS = (pathlib.Path(__file__).with_name("other_ops.rules"),)


def ask(program, questions, rules=()):
    """The answers, in order: dicts, with "error" where a question failed."""
    if not questions:
        return []
    command = [program, "rules", "ask"]
    for file in rules:
        command += ["--rules", str(file)]
    text = "\n".join(json.dumps(q) for q in questions) + "\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(questions):
        raise RuntimeError(f"{len(questions)} questions, {len(answers)} answers")
    return answers


def operand(shape, dtype="f32", value=None):
    """One operand of a question."""
    out = {"type": f"{dtype}[{','.join(map(str, shape))}]"}
    if value is not None:
        out["value"] = value
    return out


def ints(values):
    return operand([len(values)], "i64", list(values))
