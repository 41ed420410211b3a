#!/usr/bin/env python3
"""Operators that exporters spell out in single ops are found in every spelling, and in none that looks alike only; by
execution, as simplify_rewrites.py does it.

  spelled_rewrites.py PROGRAM [PART OF A NAME]
"""
import math
import pathlib
import sys
import tempfile

from simplify_rewrites import Builder, check, positions

INNER = math.sqrt(2 / math.pi)


def values(b, name, kind, all_are=None):
    """A weight whose values do not depend on what reads it."""
    shape = [int(size) for size in kind[kind.index("[") + 1:-1].split(",")]
    numbers = [round(math.sin(1 + i), 3) if all_are is None else all_are for i in range(math.prod(shape))]
    b.parameters.append({"name": name, "type": kind, "literal": {"floats": numbers}})
    return name


def gelu(spelling):
    def case(b):
        x = b.op("Relu", b.input("x", "f32[4,6]"))
        mul, add = (lambda *pair: b.op("Mul", *pair)), (lambda *pair: b.op("Add", *pair))
        number, one = b.float, b.float(1)
        cubic, factor = (0.05 if spelling == "other cubic" else 0.044715), (0.8 if spelling == "other factor" else INNER)
        if spelling == "jax erf":  # 1 - erf(-x / sqrt 2)
            share = b.op("Sub", one, b.op("Erf", mul(b.op("Neg", x), number(math.sqrt(0.5)))))
        elif spelling in ("erf", "erf of half"):
            share = add(b.op("Erf", b.op("Div", x, number(math.sqrt(2) if spelling == "erf" else 2))), one)
        elif spelling == "minus":  # the other tail
            share = b.op("Sub", one, b.op("Erf", b.op("Div", x, number(math.sqrt(2)))))
        elif spelling == "factored":  # x c (1 + 0.044715 x x)
            share = add(one, b.op("Tanh", mul(mul(x, number(factor)), add(one, mul(mul(number(cubic), x), x)))))
        else:
            cube = mul(mul(x, x), x) if spelling != "power" else b.op("Pow", x, number(3))
            function = b.op("Tanh", mul(number(factor), add(x, mul(number(cubic), cube))))
            share = add(one, function) if spelling != "distributed" else function
        if spelling == "other input":
            y = mul(mul(b.input("z", "f32[4,6]"), number(0.5)), share)
        elif spelling == "distributed":  # x / 2 + x / 2 tanh
            half = mul(x, number(0.5))
            y = add(half, mul(half, function))
        elif spelling == "weight":  # which training may change
            y = mul(mul(x, values(b, "half", "f32[6]", 0.5)), share)
        elif spelling == "half last":
            y = mul(mul(x, share), number(0.5))
        else:
            y = mul(x, mul(number(0.5), share))
        stays = spelling in ("other cubic", "other factor", "erf of half", "minus", "other input", "read twice", "weight")
        outputs = [y, share] if spelling == "read twice" else [y]
        attributes = {} if "erf" in spelling else {"approximate": "tanh"}
        return outputs, {"Gelu": 0} if stays else ["Gelu", "Relu"], None if stays else {"Gelu": attributes}
    return case


GELUS = ("jax", "power", "factored", "distributed", "half last", "erf", "jax erf", "other cubic", "other factor", "erf of half",
         "minus", "other input", "read twice", "weight")


def logistic(spelling):
    def case(b):
        x = b.op("Relu", b.input("x", "f32[4,6]"))
        power = b.op("Exp", b.op("Mul", x, b.float(-2 if spelling == "steeper" else -1)) if spelling != "jax" else b.op("Neg", x))
        total = b.op("Add", b.float(2 if spelling == "two" else 1), power)
        y = b.op("Reciprocal", total) if spelling == "reciprocal" else b.op("Div", b.float(1), total)
        stays = spelling in ("steeper", "two", "read twice")
        return [y, b.op("Log", total)] if spelling == "read twice" else [y], {"Sigmoid": 0} if stays else ["Relu", "Sigmoid"]
    return case


