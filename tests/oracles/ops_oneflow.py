"""OneFlow's ops as ours. A row: op type -> function(inputs, attrs) -> Op or None.

`inputs`: argument -> shape, elements of a list as `in[0]`. An Op's `outs` are, in the order of the case's outputs, our
results, None where they are not compared; arguments that an Op does not name may lie in any layout.
"""
import math

from ask import ints, operand
from ops import BINARY, UNARY, Op, Shown, moved_first, moved_last, with_one


def number(value, dtype="f32"):
    return operand([], dtype, [value])


def as_scalars(inputs):
    """Tensors of one element stand for numbers."""
    return {n: Shown([], []) for n, s in inputs.items() if math.prod(s) == 1}


def each(op, dtype=None, outs=(0,), **attributes):
    """All arguments in order; one-element tensors are numbers beside larger ones."""
    def make(inputs, attrs):
        names = list(inputs)
        largest = max(math.prod(s) for s in inputs.values())
        shown = as_scalars(inputs) if largest > 1 else {}
        return Op(op, names, attributes, outs, {n: dtype for n in names} if dtype else None, shown)
    return make


def listed(op, with_axis=True):
    return lambda i, a: Op(op, list(i), {"axis": a["axis"]} if with_axis else {})


def swapped(shape, swap):
    """A matrix argument with its last two dimensions swapped where the op transposes it."""
    rank = len(shape)
    return moved_last(shape, [rank - 1, rank - 2] if swap else [rank - 2, rank - 1])


def contraction(x, y, bias=None):
    def make(i, a):
        added = "_add_to_output" if "_add_to_output" in i else None
        ta, tb = a.get("transpose_a", False), a.get("transpose_b", bias is not None)
        if min(len(i[x]), len(i[y])) < 2:
            return Op("MatMul", [x, y])
        if bias:
            return Op("Gemm", [x, y, bias], {"transB": 1}) if len(i[x]) == 2 else Op("other::Linear3", [x, y, bias])
        shown = {x: swapped(i[x], ta), y: swapped(i[y], tb)}
        return Op("other::AddMatMul", [x, y, added], shown=shown) if added else Op("MatMul", [x, y], shown=shown)
    return make


def with_number(op, value=2.0, dtype="f32", reverse=False):
    """The tensor and a constant."""
    def make(i, a):
        name = next(iter(i))
        if len(i) > 1:
            return each(op, dtype)(i, a)
        both = [name, number(value, dtype)]
        return Op(op, both[::-1] if reverse else both, dtypes={name: dtype})
    return make


def reduction(op, dtype="f32"):
    def make(i, a):
        name = next(iter(i))
        axes = a.get("axis", list(range(len(i[name]))))
        return Op(op, [name, ints(axes if isinstance(axes, list) else [axes])], {"keepdims": int(a.get("keepdims", False))},
                  dtypes={name: dtype})
    return make


def channels_first(shape, attrs):
    """The tensor in the order batch, channels, spatial."""
    if attrs.get("data_format", "channels_first") != "channels_last":
        return Shown(shape, range(len(shape)))
    order = [0, len(shape) - 1, *range(1, len(shape) - 1)]
    return Shown([shape[d] for d in order], order)


def conv(op):
    def make(i, a):
        if "_add_to_output" in i:
            return None
        pads = a.get("padding_before", a.get("padding", [0]))
        operands = ["in", "weight"] + (["bias"] if "bias" in i else [])
        shown = {"in": channels_first(i["in"], a), "weight": channels_first(i["weight"], a)}
        return Op(op, operands, {"strides": a.get("strides", [1] * len(pads)), "pads": pads * 2,
                                 "dilations": a.get("dilation_rate", [1] * len(pads)), "group": a.get("groups", 1)},
                  shown=shown, shown_outs={0: shown["in"].dims})
    return make


def pool(op):
    def make(i, a):
        shown = channels_first(i["x"], a)
        return Op(op, ["x"], {"kernel_shape": a["kernel_size"], "strides": a["stride"], "pads": a.get("padding", [0] * len(a["stride"])) * 2},
                  [0, None], shown={"x": shown}, shown_outs={0: shown.dims})
    return make


def adaptive(op):
    def make(i, a):
        name = next(iter(i))
        results = [0, 1] if op == "other::Windows" else [0]
        return Op(op, [name], {"size": a["output_size"]}, results)
    return make


