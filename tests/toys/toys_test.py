"""Is what CONTRIBUTING.md says of one file and one row true? toys_test.py PROGRAM-WITH-TOYS PROGRAM

The first program has a toy op, strategy, criterion, collective, exporter, picture format and optimizer, each added by one file and
one row (add_rows.py) to the objects of the second, which is sbp-plan itself and knows none of them."""
import json
import pathlib
import subprocess
import sys
import tempfile

TOYS, PLAIN = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:])
GRAPH = {
    "kind": "sbp_plan.graph.v1", "name": "toys",
    "inputs": [{"name": "x", "type": "f32[8,64]"}], "parameters": [{"name": "w", "type": "f32[1,64]"}],
    "ops": [{"name": "most", "type": "ReduceMax", "inputs": ["x"], "outputs": ["m"],
             "attributes": {"keepdims": 1}},
            {"name": "twice", "type": "sbp.toys::Twice", "inputs": ["m"], "outputs": ["t"]},
            {"name": "fc", "type": "MatMul", "inputs": ["t", "w"], "outputs": ["y"]}],
    "outputs": ["y"]}
failures = []


def run(folder, *words, program=TOYS, code=0):
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != code:
        failures.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def expect(text, *parts, of):
    failures.extend(f"{of}: no {part!r} in\n{text}" for part in parts if part not in text)


def test_op(folder):
    expect(run(folder, "rules", "list"), "sbp.toys::Twice", of="rules list")
    expect(run(folder, "rules", "candidates", "sbp.toys::Twice", "--input", "x=f32[8,8]", "--mesh", "2"), "S(0)", "P",
           of="candidates")
    row = "sbp.toys::Twice f32[6,4]"
    expect(run(folder, "rules", "verify", "sbp.toys::Twice", "--instance", row), "sbp.toys::Twice", of="verify")
    run(folder, "infer", "g.json", "--mesh", "4", "-o", "plan.json")
    run(folder, "check", "plan.json", "g.json")
    expect(run(folder, "run", "plan.json"), "good: largest error", of="run")


def test_strategy(folder):
    expect(run(folder, "help", "infer"), "--whim N", "replicate, fixed, toy", of="help")
    expect(run(folder, "help", "infer", "--man"), "whim", of="manual page")
    expect(run(folder, "help", "--completion", "bash"), "--whim", "fixed\ntoy", of="completion")
    expect(run(folder, "infer", "g.json", "--mesh", "4", "--strategy", "toy", "--whim", "1", "-o", "toy.json"),
           "strategy toy", of="infer")
    run(folder, "check", "toy.json", "g.json")
    expect(run(folder, "run", "toy.json"), "good: largest error", of="run")
    expect(run(folder, "explain", "toy.json", "fc"), "whim 1", of="explain")
    expect(run(folder, "infer", "g.json", "--mesh", "4", "--whim", "2", code=2), "--whim is for --strategy toy",
           of="refusal")
    expect(run(folder, "infer", "g.json", "--mesh", "4", "--strategy", "toy", "--whim", "101", code=2), "0 to 100",
           of="range")
    expect(run(folder, "compare", "g.json", "--mesh", "4", "--strategies", "toy,greedy"), "toy", "greedy", of="compare")
    expect(run(folder, "infer", "g.json", "--mesh", "4", "--strategy", "toi", code=2), 'did you mean "toy"', of="a slip")


def test_criterion(folder):
    expect(run(folder, "help", "infer"), "bytes, time, toy", of="help")
    expect(run(folder, "infer", "g.json", "--mesh", "4", "--cost", "toy", "-o", "c.json"), "greedy by toy", of="infer")
    expect(run(folder, "explain", "c.json", "fc", "--all"), "toys", of="explain")
    run(folder, "compare", "g.json", "--mesh", "4", "--strategies", "greedy:toy,greedy:bytes")


def test_collective(folder):
    pins = ("--pin", "most: S(0) -> P(max)", "--pin", "twice: P -> P", "--pin", "fc: P, B -> P", "--outputs", "any")
    expect(run(folder, "infer", "g.json", "--mesh", "4", *pins, "-o", "magic.json"), "toy-mix", of="infer")
    run(folder, "check", "magic.json", "g.json")
    plan = json.loads((folder / "magic.json").read_text())
    steps = [step["collective"] for transition in plan["transitions"] for step in transition["steps"]]
    if steps != ["toy-mix"]:
        failures.append(f"the plan's steps are {steps}")
    expect(run(folder, "check", "magic.json", program=PLAIN, code=3), "toy-mix", of="the plain program")
    expect(run(folder, "render", "magic.json", "-o", "-", "--as", "dot"), "toy-mix", "#123456", of="picture")
    expect(run(folder, "explain", "magic.json", "m"), "toy-mix", of="explain")
    expect(run(folder, "diff", "magic.json", "plan.json", code=1), "toy-mix", of="diff")


def test_exporter(folder):
    expect(run(folder, "help", "export"), "toy (candidates per op)", ".toy", of="help")
    run(folder, "export", "g.json", "--mesh", "4", "--to", "toy", "-o", "out.toy")
    expect((folder / "out.toy").read_text(), "most ", "twice ", "fc ", of="export")
    run(folder, "export", "plan.json", "--to", "toy-plan", "-o", "of-plan")
    run(folder, "export", "g.json", "--mesh", "4", "--to", "toy-plan", "-o", "of-model")
    for made in ("of-plan", "of-model"):
        expect((folder / made / "layouts.toy").read_text(), "twice ", "fc ", "->", of="export of a plan")
        expect((folder / made / "mesh.toy").read_text(), "4", of="export of a plan")
    run(folder, "export", "plan.json", "--to", "toy-plan", "-o", "-", code=2)
    run(folder, "export", "plan.json", "--mesh", "4", "--to", "toy-plan", "-o", "x", code=2)
    expect(run(folder, "export", "g.json", "--mesh", "4", "--to", "toi", "-o", "-", code=2), 'did you mean "toy"',
           of="a slip")


def test_format(folder):
    run(folder, "render", "magic.json", "-o", "picture.toy")
    expect((folder / "picture.toy").read_text(), "3 ops and 1 toys", of="render")
    expect(run(folder, "help", "render"), "toy", of="help")


def test_optimizer(folder):
    expect(run(folder, "help", "grad"), "muon, toy", of="help")
    training = ("--train", "--loss", "mean:y", "--optimizer", "toy")
    run(folder, "infer", "g.json", "--mesh", "2", *training, "-o", "train.json")
    run(folder, "check", "train.json", "g.json")
    expect(run(folder, "run", "train.json", "--steps", "2"), "next/w", "good: largest error", of="run --steps")
    expect(run(folder, "grad", "g.json", "--loss", "mean:y", "--optimizer", "toi", "-o", "-", code=3),
           'did you mean "toy"', of="a slip")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "g.json").write_text(json.dumps(GRAPH))
        for test in (test_op, test_strategy, test_criterion, test_collective, test_exporter, test_format,
                     test_optimizer):
            try:
                test(folder)
            except (OSError, KeyError, ValueError) as error:  # of what an earlier command did not write
                failures.append(f"{test.__name__}: {error!r}")
        if "toy" in run(folder, "help", "infer", program=PLAIN):
            failures.append("the plain program knows toys")
    print("\n".join(failures) or "toys: op, strategy, criterion, collective, exporter, format, optimizer")
    sys.exit(1 if failures else 0)


main()
