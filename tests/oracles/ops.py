"""What the maps of all systems share: an op of ours, tensors shown to it in another shape, and names of plain functions."""
from ask import operand


class Shown:
    """A case's tensor as our op sees it: another shape; `dims[i]` is the case's dimension at our dimension i, or None."""

    def __init__(self, shape, dims):
        self.shape, self.dims = list(shape), list(dims)


def moved_last(shape, axes):
    """The tensor with some dimensions moved to the end, in the given order."""
    rank = len(shape)
    axes = [a % rank for a in axes] if rank else []
    dims = [d for d in range(rank) if d not in axes] + axes
    return Shown([shape[d] for d in dims], dims)


def moved_first(shape, axis):
    axis %= len(shape)
    dims = [axis] + [d for d in range(len(shape)) if d != axis]
    return Shown([shape[d] for d in dims], dims)


def with_one(shape, axis):
    """The tensor with a dimension of size 1 inserted."""
    axis %= len(shape) + 1
    dims = list(range(len(shape)))
    return Shown([*shape[:axis], 1, *shape[axis:]], [*dims[:axis], None, *dims[axis:]])


class Op:
    """An op of ours that answers a case.

    operands: each the key of a case's tensor (name or number), or a literal (a dict), or None for an absent one.
    outs: for each of the case's outputs our result, or None where it is not compared.
    shown: key -> Shown; shown_outs: our result -> the case's dimension at each of its dimensions.
    guess: found by its name alone; a question that fails is then a skip.
    """

    def __init__(self, op, operands, attributes=None, outs=(0,), dtypes=None, shown=None, shown_outs=None, results=None,
                 guess=False):
        self.op, self.operands, self.attributes, self.outs = op, list(operands), attributes or {}, list(outs)
        self.dtypes, self.shown, self.shown_outs, self.guess = dtypes or {}, shown or {}, shown_outs or {}, guess
        self.results = results or max([o for o in self.outs if o is not None], default=0) + 1

    @property
    def tentative(self):
        """May the program refuse the question, because the map does not cover this form of the case? Then it is a skip."""
        return self.guess or self.op.startswith("other::")

    def fits(self, keys):
        """Are all tensors that it names among the case's?"""
        return all(e is None or isinstance(e, dict) or e in keys for e in self.operands)

    def question(self, shape_of, dtype_of):
        """The part of a question that says which op is asked."""
        operands = []
        for entry in self.operands:
            if entry is None or isinstance(entry, dict):
                operands.append(entry)
            else:
                shape = self.shown[entry].shape if entry in self.shown else shape_of(entry)
                operands.append(operand(shape, self.dtypes.get(entry) or dtype_of(entry)))
        return {"op": self.op, "operands": operands, "attributes": self.attributes, "results": self.results}

    def to_case(self, layout, dims):
        """One axis's layout in the case's dimensions; None where the case has no such dimension."""
        if dims is None or not layout.startswith("S("):
            return layout
        dim = dims[int(layout[2:-1])]
        return None if dim is None else f"S({dim})"

    def candidate(self, candidate, axes=1):
        """({key: layout}, [layout of each output]) in the case's terms, or None if the case cannot say it."""
        inputs = {}
        for entry, layout in zip(self.operands, candidate["inputs"]):
            if entry is None:
                continue
            if isinstance(entry, dict):
                if layout != "B":
                    return None
                continue
            spelled = self.to_case(layout, self.shown[entry].dims if entry in self.shown else None)
            if spelled is None or inputs.get(entry, spelled) != spelled:
                return None
            inputs[entry] = spelled
        outs = []
        for result in self.outs:
            layout = "-" if result is None else self.to_case(candidate["outputs"][result], self.shown_outs.get(result))
            if layout is None:
                return None
            outs.append(layout)
        return inputs, outs


