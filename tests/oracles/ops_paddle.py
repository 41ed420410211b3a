"""Paddle's rules as our ops. A row: rule -> function(shapes, attrs) -> Op, whose operands are numbers of the case's tensors.

`shapes` lists the shapes of the case's tensors, flattened. The gradient ops take the forward op's tensors, then the
gradient that comes in; their rows end in _grad.
"""
from ask import ints, operand
from ops import BINARY, UNARY, Op, Shown, moved_first, moved_last, with_one


def number(value, dtype="i64"):
    return operand([], dtype, [value])


def every(op, **attributes):
    """All tensors in order."""
    return lambda s, a: Op(op, range(len(s)), attributes)


def first(op, outs=(0,), **attributes):
    return lambda s, a: Op(op, [0], attributes, outs)


def axis_attribute(attrs, default=-1):
    axis = attrs.get("axis", attrs.get("dim", default))
    axis = axis[0] if isinstance(axis, list) else axis
    return default if axis is None else axis


def reduce_by(name):
    def make(shapes, attrs):
        axes = attrs.get("axis", attrs.get("dims", []))
        axes = [axes] if isinstance(axes, int) else axes or []
        rank = len(shapes[0])
        axes = sorted(a % rank for a in axes) if axes and not attrs.get("reduce_all") else list(range(rank))
        return Op(name, [0, ints(axes)], {"keepdims": int(bool(attrs.get("keep_dim", attrs.get("keepdim"))))})
    return make


REDUCE_TYPES = {0: "ReduceSum", 1: "ReduceMax", 2: "ReduceMin", 3: "ReduceProd", 4: "ReduceMean", 5: "ReduceMax", 6: "ReduceMin"}  # sum, max, min, prod, avg, any, all


def matmul(shapes, attrs):
    """Vectors are not transposed."""
    shown = {}
    for at, key in enumerate(("trans_x", "trans_y")):
        turned = attrs.get(key, attrs.get(key.replace("trans", "transpose"))) and len(shapes[at]) > 1
        if turned:
            shown[at] = moved_last(shapes[at], [-1, -2])
    return Op("MatMul", [0, 1], shown=shown)


def layer_norm(shapes, attrs):
    """Scale and bias are flat there, and have the normalised shape here."""
    begin = attrs["begin_norm_axis"]
    dims = len(shapes[0]) - begin
    flat = Shown(shapes[0][begin:], [None] * dims)
    return Op("other::LayerNorm", [0, *(k if k < len(shapes) else None for k in (1, 2))], {"dims": dims}, [0, 1, 2],
              shown={1: flat, 2: flat} if dims > 1 else {})


def rms_norm(shapes, attrs):
    dims = len(shapes[0]) - attrs.get("begin_norm_axis", len(shapes[0]) - 1)
    return Op("other::LayerNorm", [0, 1 if len(shapes) > 1 else None, None], {"dims": dims}, [0, 2]) if dims == 1 else None


def split(shapes, attrs):
    axis = axis_attribute(attrs, 0)
    sections = attrs.get("sections")
    if sections is None:
        count = attrs["num"]
        return Op("Split", [0], {"axis": axis, "num_outputs": count}, range(count))
    if isinstance(sections, int):
        return Op("Split", [0], {"axis": axis, "num_outputs": sections}, range(sections))
    return Op("Split", [0, ints(sections)], {"axis": axis}, range(len(sections)))


def unbind(shapes, attrs):
    axis = axis_attribute(attrs, 0) % len(shapes[0])
    count = shapes[0][axis]
    dims = list(range(len(shapes[0]) - 1))
    dims.insert(axis, None)
    return Op("Split", [0, ints([1] * count)], {"axis": axis}, range(count), shown_outs={r: dims for r in range(count)})


def slice_of(shapes, attrs):
    axes = [a % len(shapes[0]) for a in attrs["axes"]]
    gone = {a % len(shapes[0]) for a in attrs.get("decrease_axis") or []}
    operands = [0, ints(attrs["starts"]), ints(attrs["ends"]), ints(axes)] + ([ints(attrs["strides"])] if "strides" in attrs else [])
    kept = iter(range(len(shapes[0])))
    dims = [None if d in gone else next(kept) for d in range(len(shapes[0]))]
    return Op("Slice", operands, shown_outs={0: dims} if gone else {})


