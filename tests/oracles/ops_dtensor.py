"""DTensor's operators as our ops. A row: name without "aten." and ".default" -> function(case) -> Op or None.

An Op's operands are names of the case's inputs, or literals; `outs` says which result stands for each output.
"""
from ask import ints, operand

DTYPES = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "float16": "f16", "int64": "i64", "int32": "i32",
          "bool": "bool", "complex64": "c64"}


class Op:
    def __init__(self, op, operands, attributes=None, outs=(0,), results=None):
        self.op, self.operands, self.attributes, self.outs = op, operands, attributes or {}, list(outs)
        self.results = results or max([o for o in self.outs if o is not None]) + 1


def names(case):
    return [i["name"] for i in case["inputs"]]


def shape(case, name):
    return next(i["shape"] for i in case["inputs"] if i["name"] == name)


def dtype(case, name):
    return DTYPES[next(i["dtype"] for i in case["inputs"] if i["name"] == name)]


def has(case, name):
    return name in names(case)


def same(op, **attributes):
    """All tensors as they come, one result."""
    return lambda c: Op(op, names(c), attributes)


def scalar(op, attribute="other"):
    return lambda c: Op(op, ["self", operand([], dtype(c, "self"), [c["attrs"][attribute]])])


def alpha_add(op):
    def make(c):
        if c["attrs"].get("alpha", 1) != 1:
            return None
        return scalar(op)(c) if "other" in c["attrs"] else same(op)(c)
    return make


def rounded(c):
    return None if c["attrs"].get("rounding_mode") else (scalar("Div")(c) if "other" in c["attrs"] else same("Div")(c))


def reduce(op):
    def make(c):
        a = c["attrs"]
        dims = a.get("dim")
        rank = len(shape(c, "self"))
        dims = [dims] if isinstance(dims, int) else dims
        dims = list(range(rank)) if dims is None or dims == [] else sorted(d % rank for d in dims)
        outs = [0] + [None] * (len(c["outputs"]) - 1)
        return Op(op, ["self", ints(dims)] if rank else ["self"], {"keepdims": int(bool(a.get("keepdim")))}, outs)
    return make


def vector_norm(c):
    kind = c["attrs"].get("ord", c["attrs"].get("p", 2))
    op = {2: "ReduceL2", 1: "ReduceL1"}.get(kind)
    return reduce(op)(c) if op else None


def arg(op):
    def make(c):
        if c["attrs"].get("dim") is None:
            return None
        return Op(op, ["self"], {"axis": c["attrs"]["dim"], "keepdims": int(bool(c["attrs"].get("keepdim")))})
    return make


def axis_of(op, default=0):
    return lambda c: Op(op, ["self"], {"axis": c["attrs"].get("dim", default)})


def attention(c):
    a = c["attrs"]
    inputs = ["query", "key", "value"] + (["attn_bias"] if has(c, "attn_bias") else [])
    outs = [0] + [None] * (len(c["outputs"]) - 1)
    return Op("Attention", inputs, {"is_causal": int(bool(a.get("is_causal")))}, outs)


def conv(c):
    a = c["attrs"]
    attributes = {"strides": a["stride"], "pads": a["padding"] * 2, "dilations": a["dilation"], "group": a["groups"]}
    if a.get("transposed"):
        attributes["output_padding"] = a["output_padding"]
    return Op("ConvTranspose" if a.get("transposed") else "Conv", names(c), attributes)


def pool(op, ceil="ceil_mode"):
    def make(c):
        a = c["attrs"]
        attributes = {"kernel_shape": a["kernel_size"], "strides": a["stride"] or a["kernel_size"], "pads": a["padding"] * 2,
                      "ceil_mode": int(bool(a.get(ceil)))}
        if op == "AveragePool":
            attributes["count_include_pad"] = int(bool(a.get("count_include_pad")))
        if a.get("dilation"):
            attributes["dilations"] = a["dilation"]
        return Op(op, ["self"], attributes, [0, 1][:len(c["outputs"])])
    return make


def norm(op, results):
    def make(c):
        axis = -len(c["attrs"]["normalized_shape"])
        return Op(op, [n for n in ("input", "weight", "bias") if has(c, n)] if has(c, "weight") else
                  ["input", operand(c["attrs"]["normalized_shape"])], {"axis": axis}, list(range(results))[:len(c["outputs"])])
    return make


def group_norm(c):
    if not has(c, "weight"):
        return None
    return Op("GroupNormalization", ["input", "weight", "bias"], {"num_groups": c["attrs"]["group"]}, [0, None, None])


def matmul_like(a, b):
    return lambda c: Op("MatMul", [a, b])


