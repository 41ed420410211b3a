"""How DTensor's operators become questions to our ops: functions of a case, for the table in ops_dtensor.py."""
import math

from ask import ints, operand
from ops import BINARY, Op, moved_last, with_one

DTYPES = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "float16": "f16", "int64": "i64", "int32": "i32", "int16": "i16",
          "int8": "i8", "uint8": "u8", "bool": "bool", "complex64": "c64", "complex128": "c128"}


def names(case):
    return [i["name"] for i in case["inputs"]]


def find(case, name):
    return next(i for i in case["inputs"] if i["name"] == name)


def shape(case, name):
    return find(case, name)["shape"]


def dtype(case, name):
    return DTYPES[find(case, name)["dtype"]]


def has(case, name):
    return name in names(case)


def first(case):
    return names(case)[0]


def number(value, type_):
    return operand([], type_, [value])


def axes_of(case, name="self", key="dim"):
    """The axes of a reduction, in order; all where none are given."""
    dims, rank = case["attrs"].get(key), len(shape(case, name))
    dims = [dims] if isinstance(dims, int) else dims
    return sorted(d % rank for d in dims) if dims and rank else list(range(rank))


def same(op, outs=(0,), **attributes):
    """All tensors as they come."""
    return lambda c: Op(op, names(c), attributes, outs)


# Element by element ----------------------------------------------------------------------------------------------------

LOGIC_ON_BOOL = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor", "mul": "And", "maximum": "Or", "minimum": "And",
                 "add": "Or", "ne": "Xor", "not_equal": "Xor"}


def two(name):
    """Two tensors, or a tensor and a number among the attributes, in either order."""
    def make(c):
        a = c["attrs"]
        op = BINARY[name]
        if op in ("And", "Or", "Xor") and any(i["dtype"] != "bool" for i in c["inputs"]):
            op = "other::Test"
        if all(i["dtype"] == "bool" for i in c["inputs"]) and len(c["inputs"]) == 2:
            op = LOGIC_ON_BOOL.get(name, op)
        if len(c["inputs"]) == 2:
            return Op(op, names(c))
        type_ = dtype(c, first(c))
        after = next((a[k] for k in ("other", "scalar", "exponent") if isinstance(a.get(k), (int, float))), None)
        if after is not None:
            return Op(op, [first(c), number(after, type_)])
        before = next((a[k] for k in ("self", "x") if isinstance(a.get(k), (int, float))), None)
        return Op(op, [number(before, type_), first(c)]) if before is not None else None
    return make


def add(name):
    """x + alpha y: a negative alpha turns the order over, 0 leaves x."""
    def make(c):
        alpha = c["attrs"].get("alpha", 1)
        if alpha == 0 and len(c["inputs"]) == 2:
            return unread(c)
        turned = {"add": "sub", "sub": "add"}[name] if alpha < 0 else name
        return two(turned)(c)
    return make


def unread(c):
    """The first tensor; the other is not read."""
    return Op("Identity", ["self"]) if shape(c, "self") == c["outputs"][0] else Op("other::FirstLike", names(c))


def divide(c):
    mode = c["attrs"].get("rounding_mode")
    if not mode:
        op = two("div")(c)
        op.dtypes = {n: "f32" for n in names(c) if dtype(c, n)[0] in "iub"}  # integers are divided as real numbers
        return op
    other = c["attrs"].get("other")
    if other is None:
        return Op("other::Map", names(c))
    return Op("other::Rising" if other > 0 else "other::Falling", [first(c)])


def masked_fill(c):
    value = "value" if has(c, "value") else number(c["attrs"].get("value", 0) or 0, dtype(c, "self"))
    return Op("Where", ["mask", value, "self"])


def clamp(c):
    a = c["attrs"]
    bounds = [k if has(c, k) else number(a[k], dtype(c, "self")) if a.get(k) is not None else None for k in ("min", "max")]
    return Op("Clip", ["self", *bounds])


def add_product(op):
    return lambda c: Op(op, ["self", "tensor1", "tensor2"])


