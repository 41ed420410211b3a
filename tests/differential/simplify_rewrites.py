#!/usr/bin/env python3
"""Every rewrite that reading a model makes (src/simplify), by execution: the ops that are left are those expected, and the
sharded plan of the rewritten graph computes what the graph computes as it is written.

  simplify_rewrites.py PROGRAM
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile


class Builder:
    """A graph as JSON, op by op; the names of tensors are those of ops."""

    def __init__(self):
        self.inputs, self.parameters, self.ops, self.producer = [], [], [], None

    def input(self, name, kind):
        self.inputs.append({"name": name, "type": kind})
        return name

    def weight(self, name, kind):
        self.parameters.append({"name": name, "type": kind})
        return name

    def ints(self, *values):
        name = f"ints{len(self.parameters)}"
        self.parameters.append({"name": name, "type": f"i64[{len(values)}]", "literal": {"ints": list(values)}})
        return name

    def scalar(self, value):
        name = f"scalar{len(self.parameters)}"
        self.parameters.append({"name": name, "type": "i64[]", "literal": {"ints": [value]}})
        return name

    def float(self, value):
        name = f"float{len(self.parameters)}"
        self.parameters.append({"name": name, "type": "f32[]", "literal": {"floats": [value]}})
        return name

    def op(self, kind, *inputs, outputs=None, name=None, **attributes):
        name = name or f"{kind.split('::')[-1].lower()}{len(self.ops)}"
        outputs = outputs or [name]
        self.ops.append({"name": name, "type": kind, "inputs": list(inputs), "outputs": outputs, "attributes": attributes})
        return outputs[0] if len(outputs) == 1 else outputs

    def reshape(self, x, *shape):
        return self.op("Reshape", x, self.ints(*shape))

    def transpose(self, x, *perm):
        return self.op("Transpose", x, perm=list(perm))

    def slice(self, x, start, end, axis):
        return self.op("Slice", x, self.ints(start), self.ints(end), self.ints(axis))

    def graph(self, *outputs):
        metadata = [{"name": "producer_name", "value": self.producer}] if self.producer else []
        return {"kind": "sbp_plan.graph.v1", "metadata": metadata, "inputs": self.inputs, "parameters": self.parameters, "ops": self.ops,
                "outputs": list(outputs)}


def keys_transposed(b):
    """As exporters write the transposition of keys."""
    x = b.input("x", "f32[2,4,6,8]")
    x = b.reshape(x, -1, 6, 8)
    x = b.transpose(x, 0, 2, 1)
    return [b.reshape(x, 2, 4, 8, 6)], ["Transpose"]


def back_and_forth(b):
    x = b.op("Relu", b.input("x", "f32[2,4,6]"))
    y = b.transpose(b.transpose(x, 2, 0, 1), 1, 2, 0)
    return [b.op("Exp", y)], ["Exp", "Relu"]


def repeated_heads(b):
    """Key heads repeated for the query heads of their group, then transposed."""
    x = b.input("x", "f32[2,2,6,4]")
    x = b.op("Unsqueeze", x, b.ints(2))
    x = b.op("Expand", x, b.ints(2, 2, 3, 6, 4))
    x = b.reshape(x, 2, 6, 6, 4)
    x = b.reshape(x, 12, 6, 4)
    x = b.transpose(x, 0, 2, 1)
    return [b.reshape(x, 2, 6, 4, 6)], ["Expand", "Reshape", "Transpose", "Unsqueeze"]


def output_on_the_way(b):
    """A tensor that is an output stays, whoever else is joined past it."""
    x = b.input("x", "f32[4,6]")
    y = b.transpose(x, 1, 0)
    return [y, b.op("Relu", b.transpose(y, 1, 0))], ["Relu", "Transpose"]


def does_not_nest(b):
    """6 x 4 as 4 x 6 and transposed is no view: nothing may change."""
    x = b.reshape(b.transpose(b.input("x", "f32[6,4]"), 1, 0), 6, 4)
    return [b.transpose(x, 1, 0)], ["Reshape", "Transpose", "Transpose"]


def fused_qkv_split(b):
    x = b.input("x", "f32[3,4,8]")
    y = b.op("MatMul", x, b.weight("w", "f32[8,24]"), name="qkv")
    y = b.op("Add", y, b.weight("bias", "f32[24]"))
    q, k, v = b.op("Split", y, outputs=["q", "k", "v"], axis=2, num_outputs=3)
    return [b.op("Relu", q), b.op("Exp", k), v], ["Add"] * 3 + ["Exp"] + ["MatMul"] * 3 + ["Relu"]


def places(b, shape, strides, offset=0):
    """The index of an as_strided, as exporters write it: a constant."""
    values = [offset]
    for size, stride in zip(shape, strides):
        values = [value + i * stride for value in values for i in range(size)]
    name = f"places{len(b.parameters)}"
    kind = f"i64[{','.join(map(str, shape))}]"
    b.parameters.append({"name": name, "type": kind, "literal": {"ints": values}})
    return name


def fused_qkv_as_strided(b):
    """What torch traces a split of a fused projection to: windows of the flat tensor."""
    y = b.op("MatMul", b.input("x", "f32[3,4,8]"), b.weight("w", "f32[8,24]"), name="qkv")
    y = b.op("Add", y, b.weight("bias", "f32[24]"))
    flat = b.reshape(y, -1)
    q, k, v = (b.op("Gather", flat, places(b, (3, 4, 8), (96, 24, 1), start), axis=0) for start in (0, 8, 16))
    return [b.op("Relu", q), b.op("Exp", k), v], ["Add"] * 3 + ["Exp"] + ["MatMul"] * 3 + ["Relu"]


def large_as_strided(b):
    """An index of more elements than are kept: the sum of its rows and its columns."""
    flat = b.reshape(b.op("Relu", b.input("x", "f32[64,288]")), -1)
    index = b.op("Add", places(b, (64, 1), (288, 1), 96), places(b, (1, 96), (1, 1)))
    return [b.op("Gather", flat, index, axis=0)], ["Relu", "Slice"]


def index_of_steps(b):
    """The same, from Range, Mul and Unsqueeze."""
    flat = b.reshape(b.op("Relu", b.input("x", "f32[90,100]")), -1)
    rows = b.op("Range", b.scalar(0), b.scalar(90), b.scalar(1))
    rows = b.op("Unsqueeze", b.op("Mul", rows, b.scalar(100)), b.ints(1))
    index = b.op("Sub", b.op("Add", rows, places(b, (50,), (1,), 40)), b.scalar(10))
    return [b.op("Gather", flat, index, axis=0)], ["Relu", "Slice"]


def as_strided_transposes(b):
    flat = b.reshape(b.op("Relu", b.input("x", "f32[4,6]")), -1)
    return [b.op("Gather", flat, places(b, (6, 4), (1, 6)), axis=0)], ["Relu", "Transpose"]


def as_strided_repeats(b):
    flat = b.reshape(b.op("Relu", b.input("x", "f32[4,6]")), -1)
    y = b.op("Gather", flat, places(b, (4, 3, 6), (6, 0, 1)), axis=0)
    return [b.op("Exp", y)], ["Exp", "Expand", "Relu", "Reshape"]


def windows_overlap(b):
    """No view: the Gather stays."""
    flat = b.reshape(b.op("Relu", b.input("x", "f32[4,6]")), -1)
    return [b.op("Gather", flat, places(b, (8, 3), (2, 1)), axis=0)], ["Gather", "Relu", "Reshape"]


def places_on_no_grid(b):
    flat = b.reshape(b.op("Relu", b.input("x", "f32[4,6]")), -1)
    places(b, (2, 3), (6, 1))
    b.parameters[-1]["literal"]["ints"][4] += 1
    return [b.op("Gather", flat, b.parameters[-1]["name"], axis=0)], ["Gather", "Relu", "Reshape"]


def fused_qkv_of_groups(b):
    """Query heads outnumber key heads; one row of tokens, as Gemm wants it."""
    x = b.reshape(b.input("x", "f32[3,4,8]"), 12, 8)
    y = b.op("Gemm", x, b.weight("w", "f32[16,8]"), b.weight("bias", "f32[16]"), transB=1)
    y = b.reshape(y, 3, 4, 16)
    parts = [b.op("Relu", b.slice(y, a, z, 2)) for a, z in ((0, 8), (8, 12), (12, 16))]
    return parts, ["Gemm"] * 3 + ["Relu"] * 3 + ["Reshape"] * 4


def fused_by_gather(b):
    """torchvision's: to (3, ...), then one of the three."""
    x = b.input("x", "f32[5,2,8]")
    y = b.op("Add", b.op("MatMul", x, b.weight("w", "f32[8,24]")), b.weight("bias", "f32[24]"))
    y = b.op("Unsqueeze", b.reshape(y, 5, 2, 3, 8), b.ints(0))
    y = b.op("Squeeze", b.transpose(y, 3, 1, 2, 0, 4), b.ints(-2))
    parts = [b.op("Relu", b.op("Gather", y, b.scalar(i), axis=0)) for i in (0, 1, -1)]
    return parts, ["Add"] * 3 + ["MatMul"] * 3 + ["Relu"] * 3