def linear(c):
    x, w = shape(c, "input"), shape(c, "weight")
    if len(x) == 2 and len(w) == 2:
        return Op("Gemm", names(c), {"transB": 1})
    if has(c, "bias"):
        return None
    lead = "abcdefg"[:len(x) - 1]
    return Op("Einsum", ["input", "weight"], {"equation": f"{lead}k,nk->{lead}n"})


def gather_rows(data, indices):
    return lambda c: Op("Gather", [data, indices], {"axis": c["attrs"].get("dim", 0)})


def embedding(c):
    return Op("Gather", ["weight", "indices"], {"axis": 0})


def select(c):
    return Op("Gather", ["self", operand([], "i64", [c["attrs"]["index"]])], {"axis": c["attrs"].get("dim", 0)})


def scatter_reduce(c):
    kinds = {"amax": "max", "amin": "min", "sum": "add", "prod": "mul"}
    a = c["attrs"]
    how = kinds.get(a.get("reduce"), "add" if "reduce" not in a else None)
    if how is None or a.get("include_self") is False:
        return None
    return Op("ScatterElements", ["self", "index", "src"], {"axis": a.get("dim", 0), "reduction": how})


def slice_(c):
    a = c["attrs"]
    return Op("Slice", ["self", ints([a.get("start") or 0]), ints([a.get("end") if a.get("end") is not None else 2**31]),
                        ints([a.get("dim", 0)]), ints([a.get("step", 1)])])


def flip(c):
    dims = c["attrs"]["dims"]
    return Op("Slice", ["self", ints([-1] * len(dims)), ints([-2**31] * len(dims)), ints(dims), ints([-1] * len(dims))])


def split(c):
    a, rank = c["attrs"], len(shape(c, "self"))
    axis = a.get("dim", 0) % rank
    return Op("Split", ["self", ints([o[axis] for o in c["outputs"]])], {"axis": axis}, range(len(c["outputs"])))


def reshape(c):
    return Op("Reshape", ["self", ints(c["outputs"][0])])


def squeeze(c):
    s, dims = shape(c, "self"), c["attrs"].get("dim")
    dims = [dims] if isinstance(dims, int) else dims
    dims = [i for i, n in enumerate(s) if n == 1] if dims is None else [d for d in dims if s[d] == 1]
    return Op("Squeeze", ["self", ints(dims)]) if dims else Op("Identity", ["self"])


def transpose(c):
    a, perm = c["attrs"], list(range(len(shape(c, "self"))))
    i, j = a.get("dim0", 0), a["dim1"]
    perm[i], perm[j] = perm[j], perm[i]
    return Op("Transpose", ["self"], {"perm": perm})


def nll(c):
    reductions = {0: "none", 1: "mean", 2: "sum"}
    operands = ["self", "target"] + (["weight"] if has(c, "weight") else [])
    return Op("NegativeLogLikelihoodLoss", operands, {"reduction": reductions[c["attrs"].get("reduction", 0) or 0]},
              [0] + [None] * (len(c["outputs"]) - 1))


def cross_entropy(c):
    reductions = {0: "none", 1: "mean", 2: "sum"}
    return Op("SoftmaxCrossEntropyLoss", ["self", "target"], {"reduction": reductions[c["attrs"].get("reduction", 0) or 0]})


def masked_fill(c):
    value = "value" if has(c, "value") else operand([], dtype(c, "self"), [c["attrs"].get("value", 0) or 0])
    return Op("Where", ["mask", value, "self"])


def clamp(c):
    a = c["attrs"]
    bounds = [operand([], "f32", [a[k]]) if a.get(k) is not None else None for k in ("min", "max")]
    return Op("Clip", ["self", *bounds])


def tril(c):
    return Op("Trilu", ["self", operand([], "i64", [c["attrs"].get("diagonal", 0) or 0])], {"upper": 0})


def index_tensor(c):
    if len(c["inputs"]) != 2 or dtype(c, names(c)[1]) == "bool" or c["attrs"].get("indices_dims"):
        return None
    index = names(c)[1]
    if not index.endswith("[0]"):
        return None
    return Op("Gather", ["self", index], {"axis": 0})


def addmm(c):
    return Op("Gemm", ["mat1", "mat2", "self"], {"alpha": float(c["attrs"].get("alpha", 1)), "beta": float(c["attrs"].get("beta", 1))})


def shrink(c):
    return Op("Shrink", ["self"], {"lambd": c["attrs"]["lambd"], "bias": c["attrs"]["lambd"]})


