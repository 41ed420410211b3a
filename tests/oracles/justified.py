"""Classes of differences that are right: a predicate over the case's fields and the difference, with the reason.

A detail holds "kind" (missing: theirs is legal and we do not offer it; unsound: we offer what is not; differs, layout,
price, error: by format) and what was compared.
"""

CLASSES = []  # (file format, predicate(case, detail), reason)


def rule(file_format, reason):
    """Adds the decorated predicate as a class."""
    def add(predicate):
        CLASSES.append((file_format, predicate, reason))
        return predicate
    return add


def justify(file_format, case, detail):
    for name, predicate, reason in CLASSES:
        if name == file_format and predicate(case, detail):
            return reason
    return None


def partial(layout, *kinds):
    return layout.startswith("P(") and (not kinds or layout[2:-1] in kinds)


def ordered(layouts):
    """Is some operand P(max) or P(min)?"""
    return any(partial(s, "max", "min") for s in layouts)


# DTensor ----------------------------------------------------------------------------------------------------------------


def base(case):
    return case["op"].removeprefix("aten.").split(".")[0].removeprefix("_foreach_").rstrip("_")


@rule("dtensor_ops", "P(max) and P(min) through a product or quotient hold only for a positive other operand, as was drawn")
def _(case, detail):
    return (detail["kind"] == "missing" and ordered(detail["inputs"]) and
            base(case) in ("mul", "div", "true_divide", "divide", "multiply", "floor_divide", "xlogy", "special_xlogy", "special_xlog1py",
                           "fmod", "remainder", "atan2", "hypot", "copysign", "addcdiv", "addcmul", "gcd", "lcm", "bitwise_right_shift"))


@rule("dtensor_ops", "equality, and being zero, keep no order: they hold for real numbers drawn at random, which never meet")
def _(case, detail):
    to_bool = base(case) == "_to_copy" and str(case["attrs"].get("dtype")) == "bool"
    real = all(i["dtype"].startswith(("float", "bfloat")) for i in case["inputs"])
    return (detail["kind"] == "missing" and ordered(detail["inputs"]) and real and
            (to_bool or base(case) in ("eq", "ne", "not_equal", "equal", "logical_not", "logical_and", "logical_or", "logical_xor", "all",
                                       "any", "isclose", "count_nonzero", "heaviside", "sign", "sgn")))


@rule("dtensor_ops", "no number drawn was infinite or not a number")
def _(case, detail):
    return detail["kind"] == "missing" and base(case) in ("isinf", "isnan", "isfinite", "isposinf", "isneginf", "nan_to_num", "nansum", "nanmean")


@rule("dtensor_ops", "a function that is monotone only on the interval from which the operand was drawn")
def _(case, detail):
    exponent = case["attrs"].get("exponent")
    domain = base(case) in ("tan", "reciprocal", "rsqrt", "lgamma", "digamma", "cosh", "square", "i0", "polygamma", "mvlgamma",
                            "special_i0e", "special_i1e", "special_erfcx", "special_entr", "sinc", "acosh")
    powers = base(case) in ("pow", "float_power") and isinstance(exponent, (int, float)) and (exponent < 0 or exponent % 2 == 0)
    powers |= base(case) in ("pow", "float_power") and len(case["inputs"]) == 2
    special = base(case).startswith(("special_", "igamma", "mvl")) or base(case) == "logit_backward"
    return detail["kind"] == "missing" and ordered(detail["inputs"]) and (domain or powers or special)


@rule("dtensor_ops", "a power of a sum is a product of powers only for a base above 0, as was drawn")
def _(case, detail):
    return (detail["kind"] == "missing" and base(case) in ("pow", "float_power") and len(case["inputs"]) == 2 and
            detail["inputs"] == ["B", "P(sum)"] and detail["outputs"] == ["P(prod)"])


@rule("dtensor_ops", "weights were drawn positive, or a mean over one row is that row: order then passes")
def _(case, detail):
    one_row = any(len(i["shape"]) == 0 for i in case["inputs"] if i["name"] == "target")
    weighted = any(i["name"] == "weight" for i in case["inputs"])
    return detail["kind"] == "missing" and ordered(detail["inputs"]) and "loss" in base(case) and (one_row or weighted)