def fused_transposed_weight(b):
    w = b.transpose(b.weight("w", "f32[12,8]"), 1, 0)
    gate, up = b.op("Split", b.op("MatMul", b.input("x", "f32[4,8]"), w), outputs=["gate", "up"], axis=-1, num_outputs=2)
    return [b.op("Mul", b.op("Sigmoid", gate), up)], ["MatMul"] * 2 + ["Mul", "Sigmoid"] + ["Transpose"] * 2


def fused_and_read_whole(b):
    """The whole result has another reader: it stays in one piece."""
    y = b.op("MatMul", b.input("x", "f32[4,8]"), b.weight("w", "f32[8,12]"))
    return [b.slice(y, 0, 6, 1), b.slice(y, 6, 12, 1), b.op("Relu", y)], ["MatMul", "Relu", "Slice", "Slice"]


def packed_heads(b, bias=True):
    """onnxruntime's attention with query, key and value in one tensor: 4 query heads, 2 of keys, 3 new positions each."""
    y = b.op("MatMul", b.input("x", "f32[2,3,6]"), b.weight("w", "f32[6,64]"), name="qkv")
    if bias:
        y = b.op("Add", y, b.weight("bias", "f32[64]"))
    lengths = b.op("Cast", b.op("Sub", b.op("Add", b.ints(4, 4), b.scalar(0)), b.scalar(2)), to="i32")
    total = b.op("Cast", b.op("Add", b.scalar(3), b.scalar(0)), to="i32")
    turn = [b.weight("cos", "f32[8,4]"), b.weight("sin", "f32[8,4]")]
    return y, b.op("com.microsoft::GroupQueryAttention", y, "", "", "", "", lengths, total, *turn,
                   outputs=["out", "keys", "values"], num_heads=4, kv_num_heads=2, do_rotary=1)


