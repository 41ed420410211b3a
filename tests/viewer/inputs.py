"""Plans and pages that the checks of the viewer look at, made by the program when first asked for."""
import json
import subprocess
import threading

from rejoin import rejoin

HOSTILE = [
    "<script>document.title='owned'</script>", "</script><img src=x onerror=alert(1)>", "quo\"te'`&amp;",
    "‮evil‬ ‏abc", "{{document}}${alert(1)}", "x" * 10_000, " \t leading", "<!--", "a/b/<b>c</b>", "%00%zz",
    "=1+1|'calc'!A0",
]

MLP = {"kind": "sbp_plan.graph.v1", "name": "mlp", "inputs": [{"name": "x", "type": "f32[64,256]"}],
       "parameters": [{"name": "w1", "type": "f32[256,1024]"}, {"name": "w2", "type": "f32[1024,256]"}],
       "ops": [{"name": "up", "type": "MatMul", "inputs": ["x", "w1"], "outputs": ["h"], "scope": "mlp"},
               {"name": "act", "type": "Relu", "inputs": ["h"], "outputs": ["r"], "scope": "mlp"},
               {"name": "down", "type": "MatMul", "inputs": ["r", "w2"], "outputs": ["y"], "scope": "mlp"}],
       "outputs": ["y"]}
# Sizes that nothing divides, split over one axis, over both in one dimension, over both in two; a partial result.
UNEVEN = {"kind": "sbp_plan.graph.v1", "name": "uneven",
          "inputs": [{"name": "x", "type": "f32[11,7,5]"}, {"name": "u", "type": "f32[7,13]"}],
          "parameters": [{"name": "w", "type": "f32[13,9]"}],
          "ops": [{"name": "act", "type": "Relu", "inputs": ["x"], "outputs": ["r"]},
                  {"name": "mm", "type": "MatMul", "inputs": ["u", "w"], "outputs": ["y"]}],
          "outputs": ["r", "y"]}


def hostile_graph():
    """A chain of ops whose names, types of scopes and metadata are what breaks pages."""
    ops, last = [], "x"
    for i, name in enumerate(HOSTILE):
        result = f"{name} out"
        ops.append({"name": name, "type": "Relu", "inputs": [last], "outputs": [result], "scope": name[:200],
                    "metadata": [{"name": name[:100], "value": name[:300]}]})
        last = result
    return {"kind": "sbp_plan.graph.v1", "name": HOSTILE[1], "inputs": [{"name": "x", "type": "f32[64,32]"}],
            "parameters": [], "ops": ops, "outputs": [last]}


