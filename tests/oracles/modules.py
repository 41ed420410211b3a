"""Small modules with given placements: our plan must not need more collectives than were recorded."""
import ast

from graph import Graph

STRATEGIES = (("--strategy", "einsum"), ("--strategy", "greedy"), ("--strategy", "greedy", "--cost", "time"),
              ("--strategy", "greedy", "--cost", "copy-cost"), ("--strategy", "greedy", "--cost", "order-value"))
LOCAL = {"local-slice", "slice", "keep", "pad", "zero", "local"}  # kinds that move nothing between ranks
DTYPES = {"float32": "f32", "int64": "i64", "float64": "f64", "bfloat16": "bf16", "float16": "f16", "bool": "bool"}


def layout(placements):
    spelled = []
    for p in placements:
        p = {"R": "B", "P(masked_sum)": "P(sum)"}.get(p, p)
        if p.startswith("P(") and p not in ("P(sum)", "P(max)", "P(min)"):
            return None
        spelled.append(p)
    return spelled[0] if len(spelled) == 1 else f"({', '.join(spelled)})"


class Module:
    """Evaluates a module's formula into a graph."""

    def __init__(self, case):
        self.case, self.graph = case, Graph()
        for i in case["inputs"]:
            self.graph.input(i["name"], i["shape"], DTYPES[i["dtype"]], layout(i["placement"]))
        self.given = {i["name"]: i["placement"] for i in case["inputs"]}

    # Functions by the names in the formulas ---------------------------------------------------------------------------

    def call(self, name, args):
        return getattr(self, "do_" + name)(*args)

    def same(self, kind, *x, **attributes):
        return self.graph.op(kind, x, self.graph.shapes[x[0]], attributes)

    def do_linear(self, x, w, b=None):
        g = self.graph
        shape = [*g.shapes[x][:-1], g.shapes[w][0]]
        if len(g.shapes[x]) == 2:
            return g.op("Gemm", [x, w] + ([b] if b else []), shape, {"transB": 1})
        turned = g.op("Transpose", [w], g.shapes[w][::-1], {"perm": [1, 0]})
        y = g.op("MatMul", [x, turned], shape)
        return g.op("Add", [y, b], shape) if b else y

    def do_matmul(self, a, b):
        g = self.graph
        return g.op("MatMul", [a, b], [*g.shapes[a][:-1], g.shapes[b][-1]])

    do_bmm = do_mm = do_matmul

    def do_relu(self, x):
        return self.same("Relu", x)

    def do_gelu(self, x):
        return self.same("Gelu", x)

    def do_silu(self, x):
        return self.same("Swish", x)

    def do_sigmoid(self, x):
        return self.same("Sigmoid", x)

    def do_tanh(self, x):
        return self.same("Tanh", x)

    def do_softmax(self, x, axis=-1):
        return self.same("Softmax", x, axis=axis)

    def do_log_softmax(self, x, axis=-1):
        return self.same("LogSoftmax", x, axis=axis)

    def do_layer_norm(self, x, g, b=None):
        return self.graph.op("LayerNormalization", [x, g] + ([b] if b else []), self.graph.shapes[x])

    def do_rms_norm(self, x, g):
        return self.graph.op("RMSNormalization", [x, g], self.graph.shapes[x])

    def do_dropout(self, x, *_):
        return self.same("Identity", x)

    def do_embedding(self, ids, table):
        g = self.graph
        return g.op("Gather", [table, ids], [*g.shapes[ids], g.shapes[table][1]], {"axis": 0})

    def do_flatten(self, x):
        """All dimensions but the last of scores are joined; labels become one dimension."""
        g = self.graph
        shape = g.shapes[x]
        to = [int_product(shape)] if g.types[x] == "i64" else [int_product(shape[:-1]), shape[-1]]
        return g.op("Reshape", [x, g.constant(to)], to)

    def do_view(self, x, to):
        g = self.graph
        return g.op("Reshape", [x, g.constant(to)], list(to))

    do_reshape = do_view

    def do_transpose(self, x, i, j):
        g = self.graph
        perm = list(range(len(g.shapes[x])))
        perm[i], perm[j] = perm[j], perm[i]
        return g.op("Transpose", [x], [g.shapes[x][d] for d in perm], {"perm": perm})

    def do_cross_entropy(self, scores, labels):
        return self.graph.op("SoftmaxCrossEntropyLoss", [scores, labels], [], {"reduction": "mean"})

    def do_mse_loss(self, x, y):
        g = self.graph
        difference = g.op("Sub", [x, y], g.shapes[x])
        square = g.op("Mul", [difference, difference], g.shapes[x])
        return g.op("ReduceMean", [square, g.constant(range(len(g.shapes[x])))], [], {"keepdims": 0})

    def do_mean(self, x, axes=None):
        g = self.graph
        axes = list(range(len(g.shapes[x]))) if axes is None else [axes] if isinstance(axes, int) else list(axes)
        shape = [n for d, n in enumerate(g.shapes[x]) if d not in axes]
        return g.op("ReduceMean", [x, g.constant(axes)], shape, {"keepdims": 0})

    def do_sum(self, x, axes=None):
        g = self.graph
        axes = list(range(len(g.shapes[x]))) if axes is None else [axes] if isinstance(axes, int) else list(axes)
        shape = [n for d, n in enumerate(g.shapes[x]) if d not in axes]
        return g.op("ReduceSum", [x, g.constant(axes)], shape, {"keepdims": 0})

    def do_max_pool2(self, x):
        g = self.graph
        n, c, h, w = g.shapes[x]
        return g.op("MaxPool", [x], [n, c, h // 2, w // 2], {"kernel_shape": [2, 2], "strides": [2, 2]})

    def conv(self, x, w, b):
        g = self.graph
        pads = [k // 2 for k in g.shapes[w][2:]]
        return g.op("Conv", [x, w] + ([b] if b else []), [g.shapes[x][0], g.shapes[w][0], *g.shapes[x][2:]], {"pads": pads * 2})

    def do_conv1(self, x):
        return self.conv(x, "w1", "b1" if "b1" in self.given else None)

    def do_conv2(self, x):
        return self.conv(x, "w2", "b2" if "b2" in self.given else None)

    def do_fc(self, x):
        return self.do_linear(x, "fc")

    def do_einsum(self, equation, a, b):
        g = self.graph
        left, right = equation.split("->")
        sizes = {letter: n for term, t in zip(left.split(","), (a, b)) for letter, n in zip(term, g.shapes[t])}
        return g.op("Einsum", [a, b], [sizes[letter] for letter in right], {"equation": equation})

    # Moves: the last mesh axis is brought to another layout ---------------------------------------------------------------

    def brought(self, x, to, like=None):
        """x with its last mesh axis brought to `to`; the others as `like` lies, by default as the first input does."""
        placements = list(like or self.case["inputs"][0]["placement"])
        y = self.graph.op("Identity", [x], self.graph.shapes[x])
        self.graph.pin(y, layout([*placements[:-1], to]))
        return y

    def do_to_R(self, x):
        return self.brought(x, "R")

    def do_to_S1(self, x):
        return self.brought(x, "S(1)")

    def do_mlp(self, x, w1="w1", w2="w2"):
        return self.do_linear(self.do_relu(self.do_linear(x, w1)), w2)

    # Whole modules whose formula is not one expression -----------------------------------------------------------------------

    def attention(self, x):
        g = self.graph
        batch, length, width = g.shapes[x]
        heads = 8

        def head(w):
            return self.do_transpose(self.do_view(self.do_linear(x, w), [batch, length, heads, width // heads]), 1, 2)
        q, k, v = head("wq"), head("wk"), head("wv")
        scores = self.do_matmul(q, self.do_transpose(k, 2, 3))
        scaled = g.op("Mul", [scores, g.constant([0.125], "f32", scalar=True)], g.shapes[scores])
        mixed = self.do_matmul(self.do_softmax(scaled), v)
        return self.do_linear(self.do_view(self.do_transpose(mixed, 1, 2), [batch, length, width]), "wo")

    def experts(self):
        share = self.do_softmax(self.do_linear("x", "gate"))
        given = self.do_einsum("te,td->etd", share, "x")
        return self.do_einsum("etd,te->td", self.do_bmm(self.do_relu(self.do_bmm(given, "w1")), "w2"), share)

    def vocabulary_loss(self):
        h = self.do_to_R(self.do_embedding("ids", "emb"))
        return self.do_cross_entropy(self.do_flatten(self.do_linear(h, "head")), self.do_flatten("labels"))

    WHOLE = {
        "attention": lambda m: m.attention("x"),
        "attention_sequence": lambda m: m.do_to_S1(m.attention(m.do_to_R("x"))),
        "mlp_allreduce": lambda m: m.do_to_R(m.do_mlp(m.do_to_R("x"))),
        "embedding_to_R": lambda m: m.do_to_R(m.do_embedding("ids", "emb")),
        "embedding_loss_parallel": lambda m: m.do_cross_entropy(
            m.do_flatten(m.do_linear(m.do_embedding("ids", "emb"), "head")), m.do_flatten("labels")),
        "moe_einsum": lambda m: m.experts(), "vocab_loss": lambda m: m.vocabulary_loss(), "vocab_loss_plain": lambda m: m.vocabulary_loss(),
        "block_sequence": lambda m: m.do_add(m.do_to_S1(m.do_mlp(m.do_to_R(m.do_layer_norm("x", "g", "b")))), "x"),
    }

    def do_add(self, a, b):
        return self.graph.op("Add", [a, b], self.graph.shapes[a])

    # Formulas ---------------------------------------------------------------------------------------------------------------

    def formula(self, node):
        if isinstance(node, ast.Expression):
            return self.formula(node.body)
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.formula(node.operand)
        if isinstance(node, (ast.Tuple, ast.List)):
            return [self.formula(e) for e in node.elts]
        if isinstance(node, ast.BinOp):
            a, b = self.formula(node.left), self.formula(node.right)
            if isinstance(node.op, ast.MatMult):
                return self.do_matmul(a, b)
            kind = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div"}[type(node.op)]
            return self.graph.op(kind, [a, b], self.graph.shapes[a])
        if isinstance(node, ast.Call):
            return self.call(node.func.id, [self.formula(a) for a in node.args])
        raise KeyError(ast.dump(node))

    def build(self):
        """Builds the graph. KeyError, AttributeError, SyntaxError: a formula that we cannot read."""
        if self.case["module"] in self.WHOLE:
            out = self.WHOLE[self.case["module"]](self)
        else:
            text = self.case["computes"].removesuffix(", mean").strip()
            out = self.formula(ast.parse(text, mode="eval"))
        recorded = layout(self.case["output"]["placement"])
        if out not in {p.split("=")[0] for p in self.graph.pins}:
            out = self.graph.op("Identity", [out], self.graph.shapes[out])
            if recorded:
                self.graph.pin(out, recorded)
        self.graph.outputs.append(out)
        return self.graph


def int_product(sizes):
    product = 1
    for n in sizes:
        product *= n
    return product


def compare(program, data, tally):
    for case in data:
        if "forward" not in case:
            tally.skip(f"{case['module']} (refused there)")
            continue
        try:
            graph = Module(case).build()
        except (KeyError, AttributeError, SyntaxError, TypeError, ValueError):
            tally.skip(case["module"])
            continue
        compare_module(program, case, graph, tally)


def compare_module(program, case, graph, tally):
    recorded = sum(case["forward"].values())
    best, error = None, None
    for options in STRATEGIES:
        plan, answer = graph.plan(program, ",".join(map(str, case["mesh"])), *options)
        if plan is None:
            error = answer
            continue
        found = {c["kind"]: c["count"] for c in answer["collectives"] if c["kind"] not in LOCAL and c["bytes"] > 0}
        if best is None or sum(found.values()) < sum(best.values()):
            best = found
        if sum(best.values()) <= recorded:
            tally.good()
            return
    detail = {"kind": "error", "found": error} if best is None else {"kind": "more", "expected": case["forward"], "found": best}
    tally.bad("dtensor_modules", case["module"], case, detail)