def packed_heads_unpacked(bias):
    def case(b):
        _, outputs = packed_heads(b, bias)
        return list(outputs), {"MatMul": 3, "Add": 3 if bias else 0, "Slice": 0, "com.microsoft::GroupQueryAttention": 1}
    return case


def packed_heads_read_elsewhere(b):
    y, outputs = packed_heads(b)
    return [*outputs, b.op("Relu", y)], {"MatMul": 1, "Slice": 0}


def rows_in_order(product):
    """The projection of attention that is written with the sequence first, as torch's MultiheadAttention is."""
    def case(b):
        x = b.op("Relu", b.input("x", "f32[4,2,6,3]"))
        x = b.reshape(b.transpose(x, 2, 0, 1, 3), 24, 6)
        if product == "MatMul":
            x = b.op("MatMul", x, b.weight("w", "f32[6,8]"))
        else:
            x = b.op("Gemm", x, b.weight("w", "f32[8,6]"), b.weight("c", "f32[8]"), transB=1)
        x = b.transpose(b.reshape(x, 6, 4, 8), 1, 0, 2)
        return [b.op("Exp", x)], ["Exp", product, "Relu", "Reshape", "Reshape", "Transpose"]
    return case


def rows_left(b):
    """Nobody brings the rows back: another order would cost a move more. The bias is one a row."""
    x = b.reshape(b.transpose(b.input("x", "f32[4,2,6,3]"), 2, 0, 1, 3), 24, 6)
    w = b.weight("w", "f32[6,8]")
    y = b.op("Exp", b.reshape(b.op("MatMul", x, w), 6, 4, 8))
    z = b.reshape(b.transpose(b.input("z", "f32[4,2,6,3]"), 2, 0, 1, 3), 24, 6)
    z = b.op("Gemm", z, b.weight("v", "f32[6,8]"), b.weight("c", "f32[24,1]"))
    z = b.op("Exp", b.transpose(b.reshape(z, 6, 4, 8), 1, 0, 2))
    return [y, z], ["Exp", "Exp", "Gemm", "MatMul", "Reshape", "Reshape", "Reshape", "Reshape", "Transpose", "Transpose",
                    "Transpose"]


