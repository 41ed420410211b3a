"""DTensor's operators of indexing and of shapes as questions to our ops: functions of a case, for ops_dtensor.py."""
import math
import re

from ask import ints
from dtensor_forms import dtype, first, has, names, number, shape
from ops import Op, Shown, moved_first, moved_last, with_one


def gather_rows(data, indices):
    def make(c):
        index = shape(c, indices)
        shown = {indices: Shown([1], [None])} if not index else {}
        dims = {0: list(range(len(c["outputs"][0])))} if shown else {}
        return Op("Gather", [data, indices], {"axis": c["attrs"].get("dim", 0)}, shown=shown, shown_outs=dims)
    return make


def select(c):
    return Op("Gather", ["self", number(c["attrs"]["index"], "i64")], {"axis": c["attrs"].get("dim", 0)})


def scatter(c):
    kinds = {"amax": "max", "amin": "min", "sum": "add", "prod": "mul", "add": "add", "multiply": "mul"}
    a = c["attrs"]
    if "add" in c["op"].split(".")[1]:
        how = "add"
    elif "reduce" in a:
        how = kinds.get(a["reduce"])
    else:
        how = "none"
    if how is None or a.get("include_self") is False:
        return None
    if not has(c, "src"):
        if how != "none":
            return None
        moved = {n: moved_last(shape(c, n), [a.get("dim", 0)]) for n in ("self", "index")}
        return Op("other::ScatterValue", ["self", "index"], shown=moved, shown_outs={0: moved["self"].dims})
    if shape(c, "src") != shape(c, "index"):
        return None  # the part of src that the index covers
    return Op("ScatterElements", ["self", "index", "src"], {"axis": a.get("dim", 0), "reduction": how})


def index_update(c):
    """index_copy, index_add, index_reduce: slices written along one dimension."""
    a = c["attrs"]
    name = c["op"].split(".")[1]
    kinds = {"amax": "max", "amin": "min", "prod": "mul"}
    how = "none" if "copy" in name else "add" if "add" in name else kinds.get(a.get("reduce"))
    if how is None or a.get("include_self") is False:
        return None
    data, source = (moved_first(shape(c, n), a.get("dim", 0)) for n in ("self", "source"))
    index = Shown([*shape(c, "index"), 1], [0, None])
    return Op("ScatterND", ["self", "index", "source"], {"reduction": how}, shown={"self": data, "source": source, "index": index},
              shown_outs={0: data.dims})


def index_tensor(c):
    listed = [n for n in names(c) if re.fullmatch(r"indices\[\d+\]", n)]
    at = [int(n[8:-1]) for n in listed]
    if any(dtype(c, n) == "bool" for n in listed):
        return None
    if len(listed) == 1:
        return Op("Gather", ["self", listed[0]], {"axis": at[0]})
    return Op("other::Index2", ["self", *listed]) if at == [0, 1] else None


def embedding_gradient(c):
    op = "other::EmbeddingGradientWhole" if c["attrs"].get("scale_grad_by_freq") else "other::EmbeddingGradient"
    return Op(op, ["grad_output", "indices"], {"rows": c["outputs"][0][0]})


def slice_(c):
    a = c["attrs"]
    return Op("Slice", ["self", ints([a.get("start") or 0]), ints([a.get("end") if a.get("end") is not None else 2**31]),
                        ints([a.get("dim", 0)]), ints([a.get("step") or 1])])


def narrow(c):
    a = c["attrs"]
    return Op("Slice", ["self", ints([a["start"]]), ints([a["start"] + a["length"]]), ints([a["dim"]])])


def flip(c):
    dims = c["attrs"].get("dims", list(range(len(shape(c, "self")))))
    dims = {"fliplr": [1], "flipud": [0]}.get(c["op"].split(".")[1], dims)
    return Op("Slice", ["self", ints([-1] * len(dims)), ints([-2**31] * len(dims)), ints(dims), ints([-1] * len(dims))])


def roll(c):
    dims = c["attrs"].get("dims") or list(range(len(shape(c, "self"))))
    return Op("other::Roll", ["self"], {"axis": dims})


def split(c):
    a, rank = c["attrs"], len(shape(c, "self"))
    axis = a.get("dim", 0) % rank
    return Op("Split", ["self", ints([o[axis] for o in c["outputs"]])], {"axis": axis}, range(len(c["outputs"])))


def unbind(c):
    rank, count = len(shape(c, "self")), len(c["outputs"])
    axis = c["attrs"].get("dim", 0) % rank
    dims = list(range(rank - 1))
    dims.insert(axis, None)
    return Op("Split", ["self", ints([1] * count)], {"axis": axis}, range(count), shown_outs={r: dims for r in range(count)})


def cat(c):
    axes = {"hstack": 0 if len(c["outputs"][0]) == 1 else 1, "vstack": 0, "dstack": 2, "column_stack": 1, "row_stack": 0}
    axis = axes.get(c["op"].split(".")[1], c["attrs"].get("dim", 0))
    if len(shape(c, first(c))) != len(c["outputs"][0]):
        return None
    return Op("Concat", names(c), {"axis": axis})


def stack(c):
    axis = c["attrs"].get("dim", 0) % len(c["outputs"][0])
    return Op("Concat", names(c), {"axis": axis}, shown={n: with_one(shape(c, n), axis) for n in names(c)})