def window_gradient(i, a):
    places = next((n for n in ("indice", "index") if n in i), None)
    return Op("other::PlacedWindowGradient" if places else "other::WindowGradient", ["dy", "x", *([places] if places else [])])


def pad_gradient(i, a):
    dy, pads = i["dy"], a["padding"]
    size = list(dy[2:])
    for k in range(len(pads) // 2):
        size[len(size) - 1 - k] -= pads[2 * k] + pads[2 * k + 1]
    return Op("other::Resample", ["dy"], {"size": size})


def upsample(mode):
    def make(i, a):
        scales = [a[k] for k in ("scale_factor", "depth_scale", "height_scale", "width_scale") if k in a]
        size = [*i["x"][:2], *(int(n * s) for n, s in zip(i["x"][2:], scales))]
        return Op("Resize", ["x", None, None, ints(size)], {"mode": mode})
    return make


def pads_of(rank, padding):
    low, high = [0] * rank, [0] * rank
    for k in range(len(padding) // 2):
        low[rank - 1 - k], high[rank - 1 - k] = padding[2 * k], padding[2 * k + 1]
    return ints(low + high)


def padded(mode):
    return lambda i, a: Op("Pad", ["x", pads_of(len(i["x"]), a["padding"])], {"mode": mode})


GRADIENTS = ("dy", "dz", "out_grad", "loss_diff", "out_diff", "dx_diff", "grad")


def gradient(inputs, attrs):
    """An element-wise gradient: one argument is the gradient, the others are of the same shape."""
    names = list(inputs)
    dy = next((n for n in names if n in GRADIENTS), None)
    if dy is None or any(s != inputs[dy] for n, s in inputs.items() if math.prod(s) > 1):
        return None
    return Op("other::Gradient", [dy] + [n for n in names if n != dy], shown=as_scalars(inputs) if math.prod(inputs[dy]) > 1 else {})


def along(op, name="in", outs=(0,), others=()):
    """An op on the last dimension."""
    def make(i, a):
        axis = a.get("axis", a.get("dim", -1))
        axis = axis[0] if isinstance(axis, list) else axis
        used = [name if name in i else next(iter(i)), *others]
        shown = {n: moved_last(i[n], [axis]) for n in used}
        dims = shown[used[0]].dims
        return Op(op, used, outs=outs, shown=shown, shown_outs={r: dims for r in outs if r is not None})
    return make


def broadcast_like(i, a):
    x, like = i["x"], i["like"]
    axes = a.get("broadcast_axes", [])
    dims = iter(range(len(x)))
    full = [None if d in axes else next(dims, None) for d in range(len(like))] if len(x) < len(like) else list(range(len(x)))
    shown = Shown([1 if d is None else x[d] for d in full], full)
    return Op("Expand", ["x", ints(like)], shown={"x": shown})


def scatter(how):
    def make(i, a):
        data = "input" if "input" in i else "like"
        if "src" not in i:
            shown = {n: moved_last(i[n], [a["dim"]]) for n in (data, "index")}
            return Op("other::ScatterValue", [data, "index"], dtypes={"index": "i64"}, shown=shown, shown_outs={0: shown[data].dims})
        return Op("ScatterElements", [data, "index", "src"], {"axis": a["dim"], **({"reduction": how} if how else {})}, dtypes={"index": "i64"})
    return make


def scatter_like(i, a):
    """Into zeros like a tensor of which only the shape is read."""
    shown = {n: moved_last(i[n], [a["dim"]]) for n in ("src", "index")}
    return Op("other::GatherGradient", ["src", "index"], {"size": i["like"][a["dim"]]}, dtypes={"index": "i64"}, shown=shown,
              shown_outs={0: shown["src"].dims})


def index_add(i, a):
    axis = a.get("dim", 0)
    data, source = moved_first(i["input"], axis), moved_first(i["source"], axis)
    index = Shown([*i["index"], 1], [0, None])
    return Op("ScatterND", ["input", "index", "source"], {"reduction": "add"}, dtypes={"index": "i64"},
              shown={"input": data, "source": source, "index": index}, shown_outs={0: data.dims})


def stack(i, a):
    rank = len(next(iter(i.values())))
    axis = a["axis"] % (rank + 1)
    return Op("Concat", list(i), {"axis": axis}, shown={n: with_one(s, axis) for n, s in i.items()})


def split_like(i, a):
    likes = [n for n in i if n.startswith("like")]
    return Op("Split", ["in", ints([i[n][a["axis"]] for n in likes])], {"axis": a["axis"]}, range(len(likes)))


def prelu(i, a):
    if i["alpha"] == [1]:
        return Op("PRelu", ["x", "alpha"])
    slope = Shown(i["alpha"] + [1] * (len(i["x"]) - 2), [0] + [None] * (len(i["x"]) - 2))
    return Op("PRelu", ["x", "alpha"], shown={"alpha": slope})


def prelu_gradient(i, a):
    if i["alpha"] == [1]:
        return None
    moved = moved_last(i["x"], [1])
    return Op("other::PreluGradient", ["dy", "x", "alpha"], outs=[0, 1], shown={"dy": moved, "x": moved}, shown_outs={0: moved.dims})


def layer_norm(i, a):
    dims = len(i["x"]) - a["begin_norm_axis"]
    return Op("other::LayerNorm", ["x", *(n if n in i else None for n in ("gamma", "beta"))], {"dims": dims}, [0, 1, 2])


def matrix_vector_gradient(equation, *names):
    return lambda i, a: Op("Einsum", list(names), {"equation": equation})


def slice_of(i, a):
    return Op("Slice", [next(iter(i)), ints(a["start"]), ints(a["stop"]), ints(list(range(len(a["start"])))), ints(a["step"])])


def flip(i, a):
    count = len(a["dims"])
    return Op("Slice", ["x", ints([-1] * count), ints([-2**31] * count), ints(a["dims"]), ints([-1] * count)])


def fuse_norm_gradient(i, a):
    """Statistics lack the normalised dimension, which our op keeps at size 1."""
    if len(i["x"]) - a.get("begin_norm_axis", len(i["x"]) - 1) != 1:
        return None
    shown = {n: Shown(i[n] + [1], [*range(len(i[n])), None]) for n in ("mean", "inv_variance")}
    return Op("other::LayerNormGradient", ["dy", "x", "mean", "inv_variance", "gamma" if "gamma" in i else None, None], outs=[0, 1, 2], shown=shown)


INTEGER = {"BitwiseAnd": "i32", "BitwiseOr": "i32", "BitwiseXor": "i32", "BitwiseNot": "i32", "And": "bool", "Or": "bool", "Xor": "bool"}
UPDATES = ("momentum_update", "adam_update", "adagrad_update", "adadelta_update", "rmsprop_update", "sgd_update", "lars_update",
           "ftrl_update", "adamax_update", "nadam_update", "l1_l2_regularize_gradient", "assign", "adamw_update", "assign_if", "assign_if_not")

ROWS = {
    **dict.fromkeys(UPDATES, each("other::Map")),
    "logical_not": each("Not", "bool"), "scalar_mul_by_tensor": each("Mul"), "scalar_div_by_tensor": each("Div"),
    "host_scalar_add_by_tensor": each("Add"), "scalar_add_by_tensor": each("Add"), "scalar_sub_by_tensor": each("Sub"),
    "fused_cast_scale": each("Mul"), "clip_by_scalar_grad": gradient, "dropout_grad": lambda i, a: Op("other::DropoutGradient", ["dy", "mask"]),
    **dict.fromkeys(["clip_by_scalar", "clip_by_scalar_min", "clip_by_scalar_max"], lambda i, a: Op("Clip", ["x", number(0), number(1)])),
    "rrelu": each("other::Gradients2", outs=[0, 1]), "lerp": each("other::Lerp"), "scalar_lerp": each("other::Lerp"),
    "lerp_grad": lambda i, a: Op("other::LerpGradient", ["start", "end", "weight", "out_diff"], outs=[0, 1, 2]),
    "elementwise_maximum_backward": lambda i, a: Op("other::GradientsOfRising2", ["dz", "x", "y"], outs=[0, 1]),
    "elementwise_minimum_backward": lambda i, a: Op("other::GradientsOfRising2", ["dz", "x", "y"], outs=[0, 1]),
    "broadcast_div_grad": lambda i, a: Op("other::BroadcastDivGradient", ["dz", "z", "y"]), "broadcast_like": broadcast_like,
    "add_n": listed("Sum", False), "cat": listed("Concat"), "concat": listed("Concat"), "stack": stack, "split_like": split_like,
    "cast": lambda i, a: Op("Cast", ["in"], {"to": "f16"}), "prelu": prelu, "prelu_grad": prelu_gradient,
    "multiply_add": each("other::AddProduct"), "addcmul": each("other::AddProduct"), "addcdiv": each("other::AddQuotient"),
    "where": lambda i, a: Op("Where", ["condition", "x", "y"], dtypes={"condition": "bool"}), "masked_fill": lambda i, a: Op("Where", ["mask", number(1.0), "x"], dtypes={"mask": "bool"}),
    "depend": lambda i, a: Op("Identity", ["in"]), "nvtx_start": each("Identity"), "nvtx_end": each("Identity"), "pinned_identity": each("Identity"),
    "zero_like": each("other::Constant"), "ones_like": each("other::Constant"), "fill_": each("other::Map"),
    # Products
    "matmul": contraction("a", "b"), "batch_matmul": contraction("a", "b"), "broadcast_matmul": contraction("a", "b"),
    "matrix_vector_product": contraction("a", "b"), "vector_matrix_product": contraction("a", "b"), "dot": contraction("x", "y"),
    "fused_matmul_bias": contraction("x", "weight", "bias"),
    "matrix_vector_product_grad_a": matrix_vector_gradient("m,k->mk", "dy", "b"),
    "matrix_vector_product_grad_b": matrix_vector_gradient("m,mk->k", "dy", "a"),
    "vector_matrix_product_grad_a": matrix_vector_gradient("n,kn->k", "dy", "b"),
    "vector_matrix_product_grad_b": matrix_vector_gradient("n,k->kn", "dy", "a"),
    "broadcast_matmul_grad_b": lambda i, a: Op("Einsum", ["a", "b"], {"equation": "...k,...n->kn"}),
    "linalg_cross": along("other::Cross", "input", others=("other",)), "det": each("Det"), "inv": each("other::Matrix"),
    "fft_c2c": lambda i, a: Op("other::TransformAll", ["input"], {"axis": a["dims"]}),
    # Networks
    **dict.fromkeys(["conv1d", "conv2d", "conv3d"], conv("Conv")), **dict.fromkeys(["deconv1d", "deconv2d", "deconv3d"], conv("ConvTranspose")),
    "conv_data_grad": lambda i, a: Op("other::ConvDataGradient", ["dy", "filter", "x_like"]) if a.get("groups", 1) == 1 else None,
    "conv_filter_grad": lambda i, a: Op("other::ConvFilterGradient", ["dy", "x"], {"kernel": a["kernel_size"], "group": a.get("groups", 1)})
    if len(i["x"]) < 5 else None,
    "conv_bias_grad": lambda i, a: Op("other::LastSum" if a.get("data_format") == "channels_last" else "other::ChannelSum", ["dy"]),
    **dict.fromkeys([f"max_pool_{k}d" for k in (1, 2, 3)], pool("MaxPool")), **dict.fromkeys([f"avg_pool_{k}d" for k in (1, 2, 3)], pool("AveragePool")),
    **dict.fromkeys([f"adaptive_max_pool{k}d" for k in (1, 2, 3)], adaptive("other::Windows")),
    **dict.fromkeys([f"adaptive_avg_pool{k}d" for k in (1, 2, 3)], adaptive("other::Resample")),
    **dict.fromkeys([f"{kind}_pool_{k}d_grad" for kind in ("max", "avg") for k in (1, 2, 3)], window_gradient),
    **dict.fromkeys([f"adaptive_{kind}_pool{k}d_grad" for kind in ("max", "avg") for k in (1, 2, 3)], window_gradient),
    "upsample_linear_1d": upsample("linear"), "upsample_bilinear_2d": upsample("linear"), "upsample_trilinear_3d": upsample("linear"),
    "upsample_bicubic_2d": upsample("cubic"), **dict.fromkeys([f"upsample_nearest_{k}d" for k in (1, 2, 3)], upsample("nearest")),
    **dict.fromkeys(["upsample_linear_1d_grad", "upsample_bilinear_2d_grad", "upsample_trilinear_3d_grad", "upsample_bicubic_2d_grad",
                     "upsample_nearest_1d_grad", "upsample_nearest_2d_grad", "upsample_nearest_3d_grad"], window_gradient),
    "softmax": each("Softmax"), "log_softmax": each("LogSoftmax"),
    "softmax_grad": along("other::SoftmaxGradient", "dy", others=("y",)),
    "log_softmax_grad": along("other::SoftmaxGradient", "dy", others=("prob",)),
    "group_norm": lambda i, a: Op("other::GroupNorm", ["x", *(n if n in i else None for n in ("gamma", "beta"))], {"groups": a["num_groups"]}, [0, 1, 2]),
    "layer_norm": layer_norm, "fuse_layer_norm_grad": fuse_norm_gradient,
    "layer_norm_param_grad": lambda i, a: Op("other::NormParameterGradient", ["dy", "x", "mean", "inv_variance"], outs=[0, 1])
    if len(i["x"]) - len(i["mean"]) == 1 else None,
    "rms_norm": lambda i, a: Op("other::LayerNorm", ["x", "weight" if "weight" in i else None, None], {"dims": 1}, [0, 1]),
    "rms_norm_param_grad": lambda i, a: Op("other::NormParameterGradient", ["dy", "x", "inv_rms"]) if len(i["x"]) - len(i["inv_rms"]) == 1 else None,
    "group_norm_param_grad": lambda i, a: Op("other::GroupNormParameterGradient", ["dy", "x", "mean", "inv_variance"],
                                             {"groups": i["mean"][1]}, [0, 1]) if len(i["x"]) == 4 else None,
    "normalization": lambda i, a: None if a.get("training") else Op("BatchNormalization", ["x", "gamma", "beta", "moving_mean", "moving_variance"]),
    "embedding": lambda i, a: Op("Gather", ["weight", "indices"], {"axis": 0}, dtypes={"indices": "i64"}),
    "embedding_grad": lambda i, a: Op("other::EmbeddingGradient", ["dy", "indices"], {"rows": i["weight"][0]}, dtypes={"indices": "i64"}),
    # Losses
    **dict.fromkeys(["sigmoid_cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div_loss", "smooth_l1_loss", "mse_loss",
                     "huber_loss"], each("other::PairLoss")),
    "binary_cross_entropy_with_logits_reduce_mean": each("other::PairLoss", reduction="mean"),
    "sparse_cross_entropy": lambda i, a: Op("other::ClassLoss", ["prediction", "label"], dtypes={"label": "i64"}),
    "sparse_softmax_cross_entropy": lambda i, a: Op("SoftmaxCrossEntropyLoss", ["prediction", "label"], {"reduction": "none"}, [None, 0], {"label": "i64"}),
    "sparse_softmax_cross_entropy_grad": lambda i, a: Op("other::ClassGradient", ["dy", "label", "prob", None], dtypes={"label": "i64"}),
    "sparse_cross_entropy_grad": lambda i, a: Op("other::ClassGradient", ["dy", "label", "prediction", None], dtypes={"label": "i64"}),
    "softmax_cross_entropy": lambda i, a: Op("other::SoftmaxLoss", ["prediction", "label"], outs=[0, 1]),

    "nll": lambda i, a: Op("NegativeLogLikelihoodLoss", ["input", "target", *(["weight"] if "weight" in i else [])], {"reduction": "none"}, [0, None],
                           {"target": "i64"}),
    "nll_grad": lambda i, a: Op("other::ClassGradient", ["out_grad", "target", "input", "weight" if "weight" in i else None], dtypes={"target": "i64"}),
    "combined_margin_loss": lambda i, a: Op("other::ClassLossAware", ["x", "label"], outs=[0, 1], dtypes={"label": "i64"}),
    "combined_margin_loss_grad": lambda i, a: Op("other::MarginGradient", ["dy", "label", "theta"], dtypes={"label": "i64"}),
    "in_top_k": lambda i, a: Op("other::TopIn", ["targets", "predictions"], dtypes={"targets": "i64"}),
    # Indexing
    "gather": lambda i, a: Op("Gather", ["in", "indices"], {"axis": a["axis"]}, dtypes={"indices": "i64"}),
    "gather_nd": lambda i, a: Op("GatherND", ["params", "indices"], dtypes={"indices": "i64"}),
 "index_add": index_add,
    "tensor_scatter_nd_add": lambda i, a: Op("ScatterND", ["params", "indices", "updates"], {"reduction": "add"}, dtypes={"indices": "i64"}),
    "tensor_scatter_nd_update": lambda i, a: Op("ScatterND", ["params", "indices", "updates"], dtypes={"indices": "i64"}),
    "dim_gather": lambda i, a: Op("GatherElements", ["input", "index"], {"axis": a["dim"]}, dtypes={"index": "i64"}),
    "dim_scatter_add": scatter("add"), "dim_scatter_update": scatter(None), "dim_scatter_mul": scatter("mul"), "dim_scatter_add_like": scatter_like,
    **dict.fromkeys(["dim_scatter_add_scalar", "dim_scatter_mul_scalar", "dim_scatter_update_scalar"], scatter(None)),
    "unsorted_segment_sum": lambda i, a: Op("other::SegmentSum", ["data", "segment_ids"], {"rows": a["num_segments"]}, dtypes={"segment_ids": "i64"})
    if a.get("axis", 0) == 0 else None,
    "unsorted_segment_sum_like": lambda i, a: Op("other::SegmentSum", ["data", "segment_ids"], {"rows": i["like"][0]}, dtypes={"segment_ids": "i64"})
    if a.get("axis", 0) == 0 else None,
    "unsorted_batch_segment_sum": lambda i, a: Op("other::BatchSegmentSum", ["data", "segment_ids"], {"rows": a["num_segments"]}, dtypes={"segment_ids": "i64"}),

    "one_hot": lambda i, a: Op("OneHot", ["indices", number(a["depth"], "i64"), operand([2])], {"axis": -1}, dtypes={"indices": "i64"}),
    # Shapes
    "transpose": lambda i, a: Op("Transpose", ["input"], {"perm": a["perm"]}), "reshape": lambda i, a: Op("Reshape", ["in", ints(a["shape"])]),
    "reshape_like": lambda i, a: Op("Reshape", ["in", ints(i["like"])]), "squeeze": lambda i, a: Op("Squeeze", ["in", ints(a["axes"])]),
    "expand_dims": lambda i, a: Op("Unsqueeze", ["in", ints([a["axis"]])]), "expand": lambda i, a: Op("Expand", ["in", ints(a["expand_shape"])]),
 "narrow": lambda i, a: Op("Slice", ["in", ints([a["start"]]), ints([a["start"] + a["length"]]), ints([a["dim"]])]),
    "slice": slice_of, "flip": flip, "roll": lambda i, a: Op("other::Roll", [next(iter(i))], {"axis": a["dims"]}),
    "tril": lambda i, a: Op("Trilu", ["in", number(a.get("diagonal", 0), "i64")], {"upper": 0}),
    "triu": lambda i, a: Op("Trilu", ["in", number(a.get("diagonal", 0), "i64")], {"upper": 1}),
    "fused_scale_tril": lambda i, a: Op("Trilu", ["in", number(a.get("diagonal", 0), "i64")], {"upper": 0}),
    **dict.fromkeys(["reflection_pad1d", "reflection_pad2d"], padded("reflect")), **dict.fromkeys(["replication_pad1d", "replication_pad2d"], padded("edge")),
    **dict.fromkeys(["reflection_pad1d_grad", "reflection_pad2d_grad", "replication_pad1d_grad", "replication_pad2d_grad"], pad_gradient),
    "diagonal": lambda i, a: Op("other::Diagonal", ["in"], {"size": min(i["in"][:2])}, shown={"in": moved_last(i["in"], [0, 1])}),
    "pack": lambda i, a: Op("Identity", ["in"]), "unpack": lambda i, a: Op("Identity", ["in"]),
    # Reductions and order
    "reduce_sum": reduction("ReduceSum"), "reduce_max": reduction("ReduceMax"), "reduce_min": reduction("ReduceMin"), "reduce_mean": reduction("ReduceMean"),
    "reduce_prod": reduction("ReduceProd"), "reduce_any": reduction("ReduceMax", "bool"), "reduce_all": reduction("ReduceMin", "bool"),
    "reduce_sum_like": lambda i, a: Op("ReduceSum", ["x", ints(a["axis"])], {"keepdims": int(len(i["x"]) == len(i["like"]))}),
    "reduce_nansum": reduction("other::Count"), "square_sum": reduction("ReduceSumSquare"), "var": reduction("other::Variance"),
    "count_not_finite": reduction("other::Count"), "multi_count_not_finite": lambda i, a: apart(i, "other::Count"),
    "reduce_sum_pow_abs": reduction("other::Count"), "multi_reduce_sum_pow_abs": lambda i, a: apart(i, "other::Count"),
    **dict.fromkeys(["reduce_min_device_stage", "reduce_max_device_stage"], along("other::ReduceStage", outs=(0, 1, 2))),
    **dict.fromkeys(["reduce_min_device_stage_grad", "reduce_max_device_stage_grad"],
                    along("other::ReduceStageGradient", "out_diff", others=("mask", "count"))),
    **dict.fromkeys(["reduce_min_global_stage", "reduce_max_global_stage"], along("other::ReduceStageEnd", outs=(0, 1), others=("device_count",))),
    "argmax": lambda i, a: Op("ArgMax", ["in"], {"axis": -1, "keepdims": 0}), "argmin": lambda i, a: Op("ArgMin", ["in"], {"axis": -1, "keepdims": 0}),
    "top_k": lambda i, a: Op("TopK", ["in", ints([a["k"]])], {"axis": -1}, [1]), "sort": along("other::Sort"), "arg_sort": along("other::Sort", outs=(1,)),
    "median": each("other::Whole"), "median_with_indices": along("other::PickOne", "input", outs=(0, 1)), "mode": along("other::PickOne", outs=(0, 1)),
    "cumsum": lambda i, a: Op("CumSum", ["x", number(a["dim"], "i64")]), "cumprod": lambda i, a: Op("CumProd", ["x", number(a["dim"], "i64")]),
    "cummax": along("other::Scan", outs=(0, 1)), "cummin": along("other::Scan", outs=(0, 1)),
    # Made from nothing
    "bernoulli": each("Bernoulli"), "uniform": lambda i, a: Op("RandomUniform", [], {"shape": a["shape"]}),
    "normal": lambda i, a: Op("RandomNormal", [], {"shape": a["shape"]}), "uniform_int": lambda i, a: Op("RandomUniform", [], {"shape": a["shape"]}),
    "variable (system op)": lambda i, a: Op("ConstantOfShape", [ints(a["shape"])]), "constant": lambda i, a: Op("ConstantOfShape", [ints(a["shape"])]),
    "affine_grid": lambda i, a: Op("AffineGrid", ["theta", ints(a["size"])]), "empty": lambda i, a: Op("ConstantOfShape", [ints(a["shape"])]),
    "grid_sample": lambda i, a: Op("GridSample", ["input", "grid"]),
    # Fused
    "fused_bias_add_mask_scale": lambda i, a: Op("other::Map", ["a", "b", "mask"]) if a["axis"] == len(i["a"]) - 1 else None,
    "fused_bias_add_gelu": lambda i, a: Op("other::Map", ["a", "b"]) if a["axis"] == len(i["a"]) - 1 else None,
    "fused_scale_mask_softmax": along("other::SoftmaxGradient", "x", others=("mask",)),
    "fused_tril_scale_softmax_mask_scale": along("other::MaskedSoftmax", "x", (0, 1), ("mask",)),
    "fused_self_attention_query_mul_key_and_value": lambda i, a: Op("other::QueryKeyValue", ["hidden_states"], {"head": a["head_size"]}, [0, 1]),
}

def apart(inputs, op):
    """A sum over several tensors, each split for itself: shown by the first."""
    return Op(op, [next(iter(inputs))], {"keepdims": 0})


def plain(name):
    """Element-wise functions, by the name without what says how operands are given."""
    if name in UNARY:
        return each(UNARY[name], INTEGER.get(UNARY[name]))
    for prefix in ("broadcast_", "elementwise_", "scalar_reverse_", "scalar_"):
        base = name.removeprefix(prefix)
        if base == name:
            continue
        base = base.removeprefix("logical_") if base.startswith("logical_") and base.removeprefix("logical_") not in ("and", "or", "xor") else base
        if base in BINARY:
            op = BINARY[base]
            if prefix.startswith("scalar"):
                dtype = INTEGER.get(op, "f32")
                return with_number(op, 1.0 if dtype == "bool" else 2.0, dtype, prefix == "scalar_reverse_")
            return each(op, INTEGER.get(op))
    return each(BINARY[name], INTEGER.get(BINARY[name])) if name in BINARY else None


def translate(name, inputs, attrs):
    """Our op, or None. `inputs` is flat: elements of a list are named in[0]."""
    make = ROWS[name] if name in ROWS else plain(name)
    if make is None and name.endswith(("_grad", "_backward")):
        make = gradient
    try:
        return make(inputs, attrs) if make else None
    except (KeyError, IndexError, TypeError, ValueError):
        return None  # arguments or attributes of another form