@rule("dtensor_ops", "the value does not depend on the operand: a factor or an exponent of 0")
def _(case, detail):
    zero = any(case["attrs"].get(k) == 0 for k in ("other", "exponent", "alpha", "beta", "scalar", "value"))
    return (detail["kind"] == "missing" and zero and any(map(partial, detail["inputs"] + detail["outputs"])) and
            base(case) in ("mul", "pow", "div", "float_power", "add", "sub", "addmm", "baddbmm", "addbmm", "addmv", "addr", "addcmul", "addcdiv"))


@rule("dtensor_ops", "a tensor that is all zeros (as was this result) counts as parts of any sum")
def _(case, detail):
    zeros = "zero" in base(case) or base(case) in ("linalg_cholesky_ex", "linalg_inv_ex", "linalg_solve_ex", "_linalg_solve_ex", "linalg_lu_factor_ex")
    zeros |= base(case) in ("mul", "new_full", "full_like", "fill") and 0 in (case["attrs"].get("other"), case["attrs"].get("fill_value"), case["attrs"].get("value"))
    return detail["kind"] == "missing" and zeros and any(partial(s, "sum") for s in detail["outputs"])


@rule("dtensor_ops", "a product of truth values is their minimum, which is offered")
def _(case, detail):
    return (detail["kind"] == "missing" and any(i["dtype"] == "bool" for i in case["inputs"]) and
            any(partial(s, "prod") for s in detail["outputs"]) and "P(min)" in detail["inputs"])


@rule("dtensor_ops", "any and all over many truth values come out alike in every part")
def _(case, detail):
    return (detail["kind"] == "missing" and base(case) in ("any", "all") and ordered(detail["inputs"]) and "B" in detail["outputs"])


@rule("dtensor_ops", "a split that holds because windows neither overlap nor cross the border between parts")
def _(case, detail):
    a = case["attrs"]
    kernel, stride = a.get("kernel_size"), a.get("stride")
    aligned = kernel is not None and (not stride or stride == kernel)
    return (detail["kind"] == "missing" and aligned and any(s.startswith("S(") for s in detail["inputs"]) and
            ("pool" in base(case) or base(case) in ("im2col", "unfold")))


@rule("dtensor_ops", "an empty tensor has no values: any layout says the same")
def _(case, detail):
    empty = [0 in i["shape"] for i in case["inputs"]]
    return detail["kind"] == "missing" and any(e and partial(s) for e, s in zip(empty, detail["inputs"]))


@rule("dtensor_modules", "the recorded run skipped a gather that it had planned: its values are wrong")
def _(case, detail):
    return detail["kind"] == "more" and "values_wrong" in case


# OneFlow ----------------------------------------------------------------------------------------------------------------


@rule("oneflow_eager", "our op has a signature that takes every operand as it lies; theirs has not, and moves one")
def _(case, detail):
    return detail["kind"] == "layout" and detail["kept"]


@rule("oneflow_eager", "on two mesh axes ties are broken otherwise, and their price of boxing is another")
def _(case, detail):
    return detail["kind"] == "layout" and len(case["mesh"]) > 1


@rule("oneflow_eager", "theirs passes a partial sum through a function that is not linear")
def _(case, detail):
    return (detail["kind"] == "layout" and detail["expected"] == "P(sum)" and
            (case["op"].startswith("cast_int") or case["op"] in ("isnan", "isinf", "isfinite")))


@rule("oneflow_eager", "theirs yields parts where a dimension that is sliced is split; ours gathers it")
def _(case, detail):
    return detail["kind"] == "layout" and detail["expected"] == "P(sum)" and case["op"].split("_")[0] in ("slice", "narrow", "split", "chunk")


@rule("oneflow_eager", "ours splits where theirs has nothing but whole tensors")
def _(case, detail):
    return detail["kind"] == "layout" and detail["expected"] == "B" and detail["found"].startswith("S(")