def lerp(c):
    if has(c, "weight"):
        return Op("other::Lerp", ["self", "end", "weight"])
    return Op("other::Blend", names(c)[:2]) if 0 <= c["attrs"]["weight"] <= 1 else None


def where(c):
    """Either branch may be a number among the attributes."""
    kind = next((dtype(c, n) for n in ("self", "other") if has(c, n)), "f32")
    branches = [n if has(c, n) else number(c["attrs"][n], kind) for n in ("self", "other")]
    return Op("Where", ["condition", *branches])


RISING_GRADIENTS = {"elu", "log_sigmoid", "threshold", "hardtanh", "leaky_relu", "relu", "hardsigmoid", "softplus", "softshrink", "hardshrink",
                    "rrelu_with_noise", "relu6"}


def gradient(name):
    def make(c):
        gradient_name = next((n for n in names(c) if n.startswith("grad")), None)
        if gradient_name is None:
            return None
        rising = name in RISING_GRADIENTS and c["attrs"].get("negative_slope", 0) >= 0 and not c["attrs"].get("is_result")
        rest = [n for n in names(c) if n != gradient_name and math.prod(shape(c, n))]
        return Op("other::GradientOfRising" if rising else "other::Gradient", [gradient_name, *rest])
    return make


def fill(c):
    if has(c, "value"):
        return Op("Expand", ["value", ints(c["outputs"][0])])
    return Op("other::Constant", ["self"])


# Reductions ------------------------------------------------------------------------------------------------------------


def kept(case, name, axes):
    """For each dimension of a result that drops `axes`: the case's dimension, with or without keepdim."""
    rank = len(shape(case, name))
    left = [d for d in range(rank) if d not in axes]
    return left if case["attrs"].get("keepdim") else list(range(len(left)))


def reduce(op, key="dim", results=1):
    def make(c):
        name = first(c)
        rank = len(shape(c, name))
        dtypes = {name: "i64"} if op == "ReduceSum" and dtype(c, name) == "bool" else {}
        keep = int(bool(c["attrs"].get("keepdim", c["attrs"].get("keep_dim"))))
        return Op(op, [name, ints(axes_of(c, name, key))] if rank else [name], {"keepdims": keep}, [0] * results, dtypes)
    return make


def any_all(on_bool, on_numbers):
    return lambda c: reduce(on_bool if dtype(c, first(c)) == "bool" else on_numbers)(c)


def norm_of(c):
    kind = c["attrs"].get("ord", c["attrs"].get("p", c["attrs"].get("scalar", 2)))
    kind = float(kind) if kind is not None else 2.0
    op = {2: "ReduceL2", 1: "ReduceL1", math.inf: "other::MaxNorm", -math.inf: "other::MinNorm", 0: "other::Count"}
    return reduce(op.get(kind, "other::Variance"))(c)


def arg(op):
    def make(c):
        if c["attrs"].get("dim") is None:
            return Op("other::ArgAll", ["self"])
        return Op(op, ["self"], {"axis": c["attrs"]["dim"], "keepdims": int(bool(c["attrs"].get("keepdim")))})
    return make


def extreme(op):
    """max, min: of all elements, of two tensors, or along an axis with indices."""
    def make(c):
        if has(c, "other"):
            return Op({"ReduceMax": "Max", "ReduceMin": "Min"}[op], names(c))
        return pick(c) if "dim" in c["attrs"] else reduce(op)(c)
    return make


def pick(c):
    """One element along an axis, and its place."""
    if len(c["outputs"]) == 1:
        return Op("other::Whole", [first(c)])
    axis = c["attrs"].get("dim", -1)
    name = first(c)
    if not shape(c, name):
        return Op("other::Map", [name], outs=[0, 0])
    axis %= len(shape(c, name))
    dims = kept(c, name, [axis])
    return Op("other::PickOne", [name], outs=[0, 1], shown={name: moved_last(shape(c, name), [axis])}, shown_outs={0: dims, 1: dims})