def norm(kind, spelling):
    """Statistics over the last dimension, or the last two."""
    def case(b):
        two = spelling == "two dimensions"
        narrow = spelling == "narrow"
        x = b.op("Neg", b.input("x", "f16[3,4,8]" if narrow else "f32[3,4,8]"))
        x = b.op("Cast", x, to=1) if narrow else x
        count = 32 if two else 8
        axes = b.ints(1, 2) if two else b.ints(-2) if spelling == "other axis" else b.ints(-1)

        def mean(y):
            if spelling != "jax":
                return b.op("ReduceMean", y, axes, keepdims=1)
            return b.op("Div", b.reshape(b.op("ReduceSum", y, axes, keepdims=0), 3, 4, 1), b.float(8))

        whole = x
        if kind == "layer" and "squares" not in spelling:
            x = b.op("Sub", x, mean(x))
        centred = x
        if "second mean" in spelling:  # jnp.var's
            x = b.op("Sub", whole, b.op("ReduceMean", whole, b.ints(-2 if spelling == "other second mean" else -1), keepdims=1))
        square = b.op("Pow", x, b.float(2)) if spelling in ("onnx", "two dimensions") else b.op("Mul", x, x)
        power = mean(square)
        if "second mean" in spelling:
            some = b.op("Greater", b.op("Sub", b.float(8), b.float(0)), b.float(0 if spelling != "no second mean" else 9))
            power = b.op("Where", some, power, b.float("nan"))
        x = centred
        if "squares" in spelling:  # E[x^2] - E[x]^2
            bare = spelling in ("squares, as flax", "squares, no scale")
            of = b.op("Relu", whole) if spelling == "squares, mean of another" else whole
            first, second = (b.op("ReduceMean", y, b.ints(-1), keepdims=0 if bare else 1) for y in (of, b.op("Mul", whole, whole)))
            square = b.op("Mul", first, first) if bare else b.op("Pow", first, b.float(2))
            power = b.op("Add" if spelling == "squares, sum" else "Sub", second, square)
            if bare:
                power = b.reshape(b.op("Max", b.float(0), power), 3, 4, 1)
            x = b.op("Sub", whole, b.reshape(first, 3, 4, 1) if bare else mean(whole) if spelling == "squares, second mean" else first)
            if spelling == "squares, not centred":
                x = whole
        if spelling == "unbiased":
            power = b.op("Mul", power, b.float(count / (count - 1)))
        if spelling == "epsilon behind":
            root = b.op("Add", b.op("Sqrt", power), b.float(1e-5))
        elif spelling == "power":
            root = b.op("Pow", b.op("Add", power, b.float(1e-5)), b.float(-0.5))
        else:
            root = b.op("Sqrt", b.op("Add", power, b.float(1e-5)))
        scale = values(b, "scale", "f32[4,8]" if two else "f32[3,4,8]" if spelling == "scale of all" else "f16[8]" if spelling == "narrow" else "f32[8]")
        if spelling == "onnx":
            y = b.op("Mul", b.op("Div", x, root), scale)
        else:
            inverse = root if spelling == "power" else b.op("Reciprocal", root) if two else b.op("Div", b.float(1), root)
            if spelling == "squares, as flax":
                y = b.op("Mul", x, b.op("Mul", inverse, b.reshape(scale, 1, 1, 8)))
            elif spelling == "scale first":
                y = b.op("Mul", x, b.op("Mul", inverse, scale))
            elif "no scale" in spelling:
                y = b.op("Mul", x, inverse)
                y = b.op("Cast", y, to=10) if "rounded" in spelling else y
            elif spelling == "rounded twice":
                y = b.op("Mul", scale, b.op("Cast", b.op("Cast", b.op("Mul", x, inverse), to=10), to=1))
            elif spelling == "narrow":
                y = b.op("Mul", scale, b.op("Cast", b.op("Mul", x, inverse), to=10))
            else:
                y = b.op("Mul", scale, b.op("Mul", x, inverse))
        if kind == "layer" and spelling not in ("no bias", "no scale, rounded"):
            y = b.op("Add", y, values(b, "bias", "f32[4,8]" if two else "f16[8]" if spelling == "narrow" else "f32[8]"))
        stays = spelling in ("other axis", "unbiased", "epsilon behind", "read twice", "other second mean", "no second mean", "squares, sum",
                             "squares, not centred", "squares, mean of another", "squares, mean shown")
        name = "LayerNormalization" if kind == "layer" else "RMSNormalization"
        outputs = [y, b.op("Exp", root)] if spelling == "read twice" else [y, b.op("Exp", first)] if spelling == "squares, mean shown" else [y]
        behind = {"scale of all": ["Mul"], "rounded twice": ["Cast", "Mul"]}.get(spelling, [])  # which is no scale of the norm
        if kind == "layer" and "round" in spelling:  # it rounds to the type of x
            behind = ["Cast", *behind]
        if kind == "layer" and spelling in ("scale of all", "rounded twice"):
            behind = ["Add", *behind]
        if behind or "no scale" in spelling:
            behind = ["Expand", *behind]  # the scale of ones
        return outputs, {name: 0} if stays else sorted([name, "Neg", *behind])
    return case