UNARY = {"relu": "Relu", "neg": "Neg", "abs": "Abs", "exp": "Exp", "sqrt": "Sqrt", "sigmoid": "Sigmoid", "tanh": "Tanh",
         "gelu": "Gelu", "silu": "Swish", "sin": "Sin", "cos": "Cos", "erf": "Erf", "floor": "Floor", "ceil": "Ceil",
         "softplus": "Softplus", "selu": "Selu", "mish": "Mish", "atan": "Atan", "asin": "Asin", "acosh": "Acosh",
         "hardswish": "HardSwish", "tan": "Tan", "isinf": "IsInf", "positive": "Identity", "alias": "Identity",
         "clone": "Identity", "contiguous": "Identity", "bitwise_not": "BitwiseNot", "relu_": "Relu", "exp_": "Exp",
         "neg_": "Neg", "sigmoid_": "Sigmoid", "round": "Round", "sign": "Sign", "reciprocal": "Reciprocal", "log": "Log",
         "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acos": "Acos", "atanh": "Atanh", "elu": "Elu", "isnan": "IsNaN",
         "logical_not": None}
BINARY = {"mul.Tensor": "Mul", "mul_.Tensor": "Mul", "maximum": "Max", "minimum": "Min", "max.other": "Max", "min.other": "Min",
          "eq.Tensor": "Equal", "lt.Tensor": "Less", "gt.Tensor": "Greater", "le.Tensor": "LessOrEqual",
          "ge.Tensor": "GreaterOrEqual", "logical_xor": "Xor", "logical_and": "And", "logical_or": "Or",
          "pow.Tensor_Tensor": "Pow", "fmod.Tensor": "Mod"}
SCALAR = {"mul.Scalar": "Mul", "eq.Scalar": "Equal", "lt.Scalar": "Less", "gt.Scalar": "Greater", "le.Scalar": "LessOrEqual",
          "ge.Scalar": "GreaterOrEqual", "fmod.Scalar": "Mod"}

