"""Paddle's rules as our ops. A row: rule -> function(shapes, attrs) -> Op.

`shapes` lists the shapes of the case's tensors, flattened. An Op names our op, its operands (each a number: the case's
tensor, or a literal), attributes, and which of our results stand for the case's outputs.
"""
from ask import ints, operand


class Op:
    def __init__(self, op, operands, attributes=None, results=None, dtypes=None):
        self.op, self.operands, self.attributes = op, operands, attributes or {}
        self.results = results or [0]      # our result that stands for each of the case's outputs; None: not compared
        self.dtypes = dtypes or {}         # case tensor -> element type other than f32


def unary(name, **attributes):
    return lambda shapes, attrs: Op(name, [0], attributes)


def binary(name, dtype=None):
    return lambda shapes, attrs: Op(name, [0, 1], dtypes={0: dtype, 1: dtype} if dtype else None)


def reduce_by(name):
    def make(shapes, attrs):
        axes = attrs.get("axis", [])
        axes = [axes] if isinstance(axes, int) else axes
        rank = len(shapes[0])
        axes = sorted(a % rank for a in axes) if axes else list(range(rank))
        return Op(name, [0, ints(axes)], {"keepdims": int(attrs.get("keep_dim", False))})
    return make


REDUCE_TYPES = {0: "ReduceSum", 1: "ReduceMean", 2: "ReduceMax", 3: "ReduceMin", 4: "ReduceProd", 5: "ReduceMin", 6: "ReduceMax"}


def matmul(shapes, attrs):
    ranks = [len(s) for s in shapes[:2]]
    if (attrs.get("trans_x") and ranks[0] > 1) or (attrs.get("trans_y") and ranks[1] > 1):
        if ranks[0] == 2 and ranks[1] == 2:
            return Op("Gemm", [0, 1], {"transA": int(attrs["trans_x"]), "transB": int(attrs["trans_y"])})
        batch = "".join(chr(ord("A") + i) for i in range(max(ranks) - 2))

        def term(rank, last):
            return batch[len(batch) - (rank - 2):] + last if rank > 1 else "k"
        if any(len(s) > 2 for s in shapes[:2]) and any(
                a != b for a, b in zip(shapes[0][-3::-1], shapes[1][-3::-1])):
            return None  # broadcasting batch dims with a transpose: no single op of ours
        x = term(ranks[0], "km" if attrs["trans_x"] else "mk")
        y = term(ranks[1], "nk" if attrs["trans_y"] else "kn")
        out = batch + ("m" if ranks[0] > 1 else "") + ("n" if ranks[1] > 1 else "")
        return Op("Einsum", [0, 1], {"equation": f"{x},{y}->{out}"})
    return Op("MatMul", [0, 1])


def layer_norm(shapes, attrs):
    # begin_norm_axis: scale and bias are flat in Paddle; ours have the normalised shape.
    if len(shapes[0]) - attrs["begin_norm_axis"] != 1:
        return None
    operands = [0, 1] + ([2] if len(shapes) > 2 else [])
    return Op("LayerNormalization", operands, {"axis": attrs["begin_norm_axis"]}, results=[0, None, None])


def split(shapes, attrs):
    axis = attrs.get("axis", 0)
    sections = attrs.get("sections")
    if sections is None:
        return Op("Split", [0], {"axis": axis, "num_outputs": attrs["num"]}, results=list(range(attrs["num"])))
    return Op("Split", [0, ints(sections)], {"axis": axis}, results=list(range(len(sections))))


def slice_of(shapes, attrs):
    if attrs.get("decrease_axis"):
        return None
    return Op("Slice", [0, ints(attrs["starts"]), ints(attrs["ends"]), ints(attrs["axes"])])


def squeeze(shapes, attrs):
    rank = len(shapes[0])
    axes = sorted(a % rank for a in attrs["axis"] if shapes[0][a] == 1) if attrs["axis"] else [
        i for i, s in enumerate(shapes[0]) if s == 1]
    return Op("Squeeze", [0, ints(axes)]) if axes else Op("Identity", [0])


def reshape(shapes, attrs):
    return Op("Reshape", [0, ints(attrs["shape"])])


def conv(shapes, attrs):
    pads = attrs["paddings"]
    pads = pads * 2 if len(pads) == 2 else [pads[0], pads[2], pads[1], pads[3]]
    if attrs.get("data_format", "NCHW") != "NCHW" or attrs.get("padding_algorithm", "EXPLICIT") != "EXPLICIT":
        return None
    return Op("Conv", [0, 1], {"strides": attrs["strides"], "pads": pads, "dilations": attrs["dilations"],
                               "group": attrs["groups"]})


def embedding(shapes, attrs):
    if attrs.get("padding_idx", -1) >= 0:
        return None
    return Op("Gather", [1, 0], {"axis": 0}, dtypes={0: "i64"})


def scatter(shapes, attrs):
    return None  # rows overwritten or added: two ops of ours