def along(op, outs=None, axis_key="dim", default=-1):
    """An op on the last dimension, shown all tensors and results with the axis moved there."""
    def make(c):
        axis = c["attrs"].get(axis_key, default)
        axis = default if axis is None else axis
        shown = {n: moved_last(shape(c, n), [axis]) for n in names(c)}
        dims = shown[first(c)].dims
        used = list(range(len(c["outputs"]))) if outs is None else outs
        return Op(op, names(c), outs=used, shown=shown, shown_outs={r: dims for r in used})
    return make


def extremes(c):
    name = first(c)
    axis = c["attrs"].get("dim")
    if axis is None:
        return Op("other::ExtremesOfAll", [name], outs=[0, 1])
    axis %= len(shape(c, name))
    dims = kept(c, name, [axis])
    return Op("other::Extremes", [name], outs=[0, 1], shown={name: moved_last(shape(c, name), [axis])}, shown_outs={0: dims, 1: dims})





def axis_of(op, default=0):
    return lambda c: Op(op, [first(c)], {"axis": c["attrs"].get("dim", default)})


def scan(op):
    return lambda c: Op(op, ["self", number(c["attrs"].get("dim", 0), "i64")])


# Networks --------------------------------------------------------------------------------------------------------------


def attention(c):
    inputs = ["query", "key", "value"] + (["attn_bias"] if has(c, "attn_bias") else []) + (["attn_mask"] if has(c, "attn_mask") else [])
    return Op("Attention", inputs, {"is_causal": int(bool(c["attrs"].get("is_causal")))}, [0] + [None] * (len(c["outputs"]) - 1))


def spatial(values, count):
    return list(values) * count if len(values) == 1 else list(values)


def conv(c):
    a = c["attrs"]
    count = len(shape(c, "input")) - 2
    if isinstance(a.get("padding"), str):
        return None
    pads = spatial(a.get("padding", [0]), count)
    attributes = {"strides": spatial(a.get("stride", [1]), count), "pads": pads * 2,
                  "dilations": spatial(a.get("dilation", [1]), count), "group": a.get("groups", 1)}
    if a.get("transposed") or "transpose" in c["op"]:
        attributes["output_padding"] = spatial(a.get("output_padding", [0]), count)
        return Op("ConvTranspose", names(c), attributes)
    return Op("Conv", names(c), attributes)


def conv_gradient(c):
    a = c["attrs"]
    if a.get("transposed") or a.get("groups", 1) != 1 or len(shape(c, "input")) > 4:
        return None
    return Op("other::ConvGradient", ["grad_output", "input", "weight"], outs=list(range(len(c["outputs"]))))


def pool(op):
    def make(c):
        a = c["attrs"]
        count = len(a["kernel_size"])
        lone = len(shape(c, "self")) == count + 1  # without a batch
        shown = {"self": with_one(shape(c, "self"), 0)} if lone else {}
        results = [0, 1][:len(c["outputs"])]
        attributes = {"kernel_shape": a["kernel_size"], "strides": spatial(a.get("stride") or a["kernel_size"], count),
                      "pads": spatial(a.get("padding", [0]), count) * 2, "ceil_mode": int(bool(a.get("ceil_mode")))}
        if op == "AveragePool":
            attributes["count_include_pad"] = int(bool(a.get("count_include_pad", True)))
        if a.get("dilation"):
            attributes["dilations"] = spatial(a["dilation"], count)
        return Op(op, ["self"], attributes, results, shown=shown,
                  shown_outs={r: shown["self"].dims for r in results} if lone else {})
    return make


def adaptive(op):
    def make(c):
        size = c["attrs"]["output_size"]
        if len(shape(c, "self")) != len(size) + 2:
            return None
        if op == "other::Resample" and set(size) == {1}:
            return Op("GlobalAveragePool", ["self"])
        return Op(op, ["self"], {"size": c["outputs"][0][2:]}, list(range(len(c["outputs"]))))
    return make


def window_gradient(c):
    rest = [n for n in ("self", "input") if has(c, n)]
    places = [n for n in ("indices",) if has(c, n)]
    if not rest:
        return None
    return Op("other::PlacedWindowGradient" if places else "other::WindowGradient", ["grad_output", *rest, *places])


def upsample(mode):
    return lambda c: Op("Resize", ["self", None, None, ints(c["outputs"][0])], {"mode": mode})