def experts(spelling):
    def case(b):
        logits = b.op("MatMul", b.input("x", "f32[6,8]"), b.weight("router", "f32[8,4]"))
        b.op("TopK", logits, b.ints(2), outputs=["best", "index"], axis=-1)
        chosen = b.reshape("index", 12)
        x = b.reshape(b.op("Expand", b.op("Unsqueeze", "x", b.ints(1)), b.ints(6, 2, 8)), 12, 8)
        if spelling == "columns":  # W x
            w = b.op("GatherND", b.weight("w", "f32[4,10,8]"), b.op("Unsqueeze", chosen, b.ints(1)))
            y = b.op("Squeeze", b.op("MatMul", w, b.op("Unsqueeze", x, b.ints(-1))), b.ints(-1))
        elif spelling == "rows":  # x W
            w = b.op("Gather", b.weight("w", "f32[4,8,10]"), chosen, axis=0)
            y = b.op("Squeeze", b.op("MatMul", b.op("Unsqueeze", x, b.ints(1)), w), b.ints(1))
        elif spelling == "transposed":  # x W^T
            w = b.transpose(b.op("Gather", b.weight("w", "f32[4,10,8]"), chosen, axis=0), 0, 2, 1)
            y = b.op("Squeeze", b.op("MatMul", b.op("Unsqueeze", x, b.ints(1)), w), b.ints(1))
        elif spelling == "tokens":  # indices as TopK gives them, and rows that stretch
            w = b.op("Gather", b.weight("w", "f32[4,8,10]"), "index", axis=0)
            y = b.reshape(b.op("MatMul", b.op("Unsqueeze", "x", b.ints(1, 2)), w), 12, 10)
        gate, up = b.op("Split", y, outputs=["gate", "up"], axis=1, num_outputs=2)
        return [b.op("Mul", b.op("Sigmoid", gate), up)], {"sbp::GroupedMatMul": 2, "Gather": 0, "GatherND": 0, "Split": 0}
    return case


def experts_transposed(b):
    """Matrices that are transposed first; where a reader wants them so, they stay, too."""
    x, expert = b.input("x", "f32[6,8]"), b.op("ArgMax", b.op("MatMul", "x", b.weight("router", "f32[8,4]")), axis=-1, keepdims=0)
    y = b.op("sbp::GroupedMatMul", x, b.transpose(b.weight("w", "f32[4,10,8]"), 0, 2, 1), expert)
    back = b.transpose(b.weight("v", "f32[4,10,8]"), 0, 2, 1)
    y = b.op("sbp::GroupedMatMul", y, back, expert, transB=1)
    return [y, b.op("Exp", back)], {"sbp::GroupedMatMul": 2, "Transpose": 1}


def attention(b, mask, heads=2, keys=8, **attributes):
    q, k, v = (b.input(x, f"f32[2,{h},{n},4]") for x, h, n in (("q", heads, 8), ("k", 2, keys), ("v", 2, keys)))
    return b.op("Attention", q, k, v, *mask, **attributes)


def positions(b, length, axes, batch=2):
    """A table of positions, the same for each sequence, as positions of tokens are given."""
    x = b.op("Range", b.scalar(0), b.scalar(length), b.scalar(1))
    x = b.op("Expand", b.op("Unsqueeze", x, b.ints(0)), b.ints(batch, length))
    return b.op("Unsqueeze", x, b.ints(*axes))


MASKS = {  # how keys are hidden: attributes that say the same, or None where none can
    "table": {"is_causal": 1}, "window": {"is_causal": 1, "left_window_size": 2}, "triangle": {"is_causal": 1},
    "additive": {"is_causal": 1}, "packed": {"is_causal": 1}, "band": {"left_window_size": 3, "right_window_size": 1},
    "all": {}, "ahead": {"right_window_size": 2}, "stride": None, "two documents": None, "from data": None,
    "light": None, "empty row": None}


def masked(spelling):
    def case(b):
        q, k = positions(b, 8, (1, 3)), positions(b, 8, (1, 2))
        seen = b.op("LessOrEqual", k, q)
        one = b.scalar(1)
        if spelling == "window":
            seen = b.op("And", seen, b.op("Greater", k, b.op("Sub", q, b.scalar(3))))
        elif spelling == "triangle":
            ones = b.op("ConstantOfShape", b.ints(8, 8))
            seen = b.op("Not", b.op("Cast", b.op("Trilu", b.op("Add", ones, b.float(1)), one, upper=1), to=9))
        elif spelling == "additive":
            seen = b.op("Mul", b.op("Cast", b.op("Not", seen), to=1), b.float(-3.4028234663852886e38))
        elif spelling in ("packed", "two documents"):
            # Tokens of a sequence stand at consecutive positions: where they do not, another one begins.
            table = b.op("Squeeze", q, b.ints(1, 3))
            if spelling == "two documents":
                table = b.op("Where", b.op("Less", table, b.scalar(4)), table, b.op("Sub", table, b.scalar(4)))
            first = b.op("Sub", b.slice(table, 0, 1, 1), one)
            steps = b.op("Sub", table, b.op("Concat", first, b.slice(table, 0, 7, 1), axis=1))
            number = b.op("CumSum", b.op("Cast", b.op("Not", b.op("Equal", steps, one)), to=7), one)
            batch = b.op("Reshape", b.op("Range", b.scalar(0), b.scalar(2), one), b.ints(2, 1, 1, 1, 1))

            def of(positions, shape):
                at = [b.op("Expand", batch, b.ints(*shape, 1)), b.op("Expand", b.op("Unsqueeze", positions, b.ints(-1)),
                                                                    b.ints(*shape, 1))]
                return b.op("GatherND", number, b.op("Concat", *at, axis=-1))
            seen = b.op("And", seen, b.op("Equal", of(q, (2, 1, 8, 1)), of(k, (2, 1, 1, 8))))
        elif spelling == "band":
            ahead = b.op("Sub", k, q)
            seen = b.op("And", b.op("LessOrEqual", ahead, one), b.op("GreaterOrEqual", ahead, b.scalar(-3)))
        elif spelling == "all":
            seen = b.op("GreaterOrEqual", b.op("Add", k, q), b.scalar(0))
        elif spelling == "ahead":
            seen = b.op("Not", b.op("Less", b.op("Add", q, b.scalar(2)), k))
        elif spelling == "stride":
            seen = b.op("LessOrEqual", k, b.op("Mul", q, b.scalar(2)))
        elif spelling == "from data":
            seen = b.op("And", seen, b.input("padding", "bool[2,1,1,8]"))
        elif spelling == "light":
            seen = b.op("Where", seen, b.float(0), b.float(-2))
        elif spelling == "empty row":
            seen = b.op("Less", k, q)
        wanted = MASKS[spelling]
        expected = {"Attention": 1} if wanted is None else ["Attention"]
        return [attention(b, [seen])], expected, None if wanted is None else {"Attention": wanted}
    return case