def squeeze(shapes, attrs):
    rank = len(shapes[0])
    axes = sorted(a % rank for a in attrs["axis"] if shapes[0][a] == 1) if attrs.get("axis") else [i for i, s in enumerate(shapes[0]) if s == 1]
    return Op("Squeeze", [0, ints(axes)]) if axes else Op("Identity", [0])


def flatten(shapes, attrs):
    shape = shapes[0]
    start, stop = (attrs.get(k, d) % len(shape) for k, d in (("start_axis", 1), ("stop_axis", -1)))
    size = 1
    for n in shape[start:stop + 1]:
        size *= n
    return Op("Reshape", [0, ints(shape[:start] + [size] + shape[stop + 1:])])


def reshape(shapes, attrs):
    return Op("Reshape", [0, ints(attrs["shape"])]) if attrs["shape"].count(-1) < 2 else None


def transpose(shapes, attrs):
    return Op("Transpose", [0], {"perm": [p % len(shapes[0]) for p in attrs["perm"]]})


def conv(op):
    def make(shapes, attrs):
        spatial = len(shapes[0]) - 2
        pads = attrs.get("paddings", [0] * spatial)
        pads = pads * 2 if len(pads) == spatial else pads[0::2] + pads[1::2]
        if attrs.get("data_format", "NCHW") not in ("NCHW", "NCDHW") or attrs.get("padding_algorithm", "EXPLICIT") != "EXPLICIT":
            return None
        return Op(op, [0, 1], {"strides": attrs["strides"], "pads": pads, "dilations": attrs["dilations"], "group": attrs["groups"]})
    return make


def pool(shapes, attrs):
    spatial = len(shapes[0]) - 2
    if attrs.get("data_format", "NCHW") != "NCHW" or attrs.get("adaptive") or attrs.get("padding_algorithm", "EXPLICIT") != "EXPLICIT":
        return None
    kind = "MaxPool" if attrs.get("pooling_type", "max") == "max" else "AveragePool"
    if attrs.get("global_pooling"):
        return Op("GlobalMaxPool" if kind == "MaxPool" else "GlobalAveragePool", [0])
    pads = attrs.get("paddings", [0] * spatial)
    return Op(kind, [0], {"kernel_shape": attrs["kernel_size"], "strides": attrs["strides"], "pads": pads * 2 if len(pads) == spatial else pads})


def rows_written(how):
    """scatter, index_add: rows of x overwritten by, or added to, updates."""
    def make(shapes, attrs):
        reduction = how or ("none" if attrs.get("overwrite", True) else "add")
        axis = attrs.get("axis", 0)
        data, updates = moved_first(shapes[0], axis), moved_first(shapes[2], axis)
        index = Shown([*shapes[1], 1], [0, None])
        return Op("ScatterND", [0, 1, 2], {"reduction": reduction}, dtypes={1: "i64"}, shown={0: data, 1: index, 2: updates},
                  shown_outs={0: data.dims})
    return make


def put_along_axis(shapes, attrs):
    how = {"add": "add", "mul": "mul", "multiply": "mul", "amax": "max", "amin": "min", "assign": "none"}.get(attrs.get("reduce", "assign"))
    return Op("ScatterElements", [0, 1, 2], {"axis": attrs["axis"], "reduction": how}, dtypes={1: "i64"}) if how else None


def along(op, count=1, outs=(0,), default=-1):
    """An op on the last dimension of its tensors."""
    def make(shapes, attrs):
        axis = axis_attribute(attrs, default)
        shown = {k: moved_last(shapes[k], [axis]) for k in range(count)}
        return Op(op, range(count), outs=outs, shown=shown, shown_outs={r: shown[0].dims for r in outs})
    return make


def arg(op):
    def make(shapes, attrs):
        if attrs.get("flatten"):
            return Op("other::ArgAll", [0], outs=[None])
        return Op(op, [0], {"axis": attrs["axis"], "keepdims": int(bool(attrs.get("keepdims", attrs.get("keepdim"))))})
    return make


