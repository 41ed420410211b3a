#!/usr/bin/env python3
"""Attention as `export --to jax` writes it, of rows that see no key: zeros, minus infinity, and gradients without NaN.

    jax_attention_test.py

Exit code 77: jax is not there.
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src/export"))
try:
    import jax
    import jax.numpy as jnp
    import numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import jax_ops_network  # noqa: E402
from jax_ops import Part, Site  # noqa: E402

MASK = jnp.array([[True, True, False], [False, False, False], [True, False, True]])


def expect(what, good):
    if not good:
        sys.exit(f"FAILED {what}")


def site(operands, written, **attributes):
    parts = [Part(x.shape, ("B",), (("x", 1),)) for x in operands]
    return Site("attention", attributes, parts, [], [], "", written)


def reference(q, k, v, cap=0.0):
    scores = jnp.einsum("bhgsd,bhtd->bhgst", q, k)
    scores = jnp.where(MASK, jnp.tanh(scores / cap) * cap if cap else scores, -1e30)
    weights = jnp.where(MASK.any(-1)[:, None], jax.nn.softmax(scores, axis=-1), 0)
    return jnp.einsum("bhgst,bhte->bhgse", weights, v)


def main():
    draw = numpy.random.default_rng(0).normal
    q, k, v = (jnp.asarray(draw(size=size), "float32") for size in ((1, 1, 2, 3, 4), (1, 1, 3, 4), (1, 1, 3, 4)))
    for kind, error in (("float32", 1e-5), ("bfloat16", 0.1)):
        for attributes in ({}, {"softmax_precision": 1}, {"softcap": 0.7}):
            cap = attributes.get("softcap", 0.0)
            operands = [x.astype(kind) for x in (q, k, v)]
            y, sums = jax_ops_network.flash_attention(site(operands, ("y", "l"), **attributes), *operands, MASK)
            expect("types", y.dtype == kind and sums.dtype == "float32")
            expect("a row without a key", bool((y[..., 1, :] == 0).all() and (sums[..., 1] == -jnp.inf).all()))
            expect("values", float(abs(y - reference(q, k, v, cap)).max()) < error)
            made = jax_ops_network.flash_attention_grad(site(operands, ("q", "k", "v"), **attributes), *operands, MASK, None, y,
                                                        sums, jnp.ones_like(y))
            wanted = jax.grad(lambda *x: reference(*x, cap).sum(), (0, 1, 2))(q, k, v)  # noqa: B023
            for name, one, other in zip("qkv", made, wanted):
                expect(f"gradient of {name}", float(abs(one - other).max()) < error)
    whole = q[:, 0]  # (b, h, s, d)
    y, *_, sums = jax_ops_network.attention(site([whole, k], ("y", "", "", "", "l"), scale=1.0), whole, k, v, MASK)
    expect("the operator", float(abs(y - reference(q, k, v)[:, 0]).max()) < 1e-5 and bool((sums[..., 1] == -jnp.inf).all()))
    print("good")


if __name__ == "__main__":
    main()