def past_keys(b):
    """A cache of four keys: queries stand behind them."""
    seen = b.op("LessOrEqual", b.op("Unsqueeze", b.op("Range", b.scalar(0), b.scalar(12), b.scalar(1)), b.ints(0)),
                b.op("Unsqueeze", b.op("Range", b.scalar(4), b.scalar(12), b.scalar(1)), b.ints(1)))
    past = [b.input(x, "f32[2,2,4,4]") for x in ("past_k", "past_v")]
    b.op("Attention", *(b.input(x, "f32[2,2,8,4]") for x in "qkv"), seen, *past, outputs=["y", "keys", "values"])
    return ["y", "keys", "values"], ["Attention"], {"Attention": {"is_causal": 1}}


def spelled(spelling):
    """Attention as products and a softmax: with a mask that is a window it is the operator, else it stays."""
    def case(b):
        q, k, v = (b.input(x, "f32[2,2,8,4]") for x in "qkv")
        turned = b.transpose(k, 0, 1, 3, 2)
        if spelling == "guarded":  # as torch.onnx writes it: a share of the scale on either side
            q, turned = (b.op("Mul", x, b.float(0.5)) for x in (q, turned))
        scores = b.op("MatMul", q, turned)
        if spelling != "guarded":
            scores = b.op("Div", scores, b.float(2.5)) if spelling == "divided" else b.op("Mul", scores, b.float(0.5))
        if spelling == "capped":
            scores = b.op("Mul", b.op("Tanh", b.op("Div", scores, b.float(3))), b.float(3))
        at_q, at_k = positions(b, 8, (1, 3)), positions(b, 8, (1, 2))
        seen = b.op("LessOrEqual", at_k, at_q)
        if spelling in ("added", "capped", "guarded", "read twice"):
            scores = b.op("Add", scores, b.op("Where", seen, b.float(0), b.float(-3.4028234663852886e38)))
        elif spelling == "hidden":
            scores = b.op("Where", b.op("Not", seen), b.float(-1e9), scores)
        elif spelling == "light":
            scores = b.op("Where", seen, scores, b.float(-3))
        elif spelling == "data":
            scores = b.op("Add", scores, b.input("mask", "f32[2,1,1,8]"))
        else:
            scores = b.op("Where", seen, scores, b.float(-1e9))
        weights = b.op("Softmax", scores, axis=-1)
        if spelling == "guarded":
            weights = b.op("Where", b.op("IsNaN", weights), b.float(0), weights)
        y = b.op("MatMul", weights, v)
        stays = spelling in ("light", "data", "read twice")
        attributes = {"is_causal": 1, "scale": {"divided": 0.4, "guarded": 0.25}.get(spelling, 0.5)}
        if spelling == "capped":
            attributes["softcap"] = 3
        outputs = [y, b.op("Exp", weights)] if spelling == "read twice" else [y]
        return outputs, {"Softmax": 1, "Attention": 0} if stays else ["Attention"], None if stays else {"Attention": attributes}
    return case