def running(op):
    def make(shapes, attrs):
        if attrs.get("flatten"):
            return Op("other::FlatScan", [0])
        return Op(op, [0, number(axis_attribute(attrs))], {k: int(bool(attrs.get(k))) for k in ("exclusive", "reverse")})
    return make


def stack(shapes, attrs):
    axis = attrs.get("axis", 0) % (len(shapes[0]) + 1)
    return Op("Concat", range(len(shapes)), {"axis": axis}, shown={k: with_one(s, axis) for k, s in enumerate(shapes)})


def tile(shapes, attrs):
    counts = list(attrs["repeat_times"])
    rank = max(len(counts), len(shapes[0]))
    counts = [1] * (rank - len(counts)) + counts
    extra = rank - len(shapes[0])
    shown = {0: Shown([1] * extra + shapes[0], [None] * extra + list(range(len(shapes[0]))))} if extra else {}
    return Op("Tile", [0, ints(counts)], shown=shown)


def expand(shapes, attrs):
    target = attrs["shape"]
    extra = len(target) - len(shapes[0])
    return Op("Expand", [0, ints([n if n != -1 else shapes[0][k - extra] for k, n in enumerate(target)])])


def attention(shapes, attrs):
    mask = next((k for k in range(3, len(shapes)) if len(shapes[k]) == 4), None)
    return Op("other::FlashAttention", [0, 1, 2, mask], outs=[0, None, 1, None])


def one_hot(shapes, attrs):
    depth = attrs.get("num_classes", attrs.get("depth"))
    return Op("OneHot", [0, number(depth), operand([2])], {"axis": -1}, dtypes={0: "i64"})


def class_loss(shapes, attrs):
    """softmax with cross entropy: labels and loss keep the class dimension at size 1."""
    axis = axis_attribute(attrs) % len(shapes[0])
    if len(shapes[0]) != len(shapes[1]) or (shapes[1][axis] != 1 and not attrs.get("soft_label")):
        return None
    dims = [d for d in range(len(shapes[0])) if d != axis]
    return Op("other::SoftLabelLoss" if attrs.get("soft_label") else "other::SoftmaxClassLoss", [0, 1], outs=[0, 1], dtypes={1: "i64"}, shown={0: moved_last(shapes[0], [axis]), 1: moved_last(shapes[1], [axis])},
              shown_outs={0: dims + [axis], 1: dims + [axis]})


def trilu(upper):
    return lambda s, a: Op("Trilu", [0, number(a.get("diagonal", 0))], {"upper": upper if upper is not None else int(not a.get("lower"))})


def embedding(ids, table):
    return lambda s, a: Op("Gather", [table, ids], {"axis": 0}, dtypes={ids: "i64"})


def gather_grad(shapes, attrs):
    axis = attrs["axis"]
    shown = {k: moved_last(shapes[k], [axis]) for k in (0, 1, 2)}
    other = [d for d in range(len(shapes[0])) if d != axis % len(shapes[0])]
    if any(shapes[0][d] != shapes[1][d] for d in other):
        return None
    return Op("other::GatherGradient", [2, 1, 0], {"size": shapes[0][axis]}, dtypes={1: "i64"}, shown=shown, shown_outs={0: shown[2].dims})


def roll_grad(shapes, attrs):
    """x is not read, but its layout speaks for the result."""
    axes = attrs["axis"] or list(range(len(shapes[0])))
    shown = {k: moved_last(shapes[k], axes) for k in (0, 1)}
    return Op("other::RollGradient", [1, 0], {"dims": len(axes)}, shown=shown, shown_outs={0: shown[0].dims})


def reduce_grad(shapes, attrs):
    """The gradient, with the reduced dimensions at size 1, in the shape of x, which is not read."""
    x, dy = shapes[0], shapes[-1]
    axes = attrs.get("axis", attrs.get("dims", []))
    axes = {a % len(x) for a in ([axes] if isinstance(axes, int) else axes)} or set(range(len(x)))
    kept = iter(range(len(dy)))
    dims = list(range(len(x))) if len(dy) == len(x) else [None if d in axes else next(kept) for d in range(len(x))]
    shown = Shown([1 if d in axes else n for d, n in enumerate(x)], dims)
    return Op("other::FirstLike", [len(shapes) - 1, 0], shown={len(shapes) - 1: shown})


