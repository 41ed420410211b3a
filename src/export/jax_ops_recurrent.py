"""Recurrent layers of a plan, computed by JAX on the part that a device holds: see jax_ops.py.

Values within are (direction, step, batch, ...); of a backward direction the steps begin at the last time. A device may
hold some of the directions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_ops import Array, Part, Site, op

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"Relu": jax.nn.relu, "Sigmoid": jax.nn.sigmoid, "Tanh": jnp.tanh}


def _turned(site: Site, x: Array, directions: Part) -> Array:
    """From the order of time to that of steps, or back; the first dimension of the part is that of directions."""
    if site.get("direction") != "bidirectional":
        return jnp.flip(x, 1) if site.get("direction") == "reverse" else x
    backward = directions.begin(0) + jnp.arange(x.shape[0]) == 1
    return jnp.where(backward.reshape([-1] + [1] * (x.ndim - 1)), jnp.flip(x, 1), x)


def _no_lengths(site: Site, lengths: Array | None) -> None:
    if lengths is not None:
        raise site.refuse("lengths of sequences are not computed")


@op("sbp::CellInput")
def cell_input(site: Site, x: Array, w: Array, b: Array | None = None, lengths: Array | None = None) -> Array:
    """x W + b of all steps."""
    _no_lengths(site, lengths)
    x = jnp.swapaxes(x, 0, 1) if site.get("layout", 0) else x
    each = _turned(site, jnp.broadcast_to(x, (w.shape[0], *x.shape)), site.operand(1))
    made = jnp.matmul(each, jnp.swapaxes(w, 1, 2)[:, None])
    return made if b is None else made + b[:, None, None, : w.shape[1]]


@op("sbp::CellBias")
def cell_bias(site: Site, b: Array) -> Array:
    """The half of it that goes with the state."""
    return b[:, None, b.shape[1] // 2:]


@op("sbp::CellState")
def cell_state(site: Site, initial: Array | None, x: Array, w: Array, r: Array) -> Array:
    """Before the first step: zeros if it is not given."""
    if initial is not None:
        return jnp.swapaxes(initial, 0, 1) if site.get("layout", 0) else initial
    return jnp.zeros((w.shape[0], x.shape[0 if site.get("layout", 0) else 1], r.shape[2]), x.dtype)


@op("sbp::CellTurn")
def cell_turn(site: Site, x: Array, lengths: Array | None = None) -> Array:
    _no_lengths(site, lengths)
    return _turned(site, x, site.operand(0))


def _functions(site: Site, default: list[str]) -> list[Callable[[Array], Array]]:
    """Those of one direction; both have the same."""
    names = site.get("activations") or default
    first = names[: len(default)]
    if any(names[i] != first[i % len(default)] or names[i] not in ACTIVATIONS for i in range(len(names))):
        raise site.refuse(f"activations {', '.join(names)} are not computed")
    if site.get("clip") or site.get("input_forget", 0):
        raise site.refuse("clip and input_forget are not computed")
    return [ACTIVATIONS[name] for name in first]


def _layer(site: Site, p: Array, states: tuple[Array, ...], cell: Callable[..., tuple[Array, ...]]) -> Any:
    """Results of a layer whose `cell` makes the next states, of which the first is shown, from a step's input and these."""

    def advance(before: tuple[Array, ...], step: Array) -> tuple[tuple[Array, ...], Array]:
        after = tuple(state.astype(p.dtype) for state in cell(step, *before))
        return after, after[0]

    states, shown = lax.scan(advance, tuple(state.astype(p.dtype) for state in states), jnp.swapaxes(p, 0, 1))
    y = _turned(site, jnp.swapaxes(shown, 0, 1), site.operand(1))
    layout = site.get("layout", 0)
    made = (y.transpose(2, 1, 0, 3) if layout else y.transpose(1, 0, 2, 3),
            *(jnp.swapaxes(state, 0, 1) if layout else state for state in states))
    return tuple(value for value, name in zip(made, site.written) if name)


def _added(x: Array, bias: Array | None) -> Array:
    return x if bias is None else x + bias


@op("RNN")
def rnn(site: Site, x: Array, w: Array, r: Array, b: Array | None = None, lengths: Array | None = None,
        initial: Array | None = None) -> Any:
    f, bias, turned = _functions(site, ["Tanh"])[0], None if b is None else cell_bias(site, b), jnp.swapaxes(r, 1, 2)

    def cell(step: Array, h: Array) -> tuple[Array, ...]:
        return (f(_added(step + h @ turned, bias)),)

    return _layer(site, cell_input(site, x, w, b, lengths), (cell_state(site, initial, x, w, r),), cell)


@op("GRU")
def gru(site: Site, x: Array, w: Array, r: Array, b: Array | None = None, lengths: Array | None = None,
        initial: Array | None = None) -> Any:
    """Gates: update, reset, new."""
    f, g = _functions(site, ["Sigmoid", "Tanh"])
    n, turned, bias = r.shape[2], jnp.swapaxes(r, 1, 2), None if b is None else cell_bias(site, b)
    gate_bias, new_bias = (None, None) if bias is None else (bias[..., : 2 * n], bias[..., 2 * n:])

    def cell(step: Array, h: Array) -> tuple[Array, ...]:
        update, reset = jnp.split(f(_added(step[..., : 2 * n] + h @ turned[..., : 2 * n], gate_bias)), 2, -1)
        if site.get("linear_before_reset", 0):
            seen = reset * _added(h @ turned[..., 2 * n:], new_bias)
        else:
            seen = _added((reset * h) @ turned[..., 2 * n:], new_bias)
        new = g(step[..., 2 * n:] + seen)
        return ((1 - update) * new + update * h,)

    return _layer(site, cell_input(site, x, w, b, lengths), (cell_state(site, initial, x, w, r),), cell)


@op("LSTM")
def lstm(site: Site, x: Array, w: Array, r: Array, b: Array | None = None, lengths: Array | None = None,
         initial_h: Array | None = None, initial_c: Array | None = None, peepholes: Array | None = None) -> Any:
    """Gates: input, output, forget, cell."""
    f, g, h_of = _functions(site, ["Sigmoid", "Tanh", "Tanh"])
    if peepholes is not None:
        raise site.refuse("peepholes are not computed")
    turned, bias = jnp.swapaxes(r, 1, 2), None if b is None else cell_bias(site, b)

    def cell(step: Array, h: Array, c: Array) -> tuple[Array, ...]:
        opened, shown, kept, new = jnp.split(_added(step + h @ turned, bias), 4, -1)
        c = f(kept) * c + f(opened) * g(new)
        return f(shown) * h_of(c), c

    states = (cell_state(site, initial_h, x, w, r), cell_state(site, initial_c, x, w, r))
    return _layer(site, cell_input(site, x, w, b, lengths), states, cell)