def layer_norm(op):
    def make(c):
        axis = -len(c["attrs"]["normalized_shape"])
        operands = ["input", "weight" if has(c, "weight") else operand(c["attrs"]["normalized_shape"])]
        operands += ["bias"] if has(c, "bias") else []
        return Op(op, operands, {"axis": axis}, list(range(len(c["outputs"]))) if op == "LayerNormalization" else [0])
    return make


def norm_gradient(op):
    def make(c):
        dims = len(c["attrs"]["normalized_shape"])
        order = ["grad_out", "input", "mean", "rstd", "weight", "bias"] if op.endswith("LayerNormGradient") else [
            "grad_out", "input", "rstd", "weight"]
        if dims > 2:
            return None
        return Op(op, [n if has(c, n) else None for n in order], {"dims": dims}, list(range(len(c["outputs"]))))
    return make


def group_norm(c):
    groups = c["attrs"].get("group", c["attrs"].get("num_groups"))
    return Op("other::GroupNorm", ["input", *("weight" if has(c, "weight") else None, "bias" if has(c, "bias") else None)],
              {"groups": groups}, list(range(len(c["outputs"]))))


def batch_norm(c):
    if c["attrs"].get("training"):
        return None
    return Op("BatchNormalization", ["input", "weight", "bias", "running_mean", "running_var"], outs=[0] + [None] * (len(c["outputs"]) - 1))


REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def reduction(c):
    value = c["attrs"].get("reduction", 1)
    return REDUCTIONS.get(value, "mean")


def pair_loss(c):
    weights = [n for n in names(c) if n not in ("self", "input", "target")]
    operands = [n for n in names(c) if n not in weights]
    if len(weights) == 1 and weights[0] == "weight":
        return Op("other::PairLossLinear", [*operands, "weight"], {"reduction": reduction(c)})
    return Op("other::PairLoss", operands + weights, {"reduction": reduction(c)})


def class_loss(op):
    def make(c):
        attributes = {"reduction": reduction(c)}
        if not has(c, "target") or c["inputs"][1]["dtype"].startswith("float"):
            return None
        ignored = c["attrs"].get("ignore_index", -100)
        if ignored is not None and ignored >= 0:
            attributes["ignore_index"] = ignored
        return Op(op, ["self", "target"] + (["weight"] if has(c, "weight") else []), attributes, [0] + [None] * (len(c["outputs"]) - 1))
    return make


def nll_gradient(c):
    if len(shape(c, "self")) != 2:
        return None
    weight = "weight" if has(c, "weight") else None
    if shape(c, "grad_output"):
        return Op("other::ClassGradient", ["grad_output", "target", "self", weight])
    return Op("other::ClassGradientMean", ["grad_output", "target", "self", weight, "total_weight" if has(c, "total_weight") else None])


def matmul_like(a, b):
    return lambda c: Op("MatMul", [a, b])


def linear(c):
    if len(shape(c, "input")) == 2:
        return Op("Gemm", names(c), {"transB": 1})
    return Op("other::Linear3", names(c))


def addmm(c):
    return Op("Gemm", ["mat1", "mat2", "self"], {"alpha": float(c["attrs"].get("alpha", 1)), "beta": float(c["attrs"].get("beta", 1))})


def plus(op, *rest):
    def make(c):
        if min(c["attrs"].get("alpha", 1), c["attrs"].get("beta", 1)) <= 0:
            return None
        return Op(op, ["self", *rest])
    return make


def einsum(c):
    return Op("Einsum", names(c), {"equation": c["attrs"]["equation"].replace(" ", "")})


def fourier(c):
    dims = [d % len(shape(c, "self")) for d in c["attrs"]["dim"]]
    if "c2c" in c["op"] or c["outputs"][0] == shape(c, "self"):
        return Op("other::TransformAll", ["self"], {"axis": dims})
    if len(dims) != 1:
        return None
    moved = moved_last(shape(c, "self"), dims)
    return Op("other::Transform", ["self"], {"size": c["outputs"][0][dims[0]]}, shown={"self": moved}, shown_outs={0: moved.dims})
