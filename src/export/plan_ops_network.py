"""The ops of a plan, continued: what reads and writes at places, normalises, attends, and convolves."""

from __future__ import annotations

import math

import torch
from torch.nn import functional

from plan_ops import Results, Site, Tensor, op
from plan_resample import Unknown, scales_of, taps_of

# Reading and writing at places. What lies in another rank's box contributes nothing.


def _places(indices: Tensor, size: int, box: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Indices into [0, size) as indices into the box, 0 where they are outside; and whether they are inside."""
    at = torch.where(indices < 0, indices + size, indices).to(torch.int64) - box[0]
    inside = (at >= 0) & (at < box[1] - box[0])
    return torch.where(inside, at, 0), inside


@op("Gather")
def gather(site: Site, data: Tensor, indices: Tensor) -> Tensor:
    axis = site.axis(0)
    at, inside = _places(indices, site.shapes[0][axis], site.boxes[0][axis])
    shape = [*data.shape[:axis], *indices.shape, *data.shape[axis + 1:]]
    made = data.index_select(axis, at.reshape(-1)).reshape(shape)
    if bool(inside.all()):
        return made
    return made * inside.reshape([1] * axis + list(indices.shape) + [1] * (data.ndim - axis - 1)).to(data.dtype)


@op("GatherElements")
def gather_elements(site: Site, data: Tensor, indices: Tensor) -> Tensor:
    axis = site.axis(0)
    at, inside = _places(indices, site.shapes[0][axis], site.boxes[0][axis])
    return torch.gather(data, axis, at) * inside.to(data.dtype)


@op("GatherND")
def gather_nd(site: Site, data: Tensor, indices: Tensor) -> Tensor:
    batch, depth = int(site.get("batch_dims", 0)), indices.shape[-1]
    lead = list(indices.shape[:-1])
    inside = torch.ones(lead, dtype=torch.bool)
    place: list[Tensor] = []
    for d in range(batch):  # a batch's rows lie with its indices
        place.append(torch.arange(data.shape[d]).reshape([-1] + [1] * (len(lead) - 1 - d)).expand(lead))
    for d in range(depth):
        at, here = _places(indices[..., d], site.shapes[0][batch + d], site.boxes[0][batch + d])
        place.append(at)
        inside = inside & here
    made = data[tuple(place)] if place else data.expand([*lead, *data.shape])
    rest = [1] * (data.ndim - batch - depth)
    return made if bool(inside.all()) else made * inside.reshape(lead + rest).to(data.dtype)


REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@op("ScatterElements")
def scatter_elements(site: Site, data: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    axis, reduction = site.axis(0), site.get("reduction", "none")
    at, inside = _places(indices, site.shapes[0][axis], site.boxes[0][axis])
    size = data.shape[axis]
    at = torch.where(inside, at, size)  # one place more, for what other ranks hold
    room = torch.cat([data, data.new_zeros([*data.shape[:axis], 1, *data.shape[axis + 1:]])], axis)
    if reduction == "none":
        made = room.scatter(axis, at, updates)
    else:
        made = room.scatter_reduce(axis, at, updates, REDUCTIONS[reduction])
    return made.narrow(axis, 0, size)


@op("ScatterND")
def scatter_nd(site: Site, data: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    depth, reduction = indices.shape[-1], site.get("reduction", "none")
    flat, inside = torch.zeros(indices.shape[:-1], dtype=torch.int64), torch.ones(indices.shape[:-1], dtype=torch.bool)
    for d in range(depth):
        at, here = _places(indices[..., d], site.shapes[0][d], site.boxes[0][d])
        flat, inside = flat * data.shape[d] + at, inside & here
    rows = math.prod(data.shape[:depth])
    room = torch.cat([data.reshape(rows, -1), data.new_zeros(1, math.prod(data.shape[depth:]))])
    at = torch.where(inside, flat, rows).reshape(-1)
    values = updates.reshape(at.numel(), -1)
    if reduction == "none":
        room[at] = values
    else:
        room = room.scatter_reduce(0, at[:, None].expand_as(values), values, REDUCTIONS[reduction])
    return room[:rows].reshape(data.shape)


@op("OneHot")
def one_hot(site: Site, indices: Tensor, depth: Tensor, values: Tensor) -> Tensor:
    axis = int(site.get("axis", -1)) % (indices.ndim + 1)
    size, (begin, end) = site.result_shapes[0][axis], site.result_boxes[0][axis]
    at = torch.where(indices < 0, indices + size, indices).unsqueeze(axis)
    position = torch.arange(begin, end).reshape([-1] + [1] * (indices.ndim - axis))
    return torch.where(at == position, values[1], values[0])


@op("TopK")
def top_k(site: Site, x: Tensor, k: Tensor) -> Results:
    values, places = torch.topk(x, int(k), site.axis(-1), bool(site.get("largest", 1)), bool(site.get("sorted", 1)))
    return values, places


# Normalisation.


@op("Softmax")
def softmax(site: Site, x: Tensor) -> Tensor:
    return torch.softmax(x, site.axis(-1))


@op("LogSoftmax")
def log_softmax(site: Site, x: Tensor) -> Tensor:
    return torch.log_softmax(x, site.axis(-1))


@op("sbp::LogSoftmaxGrad")
def log_softmax_grad(site: Site, dy: Tensor, y: Tensor) -> Tensor:
    return dy - y.exp() * dy.sum(site.axis(-1), keepdim=True)


@op("LayerNormalization")
def layer_norm(site: Site, x: Tensor, w: Tensor, b: Tensor | None = None) -> Results:
    over = list(range(site.axis(-1), x.ndim))
    v = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32)
    mean = v.mean(over, keepdim=True)
    inverse = torch.rsqrt((v - mean).square().mean(over, keepdim=True) + site.get("epsilon", 1e-5))
    y = ((v - mean) * inverse).to(x.dtype) * w
    return (y if b is None else y + b), mean, inverse


@op("RMSNormalization")
def rms_norm(site: Site, x: Tensor, w: Tensor) -> Tensor:
    v = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32)
    square = v.square().mean(list(range(site.axis(-1), x.ndim)), keepdim=True)
    return (v * torch.rsqrt(square + site.get("epsilon", 1e-5))).to(x.dtype) * w


@op("GroupNormalization", "InstanceNormalization")
def group_norm(site: Site, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Of an instance each channel is a group; of channels a rank has whole groups."""
    channels = site.shapes[0][1]
    groups = site.get("num_groups", channels) * x.shape[1] // channels
    v = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32).reshape(x.shape[0], groups, -1)
    d = v - v.mean(-1, keepdim=True)
    n = (d * torch.rsqrt(d.square().mean(-1, keepdim=True) + site.get("epsilon", 1e-5))).reshape(x.shape).to(x.dtype)
    column = [-1] + [1] * (x.ndim - 2)
    return n * w.reshape(column) + b.reshape(column)