@rule("dtensor_views", "a tensor without elements is not split: the smallest part gets at least one unit")
def _(case, detail):
    return 0 in case["shape"] and detail["kind"] == "missing"


@rule("oneflow_signatures", "the order is that of the definition (dimensions of the results, then reduced ones, then partial operands), not of registration")
def _(case, detail):
    return detail["kind"] == "order"


# PaddlePaddle: each answer of ours is one of our candidates, which execution proves; theirs is sound too ------------------


def differs(detail):
    return detail["kind"] == "differs"


def more_partial(detail):
    """Equal mappings, and ours is partial wherever theirs is."""
    return all(f[0] == e[0] and set(e[1]) <= set(f[1]) for e, f in zip(detail["expected"], detail["found"]))


def given_partial(detail):
    return any(partial for _, partial in detail["given"])


def several(layouts):
    """Are two mesh axes on one dimension somewhere?"""
    return any(len(axes) > 1 for mapping, _ in layouts for axes in mapping)


def axes_on(layouts):
    return {(t, d, a) for t, (mapping, _) in enumerate(layouts) for d, axes in enumerate(mapping) for a in axes}


def asked_twice(detail):
    """Is one mesh axis given on several dimensions?"""
    places = [a for _, _, a in axes_on(detail["given"])]
    return len(places) != len(set(places))


def indexed(case):
    return case["rule"] in ("gather", "take_along_axis", "embedding", "lookup_table_v2", "c_embedding", "gather_nd", "index_select", "scatter",
                            "put_along_axis", "scatter_nd_add", "index_add", "index_put")


@rule("paddle_rules", "a partial sum passes through what is linear in it: theirs resolves it first")
def _(case, detail):
    return differs(detail) and given_partial(detail) and more_partial(detail)


@rule("paddle_rules", "ours keeps a split that was given, on every tensor that carries it: theirs drops it")
def _(case, detail):
    return differs(detail) and axes_on(detail["expected"]) < axes_on(detail["found"]) and not indexed(case)


@rule("paddle_rules", "a dimension that is indexed may be split: indices of other ranks are masked and the results add up")
def _(case, detail):
    return differs(detail) and indexed(case) and bool(axes_on(detail["found"])) and axes_on(detail["expected"]) != axes_on(detail["found"])


@rule("paddle_rules", "several mesh axes may lie on one dimension: theirs keeps one")
def _(case, detail):
    return differs(detail) and (several(detail["given"]) or several(detail["found"]))


@rule("paddle_rules", "one mesh axis was given on several dimensions: which of them keeps it is a choice")
def _(case, detail):
    return differs(detail) and asked_twice(detail)


@rule("paddle_rules", "theirs splits a dimension of a concat that nobody had split")
def _(case, detail):
    if not differs(detail) or case["rule"] not in ("concat", "stack"):
        return False
    somebody = {(d, a) for _, d, a in axes_on(detail["given"])}
    return any((d, a) not in somebody for _, d, a in axes_on(detail["expected"]))


@rule("paddle_rules", "a sum of maxima is not the maximum of sums: it held for the values drawn")
def _(case, detail):
    if not differs(detail) or case["rule"] not in ("add_n", "add", "subtract", "sum"):
        return False
    return any(kind in ("max", "min") for _, partial in detail["expected"] for _, kind in partial)


def in_place(layouts):
    return {(d, a) for _, d, a in axes_on(layouts)}


@rule("paddle_rules", "ours leaves what was given in its place; theirs moves it to another dimension")
def _(case, detail):
    return differs(detail) and in_place(detail["given"]) <= in_place(detail["found"]) and not in_place(detail["given"]) <= in_place(detail["expected"])


@rule("paddle_rules", "one dimension was given different mesh axes: which it keeps is a choice")
def _(case, detail):
    return differs(detail) and len({a for _, _, a in axes_on(detail["given"])}) > 1 and len(in_place(detail["found"])) == len(in_place(detail["expected"]))
