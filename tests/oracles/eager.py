"""OneFlow's eager calls: the layout that a single op's result gets under copy-cost."""
import re

from graph import Graph
from ops import BINARY, UNARY



def axes_in(name):
    """The digits at the end of a call's name: sum_0, permute_201, reshape_merge_12."""
    match = re.search(r"_(\d+)$", name)
    return [int(d) for d in match.group(1)] if match else None


REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd", "amax": "ReduceMax",
              "amin": "ReduceMin", "logsumexp": "ReduceLogSumExp", "norm": "ReduceL2"}


class Call:
    """One call in the shared graph: `x` are its tensors' names."""

    def __init__(self, graph, case, name):
        self.graph, self.case, self.name = graph, case, name
        self.x, self.out, self.given = [], case["out"]["shape"], {}
        for k, (shape, dtype, layouts) in enumerate(case["in"]):
            layouts = [re.sub(r"^S(\d+)$", r"S(\1)", s) for s in layouts]
            layouts = ["P(sum)" if s == "P" else s for s in layouts]
            spelled = layouts[0] if len(layouts) == 1 else f"({', '.join(layouts)})"
            self.x.append(graph.input(f"{name}.x{k}", shape, dtype, spelled))
            self.given[self.x[-1]] = spelled

    def shape(self, k=0):
        return self.case["in"][k][0]

    def kept(self, taken):
        """Does the planned op take every tensor of the case that it reads as it was given?"""
        op = next(o for o in self.graph.ops if o["name"] == self.name)
        read = [(x, layout) for x, layout in zip(op["inputs"], taken) if x in self.given]
        return bool(read) and all(self.given[x] == layout for x, layout in read)

    def last(self, kind, inputs, **attributes):
        """The op whose result is compared."""
        out = self.graph.op(kind, inputs, None, attributes, name=self.name)
        self.graph.outputs.append(out)
        return True

    def part(self, kind, inputs, **attributes):
        return self.graph.op(kind, inputs, None, attributes)

    def ints(self, values):
        return self.graph.constant(values)

    def number(self, value, dtype="f32"):
        return self.graph.constant([value], dtype, scalar=True)

    def build(self):
        """Adds the call's ops; False where the call is not known."""
        op = self.case["op"]
        base = re.sub(r"_(\d+|last|all|inplace|keepdim)$", "", op)
        axes = axes_in(op)
        rank = len(self.shape())
        x = self.x[0]
        for name in (op, base):
            if hasattr(self, "do_" + name):
                return getattr(self, "do_" + name)(axes)
        if base in REDUCTIONS:
            axes = list(range(rank)) if axes is None else axes
            return self.last(REDUCTIONS[base], [x, self.ints(axes)], keepdims=int(len(self.out) == rank))
        if base in ("argmax", "argmin"):
            return self.last({"argmax": "ArgMax", "argmin": "ArgMin"}[base], [x], axis=axes[0], keepdims=int(len(self.out) == rank))
        if base in ("softmax", "log_softmax"):
            axis = axes[0] if axes else -1
            return self.last({"softmax": "Softmax", "log_softmax": "LogSoftmax"}[base], [x], axis=axis)
        if base in ("reshape", "reshape_merge", "reshape_split", "flatten", "view", "unsqueeze", "squeeze"):
            return self.last("Reshape", [x, self.ints(self.out)])
        if base in ("scalar_mul", "scalar_add", "scalar_sub", "scalar_div", "scalar_pow", "add_scalar", "mul_scalar"):
            kind = base.replace("scalar", "").strip("_")
            return self.last({"mul": "Mul", "add": "Add", "sub": "Sub", "div": "Div", "pow": "Pow"}[kind], [x, self.number(2.0)])
        if base in ("cumsum", "cumprod"):
            return self.last({"cumsum": "CumSum", "cumprod": "CumProd"}[base], [x, self.number(axes[0], "i64")])
        if len(self.x) == 1 and base in UNARY:
            return self.last(UNARY[base], [x])
        if len(self.x) == 2 and base in BINARY:
            return self.last(BINARY[base], self.x)
        return False

    def do_transpose(self, axes):
        perm = list(range(len(self.shape())))[::-1] if axes is None else axes
        if axes and len(axes) == 2:
            perm = list(range(len(self.shape())))
            perm[axes[0]], perm[axes[1]] = perm[axes[1]], perm[axes[0]]
        return self.last("Transpose", self.x, perm=perm)

    def do_permute(self, axes):
        return self.last("Transpose", self.x, perm=axes)

    def do_slice(self, axes):
        return self.last("Slice", [self.x[0], self.ints([0]), self.ints([self.out[axes[0]]]), self.ints([axes[0]])])

    do_narrow = do_slice

    def do_split(self, axes):
        size, part = self.shape()[axes[0]], self.out[axes[0]]
        out = self.graph.op("Split", [self.x[0], self.ints([part] * (size // part))], None, {"axis": axes[0]}, self.name, size // part)
        self.graph.outputs.append(out)
        return True

    do_chunk = do_split

    def do_roll(self, axes):
        return self.last("other::Roll", self.x, axis=axes or list(range(len(self.shape()))))

    def do_flip(self, axes):
        count = len(axes)
        return self.last("Slice", [self.x[0], self.ints([-1] * count), self.ints([-2**31] * count), self.ints(axes), self.ints([-1] * count)])

    def do_tril(self, _):
        return self.last("Trilu", self.x, upper=0)

    def do_triu(self, _):
        return self.last("Trilu", self.x, upper=1)

    def do_clamp(self, _):
        return self.last("Clip", [self.x[0], self.number(-0.5), self.number(0.5)])

    do_clip = do_clamp

    def do_cast_int(self, _):
        return self.last("Cast", self.x, to="i64")

    def do_cast_half(self, _):
        return self.last("Cast", self.x, to="f16")

    do_cast_float16 = do_half = do_cast_half

    def do_cat(self, axes):
        return self.last("Concat", self.x, axis=axes[0])

    do_concat = do_cat

    def do_stack(self, axes):
        """A reshape of each tensor, then a concat."""
        grown = [self.part("Unsqueeze", [x, self.ints([axes[0]])]) for x in self.x]
        return self.last("Concat", grown, axis=axes[0])

    def do_add_bias(self, _):
        return self.last("Add", self.x)

    do_mul_bias = lambda self, _: self.last("Mul", self.x)

    def do_matmul(self, _):
        return self.last("MatMul", self.x)

    do_bmm = do_mm = do_batch_matmul = do_matmul

    def do_matmul_tb(self, _):
        return self.last("Gemm", self.x, transB=1)

    do_linear = do_matmul_tb

    def do_matmul_ta(self, _):
        return self.last("Gemm", self.x, transA=1)

    def do_einsum(self, _):
        letters = self.case["op"].removeprefix("einsum_").split("_")
        if len(letters) != len(self.x):
            return False
        out = "".join(c for c in dict.fromkeys("".join(letters)) if "".join(letters).count(c) == 1)
        return self.last("Einsum", self.x, equation=f"{','.join(letters)}->{out}")

    def build_einsum(self):
        return self.case["op"].startswith("einsum_") and self.do_einsum(None)

    def do_where(self, _):
        """The condition is a comparison of the first tensor."""
        if len(self.x) == 3:
            return self.last("Where", self.x)
        return self.last("Where", [self.part("Greater", [self.x[0], self.number(0.0)]), *self.x])

    def do_one_hot(self, _):
        return self.last("OneHot", [self.x[0], self.number(self.out[-1], "i64"), self.graph.constant([0.0, 1.0], "f32")], axis=-1)

    def do_cross_entropy(self, _):
        scores = self.part("LogSoftmax", [self.x[0]], axis=1)
        return self.last("NegativeLogLikelihoodLoss", [scores, self.x[1]], reduction="none" if self.out else "mean")

    def do_embedding(self, _):
        ids, table = self.x if self.case["in"][0][1].startswith("i") else self.x[::-1]
        return self.last("Gather", [table, ids], axis=0)

    def do_gather(self, axes):
        return self.last("GatherElements", self.x, axis=(axes or [0])[0])

    def do_layer_norm(self, _):
        width = self.shape()[-1:]
        weights = self.x[1:] or [self.graph.constant([1.0] * width[0], "f32"), self.graph.constant([0.0] * width[0], "f32")]
        return self.last("LayerNormalization", [self.x[0], *weights])

    def do_expand(self, _):
        return self.last("Expand", [self.x[0], self.ints(self.out)])

    def do_sort(self, _):
        return self.last("other::Sort", self.x)

    def do_topk(self, _):
        return self.last("TopK", [self.x[0], self.ints([self.out[-1]])], axis=-1)

    def do_std(self, axes):
        return self.last("other::Variance", [self.x[0], self.ints(axes or list(range(len(self.shape()))))], keepdims=0)

    do_var = do_std


def built(graph, case, name):
    """The call added to the graph, or None where it is not known."""
    before = len(graph.ops), len(graph.inputs), len(graph.pins), len(graph.parameters), len(graph.outputs)
    call = Call(graph, case, name)
    try:
        if call.build() or call.build_einsum():
            return call
    except (KeyError, IndexError, TypeError, ValueError):
        pass
    for entries, count in zip((graph.ops, graph.inputs, graph.pins, graph.parameters, graph.outputs), before):
        del entries[count:]
    return None


def signatures(program, mesh, graph):
    """{call: the planned signature}, or None where the program refuses the graph."""
    plan, _ = graph.plan(program, mesh, "--strategy", "greedy", "--cost", "copy-cost")
    return plan and {op: d["signature"] for d in plan["decisions"] for op in d["ops"]}


def compare(program, data, tally):
    """All calls of one mesh stand in one graph; if the program refuses that, each is planned alone."""
    graphs, calls = {}, {}
    for number, case in enumerate(data):
        if "error" in case or "out" not in case:
            tally.skip(f"{case['op']} (refused there)")
            continue
        mesh = ",".join(map(str, case["mesh"]))
        call = built(graphs.setdefault(mesh, Graph()), case, f"case{number}")
        if call:
            calls.setdefault(mesh, []).append(call)
        else:
            tally.skip(case["op"])
    for mesh, listed in calls.items():
        together = signatures(program, mesh, graphs[mesh])
        for call in listed:
            found = together
            if found is None:
                alone = Graph()
                call = built(alone, call.case, call.name)
                found = signatures(program, mesh, alone)
            if found is None:
                tally.skip(call.case["op"])
            else:
                compare_call(call, found[call.name], tally)


def compare_call(call, signature, tally):
    found = split_layouts(signature.split("->")[-1].strip())[0]
    wanted = ["P(sum)" if s == "P" else s for s in call.case["out"]["layout"]]
    expected = wanted[0] if len(wanted) == 1 else f"({', '.join(wanted)})"
    if found == expected:
        tally.good()
        return
    taken = split_layouts(signature.split("->")[0].strip())
    tally.bad("oneflow_eager", call.case["op"], call.case,
              {"kind": "layout", "expected": expected, "found": found, "signature": signature, "kept": call.kept(taken)})


def split_layouts(text):
    """'(S(0), B), B' -> its entries at the outermost level."""
    parts, depth, start = [], 0, 0
    for k, c in enumerate(text + ","):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:k].strip())
            start = k + 1
    return parts