def part_of(op, part):
    """slice_scatter and its like: a part of one dimension replaced."""
    def make(c):
        a = c["attrs"]
        axis = a.get("dim", 0) % len(shape(c, "self"))
        if shape(c, part) == shape(c, "self"):
            return Op("Identity", [part])
        shown = {"self": moved_last(shape(c, "self"), [axis])}
        if len(shape(c, part)) == len(shape(c, "self")):
            shown[part] = moved_last(shape(c, part), [axis])
        return Op(op, ["self", part], shown=shown, shown_outs={0: shown["self"].dims})
    return make


def part_gradient(c):
    """slice_backward, select_backward: zeros around the gradient."""
    size, axis = c["attrs"]["input_sizes"], c["attrs"]["dim"] % len(c["attrs"]["input_sizes"])
    name = first(c)
    out = [d for d in range(len(size)) if d != axis] + [axis]
    if len(shape(c, name)) == len(size):
        return Op("other::Cut", [name], {"size": size[axis]}, shown={name: moved_last(shape(c, name), [axis])}, shown_outs={0: out})
    return Op("other::PutOne", [name], {"size": size[axis]}, shown_outs={0: out})


def diagonal(c):
    a = c["attrs"]
    moved = moved_last(shape(c, "self"), [a.get("dim1", 0), a.get("dim2", 1)])
    return Op("other::Diagonal", ["self"], {"size": c["outputs"][0][-1]}, shown={"self": moved})


def diag(c):
    if len(shape(c, "self")) == 1:
        return Op("other::DiagonalMatrix", ["self"], {"size": c["outputs"][0][0]})
    return diagonal(c)


def repeat(c):
    a = c["attrs"]
    if not isinstance(a.get("repeats"), int):
        return None
    if a.get("dim") is None:
        return None
    moved = moved_last(shape(c, "self"), [a["dim"]])
    return Op("other::Repeat", ["self"], {"times": a["repeats"]}, shown={"self": moved}, shown_outs={0: moved.dims})


def tile(c):
    counts = c["attrs"].get("dims", c["attrs"].get("repeats"))
    rank = len(shape(c, "self"))
    counts = [1] * (rank - len(counts)) + list(counts)
    extra = len(counts) - rank
    shown = {"self": Shown([1] * extra + shape(c, "self"), [None] * extra + list(range(rank)))} if extra else {}
    return Op("Tile", ["self", ints(counts)], shown=shown)


def reshape(c):
    return Op("Reshape", ["self", ints(c["outputs"][0])])


def squeeze(c):
    s, dims = shape(c, "self"), c["attrs"].get("dim")
    dims = [dims] if isinstance(dims, int) else dims
    dims = [i for i, n in enumerate(s) if n == 1] if dims is None else [d for d in dims if s[d] == 1]
    return Op("Squeeze", ["self", ints(dims)]) if dims else Op("Identity", ["self"])


def transpose(c):
    a, perm = c["attrs"], list(range(len(shape(c, "self"))))
    if len(perm) < 2:
        return Op("Identity", ["self"])
    i, j = a.get("dim0", a.get("axis0", -2)), a.get("dim1", a.get("axis1", -1))
    perm[i], perm[j] = perm[j], perm[i]
    return Op("Transpose", ["self"], {"perm": perm})


def movedim(c):
    rank = len(shape(c, "self"))
    as_list = [[v] if isinstance(v, int) else v for v in (c["attrs"]["source"], c["attrs"]["destination"])]
    source, target = ([d % rank for d in v] for v in as_list)
    rest = iter(d for d in range(rank) if d not in source)
    perm = [source[target.index(d)] if d in target else next(rest) for d in range(rank)]
    return Op("Transpose", ["self"], {"perm": perm})


def trilu(upper):
    return lambda c: Op("Trilu", ["self", number(c["attrs"].get("diagonal", 0) or 0, "i64")], {"upper": upper})


def unfold(c):
    a = c["attrs"]
    return Op("other::Unfold", ["self"], {"window": math.prod(a["kernel_size"]), "places": c["outputs"][0][-1]})


def made(c):
    """A tensor of a stated shape, of which the operand only gives the type."""
    return Op("ConstantOfShape", [ints(c["outputs"][0])])


def frames(c):
    """unfold(dimension, size, step): windows in a new last dimension."""
    a, rank = c["attrs"], len(shape(c, "self"))
    axis = a["dimension"] % rank
    out = c["outputs"][0]
    return Op("other::Frames", ["self"], {"places": out[axis], "size": out[-1]}, shown={"self": moved_last(shape(c, "self"), [axis])},
              shown_outs={0: [d for d in range(rank) if d != axis] + [axis, rank]})


def columns_to_image(c):
    a = c["attrs"]
    return Op("Col2Im", ["self", ints(a["output_size"]), ints(a["kernel_size"])],
              {"dilations": a["dilation"], "pads": a["padding"] * 2, "strides": a["stride"]})


def index_fill(c):
    value = c["attrs"].get("value")
    if value is None:
        return None
    moved = moved_last(shape(c, "self"), [c["attrs"].get("dim", 0)])
    return Op("other::FillSome" if value else "other::ZeroSome", ["self", "index"], shown={"self": moved}, shown_outs={0: moved.dims})


def upsample_gradient(c):
    return Op("other::Resample", ["grad_output"], {"size": c["outputs"][0][2:]})


def copied(c):
    """The source in the shape of a tensor that is not read."""
    return Op("Identity", ["src"]) if shape(c, "src") == c["outputs"][0] else Op("Expand", ["src", ints(c["outputs"][0])])
