"""DTensor's operators as our ops: a row is the operator's name, without overload and in-place mark -> function(case) -> Op.

Operands are names of the case's inputs. A list's only element `self[0]` is taken as `self` (the _foreach operators).
"""
import re

import dtensor_forms as f
import dtensor_shapes as s
from ask import ints
from ops import BINARY, UNARY, Op

ROWS = {
    # Element by element
    "add": f.add("add"), "sub": f.add("sub"), "subtract": f.add("sub"), "div": f.divide, "divide": f.divide, "true_divide": f.two("div"),
    "rsub": f.two("rsub"), "where": f.where, "masked_fill": f.masked_fill, "clamp": f.clamp, "clip": f.clamp,
    "clamp_max": f.clamp, "clamp_min": f.clamp, "addcmul": f.add_product("other::AddProduct"),
    "addcdiv": f.add_product("other::AddQuotient"), "lerp": f.lerp, "ldexp": f.same("other::PositiveScale"),
    "logical_not": lambda c: Op("Not" if f.dtype(c, "self") == "bool" else "other::Test", ["self"]),
    "bitwise_not": lambda c: Op("Not" if f.dtype(c, "self") == "bool" else "BitwiseNot", ["self"]),
    "fmod": lambda c: f.two("fmod")(c), "leaky_relu": lambda c: Op("LeakyRelu", ["self"], {"alpha": float(c["attrs"].get("negative_slope", 0.01))}),
    "prelu": lambda c: Op("PRelu", f.names(c)) if len(f.shape(c, f.names(c)[1])) == 0 else None,
    "elu": lambda c: Op("Elu", ["self"], {"alpha": float(c["attrs"].get("alpha", 1))}),
    "threshold": lambda c: Op("other::Rising" if c["attrs"]["value"] <= c["attrs"]["threshold"] else "other::Map", ["self"]),
    "_to_copy": lambda c: Op("Cast", ["self"], {"to": c["attrs"].get("dtype", c["inputs"][0]["dtype"])}),
    "to": lambda c: Op("Cast", ["self"], {"to": c["attrs"].get("dtype", c["inputs"][0]["dtype"])}),
    "fill": f.fill, "zeros_like": f.same("other::Constant"), "ones_like": f.same("other::Constant"),
    "full_like": f.same("other::Constant"), "empty_like": f.same("other::Constant"), "zero": f.same("other::Constant"),
    "rand_like": f.same("other::Constant"), "randn_like": f.same("other::Constant"), "randint_like": f.same("other::Constant"),
    "copy": s.copied,
    "new_zeros": s.made, "new_ones": s.made, "new_full": s.made, "new_empty": s.made, "new_empty_strided": s.made,
    "polygamma": f.same("other::Map"), "mvlgamma": f.same("other::Map"), "bernoulli": f.same("Bernoulli"),
    "view_as_complex": None, "view_as_real": None, "complex": f.same("other::Map"),
    "round": f.same("Round"), "logit": f.same("other::Rising"), "clone": f.same("Identity"), "view.dtype": f.same("other::Map"),
    # Gradients
    "mse_loss_backward": lambda c: Op("other::SquareErrorGradient", ["grad_output", "self", "target"]),
    "_softmax_backward_data": f.along("other::SoftmaxGradient"), "_log_softmax_backward_data": f.along("other::SoftmaxGradient"),
    "native_layer_norm_backward": f.norm_gradient("other::LayerNormGradient"),
    "_fused_rms_norm_backward": f.norm_gradient("other::RmsNormGradient"),
    "native_dropout_backward": lambda c: Op("other::DropoutGradient", ["grad_output", "mask"]),
    "convolution_backward": f.conv_gradient, "embedding_dense_backward": s.embedding_gradient, "nll_loss_backward": f.nll_gradient,
    "slice_backward": s.part_gradient, "select_backward": s.part_gradient,
    **dict.fromkeys(["avg_pool1d_backward", "avg_pool2d_backward", "avg_pool3d_backward", "_adaptive_avg_pool2d_backward",
                     "_adaptive_avg_pool3d_backward", "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward",
                     "adaptive_max_pool2d_backward"], f.window_gradient),
    # Reductions
    "sum": f.reduce("ReduceSum"), "mean": f.reduce("ReduceMean"), "amax": f.reduce("ReduceMax"), "amin": f.reduce("ReduceMin"),
    "max": f.extreme("ReduceMax"), "min": f.extreme("ReduceMin"), "prod": f.reduce("ReduceProd"), "nansum": f.reduce("other::Count"), "aminmax": f.extremes, "trace": f.same("other::Trace"),
    "any": f.any_all("ReduceMax", "other::MaxNorm"), "all": f.any_all("ReduceMin", "other::MinNorm"), "count_nonzero": f.reduce("other::Count"),
    "linalg_vector_norm": f.norm_of, "norm": f.norm_of, "logsumexp": f.reduce("ReduceLogSumExp"), "var": f.reduce("other::Variance"),
    "std": f.reduce("other::Variance"), "var_mean": f.reduce("other::Variance", results=2), "std_mean": f.reduce("other::Variance", results=2),
    "linalg__powsum": f.reduce("other::Count"), "powsum": f.reduce("other::Count"), "special_logsumexp": f.reduce("ReduceLogSumExp"),
    "argmax": f.arg("ArgMax"), "argmin": f.arg("ArgMin"), "kthvalue": f.pick, "mode": f.pick, "median": f.pick, "nanmedian": f.pick,
    "dist": f.same("other::Whole"), "equal": f.same("other::Whole"),
    # Order
    "cumsum": f.scan("CumSum"), "cumprod": f.scan("CumProd"), "logcumsumexp": f.scan("CumProd"),
    "cummax": f.along("other::Scan"), "cummin": f.along("other::Scan"), "_cummax_helper": None, "_cummin_helper": None,
    "sort": f.along("other::Sort"), "argsort": f.along("other::Sort", [1]), "msort": f.along("other::Sort", [0], default=0),
    "topk": lambda c: Op("TopK", ["self", ints([c["attrs"]["k"]])], {"axis": c["attrs"].get("dim", -1)}, [0, 1]),
    "searchsorted": lambda c: Op("other::Search", ["sorted_sequence", "self"])
    if f.has(c, "self") and len(f.shape(c, "sorted_sequence")) == 1 else None,
    "bucketize": lambda c: Op("other::Search", ["boundaries", "self"]) if f.has(c, "self") else None,
    # Networks
    "_softmax": f.axis_of("Softmax"), "softmax": f.axis_of("Softmax"), "_safe_softmax": f.axis_of("Softmax"),
    "_log_softmax": f.axis_of("LogSoftmax"), "log_softmax": f.axis_of("LogSoftmax"),
    **dict.fromkeys(["_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
                     "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_attention_math", "scaled_dot_product_attention",
                     "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_fused_attention_overrideable"], f.attention),
    **dict.fromkeys(["convolution", "conv1d", "conv2d", "conv3d", "_convolution", "conv_transpose1d", "conv_transpose2d"], f.conv),
    **dict.fromkeys(["max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices",
                     "max_pool1d_with_indices"], f.pool("MaxPool")),
    **dict.fromkeys(["avg_pool1d", "avg_pool2d", "avg_pool3d"], f.pool("AveragePool")),
    **dict.fromkeys(["adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d",
                     "adaptive_avg_pool3d"], f.adaptive("other::Resample")),
    **dict.fromkeys(["adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"], f.adaptive("other::Windows")),
    **dict.fromkeys(["upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
                     "_upsample_nearest_exact2d"], f.upsample("nearest")),
    **dict.fromkeys(["upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"], f.upsample("linear")),
    "upsample_bicubic2d": f.upsample("cubic"),
    **dict.fromkeys(["upsample_nearest1d_backward", "upsample_nearest2d_backward", "upsample_nearest3d_backward", "upsample_linear1d_backward",
                     "upsample_bilinear2d_backward", "upsample_bicubic2d_backward", "upsample_trilinear3d_backward"], s.upsample_gradient),
    "native_layer_norm": f.layer_norm("LayerNormalization"), "layer_norm": f.layer_norm("LayerNormalization"),
    "rms_norm": f.layer_norm("RMSNormalization"), "native_group_norm": f.group_norm, "group_norm": f.group_norm,
    "instance_norm": lambda c: Op("InstanceNormalization", ["input", "weight", "bias"]),
    "batch_norm": f.batch_norm, "native_batch_norm": f.batch_norm, "_native_batch_norm_legit_no_training": f.batch_norm,
    **dict.fromkeys(["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "binary_cross_entropy",
                     "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss", "hinge_embedding_loss"], f.pair_loss),
    "nll_loss_forward": f.class_loss("NegativeLogLikelihoodLoss"), "nll_loss": f.class_loss("NegativeLogLikelihoodLoss"),
    "nll_loss2d_forward": f.class_loss("NegativeLogLikelihoodLoss"), "nll_loss_nd": f.class_loss("NegativeLogLikelihoodLoss"),
    "cross_entropy_loss": f.class_loss("SoftmaxCrossEntropyLoss"),
    # Products
    "mm": f.matmul_like("self", "mat2"), "bmm": f.matmul_like("self", "mat2"), "dot": f.matmul_like("self", "tensor"),
    "vdot": f.matmul_like("self", "other"), "matmul": f.matmul_like("self", "other"), "mv": f.matmul_like("self", "vec"),
    "inner": lambda c: Op("Einsum", f.names(c), {"equation": "...k,nk->...n"}) if len(f.shape(c, "other")) == 2 else Op("MatMul", f.names(c)),
    "addmm": f.addmm, "linear": f.linear, "baddbmm": f.plus("other::AddBatchedProduct", "batch1", "batch2"),
    "addbmm": f.plus("other::AddSummedProduct", "batch1", "batch2"), "addmv": f.plus("other::AddVectorProduct", "mat", "vec"),
    "addr": f.plus("other::AddOuter", "vec1", "vec2"), "outer": lambda c: Op("Einsum", f.names(c), {"equation": "i,j->ij"}),
    "ger": lambda c: Op("Einsum", f.names(c), {"equation": "i,j->ij"}), "einsum": f.einsum, "kron": f.same("other::Kron"),
    "cdist": f.same("other::Distances"), "_cdist_forward": f.same("other::Distances"), "_euclidean_dist": f.same("other::Distances"),
    "linalg_cross": f.along("other::Cross"), "cross": f.along("other::Cross"), "bilinear": f.same("other::Bilinear"),
    # Matrices
    **dict.fromkeys(["linalg_cholesky_ex", "linalg_cholesky", "cholesky", "linalg_inv_ex", "linalg_inv", "inverse", "linalg_matrix_exp",
                     "matrix_exp", "linalg_pinv", "cholesky_inverse", "linalg_matrix_power", "matrix_power"],
                    lambda c: Op("other::Matrix", f.names(c)[:1], outs=[0, 1][:len(c["outputs"])])),
    "_linalg_det": lambda c: Op("Det", ["A"], outs=[0, None, None]), "linalg_det": lambda c: Op("Det", f.names(c)),
    "_linalg_slogdet": lambda c: Op("other::MatrixValues", ["A"], outs=[0, 1, None, None]),
    "linalg_slogdet": lambda c: Op("other::MatrixValues", f.names(c), outs=[0, 1]),
    "_linalg_solve_ex": lambda c: Op("other::Solve", ["A", "B"], outs=[0] + [None] * (len(c["outputs"]) - 1))
    if len(f.shape(c, "A")) == len(f.shape(c, "B")) else None,
    "cholesky_solve": lambda c: Op("other::Solve", ["input2", "self"]) if len(f.shape(c, "input2")) == len(f.shape(c, "self")) else None,
    "linalg_solve_triangular": lambda c: Op("other::Solve", ["self", "B"]) if c["attrs"].get("left", True) else None,
    "_linalg_eigh": lambda c: Op("other::Eigen", ["A"], outs=[0, 1][:len(c["outputs"])]),
    "linalg_eigh": lambda c: Op("other::Eigen", f.names(c), outs=[0, 1][:len(c["outputs"])]),
    "linalg_eigvalsh": lambda c: Op("other::Eigen", f.names(c)),
    "linalg_qr": lambda c: Op("other::Qr", ["A"], {"size": c["outputs"][0][-1]}, [0, 1]),
    "_linalg_svd": lambda c: Op("other::Svd", ["A"], {"columns": c["outputs"][0][-1], "rows": c["outputs"][2][-2],
                                                     "size": c["outputs"][1][-1]}, [0, 1, 2]),
    "_fft_r2c": f.fourier, "_fft_c2c": f.fourier, "_fft_c2r": f.fourier,
    # Indexing
    "embedding": lambda c: Op("Gather", ["weight", "indices"], {"axis": 0}), "index_select": s.gather_rows("self", "index"),
    "index": s.index_tensor, "select": s.select, "embedding_renorm": None, "take": None,
    "gather": lambda c: Op("GatherElements", ["self", "index"], {"axis": c["attrs"].get("dim", 0)}),
    "scatter": s.scatter, "scatter_add": s.scatter, "scatter_reduce": s.scatter, "index_copy": s.index_update,
    "index_add": s.index_update, "index_reduce": s.index_update, "index_fill": s.index_fill, "_unsafe_index": s.index_tensor,
    # Shapes
    "slice": s.slice_, "narrow": s.narrow, "flip": s.flip, "fliplr": s.flip, "flipud": s.flip, "roll": s.roll,
    **dict.fromkeys(["split", "chunk", "split_with_sizes", "unsafe_split", "unsafe_chunk", "tensor_split"], s.split), "unbind": s.unbind,
    **dict.fromkeys(["cat", "concat", "concatenate", "hstack", "vstack", "row_stack"], s.cat), "stack": s.stack,
    "slice_scatter": s.part_of("other::Replace", "src"), "select_scatter": s.part_of("other::ReplaceOne", "src"),
    "diagonal": s.diagonal, "diag": s.diag, "diag_embed": lambda c: Op("other::DiagonalMatrix", ["self"], {"size": c["outputs"][0][-1]}),
    "repeat_interleave": s.repeat, "tile": s.tile, "repeat": s.tile, "tril": s.trilu(0), "triu": s.trilu(1),
    "pixel_shuffle": lambda c: Op("DepthToSpace", ["self"], {"blocksize": c["attrs"]["upscale_factor"], "mode": "CRD"}),
    "pixel_unshuffle": lambda c: Op("SpaceToDepth", ["self"], {"blocksize": c["attrs"]["downscale_factor"], "mode": "CRD"}),
    **dict.fromkeys(["view", "reshape", "_unsafe_view", "_reshape_alias", "flatten", "unflatten", "ravel", "view_as", "reshape_as"], s.reshape),
    "permute": lambda c: Op("Transpose", ["self"], {"perm": [d % len(c["attrs"]["dims"]) for d in c["attrs"]["dims"]]}),
    **dict.fromkeys(["transpose", "swapaxes", "swapdims", "t", "mT", "mH", "adjoint"], s.transpose), "movedim": s.movedim, "moveaxis": s.movedim,
    "expand": lambda c: Op("Expand", ["self", ints(c["outputs"][0])]), "broadcast_to": lambda c: Op("Expand", ["self", ints(c["outputs"][0])]),
    "squeeze": s.squeeze, "unsqueeze": lambda c: Op("Unsqueeze", ["self", ints([c["attrs"].get("dim", 0)])]), "im2col": s.unfold, "col2im": s.columns_to_image, "unfold": s.frames,
    "constant_pad_nd": lambda c: Op("Pad", ["self", ints(pads_of(c))]) if not c["attrs"].get("value") else None,
    **dict.fromkeys(["reflection_pad1d", "reflection_pad2d", "reflection_pad3d"], lambda c: Op("Pad", ["self", ints(pads_of(c))], {"mode": "reflect"})),
    **dict.fromkeys(["replication_pad1d", "replication_pad2d", "replication_pad3d"], lambda c: Op("Pad", ["self", ints(pads_of(c))], {"mode": "edge"})),
}