def matmul_grad(shapes, attrs):
    if attrs.get("trans_x") or attrs.get("trans_y") or len(shapes[0]) != len(shapes[1]) or len(shapes[0]) < 2:
        return None
    return Op("other::MatMulGradient", [2, 0, 1], outs=[0, 1])


def conv_grad(shapes, attrs):
    groups = attrs.get("groups", 1)
    if groups == 1 and len(shapes[0]) == 4:
        return Op("other::ConvGradient", [2, 0, 1], outs=[0, 1])
    return Op("other::DepthwiseGradient", [2, 0, 1], outs=[0, 1]) if groups == shapes[0][1] == shapes[1][0] and len(shapes[0]) == 4 else None


def expand_grad(shapes, attrs):
    x, dy = shapes[0], shapes[1]
    extra = len(dy) - len(x)
    axes = list(range(extra)) + [extra + d for d, n in enumerate(x) if n == 1 and dy[extra + d] != 1]
    kept = [None if extra + d in axes else d for d in range(len(x))]
    dims = [None] * extra + [None if extra + d in axes else d for d in range(len(x))]
    return Op("ReduceSum", [1, ints(axes)], {"keepdims": 1}, shown_outs={0: dims}) if axes else Op("Identity", [1], shown_outs={0: kept})


INTEGER = {"BitwiseAnd": "i32", "BitwiseOr": "i32", "BitwiseXor": "i32", "BitwiseNot": "i32", "And": "bool", "Or": "bool", "Xor": "bool"}