@op("BatchNormalization")
def batch_norm(site: Site, x: Tensor, scale: Tensor, b: Tensor, mean: Tensor, var: Tensor) -> Results:
    def column(v: Tensor) -> Tensor:
        return v.reshape([-1] + [1] * (x.ndim - 2))

    epsilon = site.get("epsilon", 1e-5)
    if not site.get("training_mode", 0):
        return (x - column(mean)) * column(scale * torch.rsqrt(var + epsilon)) + column(b), mean, var
    over = [d for d in range(x.ndim) if d != 1]
    own_mean, own_var = x.mean(over), x.var(over, unbiased=False)
    y = (x - column(own_mean)) * column(scale * torch.rsqrt(own_var + epsilon)) + column(b)
    keep = site.get("momentum", 0.9)
    return (y, mean * keep + own_mean * (1 - keep), var * keep + own_var * (1 - keep), own_mean,
            torch.rsqrt(own_var + epsilon))


# Attention.


def _seen(site: Site, scores: Tensor, mask: Tensor | None, first_row: int, first_key: int = 0) -> Tensor:
    """Scores of heads (..., rows, keys), minus infinity where a row does not see a key."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    rows = first_row + torch.arange(scores.shape[-2]) + site.get("past", 0)
    ahead = first_key + torch.arange(scores.shape[-1])[None] - rows[:, None]  # of the query's own position
    left, right = (site.get(f"{side}_window_size", -1) for side in ("left", "right"))
    right = 0 if site.get("is_causal", 0) else right
    scores = scores if right == -1 else scores.masked_fill(ahead > right, -math.inf)
    return scores if left == -1 else scores.masked_fill(-ahead > left, -math.inf)


def _weights(scores: Tensor) -> Tensor:
    """Softmax of each row; zeros of one that sees no key."""
    return torch.softmax(scores, -1).masked_fill((scores == -math.inf).all(-1, keepdim=True), 0)


def _capped(site: Site, scores: Tensor) -> Tensor:
    cap = site.get("softcap", 0.0)
    return torch.tanh(scores / cap) * cap if cap else scores


@op("Attention")
def attention(site: Site, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *others: Tensor | None) -> Results:
    if q.ndim != 4 or any(o is not None for o in others):
        raise site.refuse("packed heads, kept keys and lengths are not computed")
    group = site.shapes[0][1] // site.shapes[1][1]
    heads = torch.arange(*site.boxes[0][1]) // group - site.boxes[1][1][0]  # of keys, for each head of queries
    k, v = (t if group == 1 else t.index_select(1, heads) for t in (k, v))
    scale = site.get("scale")
    scores = q @ k.transpose(2, 3) * (q.shape[3]**-0.5 if scale is None else scale)
    scores = _seen(site, _capped(site, scores), mask, site.boxes[0][2][0])
    return _weights(scores) @ v, None, None, None, torch.logsumexp(scores.to(torch.float32), -1)


@op("sbp::FlashAttention")
def flash_attention(site: Site, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None,
                    *others: Tensor | None) -> Results:
    """Heads (b, h, g, s, d) of queries, (b, h, t, d) of keys."""
    if any(o is not None for o in others):
        raise site.refuse("lengths and sinks are not computed")
    scores = _capped(site, q @ k.unsqueeze(2).transpose(3, 4) * site.get("scale", 1.0))
    scores = _seen(site, scores, mask, site.boxes[0][3][0])
    return _weights(scores) @ v.unsqueeze(2), torch.logsumexp(scores.to(torch.float32), -1)


@op("sbp::AttentionScoresGrad")
def attention_scores_grad(site: Site, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, lengths: Tensor | None,
                          y: Tensor, log_sum_exp: Tensor, d_y: Tensor, d_log_sum_exp: Tensor | None = None) -> Results:
    """The weights, and the cotangent of the scores that they are powers of, behind cap and mask."""
    if lengths is not None:
        raise site.refuse("lengths are not computed")
    capped = _capped(site, q @ k.unsqueeze(2).transpose(3, 4) * site.get("scale", 1.0))
    scores = _seen(site, capped, mask, site.boxes[0][3][0], site.boxes[1][2][0]).to(log_sum_exp.dtype)
    p = torch.exp(scores - log_sum_exp.masked_fill(log_sum_exp.isinf(), 0)[..., None])
    inner = (d_y.to(p.dtype) * y.to(p.dtype)).sum(-1, keepdim=True)
    inner = inner if d_log_sum_exp is None else inner - d_log_sum_exp[..., None]
    return p, p * ((d_y @ v.unsqueeze(2).transpose(3, 4)).to(p.dtype) - inner)


@op("sbp::FlashAttentionGrad")
def flash_attention_grad(site: Site, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, lengths: Tensor | None,
                         y: Tensor, log_sum_exp: Tensor, d_y: Tensor, d_log_sum_exp: Tensor | None = None) -> Results:
    p, d_scores = attention_scores_grad(site, q, k, v, mask, lengths, y, log_sum_exp, d_y, d_log_sum_exp)
    scale, cap = site.get("scale", 1.0), site.get("softcap", 0.0)
    if cap:
        d_scores = d_scores * (1 - (_capped(site, q @ k.unsqueeze(2).transpose(3, 4) * scale) / cap).square())
    p, d_scores = p.to(q.dtype), (d_scores * scale).to(q.dtype)
    return (d_scores @ k.unsqueeze(2), torch.einsum("bhgst,bhgsd->bhtd", d_scores, q),
            torch.einsum("bhgst,bhgse->bhte", p, d_y))


# Convolution and pooling; spatial dimensions are whole.


def _window(site: Site, n: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """Strides, dilations, and what is padded before and behind."""
    if site.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise site.refuse("auto_pad is not computed")
    pads = site.get("pads") or [0] * (2 * n)
    return site.get("strides") or [1] * n, site.get("dilations") or [1] * n, pads[:n], pads[n:]


def _padded(x: Tensor, low: list[int], high: list[int], value: float) -> Tensor:
    widths = [w for pair in zip(reversed(low), reversed(high)) for w in pair]
    return functional.pad(x, widths, value=value) if any(widths) else x


@op("Conv")
def conv(site: Site, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    strides, dilations, low, high = _window(site, x.ndim - 2)
    groups = x.shape[1] // w.shape[1]  # of this rank
    function = (functional.conv1d, functional.conv2d, functional.conv3d)[x.ndim - 3]
    return function(_padded(x, low, high, 0.0), w, b, strides, 0, dilations, groups)


@op("ConvTranspose")
def conv_transpose(site: Site, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    strides, dilations, low, high = _window(site, x.ndim - 2)
    if site.get("output_shape"):
        raise site.refuse("output_shape is not computed")
    groups = site.get("group", 1)
    groups = groups if groups == 1 else groups * x.shape[1] // site.shapes[0][1]
    function = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)[x.ndim - 3]
    extra = site.get("output_padding") or [0] * len(strides)
    y = function(x, w, None, strides, 0, 0, groups, dilations)
    y = _padded(y, [-p for p in low], [e - p for e, p in zip(extra, high)], 0.0)
    return y if b is None else y + b.reshape([-1] + [1] * (x.ndim - 2))


@op("MaxPool")
def max_pool(site: Site, x: Tensor) -> Results:
    """The second result: places in the whole tensor, all dimensions counted."""
    strides, dilations, low, high = _window(site, x.ndim - 2)
    size, place = list(x.shape[2:]), torch.arange(math.prod(x.shape[2:])).reshape(x.shape[2:]).to(torch.float64)
    padded = _padded(x, low, high, -math.inf)
    places = _padded(place[None, None], low, high, -1.0).reshape(-1).to(torch.int64)
    function = (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d)[x.ndim - 3]
    y, at = function(padded, site.get("kernel_shape"), strides, 0, dilations, bool(site.get("ceil_mode", 0)),
                     return_indices=True)
    channels = site.shapes[0][1]
    n, c = (torch.arange(*site.boxes[0][d]) for d in (0, 1))
    before = (n[:, None] * channels + c[None]).reshape([len(n), len(c)] + [1] * len(size)) * math.prod(size)
    return y, places[at] + before


@op("AveragePool")
def average_pool(site: Site, x: Tensor) -> Tensor:
    strides, dilations, low, high = _window(site, x.ndim - 2)
    if any(d != 1 for d in dilations) or site.get("ceil_mode", 0):
        raise site.refuse("dilations and ceil_mode are not computed")
    function = (functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d)[x.ndim - 3]
    sums = function(_padded(x, low, high, 0.0), site.get("kernel_shape"), strides)
    if site.get("count_include_pad", 0) or not any(low + high):
        return sums
    return sums / function(_padded(torch.ones_like(x), low, high, 0.0), site.get("kernel_shape"), strides)


# Other sizes.


@op("Resize")
def resize(site: Site, x: Tensor, roi: Tensor | None = None, scales: Tensor | None = None, sizes: Tensor | None = None) -> Tensor:
    named = None if scales is None or scales.numel() == 0 else scales.tolist()
    each = scales_of(site.shapes[0], site.result_shapes[0], site.get("axes"), named)
    for d, scale in enumerate(each):
        size, made, (begin, end) = site.shapes[0][d], site.result_shapes[0][d], site.result_boxes[0][d]
        if size == made and scale == 1:
            continue
        try:
            taps = taps_of(site.get, size, made, scale)[begin:end]
        except Unknown as unknown:
            raise site.refuse(str(unknown)) from unknown
        places = torch.tensor([[i for i, _ in row] for row in taps]).reshape(end - begin, -1) - site.boxes[0][d][0]
        weights = torch.tensor([[w for _, w in row] for row in taps], dtype=torch.float64).reshape(end - begin, -1)
        if bool(((places < 0) | (places >= x.shape[d])).any()):
            raise site.refuse("elements of other ranks are read")
        if site.get("mode", "nearest") == "nearest":
            x = x.index_select(d, places[:, 0])
            continue
        column = [-1] + [1] * (x.ndim - 1 - d)
        parts = [x.index_select(d, at) * w.to(x.dtype).reshape(column) for at, w in zip(places.T, weights.T)]
        x = sum(parts[1:], start=parts[0])
    return x


@op("GridSample")
def grid_sample(site: Site, x: Tensor, grid: Tensor) -> Tensor:
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(site.get("mode", "linear"), site.get("mode"))
    return functional.grid_sample(x, grid, mode, site.get("padding_mode", "zeros"), bool(site.get("align_corners", 0)))


@op("AffineGrid")
def affine_grid(site: Site, theta: Tensor, sizes: Tensor) -> Tensor:
    """This rank's part of each image's grid."""
    whole = [theta.shape[0], *(int(n) for n in sizes.tolist()[1:])]
    made = functional.affine_grid(theta, whole, bool(site.get("align_corners", 0)))
    for d in range(1, made.ndim):
        begin, end = site.result_boxes[0][d]
        made = made.narrow(d, begin, end - begin)
    return made


@op("Col2Im")
def columns_to_image(site: Site, x: Tensor, image: Tensor, block: Tensor) -> Tensor:
    strides, dilations, low, high = _window(site, image.numel())
    if low != high:
        raise site.refuse("borders of two widths are not computed")
    begin, end = site.boxes[0][2]  # blocks of other ranks add nothing here
    columns = functional.pad(x, (begin, site.shapes[0][2] - end))
    return functional.fold(columns, image.tolist(), block.tolist(), dilations, low, strides)


@op("Det")
def determinant(site: Site, x: Tensor) -> Tensor:
    return torch.linalg.det(x)


@op("sbp::Cholesky")
def cholesky(site: Site, x: Tensor) -> Tensor:
    return torch.linalg.cholesky(x)


@op("sbp::TriangularSolve")
def triangular_solve(site: Site, a: Tensor, b: Tensor) -> Tensor:
    upper, transpose, unit = (bool(site.get(name, 0)) for name in ("upper", "transpose", "unit"))
    a = a.triu() if upper else a.tril()
    return torch.linalg.solve_triangular(a.mT if transpose else a, b, upper=upper != transpose, unitriangular=unit)


@op("com.microsoft::Inverse")
def inverse(site: Site, x: Tensor) -> Tensor:
    return torch.linalg.inv(x)


@op("DFT")
def fourier(site: Site, x: Tensor, length: Tensor | None = None, axis: Tensor | None = None) -> Tensor:
    """Complex numbers are pairs in the last dimension; by halves: of real numbers, or back to such."""
    dim = (int(site.get("axis", -2)) if axis is None else int(axis)) % x.ndim
    wide = x if x.dtype == torch.float64 else x.float()
    spectrum = torch.view_as_complex(wide.contiguous()) if x.shape[-1] == 2 else wide[..., 0]
    inverse, half = bool(site.get("inverse", 0)), bool(site.get("onesided", 0))
    n = int(length) if length is not None else 2 * (x.shape[dim] - 1) if inverse and half else x.shape[dim]
    if inverse and half:
        return torch.fft.irfft(spectrum, n, dim)[..., None].to(x.dtype)
    made = (torch.fft.ifft if inverse else torch.fft.fft)(spectrum, n, dim)
    made = made.narrow(dim, 0, n // 2 + 1) if half else made
    return torch.view_as_real(made.resolve_conj()).to(x.dtype)


@op("Dropout")
def dropout(site: Site, x: Tensor, *others: Tensor | None) -> Results:
    """Of inference: plans that drop are refused before."""
    return x, torch.ones_like(x, dtype=torch.bool)


# Losses.


def _loss(site: Site, log_prob: Tensor, labels: Tensor, weights: Tensor | None) -> Tensor:
    own, box = labels.to(torch.int64), site.boxes[0][1] if len(site.shapes[0]) > 1 else site.boxes[0][0]
    dim = min(1, log_prob.ndim - 1)
    ignored = site.get("ignore_index")
    skipped = torch.zeros_like(own, dtype=torch.bool) if ignored is None else own == ignored
    at, inside = _places(torch.where(skipped, 0, own), site.shapes[0][dim], box)
    weight = torch.ones_like(own, dtype=log_prob.dtype) if weights is None else weights[at]
    weight = torch.where(skipped | ~inside, 0, weight)
    each = -log_prob.gather(dim, at.unsqueeze(dim)).squeeze(dim) * weight
    reduction = site.get("reduction", "mean")
    if reduction == "none":
        return each
    if reduction == "sum":
        return each.sum()
    # Parts of a mean over a known number of labels add up; else nothing is split.
    return each.sum() / (math.prod(site.shapes[1]) if ignored is None and weights is None else weight.sum())


@op("SoftmaxCrossEntropyLoss")
def cross_entropy(site: Site, scores: Tensor, labels: Tensor, weights: Tensor | None = None) -> Results:
    log_prob = torch.log_softmax(scores, min(1, scores.ndim - 1))
    return _loss(site, log_prob, labels, weights), log_prob


@op("NegativeLogLikelihoodLoss")
def negative_log_likelihood(site: Site, scores: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    return _loss(site, scores, labels, weights)
