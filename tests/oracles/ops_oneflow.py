"""OneFlow's ops as ours. A row: op type -> function(inputs, attrs) -> Op or None.

`inputs`: argument -> shape (or a list of shapes). An Op's operands are argument names ("in[0]" of a repeated one) or
literals; `outs` are, in the order of the case's outputs, our results, None where they are not compared.
"""
from ask import ints, operand


class Op:
    def __init__(self, op, operands, attributes=None, outs=(0,), dtypes=None):
        self.op, self.operands, self.attributes, self.outs = op, operands, attributes or {}, list(outs)
        self.dtypes = dtypes or {}


def each(op, dtype=None, **attributes):
    """All arguments in order."""
    def make(inputs, attrs):
        names = list(inputs)
        return Op(op, names, attributes, dtypes={n: dtype for n in names} if dtype else None)
    return make


def listed(op, attribute="axis"):
    return lambda i, a: Op(op, [f"in[{k}]" for k in range(len(i["in"]))], {"axis": a["axis"]} if attribute else {})


def contraction(x, y, bias=None):
    def make(i, a):
        if "_add_to_output" in i:
            return None
        ta, tb = a.get("transpose_a", False), a.get("transpose_b", bias is not None)
        ra, rb = len(i[x]), len(i[y])
        if not ta and not tb and bias is None:
            return Op("MatMul", [x, y])
        if ra == 2 and rb == 2:
            return Op("Gemm", [x, y] + ([bias] if bias else []), {"transA": int(ta), "transB": int(tb)})
        if bias:
            return None
        batch = "ABCDEF"[:max(ra, rb) - 2]
        left = batch[len(batch) - ra + 2:] + ("km" if ta else "mk")
        right = batch[len(batch) - rb + 2:] + ("nk" if tb else "kn")
        return Op("Einsum", [x, y], {"equation": f"{left},{right}->{batch}mn"})
    return make


def with_scalar(op, value=2.0, dtype="f32", reverse=False):
    """The tensor and a constant."""
    def make(i, a):
        name = next(iter(i))
        both = [name, operand([], dtype, [value])]
        return Op(op, both[::-1] if reverse else both, dtypes={name: dtype})
    return make


def reduction(op, dtype="f32"):
    def make(i, a):
        name = next(iter(i))
        axes = a.get("axis", list(range(len(i[name]))))
        return Op(op, [name, ints(axes if isinstance(axes, list) else [axes])], {"keepdims": int(a.get("keepdims", False))},
                  dtypes={name: dtype})
    return make


def conv(op):
    def make(i, a):
        if a.get("data_format", "channels_first") != "channels_first" or "_add_to_output" in i:
            return None
        pads = a.get("padding_before", [0])
        operands = ["in", "weight"] + (["bias"] if "bias" in i else [])
        return Op(op, operands, {"strides": a.get("strides", [1] * len(pads)), "pads": pads * 2,
                                 "dilations": a.get("dilation_rate", [1] * len(pads)), "group": a.get("groups", 1)})
    return make


def pool(op):
    def make(i, a):
        return Op(op, ["x"], {"kernel_shape": a["kernel_size"], "strides": a["stride"], "pads": a["padding"] * 2}, [0, None])
    return make


UNARY = {"abs": "Abs", "atanh": "Atanh", "cos": "Cos", "erf": "Erf", "floor": "Floor", "sign": "Sign", "relu": "Relu",
         "fast_gelu": "Gelu", "gelu": "Gelu", "silu": "Swish", "celu": "Celu", "elu": "Elu", "hardswish": "HardSwish",
         "hardsigmoid": "HardSigmoid", "softsign": "Softsign", "tanh": "Tanh", "isnan": "IsNaN", "isinf": "IsInf",
         "softplus": "Softplus", "identity": "Identity", "sin": "Sin", "exp": "Exp", "log": "Log", "sqrt": "Sqrt",
         "sigmoid": "Sigmoid", "negative": "Neg", "ceil": "Ceil", "round": "Round", "asin": "Asin", "acos": "Acos",
         "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tan": "Tan", "asinh": "Asinh", "acosh": "Acosh", "selu": "Selu",
         "mish": "Mish", "leaky_relu": "LeakyRelu", "reciprocal": "Reciprocal", "to_contiguous": "Identity", "det": "Det"}
