"""The ops of a plan, continued: what updates weights, as `infer --train --optimizer` plans it. All is elementwise."""

from __future__ import annotations

import torch

from plan_ops import Results, Site, Tensor, op


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype == torch.float64 else x.to(torch.float32)


def _gradient(x: Tensor, g: Tensor, scale: Tensor | None) -> Tensor:
    d = g.to(_wide(x).dtype)
    return d if scale is None else d * scale


def _average(value: Tensor, before: Tensor | None, keep: float) -> Tensor:
    """A running mean; absent is zero."""
    return value * (1 - keep) if before is None else before * keep + value * (1 - keep)


@op("sbp::Refetch")
def refetch(site: Site, x: Tensor) -> Tensor:
    return x


@op("sbp::SumOfSquares")
def sum_of_squares(site: Site, x: Tensor) -> Tensor:
    return x.to(torch.float32).square().sum()


@op("sbp::SGD")
def sgd(site: Site, x: Tensor, g: Tensor, lr: Tensor, step: Tensor, scale: Tensor | None = None) -> Tensor:
    p, d = _wide(x), _gradient(x, g, scale)
    return p - (d + p * site.get("weight_decay", 0.0)) * lr


@op("sbp::Momentum")
def momentum(site: Site, x: Tensor, g: Tensor, lr: Tensor, step: Tensor, scale: Tensor | None = None,
             before: Tensor | None = None) -> Results:
    p, mu = _wide(x), site.get("mu", 0.9)
    d = _gradient(x, g, scale) + p * site.get("weight_decay", 0.0)
    b = d if before is None else before * mu + d
    return p - (d + b * mu if site.get("nesterov", 0) else b) * lr, b


@op("sbp::Adam", "sbp::AdamW")
def adam(site: Site, x: Tensor, g: Tensor, lr: Tensor, step: Tensor, scale: Tensor | None = None,
         m: Tensor | None = None, v: Tensor | None = None) -> Results:
    p, d, is_adamw = _wide(x), _gradient(x, g, scale), site.type == "sbp::AdamW"
    decay = site.get("weight_decay", 0.01 if is_adamw else 0.0)
    p, d = (p - p * (lr * decay), d) if is_adamw else (p, d + p * decay)
    beta1, beta2 = site.get("beta1", 0.9), site.get("beta2", 0.999)
    m, v = _average(d, m, beta1), _average(d * d, v, beta2)
    root = torch.sqrt(1 - beta2 ** step.to(p.dtype))
    rate = lr / (1 - beta1 ** step.to(p.dtype))
    return p - m * rate / (torch.sqrt(v) / root + site.get("epsilon", 1e-8)), m, v