# Functions of one operand, by the names that the systems give them (lower case, without underscores at the ends).
UNARY = {
    "abs": "Abs", "absolute": "Abs", "acos": "Acos", "arccos": "Acos", "acosh": "Acosh", "arccosh": "Acosh", "asin": "Asin",
    "arcsin": "Asin", "asinh": "Asinh", "arcsinh": "Asinh", "atan": "Atan", "arctan": "Atan", "atanh": "Atanh",
    "arctanh": "Atanh", "ceil": "Ceil", "celu": "Celu", "cos": "Cos", "cosh": "Cosh", "elu": "Elu", "erf": "Erf", "exp": "Exp",
    "fast_gelu": "Gelu", "floor": "Floor", "gelu": "Gelu", "hard_sigmoid": "HardSigmoid", "hard_swish": "HardSwish",
    "hardsigmoid": "HardSigmoid", "hardswish": "HardSwish", "isinf": "IsInf", "isnan": "IsNaN", "leaky_relu": "LeakyRelu",
    "log": "Log", "mish": "Mish", "neg": "Neg", "negative": "Neg", "reciprocal": "Reciprocal", "relu": "Relu", "round": "Round",
    "selu": "Selu", "sigmoid": "Sigmoid", "sign": "Sign", "sgn": "Sign", "silu": "Swish", "swish": "Swish", "sin": "Sin",
    "sinh": "Sinh", "softplus": "Softplus", "softsign": "Softsign", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
    "hardshrink": "Shrink", "hard_shrink": "Shrink", "bitwise_not": "BitwiseNot",
    **dict.fromkeys(["identity", "alias", "alias_copy", "clone", "contiguous", "positive", "assign", "detach", "detach_copy",
                     "detach_", "to_contiguous", "lift_fresh", "lift_fresh_copy", "resolve_conj", "resolve_neg", "share_data",
                     "_neg_view", "parallel_cast", "mutable_cast_once", "print", "increment", "memcpy", "pin_memory"], "Identity"),
    **dict.fromkeys(["erfinv", "expm1", "log10", "log1p", "log2", "log_sigmoid", "logsigmoid", "log_sigmoid_forward",
                     "trunc", "fix", "softshrink", "soft_shrink", "hardtanh", "hard_tanh", "relu6", "threshold", "logit",
                     "tanh_shrink", "tanhshrink", "stanh", "thresholded_relu", "brelu", "square_relu", "nan_to_num", "digamma",
                     "special_ndtri", "special_log_ndtr", "special_ndtr", "special_expit", "isposinf", "special_i1", "i1",
                     "special_erfinv", "special_expm1", "special_log1p", "special_logit", "special_psi",
                     "special_digamma"],
                    "other::Rising"),
    **dict.fromkeys(["erfc", "rsqrt", "special_erfc", "inv", "isneginf", "angle", "arg", "signbit", "special_erfcx", "erfcx"], "other::Falling"),
    **dict.fromkeys(["exp2", "special_exp2"], "other::Power"),
    **dict.fromkeys(["round_half_to_even", "rint"], "Round"),
    **dict.fromkeys(["copy", "identity_buffer", "tuple_identity", "amp_white_identity", "amp_black_identity", "hierarchical_parallel_cast"],
                    "Identity"),
    **dict.fromkeys(["deg2rad", "rad2deg"], "other::Scaled"),
    **dict.fromkeys(["conj", "_conj", "_conj_physical", "conj_physical", "real", "imag", "view_as_real_like"], "other::Linear"),
    **dict.fromkeys(["isfinite", "isreal", "not_equal_zero"], "other::Test"),
    **dict.fromkeys(["frac", "i0", "i0e", "i1e", "lgamma", "gammaln", "polygamma", "poisson",
                     "quick_gelu", "reciprocal_no_nan", "rrelu", "rrelu_with_noise", "sinc", "square", "special_entr",
                     "special_i0", "special_i0e", "special_i1e", "special_bessel_j0", "special_bessel_j1",
                     "special_bessel_y0", "special_bessel_y1", "special_gammaln", "special_sinc", "special_modified_bessel_i0", "special_modified_bessel_i1", "special_modified_bessel_k0",
                     "special_modified_bessel_k1", "special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1",
                     "special_spherical_bessel_j0", "special_airy_ai", "mvlgamma", "scale", "pow", "fill", "exponential"], "other::Map"),
}

# Functions of two or more operands with broadcasting.
BINARY = {
    "add": "Add", "sub": "Sub", "subtract": "Sub", "mul": "Mul", "multiply": "Mul", "div": "Div", "divide": "Div",
    "true_divide": "Div", "maximum": "Max", "minimum": "Min", "fmax": "Max", "fmin": "Min", "pow": "Pow", "eq": "Equal",
    "equal": "Equal", "lt": "Less", "less": "Less", "less_than": "Less", "le": "LessOrEqual", "less_equal": "LessOrEqual",
    "gt": "Greater", "greater": "Greater", "greater_than": "Greater", "ge": "GreaterOrEqual", "greater_equal": "GreaterOrEqual",
    "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor", "elementwise_pow": "Pow", "elementwise_add": "Add", "elementwise_sub": "Sub",
    "elementwise_mul": "Mul", "elementwise_div": "Div", "elementwise_max": "Max", "elementwise_min": "Min",
    "elementwise_maximum": "Max", "elementwise_minimum": "Min", "float_power": "Pow", "rsub": "other::ReverseSub",
    "logaddexp": "other::Rising2", "logaddexp2": "other::Rising2", "heaviside": "other::Rising2",
    "ldexp": "other::PositiveScale", "bitwise_left_shift": "other::PositiveScale", "__lshift__": "other::PositiveScale",
    "bitwise_right_shift": "other::RisingInFirst", "__rshift__": "other::RisingInFirst", "floordiv": "other::Map", "trunc_mod": "other::Map",
    "ne": "other::Test", "not_equal": "other::Test", "isclose": "other::Test",
    **dict.fromkeys(["xlogy", "special_xlogy", "special_xlog1py", "xdivy", "div_no_nan"],
                    "other::LinearInFirst"),
    **dict.fromkeys(["atan2", "arctan2", "copysign", "floor_divide", "floor_div", "floor_mod", "floormod", "fmod", "remainder", "mod",
                     "elementwise_mod", "elementwise_floordiv", "trunc_divide", "trunc_div", "truncdiv", "gcd", "lcm", "hypot",
                     "nextafter", "igamma", "igammac", "gammainc", "gammaincc", "special_zeta", "polar", "complex", "elementwise_fmod", "special_gammainc", "special_gammaincc"], "other::Map"),
}