def contracted(spelling):
    """Attention as JAX spells it: two Einsums, and a softmax in single ops."""
    def case(b):
        grouped = spelling != "one head"
        q = b.input("q", "f32[2,8,3,2,4]" if grouped else "f32[2,8,4]")  # batch, queries, heads of keys, of each of them
        k, v = (b.input(x, "f32[2,8,3,4]" if grouped else "f32[2,8,4]") for x in "kv")
        scores = b.op("Einsum", q, k, equation="adbec,afbc->abdef" if grouped else "abc,adc->abd")
        shape = [2, 2, 3, 8, 8] if grouped else [2, 8, 8]  # heads of a group stand first
        scores = b.op("Mul", scores, b.float(0.5))
        scores = b.transpose(scores, 3, 0, 1, 2, 4) if grouped else scores
        at = b.op("Range", b.scalar(0), b.scalar(8), b.scalar(1))
        at_q = b.op("Unsqueeze", at, b.ints(1))
        seen = b.op("GreaterOrEqual", at_q, at)
        if spelling == "window":
            seen = b.op("And", seen, b.op("Less", b.op("Sub", at_q, at), b.scalar(3)))
        logits = b.op("Where", seen, scores, b.float(-2.0 if spelling == "light" else -2.38e38))
        most = b.op("ReduceMax", logits, b.ints(len(shape) - 1 if spelling != "other axis" else 1), keepdims=0)
        if spelling == "other axis":
            most = b.op("Unsqueeze", most, b.ints(1))
        else:
            floor = -9.0 if spelling == "no floor" else -3.4028234663852886e38
            most = b.reshape(b.op("Max", b.float(floor), most), *shape[:-1], 1)
        each = b.op("Exp", b.op("Sub", logits, most))
        total = b.reshape(b.op("ReduceSum", each, b.ints(-1), keepdims=0), *shape[int(grouped and shape[0] == 1):-1], 1)
        weights = b.op("Div", each, total)
        y = b.op("Einsum", v, weights, equation="acbd,eabfc->abdef") if grouped else b.op("Einsum", weights, v, equation="abc,acd->abd")
        stays = spelling in ("light", "other axis", "no floor", "read twice")
        attributes = {"is_causal": 1, "scale": 0.5, **({"left_window_size": 2} if spelling == "window" else {})}
        outputs = [y, b.op("Log", weights)] if spelling == "read twice" else [y]
        return outputs, {"Einsum": 2, "Attention": 0} if stays else {"Attention": 1, "Exp": 0, "Einsum": 0}, None if stays else {"Attention": attributes}
    return case


def broadcast(spelling):
    """Einsums, and single ops between them, that repeat dimensions of 1, as the operator does not."""
    def case(b):
        sizes = {"queries": (1, 3, 3), "keys": (3, 1, 3), "values": (3, 3, 1), "keys and values": (3, 1, 1),
                 "sums": (1, 1, 5)}
        heads = spelling == "one head of keys"
        shapes = ([2, 8, 4, 4], [2, 8, 1, 4], [2, 8, 1, 4]) if heads else [[n, 8, 4] for n in sizes[spelling]]
        q, k, v = (b.input(x, f"f32{str(shape).replace(' ', '')}") for x, shape in zip("qkv", shapes))
        scores = b.op("Einsum", q, k, equation="bqhd,bkhd->bhqk" if heads else "abc,adc->abd")
        at = b.op("Range", b.scalar(0), b.scalar(8), b.scalar(1))
        seen = b.op("GreaterOrEqual", b.op("Unsqueeze", at, b.ints(1)), at)
        logits = b.op("Where", seen, b.op("Mul", scores, b.float(0.5)), b.float(-2.38e38))
        each = b.op("Exp", b.op("Sub", logits, b.op("ReduceMax", logits, b.ints(-1), keepdims=1)))
        total = b.op("ReduceSum", each, b.ints(-1), keepdims=1)
        total = b.op("Expand", total, b.ints(5, 8, 1)) if spelling == "sums" else total
        weights = b.op("Div", each, total)
        y = b.op("Einsum", weights, v, equation="bhqk,bkhd->bqhd" if heads else "abd,adc->abc")
        return [y], {"Einsum": 2, "Attention": 0}
    return case


def cast_scores(narrow):
    """Scores that are cast on the way: what a narrower type makes of them is not the operator's."""
    def case(b):
        kind, wide = ("f32", 1) if narrow else ("f16", 10)
        q, k, v = (b.input(x, f"{kind}[3,8,4]") for x in "qkv")
        scores = b.op("Einsum", q, k, equation="abc,adc->abd")
        if narrow:
            scores = b.op("Cast", scores, to=10)
        scores = b.op("Cast", scores, to=1)
        at = b.op("Range", b.scalar(0), b.scalar(8), b.scalar(1))
        seen = b.op("GreaterOrEqual", b.op("Unsqueeze", at, b.ints(1)), at)
        logits = b.op("Where", seen, scores, b.float(-2.38e38))
        each = b.op("Exp", b.op("Sub", logits, b.op("ReduceMax", logits, b.ints(-1), keepdims=1)))
        weights = b.op("Div", each, b.op("ReduceSum", each, b.ints(-1), keepdims=1))
        weights = weights if narrow else b.op("Cast", weights, to=wide)
        y = b.op("Einsum", weights, v, equation="abd,adc->abc")
        return [y], {"Einsum": 2, "Attention": 0} if narrow else {"Attention": 1, "Exp": 0, "Einsum": 0}
    return case