ROWS = {
    **{name: same(op) for name, op in UNARY.items() if op},
    **{name: same(op) for name, op in BINARY.items()},
    **{name: scalar(op) for name, op in SCALAR.items()},
    "fmod.Tensor": same("Mod", fmod=1),
    "logical_not": lambda c: Op("Not", ["self"]) if dtype(c, "self") == "bool" else None,
    "bitwise_and.Tensor": lambda c: Op("And" if dtype(c, "self") == "bool" else "BitwiseAnd", names(c)),
    "bitwise_or.Tensor": lambda c: Op("Or" if dtype(c, "self") == "bool" else "BitwiseOr", names(c)),
    "add.Tensor": alpha_add("Add"), "add_.Tensor": alpha_add("Add"), "add.Scalar": alpha_add("Add"),
    "sub.Tensor": alpha_add("Sub"), "sub_.Tensor": alpha_add("Sub"), "sub.Scalar": alpha_add("Sub"),
    "div.Tensor": rounded, "div.Scalar": rounded, "div_.Tensor": rounded, "true_divide.Tensor": rounded,
    "pow.Tensor_Scalar": scalar("Pow", "exponent"),
    "pow.Scalar": lambda c: Op("Pow", [operand([], "f32", [c["attrs"]["self"]]), "exponent"]),
    "where.self": same("Where"), "masked_fill.Scalar": masked_fill, "masked_fill.Tensor": masked_fill,
    "clamp": clamp, "clamp_max": clamp, "clamp_min": clamp, "softshrink": shrink,
    "_to_copy": lambda c: Op("Cast", ["self"], {"to": c["attrs"].get("dtype", c["inputs"][0]["dtype"])}),
    "relu6": lambda c: Op("Clip", ["self", operand([], "f32", [0]), operand([], "f32", [6])]),
    "sum.dim_IntList": reduce("ReduceSum"), "sum": reduce("ReduceSum"), "mean.dim": reduce("ReduceMean"),
    "mean": reduce("ReduceMean"), "amax": reduce("ReduceMax"), "amin": reduce("ReduceMin"), "max": reduce("ReduceMax"),
    "min": reduce("ReduceMin"), "prod": reduce("ReduceProd"), "prod.dim_int": reduce("ReduceProd"),
    "any": reduce("ReduceMax"), "any.dim": reduce("ReduceMax"), "any.dims": reduce("ReduceMax"), "all": reduce("ReduceMin"),
    "all.dim": reduce("ReduceMin"), "all.dims": reduce("ReduceMin"), "linalg_vector_norm": vector_norm,
    "norm.Scalar": vector_norm, "norm.ScalarOpt_dim": vector_norm, "logsumexp": reduce("ReduceLogSumExp"),
    "argmax": arg("ArgMax"), "argmin": arg("ArgMin"),
    "cumsum": lambda c: Op("CumSum", ["self", operand([], "i64", [c["attrs"]["dim"]])]),
    "cumprod": lambda c: Op("CumProd", ["self", operand([], "i64", [c["attrs"]["dim"]])]),
    "topk": lambda c: Op("TopK", ["self", ints([c["attrs"]["k"]])], {"axis": c["attrs"].get("dim", -1)}, [0, 1]),
    "_softmax": axis_of("Softmax"), "softmax.int": axis_of("Softmax"), "_log_softmax": axis_of("LogSoftmax"),
    "log_softmax.int": axis_of("LogSoftmax"),
    "_scaled_dot_product_flash_attention": attention, "_scaled_dot_product_efficient_attention": attention,
    "_scaled_dot_product_attention_math": attention,
    "convolution": conv, "max_pool2d": pool("MaxPool"), "max_pool2d_with_indices": pool("MaxPool"),
    "avg_pool1d": pool("AveragePool"), "avg_pool2d": pool("AveragePool"),
    "_adaptive_avg_pool2d": lambda c: Op("GlobalAveragePool", ["self"]) if c["attrs"]["output_size"] == [1, 1] else None,
    "native_layer_norm": norm("LayerNormalization", 3), "layer_norm": norm("LayerNormalization", 1),
    "rms_norm": norm("RMSNormalization", 1), "native_group_norm": group_norm,
    "instance_norm": lambda c: Op("InstanceNormalization", ["input", "weight", "bias"]),
    "batch_norm": lambda c: None if c["attrs"].get("training") else Op(
        "BatchNormalization", ["input", "weight", "bias", "running_mean", "running_var"]),
    "mm": matmul_like("self", "mat2"), "bmm": matmul_like("self", "mat2"), "dot": matmul_like("self", "tensor"),
    "matmul": matmul_like("self", "other"), "mv": matmul_like("self", "vec"), "addmm": addmm, "linear": linear,
    "outer": lambda c: Op("Einsum", names(c), {"equation": "i,j->ij"}),
    "einsum": lambda c: Op("Einsum", names(c), {"equation": c["attrs"]["equation"]}),
    "embedding": embedding, "index_select": gather_rows("self", "index"), "index.Tensor": index_tensor, "select.int": select,
    "gather": lambda c: Op("GatherElements", ["self", "index"], {"axis": c["attrs"].get("dim", 0)}),
    "scatter_add": scatter_reduce, "scatter_reduce.two": scatter_reduce,
    "slice.Tensor": slice_, "flip": flip, "split.Tensor": split, "chunk": split, "split_with_sizes_copy": split,
    "cat": lambda c: Op("Concat", names(c), {"axis": c["attrs"].get("dim", 0)}),
    "tril": tril, "triu": lambda c: Op("Trilu", ["self", operand([], "i64", [c["attrs"].get("diagonal", 0) or 0])], {"upper": 1}),
    "tile": lambda c: Op("Tile", ["self", ints(c["attrs"]["dims"])]) if len(c["attrs"]["dims"]) == len(shape(c, "self")) else None,
    "pixel_shuffle": lambda c: Op("DepthToSpace", ["self"], {"blocksize": c["attrs"]["upscale_factor"], "mode": "CRD"}),
    "view": reshape, "reshape": reshape, "_unsafe_view": reshape, "flatten.using_ints": reshape, "ravel": reshape,
    "permute": lambda c: Op("Transpose", ["self"], {"perm": [d % len(c["attrs"]["dims"]) for d in c["attrs"]["dims"]]}),
    "transpose.int": transpose, "t": lambda c: Op("Transpose", ["self"], {"perm": [1, 0]}),
    "expand": lambda c: Op("Expand", ["self", ints(c["outputs"][0])]),
    "squeeze": squeeze, "squeeze.dim": squeeze, "squeeze.dims": squeeze,
    "unsqueeze": lambda c: Op("Unsqueeze", ["self", ints([c["attrs"].get("dim", 0)])]),
    "nll_loss_forward": nll, "cross_entropy_loss": cross_entropy,
    "_linalg_det": lambda c: Op("Det", ["A"], outs=[0, None, None]),
}


def by_onnx(case):
    """An op that has no row: its `onnx` field, when operands need no translation."""
    onnx = case.get("onnx") or {}
    if not onnx.get("op") or onnx.get("attrs") or case["attrs"]:
        return None
    operands = list((onnx.get("inputs") or {}).values()) or names(case)
    return Op(onnx["op"], [o for o in operands if has(case, o)])


def translate(case):
    name = case["op"].removeprefix("aten.").removesuffix(".default")
    make = ROWS.get(name)
    if not case.get("outputs"):
        return None
    return make(case) if make else by_onnx(case)