NORMS = ("jax", "onnx", "scale first", "power", "two dimensions", "narrow", "other axis", "unbiased", "epsilon behind",
         "scale of all", "read twice", "rounded twice", "no scale", "no scale, rounded")
SQUARES = ("as flax", "kept", "second mean", "no scale", "sum", "not centred", "mean of another", "mean shown")


def biased(spelling):
    def case(b):
        deep = "2," if spelling == "of batches" else ""
        product = b.op("MatMul", b.input("x", f"f32[{deep}4,6]"), b.weight("w", "f32[6,8]"))
        bias = b.input("r", "f32[4,8]") if spelling == "residual" else values(b, "b", "f32[1,8]" if spelling == "row" else "f32[4,1]" if spelling == "column" else "f32[8]")
        y = b.op("Add", *((bias, product) if spelling == "in front" else (product, bias)))
        outputs = [y, b.op("Exp", product)] if spelling == "read twice" else [y]
        return outputs, ["Gemm"] if spelling in ("plain", "in front", "row") else {"Gemm": 0}
    return case


def one_hot(spelling):
    def case(b):
        rows = 5000  # more than are kept as numbers, which could be a weight's
        x = b.input("x", f"f32[{rows},9]")
        axis = 0 if spelling == "columns" else 1
        place = b.op("ArgMax", x, axis=axis, keepdims=1)
        blank = b.op("Expand", b.float(0), b.ints(rows, 9))
        if spelling == "on data":
            blank = x
        if spelling == "added to ones":
            blank = b.op("Expand", b.float(1), b.ints(rows, 9))
        on = b.op("Expand", b.float(-1), b.ints(*((1, 9) if axis == 0 else (rows, 1))))
        if "of data" in spelling:  # as JAX adds it
            on = b.op("ReduceMax", x, b.ints(1), keepdims=1)
        kind = {"reduction": "add"} if "added" in spelling else {}
        y = b.op("ScatterElements", blank, place, on, axis=axis, **kind)
        found = spelling in ("rows", "added", "of data", "added of data")
        return [b.op("Mul", y, x)], {"OneHot": int(found), "ScatterElements": int(not found), "Where": int("of data" in spelling)}
    return case


def joint(spelling):
    """Attention with its backward pass, as torch's joint graphs have them."""
    def case(b):
        n = 33  # tokens
        q, k, v = (b.input(x, f"f32[2,2,{n},4]") for x in ("q", "k", "v"))
        d_y = b.input("dy", f"f32[1,1,{n},4]" if spelling == "cotangent of all" else f"f32[2,2,{n},4]")
        at_q, at_k = positions(b, n, (1, 3)), positions(b, n, (1, 2))
        turned, half = b.transpose(k, 0, 1, 3, 2), b.float(math.sqrt(0.5))
        lowest = b.float("-inf") if spelling != "light mask" else b.float(-2)

        def product(x, y, *shape):
            flat = [b.reshape(of, 4, rows, columns) for of, rows, columns in ((x, shape[0], shape[1]), (y, shape[1], shape[2]))]
            return b.reshape(b.op("MatMul", *flat), 2, 2, shape[0], shape[2])
        scores = product(b.op("Mul", q, half), b.op("Mul", turned, half), n, 4, n)
        logits = scores
        if spelling != "no mask":
            logits = b.op("Add", scores, b.op("Where", b.op("LessOrEqual", at_k, at_q), b.float(0), lowest))
        weights = b.op("Softmax", logits, axis=-1)
        some = b.op("Not", b.op("Equal", logits, lowest))
        some = b.op("Cast", b.op("ReduceMax", b.op("Cast", some, to=6), b.ints(3), keepdims=1), to=9)
        weights = b.op("Where", b.op("Not", some), b.op("Expand", b.float(0), b.ints(2, 2, n, n)), weights)
        y = product(weights, v, n, n, 4)
        d_y = d_y if spelling == "cotangent of all" else b.op("Mul", d_y, y)
        d_weights = b.op("MatMul", d_y, b.transpose(v, 0, 1, 3, 2))
        g = b.op("Mul", d_weights, weights)
        total = b.op("ReduceSum", g, b.ints(3 if spelling != "other rows" else 2), keepdims=1)
        if spelling == "by product":
            ds = b.op("Sub", g, b.op("Mul", weights, total))
        else:
            ds = b.op("Mul", weights, b.op("Sub", d_weights, total))
        ds = b.op("Div", ds, b.float(2)) if spelling == "by product" else b.op("Mul", ds, b.float(0.25 if spelling == "other scale" else 0.5))
        d_q = b.op("MatMul", ds, v if spelling == "other keys" else k)
        d_k = b.op("MatMul", b.transpose(ds, 0, 1, 3, 2), q)
        d_v = b.op("MatMul", b.transpose(weights, 0, 1, 3, 2), d_y)
        found = {"Attention": 1, "sbp::FlashAttentionGrad": 1, "Softmax": 0, "MatMul": 0}
        stays = spelling not in ("torch", "by product", "no mask")
        outputs = [y, d_q, d_k, d_v, *([weights] if spelling == "weights shown" else ())]
        return outputs, {"sbp::FlashAttentionGrad": 0, "Softmax": 1} if stays else found
    return case