class Inputs:
    """`folder` holds what is made; `program`: sbp-plan; `rejoins`: pages get the modules of the source tree."""

    def __init__(self, program, folder, rejoins=False):
        self.program, self.folder, self.rejoins = program, folder, rejoins
        self._made = {}
        self._locks, self._lock = {}, threading.Lock()

    def run(self, *words, codes=(0,)):
        ran = subprocess.run([self.program, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False)
        if ran.returncode not in codes:
            raise RuntimeError(f"sbp-plan {' '.join(map(str, words))}: exit {ran.returncode}: {ran.stderr[-1000:]}")
        return ran.stdout

    def _once(self, name, make):
        """The file of that name: cases run side by side, the first that asks makes it."""
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            if name not in self._made:
                make(self.folder / name)
                self._made[name] = self.folder / name
        return self._made[name]

    def _planned(self, name, graph, *flags):
        def make(path):
            source = self.folder / f"{name}.graph.json"
            source.write_text(json.dumps(graph))
            self.run("infer", source, *flags, "-o", path, "-q")
        return self._once(f"{name}.json", make)

    def plan(self, name):
        return getattr(self, f"_{name}")()

    def read(self, name):
        return json.loads(self.plan(name).read_text())

    def page(self, name):
        return self._paged(f"{name}.html", "render", self.plan(name))

    def _paged(self, name, *words):
        def make(path):
            self.run(*words, "-o", path, codes=(0, 1) if words[0] == "diff" else (0,))
            if self.rejoins:
                rejoin(path, path)
        return self._once(name, make)

    def model_page(self):
        """Of a graph that is not planned."""
        graph = self.folder / "bare.graph.json"
        graph.write_text(json.dumps(MLP))
        return self._paged("bare.html", "render", graph)

    def diff_page(self, before, after):
        return self._paged(f"{before}-{after}.diff.html", "diff", self.plan(before), self.plan(after))

    def explain(self, name, what):
        return json.loads(self.run("explain", self.plan(name), what, "--format", "json", "--all"))

    def _mlp(self):
        return self._planned("mlp", MLP, "--mesh", "data=2,model=4", "--strategy", "einsum", "--pin", "w1=(B, S(1))")

    def _sliced(self):
        """A slice stands before a collective, on the way to one layout."""
        return self._planned("sliced", MLP, "--mesh", "data=2,model=4", "--pin", "h<-(B, P(sum))", "--pin", "r<-(S(0), B)")

    def _mlp_other(self):
        return self._planned("mlp_other", MLP, "--mesh", "data=2,model=4", "--strategy", "replicate")

    def _too_large(self):
        """Of a weight that no device holds."""
        graph = {"kind": "sbp_plan.graph.v1", "name": "too_large", "inputs": [{"name": "x", "type": "f32[64,131072]"}],
                 "parameters": [{"name": "w", "type": "f32[131072,262144]"}],
                 "ops": [{"name": "mm", "type": "MatMul", "inputs": ["x", "w"], "outputs": ["y"]}], "outputs": ["y"]}
        return self._planned("too_large", graph, "--mesh", "2", "--strategy", "replicate")

    def _long_names(self, name="long_names", *flags):
        """Neighbours whose names differ in their middle, or at their end."""
        names = [f"backward/model/layers.{layer}/block_sparse_moe/experts/{part}_projection/d.data" for layer in range(12) for part in ("gate", "up")]
        return self._chain(name, names, *flags)

    def _dotted_names(self):
        """Long names of one level, as exporters of modules write them."""
        return self._chain("dotted_names", [f"model.layers.{layer}.block_sparse_moe.experts.gate_up_projection.{part}"
                                            for layer in range(6) for part in ("gate", "up")])

    def _chain(self, name, names, *flags, shape="64,256"):
        ops = [{"name": op, "type": "Relu", "inputs": [names[i - 1] + ":0" if i else "x"], "outputs": [op + ":0"]} for i, op in enumerate(names)]
        graph = {"kind": "sbp_plan.graph.v1", "name": name.removesuffix("_other"), "inputs": [{"name": "x", "type": f"f32[{shape}]"}], "parameters": [],
                 "ops": ops, "outputs": [names[-1] + ":0"]}
        return self._planned(name, graph, "--mesh", "model=4", "--strategy", "einsum", *(flags or ("--pin", "x=S(0)")))

    def _one_scope(self):
        """A model in one scope, of more blocks below each other than a screen is high, no two of them alike."""
        ops, last = [], "x"
        for block in range(20):
            for i, kind in enumerate(["Relu", "Exp", "Tanh"] + ["Sigmoid", "Neg", "Abs"] * (block + 1)):
                ops.append({"name": f"b{block}_{i}", "type": kind, "inputs": [last], "outputs": [f"t{block}_{i}"], "scope": f"m/part{chr(97 + block)}"})
                last = f"t{block}_{i}"
        graph = {"kind": "sbp_plan.graph.v1", "name": "one_scope", "inputs": [{"name": "x", "type": "f32[64,256]"}], "parameters": [],
                 "ops": ops, "outputs": [last]}
        return self._planned("one_scope", graph, "--mesh", "model=4", "--strategy", "einsum", "--pin", "x=S(0)")

    def _relus(self):
        """A chain that fuses into one kernel."""
        return self._chain("relus", [f"r{i}" for i in range(9)], "--pin", "x=S(0)", shape="4096,4096")

    def _long_names_other(self):
        return self._long_names("long_names_other", "--pin", "x=B")

    def _physical(self):
        return self._planned("physical", MLP, "--mesh", "model=4", "--strategy", "einsum", "--physical", "--micro-batches", 4)

    def _devices2048(self):
        """Tensors that are split over two axes of 2,048 devices, over one, and over none."""
        return self._planned("devices2048", MLP, "--cluster", "8xH100", "--mesh", "data=64,model=32", "--strategy", "einsum",
                             "--pin", "x=(S(0), B)", "--pin", "w1=(B, S(1))")

    def _off_node(self):
        """On the last four devices of a node of eight, and the first four of the next."""
        return self._planned("off_node", MLP, "--mesh", "model=8@4-11", "--strategy", "einsum", "--pin", "w1=S(1)", "--pin", "w2=S(0)")

    def _late(self, name="late", *flags):
        """The plans of this and the next differ in the last of 251 ops alone."""
        ops = [{"name": f"r{i}", "type": "Relu", "inputs": [f"t{i}"], "outputs": [f"t{i + 1}"]} for i in range(250)]
        ops.append({"name": "last", "type": "MatMul", "inputs": ["t250", "w"], "outputs": ["y"]})
        graph = {"kind": "sbp_plan.graph.v1", "name": "late", "inputs": [{"name": "t0", "type": "f32[256,256]"}],
                 "parameters": [{"name": "w", "type": "f32[256,4096]"}], "ops": ops, "outputs": ["y"]}
        return self._planned(name, graph, "--mesh", "model=4", "--strategy", "einsum", *flags)

    def _late_other(self):
        return self._late("late_other", "--pin", "w=S(1)")

    def _mlp_longer(self):
        graph = json.loads(json.dumps(MLP))
        graph["ops"].append({"name": "last", "type": "Tanh", "inputs": ["y"], "outputs": ["z"], "scope": "head"})
        graph["outputs"] = ["z"]
        return self._planned("mlp_longer", graph, "--mesh", "data=2,model=4", "--strategy", "einsum")

    def _called_again(self):
        """A block whose one ReLU is called after each of its products."""
        ops, last = [], "x"
        for i, (name, kind) in enumerate([("fc1", "MatMul"), ("relu", "Relu"), ("fc2", "MatMul"), ("relu", "Relu"), ("fc3", "MatMul")]):
            inputs = [last, f"w{i}"] if kind == "MatMul" else [last]
            ops.append({"name": f"op{i}", "type": kind, "inputs": inputs, "outputs": [f"y{i}"], "scope": f"block/{name}"})
            last = f"y{i}"
        ops.append({"name": "head", "type": "Tanh", "inputs": [last], "outputs": ["z"], "scope": "head"})
        graph = {"kind": "sbp_plan.graph.v1", "name": "block", "inputs": [{"name": "x", "type": "f32[64,32]"}],
                 "parameters": [{"name": f"w{i}", "type": f"f32[{32 + 8 * i},{48 + 8 * i}]"} for i in (0, 2, 4)], "ops": ops, "outputs": ["z"]}
        return self._planned("called_again", graph, "--mesh", "2")

    def _without_rule(self):
        """An op of somebody's own between two products: three operands, one of them absent, one a number."""
        ops = [{"name": "in", "type": "MatMul", "inputs": ["x", "w"], "outputs": ["h"]},
               {"name": "own", "type": "acme.kernels::TokenDispatch", "inputs": ["h", "", "s"], "outputs": ["d"], "attributes": {"top": 2}},
               {"name": "out", "type": "MatMul", "inputs": ["d", "w"], "outputs": ["y"]}]
        graph = {"kind": "sbp_plan.graph.v1", "name": "own", "inputs": [{"name": "x", "type": "f32[512,512]"}],
                 "parameters": [{"name": "w", "type": "f32[512,512]"}, {"name": "s", "type": "f32[]"}],
                 "tensors": [{"name": "d", "type": "f32[512,512]"}], "ops": ops, "outputs": ["y"]}
        return self._planned("without_rule", graph, "--mesh", "2")

    def _uneven(self):
        return self._planned("uneven", UNEVEN, "--mesh", "a=2,b=3", "--pin", "x=(S(0), S(0))", "--pin", "r<-(S(0), S(1))",
                             "--pin", "u=(B, S(1))", "--pin", "w=(B, S(0))", "--pin", "y<-(B, P(sum))")

    def _whole(self):
        """Softmax along the only dimension: no candidate splits its results."""
        graph = {"kind": "sbp_plan.graph.v1", "name": "whole", "inputs": [{"name": "x", "type": "f32[64]"}], "parameters": [],
                 "ops": [{"name": "first", "type": "Softmax", "inputs": ["x"], "outputs": ["y"]},
                         {"name": "second", "type": "Softmax", "inputs": ["y"], "outputs": ["z"]}], "outputs": ["z"]}
        return self._planned("whole", graph, "--mesh", "2")

    def _hostile(self):
        return self._planned("hostile", hostile_graph(), "--mesh", "2,2")

    def _trained(self, name, *flags, loss="cross-entropy:logits", layers=2, hidden=256, ffn=704, heads=4, vocab=1000, batch=8, seq=128):
        """A training step of a small language model, planned with these flags."""
        def make(path):
            graph = self.folder / f"{name}.graph.json"
            self.run("generate", "llama", "--layers", layers, "--hidden", hidden, "--ffn", ffn, "--heads", heads, "--kv-heads", heads,
                     "--vocab", vocab, "--batch", batch, "--seq", seq, "-o", graph, "-q")
            self.run("infer", graph, "--train", "--loss", loss, *flags, "-o", path, "-q")
        return self._once(f"{name}.json", make)

    def _accumulated(self):
        """A training step of four micro-batches: what runs in each, and what runs once."""
        return self._trained("accumulated", "--mesh", "data=2,model=4", "--accumulate", 4, "--recipe", "data=zero3,model=tp",
                             "--optimizer", "adamw")

    def _one_axis(self):
        """One layer, and few candidates an op: what forcing each costs is found in no time."""
        return self._trained("one_axis", "--mesh", "model=4", "--accumulate", 2, "--optimizer", "adamw", layers=1)

    def _recomputed(self):
        """A training step that computes some of its forward pass again."""
        return self._trained("recomputed", "--mesh", "data=4", "--remat", "light", "--strategy", "einsum", "--recipe", "data=dp")

    def _accumulated256(self):
        """More micro-batches than a page holds one by one."""
        return self._trained("accumulated256", "--mesh", "model=4", "--accumulate", 256, "--strategy", "einsum", "--recipe", "model=tp",
                             "--optimizer", "adamw", layers=4, hidden=128, ffn=352, batch=256, seq=64)

    def _accumulated_other(self):
        def make(path):
            self.run("infer", self.plan("accumulated").with_name("accumulated.graph.json"), "--mesh", "data=2,model=4", "--train",
                     "--loss", "cross-entropy:logits", "--accumulate", 4, "--recipe", "data=dp", "--optimizer", "adamw", "-o", path, "-q")
        return self._once("accumulated_other.json", make)

    def _llama(self):
        """A training step of a small one: repeated layers, forward and backward, and collectives."""
        return self._trained("llama", "--mesh", "data=2,model=4", "--strategy", "einsum", "--optimizer", "adamw", "--recipe",
                             "data=zero3,model=tp", loss="causal-lm:logits", layers=6)

    def _sized(self, ops):
        def make(path):  # with a tenth more, which simplifications join
            graph = self.folder / f"transformer{ops}.graph.json"
            self.run("generate", "transformer", "--ops", ops + ops // 10, "-o", graph, "-q")
            self.run("infer", graph, "--mesh", "data=2,model=4", "--strategy", "greedy", "-o", path, "-q")
        return self._once(f"transformer{ops}.json", make)

    def _step_sized(self, layers):
        """A training step with its weights, gradients and products split over both axes: collectives in every layer."""
        return self._trained(f"step{layers}", "--mesh", "data=2,model=4", "--strategy", "einsum", "--optimizer", "adamw", "--recipe",
                             "data=zero3,model=tp", loss="causal-lm:logits", layers=layers, hidden=1024, ffn=2816, heads=16,
                             vocab=32000, seq=512)

    def _step10000(self):
        return self._step_sized(74)

    def _step50000(self):
        return self._step_sized(370)

    def _ops10000(self):
        return self._sized(10_000)

    def _ops50000(self):
        return self._sized(50_000)

    def _ops200000(self):
        return self._sized(200_000)