ROWS = {
    "elementwise_unary": unary("Sqrt"), "elementwise_binary": binary("Pow"),
    "add": binary("Add"), "subtract": binary("Sub"), "multiply": binary("Mul"), "divide": binary("Div"),
    "maximum": binary("Max"), "fmin": binary("Min"), "remainder": binary("Mod"), "elementwise_pow": binary("Pow"),
    "trunc_divide": binary("Div", "i32"), "greater_than": binary("Greater"),
    "bitwise_and": binary("BitwiseAnd", "i32"), "bitwise_xor": binary("BitwiseXor", "i32"),
    "logical_and": binary("And", "bool"), "logical_xor": binary("Xor", "bool"),
    "logical_not": lambda s, a: Op("Not", [0], dtypes={0: "bool"}),
    "bitwise_not": lambda s, a: Op("BitwiseNot", [0], dtypes={0: "i32"}),
    "abs": unary("Abs"), "acosh": unary("Acosh"), "asinh": unary("Asinh"), "atan": unary("Atan"), "celu": unary("Celu"),
    "cos": unary("Cos"), "erf": unary("Erf"), "exp": unary("Exp"), "hardshrink": unary("Shrink"),
    "hardswish": unary("HardSwish"), "leaky_relu": unary("LeakyRelu"), "log": unary("Log"), "relu": unary("Relu"),
    "round": unary("Round"), "sigmoid": unary("Sigmoid"), "silu": unary("Swish"), "sinh": unary("Sinh"),
    "softshrink": unary("Shrink"), "sqrt": unary("Sqrt"), "tan": unary("Tan"), "gelu": unary("Gelu"),
    # Smooth functions that ONNX has no op for: any element-wise op without a clause stands for them.
    "digamma": unary("Softsign"), "log1p": unary("Softsign"), "logsigmoid": unary("Softsign"), "stanh": unary("Softsign"),
    "tanh_shrink": unary("Softsign"), "poisson": unary("Softsign"), "pow": unary("Softsign"), "fill": unary("Softsign"),
    "scale": unary("Softsign"), "trunc": unary("Softsign"),
    "cast": lambda s, a: Op("Cast", [0], {"to": a["dtype"]}), "assign": unary("Identity"),
    "reduce_base": lambda s, a: reduce_by(REDUCE_TYPES[a.get("reduce_type", 0)])(s, a),
    "sum": reduce_by("ReduceSum"), "mean": reduce_by("ReduceMean"), "max": reduce_by("ReduceMax"),
    "amin": reduce_by("ReduceMin"), "prod": reduce_by("ReduceProd"), "frobenius_norm": reduce_by("ReduceL2"),
    "all": lambda s, a: reduce_by("ReduceMin")(s, a), "mean_all": lambda s, a: Op("ReduceMean", [0], {"keepdims": 0}),
    "squared_l2_norm": None,
    "argmax": lambda s, a: None if a.get("flatten") else Op("ArgMax", [0], {"axis": a["axis"], "keepdims": int(a["keepdims"])}),
    "matmul": matmul, "matmul_v2": matmul,
    "reshape": reshape, "reshape2": reshape, "squeeze": squeeze,
    "transpose": lambda s, a: Op("Transpose", [0], {"perm": a["perm"]}),
    "transpose2": lambda s, a: Op("Transpose", [0], {"perm": a["perm"]}),
    "split": split, "slice": slice_of,
    "concat": lambda s, a: Op("Concat", list(range(len(s))), {"axis": a["axis"]}),
    "expand_as": lambda s, a: Op("Expand", [0, ints(a["target_shape"])]),
    "layer_norm": layer_norm,
    "group_norm": lambda s, a: Op("GroupNormalization", [0, 1, 2], {"num_groups": a["groups"]}, results=[0, None, None]),
    "instance_norm": lambda s, a: Op("InstanceNormalization", [0, 1, 2], results=[0, None, None]),
    "softmax": lambda s, a: Op("Softmax", [0], {"axis": a["axis"]}),
    "log_softmax": lambda s, a: Op("LogSoftmax", [0], {"axis": a["axis"]}),
    "embedding": embedding, "lookup_table_v2": embedding,
    "gather": lambda s, a: Op("Gather", [0, 1], {"axis": a["axis"]}, dtypes={1: "i64"}),
    "take_along_axis": lambda s, a: Op("GatherElements", [0, 1], {"axis": a["axis"]}, dtypes={1: "i64"}),
    "one_hot": lambda s, a: Op("OneHot", [0, operand([], "i64", [a["num_classes"]]), operand([2])], {"axis": -1},
                               dtypes={0: "i64"}),
    "where": lambda s, a: Op("Where", [0, 1, 2], dtypes={0: "bool"}),
    "triu": lambda s, a: Op("Trilu", [0, operand([], "i64", [a["diagonal"]])], {"upper": 1}),
    "cumsum": lambda s, a: None if a.get("flatten") else Op(
        "CumSum", [0, operand([], "i64", [a["axis"]])], {"exclusive": int(a["exclusive"]), "reverse": int(a["reverse"])}),
    "topk": lambda s, a: Op("TopK", [0, ints([a["k"]])], {"axis": a["axis"], "largest": int(a.get("largest", True))}, results=[0, 1]),
    "conv2d": conv, "depthwise_conv2d": conv, "scatter": scatter,
    "add_n": lambda s, a: Op("Sum", list(range(len(s)))),
}


def translate(rule, shapes, attrs):
    """Our op, or None (then a reason to skip)."""
    make = ROWS.get(rule)
    return make(shapes, attrs) if make else None