def pads_of(case):
    """(last low, last high, ...) as (lows, highs)."""
    pads, rank = case["attrs"].get("padding", case["attrs"].get("pad")), len(f.shape(case, "self"))
    low, high = [0] * rank, [0] * rank
    for k in range(len(pads) // 2):
        low[rank - 1 - k], high[rank - 1 - k] = pads[2 * k], pads[2 * k + 1]
    return low + high


def base_name(op):
    """'aten._foreach_add_.List' -> 'add'."""
    name = op.removeprefix("aten.").split(".")[0]
    name = name.removeprefix("_foreach_")
    return name.rstrip("_") if not name.endswith("__") else name


def alone(case):
    """The case with `self[0]` called `self` where every list has one element."""
    listed = [i["name"] for i in case["inputs"]]
    if "_foreach_" not in case["op"]:
        return case
    if any(re.search(r"\[[1-9]", n) for n in listed):
        return None
    renamed = {"tensors": "self"}
    inputs = [{**i, "name": re.sub(r"\[0\]$", "", i["name"])} for i in case["inputs"]]
    return {**case, "inputs": [{**i, "name": renamed.get(i["name"], i["name"])} for i in inputs]}


def by_table(case, name):
    if name in ROWS:
        return ROWS[name](case) if ROWS[name] else None
    short = name.removesuffix("_copy").lstrip("_")
    for known in (name, short):
        if known in ROWS and ROWS[known]:
            return ROWS[known](case)
        if known in BINARY and (len(case["inputs"]) > 1 or known not in UNARY or has_number(case)):
            return f.two(known)(case)
        if known in UNARY and len(case["inputs"]) == 1:
            return Op(UNARY[known], f.names(case)[:1], outs=[0] + [None] * (len(case["outputs"]) - 1))
    if name.endswith("_backward") and any(i["shape"] == case["outputs"][0] for i in case["inputs"]) and len(case["outputs"]) == 1:
        return f.gradient(name.removesuffix("_backward"))(case) if element_wise(case) else None
    return None


def has_number(case):
    return any(isinstance(case["attrs"].get(k), (int, float)) for k in ("other", "scalar", "exponent", "self"))


def element_wise(case):
    """Are all operands of the result's shape, or numbers?"""
    return all(i["shape"] in (case["outputs"][0], [], [0]) for i in case["inputs"])


def guessed(case, name):
    """By the name in our spelling, then by the `onnx` field, with the tensors as they are; attributes must not matter."""
    onnx = case.get("onnx") or {}
    camel = "".join(part.capitalize() for part in name.split("_"))
    for op in (camel, onnx.get("op")):
        if not op or case["attrs"]:
            continue
        operands = list((onnx.get("inputs") or {}).values()) or f.names(case)
        return Op(op, [o for o in operands if f.has(case, o)], guess=True)
    return None


def translate(case):
    """(the case with its inputs named as the Op does, Op), or None."""
    case = alone(case)
    if case is None or not case.get("outputs") or not case["inputs"]:
        return None
    name = base_name(case["op"])
    full = case["op"].removeprefix("aten.")
    try:
        op = by_table(case, full) if full in ROWS else by_table(case, name)
    except (KeyError, StopIteration, IndexError, TypeError, ValueError):
        op = None  # attributes of another form than this overload has
    op = op or guessed(case, name)
    return (case, op) if op and op.fits(f.names(case)) else None