BINARY = {"broadcast_add": "Add", "broadcast_sub": "Sub", "broadcast_mul": "Mul", "broadcast_div": "Div",
          "broadcast_maximum": "Max", "broadcast_minimum": "Min", "broadcast_pow": "Pow", "broadcast_less": "Less",
          "broadcast_less_equal": "LessOrEqual", "broadcast_greater": "Greater", "broadcast_greater_equal": "GreaterOrEqual",
          "broadcast_equal": "Equal", "elementwise_maximum": "Max", "elementwise_minimum": "Min"}

ROWS = {
    **{name: each(op) for name, op in {**UNARY, **BINARY}.items()},
    "logical_not": each("Not", "bool"), "broadcast_logical_xor": each("Xor", "bool"), "broadcast_logical_and": each("And", "bool"),
    "broadcast_logical_or": each("Or", "bool"), "broadcast_bitwise_or": each("BitwiseOr", "i32"),
    "broadcast_bitwise_xor": each("BitwiseXor", "i32"), "broadcast_bitwise_and": each("BitwiseAnd", "i32"),
    "matmul": contraction("a", "b"), "batch_matmul": contraction("a", "b"), "broadcast_matmul": contraction("a", "b"),
    "matrix_vector_product": contraction("a", "b"), "vector_matrix_product": contraction("a", "b"), "dot": contraction("x", "y"),
    "fused_matmul_bias": contraction("x", "weight", "bias"),
    "conv1d": conv("Conv"), "conv2d": conv("Conv"), "conv3d": conv("Conv"), "deconv1d": conv("ConvTranspose"),
    "deconv2d": conv("ConvTranspose"),
    "max_pool_1d": pool("MaxPool"), "max_pool_2d": pool("MaxPool"), "max_pool_3d": pool("MaxPool"),
    "avg_pool_1d": pool("AveragePool"), "avg_pool_2d": pool("AveragePool"), "avg_pool_3d": pool("AveragePool"),
    "scalar_mul": with_scalar("Mul"), "scalar_add": with_scalar("Add"), "scalar_div": with_scalar("Div"),
    "scalar_fmod": with_scalar("Mod"), "scalar_pow": with_scalar("Pow"), "scalar_reverse_pow": with_scalar("Pow", reverse=True),
    "scalar_logical_equal": with_scalar("Equal"), "scalar_logical_greater": with_scalar("Greater"),
    "scalar_logical_less": with_scalar("Less"), "scalar_mul_by_tensor": each("Mul"), "scalar_div_by_tensor": each("Div"),
    "host_scalar_add_by_tensor": each("Add"), "scalar_add_by_tensor": each("Add"), "scalar_sub_by_tensor": each("Sub"),
    "clip_by_scalar": lambda i, a: Op("Clip", ["x", operand([], "f32", [0]), operand([], "f32", [1])]),
    "cast": lambda i, a: Op("Cast", ["in"], {"to": "f16"}), "square": with_scalar("Pow"),
    "add_n": listed("Sum", None), "cat": listed("Concat"), "concat": listed("Concat"),
    "softmax": each("Softmax"), "log_softmax": each("LogSoftmax"),
    "group_norm": lambda i, a: Op("GroupNormalization", ["x", "gamma", "beta"], {"num_groups": a["num_groups"]}, [0, None, None]),
    "layer_norm": lambda i, a: Op("LayerNormalization", ["x", "gamma", "beta"], {"axis": a["begin_norm_axis"]}, [0, None, None])
    if len(i["x"]) - a["begin_norm_axis"] == 1 else None,
    "normalization": lambda i, a: None if a.get("training") else Op(
        "BatchNormalization", ["x", "gamma", "beta", "moving_mean", "moving_variance"]),
    "gather": lambda i, a: Op("Gather", ["in", "indices"], {"axis": a["axis"]}, dtypes={"indices": "i64"}),
    "gather_nd": lambda i, a: Op("GatherND", ["params", "indices"], dtypes={"indices": "i64"}),
    "tensor_scatter_nd_add": lambda i, a: Op("ScatterND", ["params", "indices", "updates"], {"reduction": "add"}, dtypes={"indices": "i64"}),
    "tensor_scatter_nd_update": lambda i, a: Op("ScatterND", ["params", "indices", "updates"], dtypes={"indices": "i64"}),
    "dim_gather": lambda i, a: Op("GatherElements", ["input", "index"], {"axis": a["dim"]}, dtypes={"index": "i64"}),
    "one_hot": lambda i, a: Op("OneHot", ["indices", operand([], "i64", [a["depth"]]), operand([2])], {"axis": -1},
                               dtypes={"indices": "i64"}),
    "masked_fill": lambda i, a: Op("Where", ["mask", operand([], "f32", [1.0]), "x"], dtypes={"mask": "bool"}),
    "transpose": lambda i, a: Op("Transpose", ["input"], {"perm": a["perm"]}),
    "reshape": lambda i, a: Op("Reshape", ["in", ints(a["shape"])]),
    "squeeze": lambda i, a: Op("Squeeze", ["in", ints(a["axes"])]),
    "expand": lambda i, a: Op("Expand", ["in", ints(a["expand_shape"])]),
    "prelu": lambda i, a: Op("PRelu", ["x", "alpha"])
    if len(i["alpha"]) == 1 and i["alpha"][0] == 1 else None,
    "flip": lambda i, a: Op("Slice", ["x", ints([-1] * len(a["dims"])), ints([-2**31] * len(a["dims"])), ints(a["dims"]),
                                      ints([-1] * len(a["dims"]))]),
    "tril": lambda i, a: Op("Trilu", ["in", operand([], "i64", [a.get("diagonal", 0)])], {"upper": 0}),
    "triu": lambda i, a: Op("Trilu", ["in", operand([], "i64", [a.get("diagonal", 0)])], {"upper": 1}),
    "reflection_pad1d": lambda i, a: Op("Pad", ["x", ints([0, 0, a["padding"][0], 0, 0, a["padding"][1]])], {"mode": "reflect"}),
    "reflection_pad2d": lambda i, a: Op("Pad", ["x", ints([0, 0, a["padding"][2], a["padding"][0], 0, 0, a["padding"][3], a["padding"][1]])],
                                        {"mode": "reflect"}),
    "reduce_sum": reduction("ReduceSum"), "reduce_max": reduction("ReduceMax"), "reduce_min": reduction("ReduceMin"),
    "reduce_prod": reduction("ReduceProd"), "reduce_any": reduction("ReduceMax", "bool"), "reduce_all": reduction("ReduceMin", "bool"),
    "square_sum": reduction("ReduceSumSquare"),
    "argmax": lambda i, a: Op("ArgMax", ["in"], {"axis": -1, "keepdims": 0}),
    "top_k": lambda i, a: Op("TopK", ["in", ints([a["k"]])], {"axis": -1}, [1]),
    "cumsum": lambda i, a: Op("CumSum", ["x", operand([], "i64", [a["dim"]])]),
    "cumprod": lambda i, a: Op("CumProd", ["x", operand([], "i64", [a["dim"]])]),
    "bernoulli": lambda i, a: Op("Bernoulli", ["in"]),
    "uniform": lambda i, a: Op("RandomUniform", [], {"shape": a["shape"]}),
    "normal": lambda i, a: Op("RandomNormal", [], {"shape": a["shape"]}),
}


def translate(name, inputs, attrs):
    make = ROWS.get(name)
    return make(inputs, attrs) if make else None
