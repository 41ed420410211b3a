"""Builds a model graph, plans it with the program, and reads the plan."""
import json
import pathlib
import subprocess
import tempfile

from ask import OTHER_OPS


class Graph:
    def __init__(self):
        self.inputs, self.parameters, self.ops, self.outputs, self.pins = [], [], [], [], []
        self.shapes, self.types, self.names = {}, {}, 0

    def input(self, name, shape, dtype, layout=None):
        self.inputs.append({"name": name, "type": f"{dtype}[{','.join(map(str, shape))}]"})
        self.shapes[name], self.types[name] = list(shape), dtype
        if layout:
            self.pin(name, layout)
        return name

    def pin(self, name, layout):
        self.pins.append(f"{name}={layout}")

    def constant(self, values, dtype="i64", scalar=False):
        name = self.fresh("constant")
        key = "ints" if dtype in ("i64", "i32", "bool") else "floats"
        shape = "" if scalar else str(len(values))
        self.parameters.append({"name": name, "type": f"{dtype}[{shape}]", "literal": {key: list(values)}})
        self.shapes[name], self.types[name] = [] if scalar else [len(values)], dtype
        return name

    def fresh(self, word):
        self.names += 1
        return f"{word}.{self.names}"

    def op(self, kind, inputs, shape=None, attributes=None, name=None, results=1):
        """The name of the first result; `shape` where later ops need it."""
        name = name or self.fresh(kind.split("::")[-1])
        outs = [f"{name}.out{k}" for k in range(results)]
        self.ops.append({"name": name, "type": kind, "inputs": ["" if i is None else i for i in inputs], "outputs": outs,
                         **({"attributes": attributes} if attributes else {})})
        self.shapes[outs[0]], self.types[outs[0]] = shape, self.types.get(inputs[0]) if inputs else None
        return outs[0]

    def plan(self, program, mesh, *options):
        """The plan and the summary (JSON of both), or an error's text."""
        document = {"kind": "sbp_plan.graph.v1", "name": "case", "inputs": self.inputs, "parameters": self.parameters,
                    "ops": self.ops, "outputs": self.outputs}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "graph.json").write_text(json.dumps(document))
            (path / "pins.txt").write_text("\n".join(self.pins) + "\n")
            command = [program, "infer", path / "graph.json", "--mesh", mesh, "--pins", path / "pins.txt", "--no-ties",
                       "--outputs", "any", "--no-simplify", "--rules",
                       *OTHER_OPS, "--format", "json", "-o", path / "plan.json", *options]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return None, done.stderr.strip()[:400]
            return json.loads((path / "plan.json").read_text()), json.loads(done.stdout)