def unmasked(spelling):
    """Every query sees all keys: as torch and as JAX write it, and under a mask that nothing is known of."""
    def case(b):
        q, k, v = (b.op("Neg", b.input(x, "f32[2,8,2,4]")) for x in "qkv")
        if spelling == "products":
            q, turned, v = b.transpose(q, 0, 2, 1, 3), b.transpose(k, 0, 2, 3, 1), b.transpose(v, 0, 2, 1, 3)
            weights = b.op("Softmax", b.op("Div", b.op("MatMul", q, turned), b.float(2)), axis=-1)
            return [b.op("MatMul", weights, v)], {"Attention": 1, "Softmax": 0}
        if "turned" in spelling:  # jax.nn.dot_product_attention, of groups of heads
            q = b.op("Neg", b.input("groups", "f32[2,8,2,3,4]"))
            logits = b.op("Mul", b.op("Einsum", q, k, equation="bqhgd,bkhd->bhqgk"), b.float(0.5))
            perm = (3, 0, 1, 2) if spelling == "turned" else (3, 1, 0, 2)
            largest = b.transpose(b.op("Max", b.float("-inf"), b.op("ReduceMax", logits, b.ints(4), keepdims=0)), *perm)
            each = b.op("Exp", b.op("Sub", b.transpose(logits, 3, 0, 1, 2, 4), b.reshape(largest, 3, 2, 2, 8, 1)))
            weights = b.op("Div", each, b.op("ReduceSum", each, b.ints(-1), keepdims=1))
            y = b.op("Einsum", v, weights, equation="bkhd,gbhqk->bqhgd")
            return [y], {"Attention": 1, "Einsum": 0} if spelling == "turned" else {"Attention": 0, "Einsum": 2}
        logits = b.op("Mul", b.op("Einsum", q, k, equation="bqhd,bkhd->bhqk"), b.float(0.5))
        if spelling == "hidden by data":
            logits = b.op("Add", logits, b.input("mask", "f32[2,1,1,8]"))
        each = b.op("Exp", b.op("Sub", logits, b.op("ReduceMax", logits, b.ints(-1), keepdims=1)))
        weights = b.op("Div", each, b.op("ReduceSum", each, b.ints(-1), keepdims=1))
        y = b.op("Einsum", weights, v, equation="bhqk,bkhd->bqhd")
        outputs = [y, b.op("Exp", logits)] if spelling == "read twice" else [y]
        return outputs, {"Attention": 1, "Einsum": 0} if spelling == "einsums" else {"Attention": 0, "Einsum": 2}
    return case