ROWS = {
    "elementwise_unary": first("other::Map"), "elementwise_binary": every("other::Map"), "elementwise_unary_grad": every("other::Gradient"),
    "logical_not": lambda s, a: Op("Not", [0], dtypes={0: "bool"}), "full_like": first("other::Constant"), "zeros_like": first("other::Constant"),
    "ones_like": first("other::Constant"), "fill": first("other::Map"), "poisson": first("other::Map"), "clip": lambda s, a: Op("Clip", [0, number(0, "f32"), number(1, "f32")]),
    "cast": lambda s, a: Op("Cast", [0], {"to": a["dtype"] if a["dtype"] != "paddle.float16" else "float16"}), "assign": first("Identity"),
    "scale": lambda s, a: Op("other::Scaled" if not a.get("bias") and a.get("scale", 1) > 0 else "other::Map", [0]), "add_n": every("Sum"),
    "where": lambda s, a: Op("Where", [0, 1, 2], dtypes={0: "bool"}), "swiglu": lambda s, a: Op("other::Map", [0, 1]) if len(s) == 2 else Op("other::Gate", [0], {"size": s[0][-1] // 2}),
    "add": every("Add"), "dropout": first("Dropout"), "fused_dropout_add": every("other::Map"), "label_smooth": first("other::Map"),
    # Gradients: the forward op's tensors, then the gradient that comes in
    "mean_all_grad": lambda s, a: Op("other::FillGradient", [1, 0]), "expand_as_grad": expand_grad, "expand_grad": expand_grad,
    "roll_grad": roll_grad, "take_along_axis_grad": gather_grad, "topk_grad": gather_grad,
    "depthwise_conv2d_grad": conv_grad, "conv2d_grad": conv_grad, "matmul_grad": matmul_grad, "sum_grad": reduce_grad, "mean_grad": reduce_grad,
    "embedding_grad": lambda s, a: Op("other::EmbeddingGradient", [2, 0], {"rows": s[1][0]}, dtypes={0: "i64"}),
    "where_grad": lambda s, a: Op("other::Gradients2", [3, 0], outs=[0, 1]), "swiglu_grad": lambda s, a: Op("other::Gradients2", [2, 0, 1], outs=[0, 1]),
    **dict.fromkeys(["tril_grad", "triu_grad"], lambda s, a: Op("Trilu", [len(s) - 1, number(a.get("diagonal", 0))], {"upper": 1})),
    # Reductions
    "reduce_base": lambda s, a: reduce_by(REDUCE_TYPES[a.get("reduce_type", 0)])(s, a), "sum": reduce_by("ReduceSum"), "mean": reduce_by("ReduceMean"),
    **dict.fromkeys(["max", "amax", "reduce_max", "any"], reduce_by("ReduceMax")), **dict.fromkeys(["min", "amin", "reduce_min", "all"], reduce_by("ReduceMin")),
    "reduce_sum": reduce_by("ReduceSum"), "reduce_mean": reduce_by("ReduceMean"), "prod": reduce_by("ReduceProd"), "reduce_prod": reduce_by("ReduceProd"),
    "frobenius_norm": reduce_by("ReduceL2"), "p_norm": reduce_by("other::Variance"), "logsumexp": reduce_by("ReduceLogSumExp"),
    "mean_all": lambda s, a: Op("ReduceMean", [0], {"keepdims": 0}), "squared_l2_norm": lambda s, a: Op("ReduceSumSquare", [0], {"keepdims": 0}, shown_outs={0: []}),
    "numel": first("Size"), "shape": first("Shape"), "argmax": arg("ArgMax"), "argmin": arg("ArgMin"), "arg_max": arg("ArgMax"), "arg_min": arg("ArgMin"),
    "cumsum": running("CumSum"), "cumprod": running("CumProd"), "logcumsumexp": running("CumProd"), "cummax": along("other::Scan", 1, (0, 1)),
    "cummin": along("other::Scan", 1, (0, 1)), "argsort": along("other::Sort", 1, (0, 1)), "sort": along("other::Sort", 1, (0, 1)),
    "topk": lambda s, a: Op("TopK", [0, ints([a["k"]])], {"axis": a.get("axis", -1), "largest": int(a.get("largest", True))}, [0, 1]),
    # Products
    "matmul": matmul, "matmul_v2": matmul, "bmm": matmul, "mm": matmul, "mv": matmul, "dot": matmul,
    "addmm": lambda s, a: Op("other::AddBatchedProduct", [0, 1, 2]) if len(s[0]) == 2 else None, "einsum": lambda s, a: Op("Einsum", range(len(s)), {"equation": a["equation"].replace(" ", "")}),
    "fused_gemm_epilogue": lambda s, a: Op("Gemm", [0, 1, 2]) if len(s[0]) == 2 and not a.get("trans_x") and not a.get("trans_y") else None,
    "kron": every("other::Kron"), "cross": along("other::Cross", 2), "cdist": every("other::Distances"),
    # Networks
    "conv2d": conv("Conv"), "conv3d": conv("Conv"), "depthwise_conv2d": conv("Conv"), "conv2d_transpose": conv("ConvTranspose"), "pool2d": pool, "pool3d": pool,
    "layer_norm": layer_norm, "rms_norm": rms_norm, "group_norm": lambda s, a: Op("other::GroupNorm", [0, 1, 2], {"groups": a["groups"]}, [0, 1, 2]),
    "instance_norm": lambda s, a: Op("other::InstanceNorm", [0, 1, 2], outs=[0, None, None]),
    "softmax": lambda s, a: Op("Softmax", [0], {"axis": a["axis"]}), "log_softmax": lambda s, a: Op("LogSoftmax", [0], {"axis": a["axis"]}),
    "softmax_grad": along("other::SoftmaxGradient", 2), "log_softmax_grad": along("other::SoftmaxGradient", 2), "flash_attention": attention,
    **dict.fromkeys(["c_softmax_with_cross_entropy", "cross_entropy_with_softmax", "softmax_with_cross_entropy"], class_loss),
    "fused_linear_param_grad_add": lambda s, a: Op("other::WeightGradientAdd", [0, 1, 2, 3 if len(s) > 3 else None], outs=[0, 1] if a.get("has_bias") else [0]),
    "fused_rotary_position_embedding": None, "moe_combine": lambda s, a: Op("other::CombineRows", [0, 1, 2], dtypes={2: "i64"}), "default_data_parallel": None, "nonzero": first("NonZero"),
    "sgd_": lambda s, a: Op("other::LinearStep", [0, 1, 2]), "adamw_": None, "adam_": None, "unique": None,
    # Indexing
    "embedding": embedding(0, 1), "lookup_table_v2": embedding(0, 1), "c_embedding": embedding(1, 0),
    "gather": lambda s, a: Op("Gather", [0, 1], {"axis": a["axis"]}, dtypes={1: "i64"}), "index_select": lambda s, a: Op("Gather", [0, 1], {"axis": axis_attribute(a, 0)}, dtypes={1: "i64"}),
    "gather_nd": lambda s, a: Op("GatherND", [0, 1], dtypes={1: "i64"}), "take_along_axis": lambda s, a: Op("GatherElements", [0, 1], {"axis": a["axis"]}, dtypes={1: "i64"}),
    "scatter": rows_written(None), "index_add": rows_written("add"), "put_along_axis": put_along_axis,
    "scatter_nd_add": lambda s, a: Op("ScatterND", [0, 1, 2], {"reduction": "add"}, dtypes={1: "i64"}), "one_hot": one_hot, "one_hot_v2": one_hot,
    # Shapes
    "reshape": reshape, "reshape2": reshape, "squeeze": squeeze, "squeeze2": squeeze, "flatten": flatten, "flatten_contiguous_range": flatten,
    "unsqueeze": lambda s, a: Op("Unsqueeze", [0, ints(a["axis"] if isinstance(a["axis"], list) else [a["axis"]])]), "transpose": transpose, "transpose2": transpose,
    "split": split, "split_with_num": split, "unbind": unbind, "slice": slice_of, "strided_slice": slice_of,
    "concat": lambda s, a: Op("Concat", range(len(s)), {"axis": axis_attribute(a, 0)}), "stack": stack, "tile": tile, "expand": expand, "expand_v2": expand,
    "expand_as": lambda s, a: Op("other::FirstLike", [0, 1]) if len(s) > 1 else expand(s, {"shape": a["target_shape"]}),
    "tril": trilu(0), "triu": trilu(1), "tril_triu": trilu(None), "roll": lambda s, a: Op("other::Roll", [0], {"axis": a["axis"] or list(range(len(s[0])))}),
    "flip": lambda s, a: Op("other::Roll", [0], {"axis": a["axis"]}), "pad": lambda s, a: Op("Pad", [0, ints(a["paddings"][0::2] + a["paddings"][1::2])]) if not a.get("pad_value") else None,
    "repeat_interleave": None,
}


def by_name(rule, shapes):
    base = rule.removesuffix("_")
    for name in (rule, base, base.removeprefix("elementwise_")):
        if name in BINARY and len(shapes) == 2:
            return Op(BINARY[name], [0, 1], dtypes=dict.fromkeys((0, 1), INTEGER.get(BINARY[name])))
        if name in UNARY and len(shapes) == 1:
            return Op(UNARY[name], [0], dtypes={0: INTEGER.get(UNARY[name])})
    return None


def guessed(rule, shapes, attrs):
    """By the name in our spelling, with the tensors as they are; attributes must not matter."""
    camel = "".join(part.capitalize() for part in rule.split("_"))
    return Op(camel, range(len(shapes)), guess=True) if not attrs else None


def translate(case, shapes):
    """Our op, or None (then the case is skipped)."""
    attrs = case.get("attrs", {})
    rule = case["rule"] + ("_grad" if case["direction"] == "grad" else "")
    if case["direction"] == "grad" and rule not in ROWS:
        same = all(s == shapes[0] for s in shapes)
        if same and case["rule"] in BINARY and len(shapes) == 3:
            return Op("other::Gradients2", [2, 0, 1], outs=[0, 1])
        return Op("other::Gradient", [len(shapes) - 1, *range(len(shapes) - 1)]) if same and case["rule"] in UNARY else None
    try:
        if rule in ROWS:
            return ROWS[rule](shapes, attrs) if ROWS[rule] else None
        return by_name(rule, shapes) or guessed(rule, shapes, attrs)
    except (KeyError, IndexError, TypeError, ValueError):
        return None  # tensors or attributes of another form
