#!/usr/bin/env python3
"""Mixtures of experts as exporters spell them: each way to route, to choose weights and to add up, on meshes of one, two
and three axes. No plan copies weights per token, experts split where memory binds, and every plan computes what the
file says. By default each case has one mesh for all memory and another one for little, by turns.

  expert_spellings.py PROGRAM [--all | --few] [NAME...]
"""
import json
import pathlib
import re
import sys
import tempfile

from simplify_rewrites import Builder, run

TOKENS, BATCH, WIDTH, INNER, EXPERTS, BEST = 24, 4, 8, 16, 8, 2
MESHES = ("8", "a=2,b=4", "a=2,b=2,c=2")
MOST_OF_PEAK = 0.7  # with all memory: what little memory may come to where a case needs more than was asked


class Moe(Builder):
    """`dims`: how tokens come, [24] or [4, 6]."""

    def __init__(self, dims=(TOKENS,), dtype="f32"):
        super().__init__()
        self.dims, self.dtype = list(dims), dtype
        self.x = self.input("x", self.kind(*dims, WIDTH))

    def kind(self, *dims):
        return f"{self.dtype}[{','.join(map(str, dims))}]"

    def param(self, name, *dims):
        return self.weight(name, self.kind(*dims))

    def number(self, value):
        name = f"number{len(self.parameters)}"
        self.parameters.append({"name": name, "type": f"{self.dtype}[]", "literal": {"floats": [value]}})
        return name

    def unsqueeze(self, x, *axes):
        return self.op("Unsqueeze", x, self.ints(*axes))

    def total(self, x, axis, keep=0):
        return self.op("ReduceSum", x, self.ints(axis), keepdims=keep)

    def act(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    # How tokens find experts: weights and indices [..., BEST].
    def router(self, how="softmax, norm"):
        logits = self.op("MatMul", self.x, self.param("router", WIDTH, EXPERTS), name="logits")
        if how == "sigmoid":  # DeepSeek's: a bias chooses, and does not weigh
            scores = self.op("Sigmoid", logits)
            self.op("TopK", self.op("Add", scores, self.param("choice", EXPERTS)), self.ints(BEST),
                    outputs=["unused", "ids"], axis=-1)
            w = self.op("GatherElements", scores, "ids", axis=-1)
            w = self.op("Div", w, self.op("Add", self.total(w, -1, 1), self.number(1e-20)))
            return self.op("Mul", w, self.number(2.5)), "ids"
        scores = logits if how == "after" else self.op("Softmax", logits, axis=-1)
        best, ids = self.op("TopK", scores, self.ints(BEST), outputs=["best", "ids"], axis=-1)
        if how == "after":
            best = self.op("Softmax", best, axis=-1)
        if how == "softmax, norm":
            best = self.op("Div", best, self.total(best, -1, 1))
        return best, ids

    def stacks(self, fused=False):
        up = [self.param("gate_up", EXPERTS, WIDTH, 2 * INNER)] if fused else [
            self.param(n, EXPERTS, WIDTH, INNER) for n in ("gate", "up")]
        return up, self.param("down", EXPERTS, INNER, WIDTH)

    def gated(self, parts):
        if len(parts) == 1:
            parts = self.op("Split", parts[0], outputs=["gate_part", "up_part"], axis=-1, num_outputs=2)
        return self.op("Mul", self.act(parts[0]), parts[1])

    def shared(self, y):
        """Qwen2's: an expert that sees all tokens, weighed by a gate of its own."""
        h = self.gated([self.op("MatMul", self.x, self.param(f"shared_{n}", WIDTH, INNER)) for n in ("gate", "up")])
        h = self.op("MatMul", h, self.param("shared_down", INNER, WIDTH))
        gate = self.op("Sigmoid", self.op("MatMul", self.x, self.param("shared_router", WIDTH, 1)))
        return self.op("Add", y, self.op("Mul", gate, h))


def rows(b, ids, fused=False):
    """One row for each choice, as transformers' batched_mm has it: [TOKENS * BEST, WIDTH]."""
    n = TOKENS * BEST
    chosen = b.reshape(ids, n)
    x = b.op("Expand", b.unsqueeze(b.reshape(b.x, TOKENS, WIDTH), 1), b.ints(TOKENS, BEST, WIDTH))
    x = b.unsqueeze(b.reshape(x, n, WIDTH), 1)
    ups, down = b.stacks(fused)
    h = b.gated([b.op("MatMul", x, b.op("Gather", w, chosen, axis=0)) for w in ups])
    y = b.op("Squeeze", b.op("MatMul", h, b.op("Gather", down, chosen, axis=0)), b.ints(1))
    return b.reshape(y, *b.dims, BEST, WIDTH)


def in_place(b, ids, fused=False):
    """Indices as TopK gives them: weights [..., BEST, WIDTH, INNER]."""
    rank = len(b.dims)
    ups, down = b.stacks(fused)
    x = b.unsqueeze(b.x, rank, rank + 1)
    h = b.gated([b.op("MatMul", x, b.op("Gather", w, ids, axis=0)) for w in ups])
    return b.op("Squeeze", b.op("MatMul", h, b.op("Gather", down, ids, axis=0)), b.ints(rank + 1))


def by_einsum(b, ids, fused=False):
    t = "bs"[:len(b.dims)]
    ups, down = b.stacks(fused)
    h = b.gated([b.op("Einsum", b.x, b.op("Gather", w, ids, axis=0), equation=f"{t}d,{t}kdf->{t}kf") for w in ups])
    return b.op("Einsum", h, b.op("Gather", down, ids, axis=0), equation=f"{t}kf,{t}kfd->{t}kd")


def by_einsum_columns(b, ids):
    """Weights before tokens, and stored (out, in), as torch's Linear does."""
    t = "bs"[:len(b.dims)]
    ups = [b.param(n, EXPERTS, INNER, WIDTH) for n in ("gate", "up")]
    h = b.gated([b.op("Einsum", b.op("Gather", w, ids, axis=0), b.x, equation=f"{t}kfd,{t}d->{t}kf") for w in ups])
    down = b.op("Gather", b.param("down", EXPERTS, WIDTH, INNER), ids, axis=0)
    return b.op("Einsum", down, h, equation=f"{t}kdf,{t}kf->{t}kd")


def by_einsum_reordered(b, ids):
    """Tokens last, and the choice before the token in what is written."""
    ups, down = b.stacks()
    x = b.transpose(b.x, 1, 0)
    h = b.gated([b.op("Einsum", b.op("Gather", w, ids, axis=0), x, equation="tkdf, dt -> ktf") for w in ups])
    return b.op("Einsum", h, b.op("Gather", down, ids, axis=0), equation="ktf,tkfd->tkd")


def with_bias(b, ids):
    """gpt-oss's: each expert has biases, and its gate and up columns alternate."""
    ups, down = b.stacks(True)
    rank = len(b.dims)
    h = b.op("MatMul", b.unsqueeze(b.x, rank, rank + 1), b.op("Gather", ups[0], ids, axis=0))
    h = b.op("Add", b.op("Squeeze", h, b.ints(rank + 1)), b.op("Gather", b.param("b1", EXPERTS, 2 * INNER), ids, axis=0))
    step = lambda start: b.op("Slice", h, b.ints(start), b.ints(2 * INNER), b.ints(-1), b.ints(2))
    h = b.gated([step(0), step(1)])
    y = b.op("MatMul", b.unsqueeze(h, rank + 1), b.op("Gather", down, ids, axis=0))
    return b.op("Add", b.op("Squeeze", y, b.ints(rank + 1)), b.op("Gather", b.param("b2", EXPERTS, WIDTH), ids, axis=0))


def with_casts(b, ids):
    """Weights are stored in fewer bits than they are multiplied in, and cast after they are gathered."""
    rank = len(b.dims)
    cast = lambda name, *dims: b.op("Cast", b.op("Gather", b.weight(name, f"f16[{','.join(map(str, dims))}]"), ids, axis=0),
                                    to=b.dtype)
    x = b.unsqueeze(b.x, rank, rank + 1)
    h = b.gated([b.op("MatMul", x, cast(n, EXPERTS, WIDTH, INNER)) for n in ("gate", "up")])
    return b.op("Squeeze", b.op("MatMul", h, cast("down", EXPERTS, INNER, WIDTH)), b.ints(rank + 1))


# How the results of one token are added up.
def by_sum(b, y, w):
    return b.total(b.op("Mul", y, b.unsqueeze(w, -1)), len(b.dims))


def by_product(b, y, w):
    rank = len(b.dims)
    return b.op("Squeeze", b.op("MatMul", b.unsqueeze(w, rank), y), b.ints(rank))


def by_einsum_sum(b, y, w):
    t = "bs"[:len(b.dims)]
    return b.op("Einsum", w, y, equation=f"{t}k,{t}kd->{t}d")


def by_scatter(b, y, w):
    """index_add_ over the tokens of the rows, whose numbers are a constant."""
    y = b.reshape(b.op("Mul", y, b.unsqueeze(w, -1)), TOKENS * BEST, WIDTH)
    zeros = b.op("Expand", b.number(0.0), b.ints(TOKENS, WIDTH))
    tokens = b.op("Expand", b.unsqueeze(b.ints(*range(TOKENS)), 1), b.ints(TOKENS, BEST))
    tokens = b.reshape(tokens, TOKENS * BEST, 1)
    return b.reshape(b.op("ScatterND", zeros, tokens, y, reduction="add"), *b.dims, WIDTH)


def gathered(experts, how="softmax, norm", add=by_sum, shared=False, dims=(TOKENS,), dtype="f32", **options):
    def case():
        b = Moe(dims, dtype)
        w, ids = b.router(how)
        y = add(b, experts(b, ids, **options), w)
        return b, b.shared(y) if shared else y, {"sbp::GroupedMatMul": 3 if experts is not with_bias else 2}
    return case


def dense_weights(b, how, spelling):
    """[TOKENS, EXPERTS], 0 where a token does not go."""
    w, ids = b.router(how)
    if spelling == "scatter":
        return b.op("ScatterElements", b.op("Expand", b.number(0.0), b.ints(*b.dims, EXPERTS)), ids, w, axis=-1)
    values = f"onoff{len(b.parameters)}"
    b.parameters.append({"name": values, "type": f"{b.dtype}[2]", "literal": {"floats": [0, 1]}})
    mask = b.op("OneHot", ids, b.scalar(EXPERTS), values, axis=-1)
    return b.total(b.op("Mul", mask, b.unsqueeze(w, -1)), -2)


def dense(products, weights="one hot", how="softmax, norm", shared=False, dims=(TOKENS,), dtype="f32"):
    """Every expert computes every token."""
    def case():
        b = Moe(dims, dtype)
        w = dense_weights(b, how, weights)
        t = "bs"[:len(dims)]
        if products == "einsum":
            ups, down = b.stacks()
            h = b.gated([b.op("Einsum", b.x, u, equation=f"{t}d,edf->{t}ef") for u in ups])
            y = b.op("Einsum", b.op("Mul", h, b.unsqueeze(w, -1)), down, equation=f"{t}ef,efd->{t}d")
        elif products == "batched":  # Llama 4's, gpt-oss's
            x = b.reshape(b.op("Expand", b.reshape(b.x, 1, TOKENS, WIDTH), b.ints(EXPERTS, TOKENS, WIDTH)), EXPERTS * TOKENS,
                          WIDTH)
            x = b.reshape(x, EXPERTS, TOKENS, WIDTH)
            ups, down = b.stacks(True)
            y = b.op("MatMul", b.gated([b.op("MatMul", x, u) for u in ups]), down)
            y = b.op("Mul", y, b.unsqueeze(b.transpose(b.reshape(w, TOKENS, EXPERTS), 1, 0), -1))
            y = b.reshape(b.total(y, 0), *dims, WIDTH)
        else:  # a loop over experts
            y = None
            for e in range(EXPERTS):
                h = b.gated([b.op("MatMul", b.x, b.param(f"e{e}.{n}", WIDTH, INNER)) for n in ("gate", "up")])
                h = b.op("MatMul", h, b.param(f"e{e}.down", INNER, WIDTH))
                h = b.op("Mul", h, b.slice(w, e, e + 1, len(dims)))
                y = h if y is None else b.op("Add", y, h)
        return b, b.shared(y) if shared else y, {}
    return case


def looped(places="one hot", rows="tuples", add="tuples", how="softmax, norm", fused=False, dims=(TOKENS,), dtype="f32",
           shared=False, only=EXPERTS, odd=False, grouped=True, stacked=False):
    """Expert by expert, each on the rows that a mask picks: transformers' eager code."""
    def case():
        b = Moe(dims, dtype)
        w, ids = b.router(how)
        rank = len(dims)
        column = lambda r, c: b.op("Gather", r, b.scalar(c), axis=1)
        columns = lambda r, n: r if n > 1 else b.unsqueeze(column(r, 0), 1)
        if places == "one hot":
            numbers = b.ints(*range(EXPERTS))
            mask = b.op("Cast", b.op("Equal", b.unsqueeze(ids, -1), numbers), to="i64")
            mask = b.transpose(mask, rank + 1, *range(rank + 1))
        elif places == "OneHot":
            b.parameters.append({"name": "off_on", "type": "i64[2]", "literal": {"ints": [0, 1]}})
            mask = b.transpose(b.op("OneHot", ids, b.scalar(EXPERTS), "off_on", axis=-1), rank + 1, *reversed(range(rank + 1)))
        y = b.op("Expand", b.number(0.0), b.ints(*dims, WIDTH))
        for e in range(only):
            if places == "equal":
                found = b.op("NonZero", b.op("Equal", ids, b.scalar(e)))
            else:
                found = b.op("NonZero", b.op("Gather", mask, b.scalar(e), axis=0))
            found = b.transpose(found, 1, 0)  # (rows, coordinates)
            parts = [column(found, c) for c in range(rank + 1)]
            if places == "OneHot":
                parts.reverse()
            where = b.op("Concat", *[b.unsqueeze(p, 1) for p in parts[:rank]], axis=1)
            if rows == "none first":  # hidden_states[None, top_x].reshape(-1, hidden)
                x = b.reshape(b.op("Gather", b.unsqueeze(b.x, 0), parts[0], axis=1), -1, WIDTH)
            else:
                x = b.op("Gather", b.x, parts[0], axis=0) if rows == "gather" else b.op("GatherND", b.x, where)
            if stacked:
                if e == 0:
                    stack = b.param("gate_up", EXPERTS, 2 * INNER, WIDTH), b.param("down", EXPERTS, WIDTH, INNER)
                own = b.op("Squeeze", b.slice(stack[0], e, e + 1, 0), b.ints(0))
                h = b.op("MatMul", x, b.transpose(own, 1, 0))
                gate, up = b.op("Split", h, outputs=[f"gate{e}", f"up{e}"], axis=-1, num_outputs=2)
            elif fused:
                h = b.op("Gemm", x, b.param(f"e{e}.gate_up", 2 * INNER, WIDTH), transB=1)
                gate, up = b.op("Split", h, outputs=[f"gate{e}", f"up{e}"], axis=-1, num_outputs=2)
            else:
                gate, up = [b.op("MatMul", x, b.param(f"e{e}.{n}", WIDTH, INNER)) for n in ("gate", "up")]
            h = b.op("Mul", b.op("Relu", gate) if odd and e == 1 else b.act(gate), up)
            down = b.op("Gather", stack[1], b.scalar(e), axis=0) if stacked else b.param(f"e{e}.down", WIDTH, INNER)
            h = b.op("Gemm", h, down, transB=1)
            place = b.op("Concat", *[b.unsqueeze(p, 1) for p in parts], axis=-1)
            if rows == "gather":
                weight = b.unsqueeze(b.op("GatherND", w, place), -1)
            else:
                weight = b.op("GatherND", b.unsqueeze(w, -1), place)
            h = b.op("Mul", h, weight)
            if add == "elements":
                index = b.op("Expand", b.unsqueeze(parts[0], -1), b.op("Shape", h))
                y = b.op("ScatterElements", y, index, h, axis=0, reduction="add")
            else:
                y = b.op("ScatterND", y, where, h, reduction="add")
        if not grouped:
            return b, y, {"sbp::ExpertsMatMul": 0, "NonZero": only}
        kind = "sbp::GroupedMatMul" if stacked else "sbp::ExpertsMatMul"
        return b, b.shared(y) if shared else y, {kind: 2 if fused else 3, "NonZero": 0}
    return case


def sorted_rows(counted="ids", put_back="scatter", largest=0, how="softmax, norm", dims=(TOKENS,), dtype="f32", bias=False,
                unsorted=True):
    """Rows sorted by expert, products of groups, put back: transformers' grouped_mm."""
    def case():
        b = Moe(dims, dtype)
        w, ids = b.router(how)
        n, counter = TOKENS * BEST, b.ints(*range(TOKENS * BEST))
        flat = b.reshape(ids, n)
        b.op("TopK", flat, b.ints(n), outputs=["numbers", "order"], axis=-1, largest=largest)
        if counted == "remainder":  # order // BEST, as torch's floor_divide is written
            source = b.op("Div", b.op("Sub", "order", b.op("Mod", "order", b.scalar(BEST))), b.scalar(BEST))
        else:
            source = b.op("Div", "order", b.scalar(BEST))
        x = b.op("Gather", b.reshape(b.x, TOKENS, WIDTH), source, axis=0)
        own = b.op("Equal", b.unsqueeze(flat if counted == "ids" else "numbers", 1), b.ints(*range(EXPERTS)))
        ends = b.op("CumSum", b.total(b.op("Cast", own, to="i64"), 0), b.scalar(0))
        past = b.op("GreaterOrEqual", b.unsqueeze(counter, 1), b.unsqueeze(ends, 0))
        groups = b.total(b.op("Cast", past, to="i64"), 1)
        ups, down = b.stacks()
        h = b.gated([b.op("sbp::GroupedMatMul", x, up, groups) for up in ups])
        y = b.op("sbp::GroupedMatMul", h, down, groups)
        if bias:
            y = b.op("Add", y, b.op("Gather", b.param("b2", EXPERTS, WIDTH), "numbers", axis=0))
        y = b.op("Mul", y, b.unsqueeze(b.op("Gather", b.reshape(w, n), "order", axis=0), 1))
        if put_back == "scatter":
            back = b.op("ScatterND", b.op("Expand", b.scalar(0), b.ints(n)), b.unsqueeze("order", 1), counter)
        elif put_back == "elements":
            back = b.op("ScatterElements", b.op("Expand", b.scalar(0), b.ints(n)), "order", counter, axis=0)
        elif put_back == "sort":
            b.op("TopK", "order", b.ints(n), outputs=["unused numbers", "back"], axis=-1, largest=0)
            back = "back"
        else:  # in another order than they came in
            back = "order"
        y = b.reshape(b.op("Gather", y, back, axis=0), *dims, BEST, WIDTH)
        sorts = 1 if unsorted else 3 if put_back == "sort" else 2
        return b, b.total(y, len(dims)), {"sbp::GroupedMatMul": 3, "TopK": sorts}
    return case


CASES = {}
for name, experts in {"rows": rows, "in place": in_place, "einsum": by_einsum, "einsum, columns": by_einsum_columns,
                      "bias": with_bias, "casts": with_casts}.items():
    CASES[f"{name}"] = gathered(experts)
    CASES[f"{name}, batch and sequence"] = gathered(experts, dims=(4, 6), how="softmax")
CASES["einsum, reordered"] = gathered(by_einsum_reordered)
for how in ("softmax", "after", "sigmoid"):
    CASES[f"routing {how}"] = gathered(rows, how=how, shared=True)
for add in (by_product, by_einsum_sum, by_scatter):
    CASES[f"added {add.__name__}"] = gathered(in_place, add=add, dims=(4, 6))
CASES["fused"] = gathered(in_place, fused=True, shared=True)
CASES["fused, einsum"] = gathered(by_einsum, fused=True, dims=(4, 6))
CASES["bf16"] = gathered(rows, dtype="bf16", fused=True)
CASES["bf16, casts"] = gathered(with_casts, dtype="bf16", dims=(4, 6))
for products in ("einsum", "batched", "loop"):
    CASES[f"dense {products}"] = dense(products)
    CASES[f"dense {products}, scattered weights"] = dense(products, "scatter", "softmax", True, (4, 6))
CASES["loop"] = looped(shared=True)
CASES["loop, OneHot"] = looped("OneHot", how="softmax", dtype="bf16")
CASES["loop, OneHot, elements"] = looped("OneHot", "gather", "elements", how="after")
CASES["loop, equal"] = looped("equal", "gather", "elements", how="sigmoid", shared=True)
CASES["loop, batch and sequence"] = looped(dims=(4, 6))
CASES["loop, equal, fused, batch and sequence"] = looped("equal", fused=True, dims=(4, 6), dtype="bf16")
CASES["loop, none first"] = looped(rows="none first")
CASES["loop, stacked"] = looped(stacked=True)
CASES["loop, stacked, OneHot, elements"] = looped("OneHot", "gather", "elements", stacked=True, dtype="bf16")
# Not all turns, or not alike: as they are written.
CASES["loop, without the last"] = looped(only=EXPERTS - 1, grouped=False)
CASES["loop, another activation"] = looped(odd=True, grouped=False)
CASES["sorted"] = sorted_rows()
CASES["sorted, of sorted numbers, remainder"] = sorted_rows("remainder", "sort", dims=(4, 6), how="sigmoid")
CASES["sorted, biases, elements"] = sorted_rows("numbers", "elements", bias=True, dtype="bf16")
# Sorted otherwise, or not put back: as they are written.
CASES["sorted, descending"] = sorted_rows(largest=1, unsorted=False)
CASES["sorted, another order behind"] = sorted_rows(put_back="order", unsorted=False)


def plans(turn):
    """Meshes, and the part of the peak with all memory that a plan may have; None: all memory."""
    if turn is None:
        return [(mesh, part) for mesh in MESHES for part in (None, 0.6)]
    return [(MESHES[turn % 3], None), (MESHES[(turn + 1) % 3], 0.6)]


def infer_within(program, model, mesh, peak, part, plan):
    """Within that part of the peak; where nothing is found that fits, within what the message says does."""
    infer = ("infer", model, "--mesh", mesh, "-o", plan, "--memory-limit")
    try:
        run(program, *infer, f"{int(part * peak)}B")
    except RuntimeError as failure:
        found = re.search(r"exit 4: .*the smallest peak found is ([0-9.]+) kB", str(failure))
        smallest = 1000 * float(found[1]) if found else peak
        if smallest > MOST_OF_PEAK * peak:
            raise
        run(program, *infer, f"{int(smallest * 1.005) + 1}B")  # it is printed with three digits


def check(program, case, folder, turn):
    b, output, expected = case()
    model, plan, wanted = folder / "model.json", folder / "plan.json", folder / "wanted.npz"
    model.write_text(json.dumps(b.graph(output)))
    run(program, "run", model, "--unsharded", "--outputs", wanted)
    peak = None
    for mesh, part in plans(turn):
        if part is None:
            run(program, "infer", model, "--mesh", mesh, "-o", plan)
        else:
            infer_within(program, model, mesh, peak, part, plan)
        run(program, "check", plan, model)
        run(program, "run", plan, "--expect", wanted)
        found = json.loads(plan.read_text())
        if part is None:
            peak = found["memory"]["peak_bytes"]
        kinds = [op["type"] for op in found["graph"]["ops"]]
        if any(kinds.count(kind) != n for kind, n in expected.items()):
            raise RuntimeError(f"expected {expected}, found {sorted(kinds)}")
        if found.get("warnings") and not expected.get("NonZero"):
            raise RuntimeError(f"warnings: {found['warnings']}")


def main():
    program, *names = sys.argv[1:]
    every, few = "--all" in names, "--few" in names  # few: every sixth case, in every build
    names = [name for name in names if not name.startswith("--")]
    passed = failed = 0
    for turn, (name, case) in enumerate(CASES.items()):
        if (names and name not in names) or (few and turn % 6 != 1):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(program, case, pathlib.Path(folder), None if every else turn)
                passed += 1
            except RuntimeError as failure:
                failed += 1
                print(f"FAILED {name}: {failure}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
