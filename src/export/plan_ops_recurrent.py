"""The ops of a plan, continued: recurrent layers, as torch has them, step by step, and what their derivatives share.

Values within are (direction, step, batch, ...); of a backward direction the steps begin at the last time. A rank may
hold some of the directions.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from plan_ops import Results, Site, Tensor, op

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"Relu": torch.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh}


def _turned(site: Site, x: Tensor, directions: tuple[int, int]) -> Tensor:
    """From the order of time to that of steps, or back; these directions of the whole layer are held."""
    backward = torch.arange(*directions) == 1 if site.get("direction") == "bidirectional" else site.get("direction") == "reverse"
    return torch.where(torch.as_tensor(backward).reshape(-1, 1, 1, 1), x.flip(1), x)


def _no_lengths(site: Site, lengths: Tensor | None) -> None:
    if lengths is not None:
        raise site.refuse("lengths of sequences are not computed")


@op("sbp::CellInput")
def cell_input(site: Site, x: Tensor, w: Tensor, b: Tensor | None = None, lengths: Tensor | None = None) -> Tensor:
    """x W + b of all steps."""
    _no_lengths(site, lengths)
    x = x.transpose(0, 1) if site.get("layout", 0) else x
    made = torch.matmul(_turned(site, x.expand(w.shape[0], *x.shape), site.boxes[1][0]), w.transpose(1, 2)[:, None])
    return made if b is None else made + b[:, None, None, : w.shape[1]]


@op("sbp::CellBias")
def cell_bias(site: Site, b: Tensor) -> Tensor:
    """The half of it that goes with the state."""
    return b[:, None, b.shape[1] // 2:]


@op("sbp::CellState")
def cell_state(site: Site, initial: Tensor | None, x: Tensor, w: Tensor, r: Tensor) -> Tensor:
    """Before the first step: zeros if it is not given."""
    if initial is not None:
        return initial.transpose(0, 1) if site.get("layout", 0) else initial
    return x.new_zeros(w.shape[0], x.shape[0 if site.get("layout", 0) else 1], r.shape[2])


@op("sbp::CellTurn")
def cell_turn(site: Site, x: Tensor, lengths: Tensor | None = None) -> Tensor:
    _no_lengths(site, lengths)
    return _turned(site, x, site.boxes[0][0])


def _functions(site: Site, default: list[str]) -> list[Callable[[Tensor], Tensor]]:
    """Those of one direction; both have the same."""
    names = site.get("activations") or default
    first = names[: len(default)]
    if any(names[i] != first[i % len(default)] or names[i] not in ACTIVATIONS for i in range(len(names))):
        raise site.refuse(f"activations {', '.join(names)} are not computed")
    if site.get("clip") or site.get("input_forget", 0):
        raise site.refuse("clip and input_forget are not computed")
    return [ACTIVATIONS[name] for name in first]


def _layer(site: Site, p: Tensor, states: tuple[Tensor, ...], cell: Callable[..., tuple[Tensor, ...]]) -> Results:
    """Results of a layer whose `cell` makes the next states, of which the first is shown, from a step's input and these."""
    shown = []
    for step in p.unbind(1):
        states = cell(step, *states)
        shown.append(states[0])
    y = _turned(site, torch.stack(shown, 1), site.boxes[1][0])
    if site.get("layout", 0):
        return y.permute(2, 1, 0, 3), *(state.transpose(0, 1) for state in states)
    return y.permute(1, 0, 2, 3), *states


def _added(x: Tensor, bias: Tensor | None) -> Tensor:
    return x if bias is None else x + bias


@op("RNN")
def rnn(site: Site, x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, lengths: Tensor | None = None,
        initial: Tensor | None = None) -> Results:
    f, bias, turned = _functions(site, ["Tanh"])[0], None if b is None else cell_bias(site, b), r.transpose(1, 2)

    def cell(step: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        return (f(_added(step + h @ turned, bias)),)

    return _layer(site, cell_input(site, x, w, b, lengths), (cell_state(site, initial, x, w, r),), cell)


@op("GRU")
def gru(site: Site, x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, lengths: Tensor | None = None,
        initial: Tensor | None = None) -> Results:
    """Gates: update, reset, new."""
    f, g = _functions(site, ["Sigmoid", "Tanh"])
    n, turned, bias = r.shape[2], r.transpose(1, 2), None if b is None else cell_bias(site, b)
    gate_bias, new_bias = (None, None) if bias is None else (bias[..., : 2 * n], bias[..., 2 * n:])

    def cell(step: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        update, reset = f(_added(step[..., : 2 * n] + h @ turned[..., : 2 * n], gate_bias)).chunk(2, -1)
        if site.get("linear_before_reset", 0):
            seen = reset * _added(h @ turned[..., 2 * n:], new_bias)
        else:
            seen = _added((reset * h) @ turned[..., 2 * n:], new_bias)
        new = g(step[..., 2 * n:] + seen)
        return ((1 - update) * new + update * h,)

    return _layer(site, cell_input(site, x, w, b, lengths), (cell_state(site, initial, x, w, r),), cell)


@op("LSTM")
def lstm(site: Site, x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, lengths: Tensor | None = None,
         initial_h: Tensor | None = None, initial_c: Tensor | None = None, peepholes: Tensor | None = None) -> Results:
    """Gates: input, output, forget, cell."""
    f, g, h_of = _functions(site, ["Sigmoid", "Tanh", "Tanh"])
    if peepholes is not None:
        raise site.refuse("peepholes are not computed")
    turned, bias = r.transpose(1, 2), None if b is None else cell_bias(site, b)

    def cell(step: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
        opened, shown, kept, new = _added(step + h @ turned, bias).chunk(4, -1)
        c = f(kept) * c + f(opened) * g(new)
        return f(shown) * h_of(c), c

    states = (cell_state(site, initial_h, x, w, r), cell_state(site, initial_c, x, w, r))
    return _layer(site, cell_input(site, x, w, b, lengths), states, cell)