def pieces(spelling):
    """tanh(u) (1 + u u) of u = x a, and its derivative, which reads pieces of it behind two products, as JAX writes them."""
    def case(b):
        b.producer = "stablehlo" if spelling != "of others" else None
        x, a, c = b.input("x", "f32[8,4]"), b.weight("a", "f32[4,6]"), b.weight("c", "f32[6,5]")
        u = b.op("MatMul", x, a)
        tanh, square = b.op("Tanh", u), b.op("Mul", u, u)
        share = b.op("Add", b.float(1), square)
        y = b.op("MatMul", b.op("Mul", tanh, share), c)
        d_y = b.op("MatMul", b.op("Mul", y, y), b.transpose(c, 1, 0))
        if spelling == "one piece":  # no more than what it is made of
            d_u = b.op("Mul", d_y, tanh)
        else:
            slope = b.op("Sub", b.float(1), b.op("Mul", tanh, tanh))
            d_u = b.op("Add", b.op("Mul", b.op("Mul", d_y, share), slope), b.op("Mul", d_y, b.op("Mul", tanh, u)))
        d_a = b.op("MatMul", b.transpose(x, 1, 0), d_u)
        outputs = [y, d_a]
        if spelling == "shown":
            outputs.append(tanh)
        if spelling == "read by a product":  # as it is, so that it stays
            outputs.append(b.op("MatMul", b.transpose(tanh, 1, 0), d_u))
        return outputs, {"Tanh": 2 if spelling == "jax" else 1, "Sub": 0 if spelling == "one piece" else 1}
    return case


def softmax_grad(spelling):
    """By exp(x) and its sum, as JAX derives it."""
    def case(b):
        b.producer = "stablehlo"
        x, y = b.input("x", "f32[2,6,6]"), b.input("y", "f32[2,6,6]")
        power = b.op("Exp", b.op("Sub", x, b.op("ReduceMax", x, b.ints(2), keepdims=1)))
        total = b.op("ReduceSum", power, b.ints(2), keepdims=0)
        column = b.reshape(total, 2, 6, 1)
        weights = b.op("Div", power, column)
        d = b.op("Mul", weights, y)
        square = b.op("Mul", b.reshape(total, 2, 6, 1), column) if spelling != "not squared" else column
        part = b.op("Mul", b.op("Mul", d, b.op("Div", b.float(1), square)), power)
        rows = b.op("ReduceSum", part, b.ints(1 if spelling == "other rows" else 2), keepdims=0)
        rows = b.op("Neg", b.reshape(rows, 2, 6, 1))
        rows = b.reshape(b.op("ReduceSum", rows, b.ints(2), keepdims=0), *((2, 1, 6) if spelling == "turned" else (2, 6, 1)))
        other = y if spelling == "of another" else d
        return [weights, b.op("Mul", b.op("Add", b.op("Div", other, column), rows), power)], {"Neg": int(spelling != "jax")}
    return case


PIECES = ("jax", "of others", "one piece", "shown", "read by a product")
JOINT = ("torch", "by product", "no mask", "light mask", "other rows", "other scale", "other keys", "weights shown", "cotangent of all")
CASES = {f"gelu, {s}": gelu(s) for s in GELUS}
CASES.update({f"logistic, {s}": logistic(s) for s in ("jax", "onnx", "reciprocal", "steeper", "two", "read twice")})
CASES.update({f"{kind} norm, {s}": norm(kind, s) for kind in ("layer", "rms") for s in NORMS})
CASES.update({f"layer norm, {s}": norm("layer", s) for s in ("no bias", "second mean", "other second mean", "no second mean")})
CASES.update({f"layer norm, squares, {s}": norm("layer", f"squares, {s}") for s in SQUARES})
CASES.update({f"biased product, {s}": biased(s) for s in ("plain", "in front", "row", "column", "residual", "of batches", "read twice")})
CASES.update({f"one-hot, {s}": one_hot(s) for s in ("rows", "columns", "on data", "added", "added to ones", "of data", "added of data")})
CASES.update({f"attention of all, {s}": unmasked(s) for s in ("products", "einsums", "turned", "turned another way", "hidden by data", "read twice")})
CASES.update({f"softmax derivative, {s}": softmax_grad(s) for s in ("jax", "not squared", "other rows", "turned", "of another")})
CASES.update({f"pieces read again, {s}": pieces(s) for s in PIECES})
CASES.update({f"joint attention, {s}": joint(s) for s in JOINT})


def main():
    failed = 0
    chosen = {name: case for name, case in CASES.items() if len(sys.argv) < 3 or sys.argv[2] in name}
    for name, case in chosen.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(sys.argv[1], case, pathlib.Path(folder))
            except RuntimeError as failure:
                failed += 1
                print(f"FAILED {name}: {failure}")
    print(f"{len(chosen) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