def groups(spelling):
    """Keys and values repeated for the query heads of their group, or in another order."""
    def case(b):
        q = b.input("q", "f32[2,6,8,4]")
        heads = []
        for name in "kv":
            x = b.input(name, "f32[2,2,8,4]")
            if spelling == "of groups":
                x = b.reshape(b.op("Expand", b.op("Unsqueeze", x, b.ints(2)), b.ints(2, 2, 3, 8, 4)), 2, 6, 8, 4)
            elif spelling == "side by side":
                x = b.op("Concat", x, x, x, axis=1)
            else:
                x = b.reshape(b.op("Expand", b.op("Unsqueeze", x, b.ints(1)), b.ints(2, 3, 2, 8, 4)), 2, 6, 8, 4)
            heads.append(x)
        return [b.op("Attention", q, *heads)], ["Attention"] if spelling == "of groups" else {"Attention": 1, "Reshape": 0 if "side" in spelling else 2}
    return case


def random_moves(seed):
    """A long chain of moves: whatever is left must do the same."""
    def case(b):
        choose = random.Random(seed)
        shape = [2, 3, 4, 2]
        x = b.op("Relu", b.input("x", "f32[2,3,4,2]"))
        for _ in range(8):
            kind = choose.choice(["transpose", "merge", "part", "slice", "expand", "unsqueeze"])
            d = choose.randrange(len(shape))
            if kind == "transpose":
                perm = choose.sample(range(len(shape)), len(shape))
                x, shape = b.transpose(x, *perm), [shape[p] for p in perm]
            elif kind == "merge" and d + 1 < len(shape):
                shape = shape[:d] + [shape[d] * shape[d + 1]] + shape[d + 2:]
                x = b.reshape(x, *shape)
            elif kind == "part" and shape[d] % 2 == 0 and len(shape) < 6:
                shape = shape[:d] + choose.choice([[2, shape[d] // 2], [shape[d] // 2, 2]]) + shape[d + 1:]
                x = b.reshape(x, *shape)
            elif kind == "slice" and shape[d] > 2:
                start = choose.randrange(shape[d] // 2)
                x = b.slice(x, start, start + shape[d] // 2, d)
                shape[d] //= 2
            elif kind == "expand" and len(shape) < 6 and max(shape) < 100:
                shape = [2] + shape
                x = b.op("Expand", x, b.ints(*shape))
            elif kind == "unsqueeze" and len(shape) < 6:
                x = b.op("Unsqueeze", x, b.ints(d))
                shape = shape[:d] + [1] + shape[d:]
        return [b.op("Exp", x)], None
    return case



# Masks of data over grouped heads with a cache: what hides a key, a guard against rows without any, which rows have
# none, queries, heads of the mask, and whether the operator may stand for it.
DATA_MASKS = {
    "finite": (-1e9, False, "some", 1, 1, True),
    "finite, all hidden": (-1e9, False, "all", 1, 1, True),
    "lowest, guarded": (-3.4e38, True, "all", 1, 1, True),
    "of several queries": (-1e9, False, None, 6, 1, True),
    "of each head": (-1e9, False, None, 2, 8, True),
    "infinite, guarded": (float("-inf"), True, "all", 1, 1, True),
    "infinite": (float("-inf"), False, None, 1, 1, False),
}


def data_mask(kind):
    hidden, guard, empty, queries, mask_heads, fused = DATA_MASKS[kind]

    def case(b):
        def cached(name):
            present = b.op("Concat", b.input(f"past_{name}", "f32[4,2,5,4]"), b.input(f"new_{name}", "f32[4,2,1,4]"), axis=2)
            heads = b.op("Expand", b.op("Unsqueeze", present, b.ints(2)), b.ints(4, 2, 4, 6, 4))
            return present, b.reshape(heads, 4, 8, 6, 4)

        q = b.input("q", f"f32[4,8,{queries},4]")
        seen = b.input("seen", f"bool[4,{mask_heads},{queries},6]")
        if empty:  # of some sequences, or of each, no key is seen
            below = b.float(-1000.0 if empty == "all" else 0.0)
            seen = b.op("And", seen, b.op("Less", b.input("rows", "f32[4,1,1,1]"), below))
        (present_k, k), (present_v, v) = cached("k"), cached("v")
        k = b.reshape(b.transpose(b.reshape(k, -1, 6, 4), 0, 2, 1), 4, 8, 4, 6)
        low = b.op("Log", b.float(0.0)) if hidden == float("-inf") else b.float(hidden)
        mask = b.op("Where", seen, b.float(0.0), low)
        scores = b.op("MatMul", b.op("Mul", q, b.float(0.5)), b.op("Mul", k, b.float(0.5)))
        masked_scores = b.op("Add", mask, scores) if mask_heads > 1 else b.op("Add", scores, mask)
        weights = b.op("Softmax", masked_scores, axis=-1)
        if guard:
            weights = b.op("Where", b.op("IsNaN", weights), b.float(0.0), weights)
        return [b.op("MatMul", weights, v), present_k, present_v], {"Attention": int(fused), "Softmax": int(not fused), "Concat": 2}

    return case


CASES = {f.__name__: f for f in (keys_transposed, back_and_forth, repeated_heads, output_on_the_way, does_not_nest,
                                 rows_left, fused_qkv_split, fused_qkv_of_groups, fused_by_gather,
                                 fused_qkv_as_strided, large_as_strided, index_of_steps, as_strided_transposes,
                                 as_strided_repeats, windows_overlap, places_on_no_grid, fused_transposed_weight,
                                 fused_and_read_whole, packed_heads_read_elsewhere, experts_transposed)}
CASES.update({f"packed heads, bias {bias}": packed_heads_unpacked(bias) for bias in (False, True)})
CASES.update({f"rows in order, {p}": rows_in_order(p) for p in ("MatMul", "Gemm")})
CASES.update({f"experts, {s}": experts(s) for s in ("columns", "rows", "transposed", "tokens")})
CASES.update({f"mask, {s}": masked(s) for s in MASKS})
CASES.update({"mask, past keys": past_keys})
CASES.update({f"spelled attention, {s}": spelled(s) for s in ("added", "capped", "chosen", "divided", "guarded", "hidden",
                                                             "light", "data", "read twice")})
CASES.update({f"contracted attention, {s}": contracted(s) for s in ("groups", "one head", "window", "light", "other axis",
                                                                    "no floor", "read twice")})
CASES.update({f"contracted attention, repeats {s}": broadcast(s) for s in ("queries", "keys", "values", "keys and values",
                                                                           "sums", "one head of keys")})
CASES.update({"contracted attention, scores in f16": cast_scores(True), "contracted attention, scores in f32": cast_scores(False)})
CASES.update({f"repeated heads, {s}": groups(s) for s in ("of groups", "side by side", "across groups")})
CASES.update({f"mask of data, {s}": data_mask(s) for s in DATA_MASKS})
SEEDS = 8  # of random moves; with --all 40


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}: {(done.stdout + done.stderr)[:1500]}")


def check(program, case, folder):
    builder = Builder()
    outputs, expected, *attributes = case(builder)  # op types; of the only op of a type: its attributes
    model, plan, wanted = folder / "model.json", folder / "plan.json", folder / "wanted.npz"
    model.write_text(json.dumps(builder.graph(*outputs)))
    run(program, "run", model, "--unsharded", "--outputs", wanted)
    for flags in (["--strategy", "einsum"], ["--strategy", "greedy", "--cost", "time"], ["--no-simplify", "--strategy", "einsum"]):
        run(program, "infer", model, "--mesh", "2", *flags, "-o", plan)
        if "greedy" not in flags:  # the graph is the same; `run` checks the plan itself
            run(program, "check", plan, model)
        run(program, "run", plan, "--expect", wanted)
        graph = json.loads(plan.read_text())["graph"]
        found = sorted(op["type"] for op in graph["ops"])
        if "--no-simplify" in flags:
            expected, attributes = {}, []
            if len(found) != len([op for op in builder.ops]) and len(found) > len(builder.ops):
                raise RuntimeError(f"--no-simplify: {found}")
        if isinstance(expected, dict) and any(found.count(kind) != n for kind, n in expected.items()):
            raise RuntimeError(f"expected {expected}, found {found}")
        if isinstance(expected, list) and found != expected:
            raise RuntimeError(f"expected {expected}, found {found}")
        for kind, said in (attributes[0] or {}).items() if attributes else ():
            op = next(op for op in graph["ops"] if op["type"] == kind)
            found = {k: v for k, v in op.get("attributes", {}).items() if v != -1 and v != 0}
            if found != said:
                raise RuntimeError(f"expected {kind} with {said}, found {found}")


def main():
    passed = failed = 0
    CASES.update({f"random moves {seed}": random_moves(seed) for seed in range(40 if "--all" in sys.argv else SEEDS)})
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(sys.argv[1], case, pathlib.Path(folder))
                passed += 1
            except RuntimeError as failure:
                failed += 1
                print(f"FAILED {name}: {failure}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
