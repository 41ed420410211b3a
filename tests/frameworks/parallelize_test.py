#!/usr/bin/env python3
"""What `export --to dtensor` writes as parallelize.py trains like the model on one device: 8 ranks by gloo.

    parallelize_test.py SBP_PLAN

Losses of two steps, gradients and updated weights are compared; and each parameter lies as the plan says. Exit code 77:
torch is not there.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing
    from torch import nn
    from torch.distributed.tensor import DTensor
    from torch.nn import functional
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TOLERANCE, STEPS, RANKS = 1e-5, 2, 8


class Attention(nn.Module):
    """Numbers of heads are counted from what a rank has, as in transformers."""

    def __init__(self, width, heads, groups):
        super().__init__()
        self.size, self.repeats = width // heads, heads // groups
        self.q_proj, self.o_proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (p(x).view(batch, length, -1, self.size).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        k, v = (part.repeat_interleave(self.repeats, dim=1) for part in (k, v))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(seen.transpose(1, 2).reshape(batch, length, -1))


class GatedMlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaLayer(nn.Module):
    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.self_attn, self.mlp = Attention(width, heads, groups), GatedMlp(width, hidden)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, vocab=64, width=64, heads=8, groups=4, hidden=96, layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(LlamaLayer(width, heads, groups, hidden) for _ in range(layers))
        self.norm, self.lm_head = nn.RMSNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


class GptLayer(nn.Module):
    """GPT-2's, whose query, key and value are apart."""

    def __init__(self, width, heads):
        super().__init__()
        self.size = width // heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.c_proj = (nn.Linear(width, width) for _ in range(4))
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, _ = x.shape
        h = self.ln_1(x)
        q, k, v = (p(h).view(batch, length, -1, self.size).transpose(1, 2) for p in (self.q, self.k, self.v))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(seen.transpose(1, 2).reshape(batch, length, -1))
        return x + self.mlp_proj(functional.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, vocab=64, width=64, heads=8, layers=2, positions=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(positions, width)
        self.h = nn.ModuleList(GptLayer(width, heads) for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x):
        return self.net(x)


class OneNumber(nn.Module):
    """Its last bias is too short for each data rank to have a part."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x)


class Root(nn.Sequential):
    """Its layers are at the root: 0, 1, 2."""

    def __init__(self):
        super().__init__(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x):
        return super().forward(x)


class TwoMatrices(nn.Module):
    """A module of its own with two matrices that tensor parallelism splits."""

    def __init__(self):
        super().__init__()
        self.w1, self.w2 = (nn.Parameter(torch.randn(16, 8)) for _ in range(2))

    def forward(self, x):
        return functional.silu(functional.linear(x, self.w1)) * functional.linear(x, self.w2)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = TwoMatrices(), nn.Linear(16, 4, bias=False)

    def forward(self, x):
        return self.down(self.up(x))


class WithTable(nn.Linear):
    """A split matrix beside one that styles would split, too."""

    def __init__(self, rows, columns):
        super().__init__(rows, columns, bias=False)
        self.added = nn.Parameter(torch.randn(4, columns))

    def forward(self, x):
        return super().forward(x) + self.added.sum(0)


class Tabled(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = WithTable(8, 16), nn.Linear(16, 4, bias=False)

    def forward(self, x):
        return self.down(functional.relu(self.up(x)))


class Scaled(Llama):
    """Its layers have a vector of their own, read along the sequence, and modules."""

    def __init__(self):
        super().__init__()
        for layer in self.layers:
            layer.weight = nn.Parameter(torch.ones(64))

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x * layer.weight)
        return self.lm_head(self.norm(x))


def tokens():
    return torch.randint(0, 64, (8, 16))


# Name -> module, its input, the loss, the recipe along data and along model, and for each product in its order whether
# its matrix is split by columns or rows: small models would rather gather matrices.
CASES = {
    "mlp": (Mlp, lambda: torch.randn(16, 8), "mse", "dp", "tp", "CR"),
    "root": (Root, lambda: torch.randn(16, 8), "mse", "fsdp", "tp", "CR"),
    "one number": (OneNumber, lambda: torch.randn(16, 8), "mse", "zero3", "tp", "CR"),
    "gpt": (Gpt, tokens, "cross-entropy", "dp", "tp", "CCCRCR" * 2 + "C"),
    "llama": (Llama, tokens, "cross-entropy", "fsdp", "tp", "CCCRCCR" * 2 + "C"),
    "llama by sequence": (Llama, tokens, "cross-entropy", "fsdp", "sp", "CCCRCCR" * 2 + "C"),
}

# What is refused: as above, and what the report says of it.
REFUSED = {
    "two matrices": (Gated, lambda: torch.randn(16, 8), "mse", "dp", "tp", "CCR", "up.w1 is split and is no `weight`"),
    "a matrix more": (Tabled, lambda: torch.randn(16, 8), "mse", "dp", "tp", "CR",
                      "up.weight is split, and its module has other matrices"),
    "no norm": (Scaled, tokens, "cross-entropy", "fsdp", "sp", "CCCRCCR" * 2 + "C",
                "SequenceParallel is for modules without others inside, as layers.1."),
}


def pins(name):
    """What inputs, products, tables and, by sequence, sums between layers are, over data and model."""
    _, _, _, _, model, products, *_ = CASES.get(name) or REFUSED[name]
    rank = 2 if (CASES.get(name) or REFUSED[name])[2] == "cross-entropy" else 1
    written = {"C": f"(S(0), S({rank}))", "R": "(S(0), P(sum))"}
    found = ["x==(S(0), B)"] if rank == 1 else ["tokens==(S(0), B)", "embedding<-(S(0), P(sum))"]
    behind = {"gpt": "/p"}.get(name, "")  # what the product is called in front of its bias
    found += [f"linear{f'_{i}' if i else ''}{behind if kind == 'R' else ''}<-{written[kind]}" for i, kind in enumerate(products)]
    if rank == 2:  # sums between layers
        found.append("add*==(S(0), S(1))" if model == "sp" else "add*==(S(0), B)")
    return [word for pin in found for word in ("--pin", pin)]


def run_planner(planner, *words):
    done = subprocess.run([planner, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stderr


def export(planner, folder, name):
    """The plan, and parallelize.py in folder/name, unless it is to be refused."""
    make, inputs, loss, data, model, _, *refused = CASES.get(name) or REFUSED[name]
    torch.manual_seed(0)
    torch.export.save(torch.export.export(make(), (inputs(),)), folder / f"{name}.pt2")
    run_planner(planner, "infer", folder / f"{name}.pt2", "--train", "--loss", f"{loss}:output:0", "--optimizer", "sgd",
                "--mesh", "data=2,model=4", "--recipe", f"data={data},model={model}", "-q", "-o", folder / f"{name}.json", *pins(name))
    said = run_planner(planner, "export", "--to", "dtensor", folder / f"{name}.json", "-o", folder / name)
    if (folder / name / "parallelize.py").exists() == bool(refused) or not all(words in said for words in refused):
        raise SystemExit(f"{name}: {said}")


def load(path):
    spec = importlib.util.spec_from_file_location("parallelize", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def whole(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def loss_of(name, made, target):
    if CASES[name][2] == "mse":
        return functional.mse_loss(made, target)
    return functional.cross_entropy(made.flatten(0, -2), target.flatten())


def target_of(name):
    width = 1 if CASES[name][0] is OneNumber else 4
    return torch.randn(16, width) if CASES[name][2] == "mse" else tokens()


def parts_differ(table, name, parameter):
    """Is a parameter held in parts of other sizes than the plan has it?"""
    planned = table["tensors"][name]
    sizes = list(planned["shape"])
    if sizes == [1]:
        return ""  # one rank of fully_shard has all of it
    for ranks, dim in zip((2, 4), re.findall(r"S\((\d+)\)|B", planned["layout"])):
        if dim:
            sizes[int(dim)] //= ranks
    held = list(parameter.to_local().shape) if isinstance(parameter, DTensor) else list(parameter.shape)
    return f"{name} is held as {held}, the plan has {sizes}; " if held != sizes else ""


def train(folder, name):
    """The largest error of two steps, and what lies otherwise than planned."""
    program = load(folder / name / "parallelize.py")
    torch.manual_seed(0)
    single = CASES[name][0]()
    inputs, target = CASES[name][1](), target_of(name)
    sharded = CASES[name][0]()
    sharded.load_state_dict(single.state_dict())
    mesh = program.make_mesh()
    program.parallelize(sharded, mesh)
    table = json.loads((folder / name / "plan_table.json").read_text())
    other = "".join(parts_differ(table, n, p) for n, p in sharded.named_parameters())
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (single, sharded)]
    errors = []
    for _ in range(STEPS):
        loss = loss_of(name, single(inputs), target)
        own = loss_of(name, sharded(program.own_part(inputs, mesh)), program.own_part(target, mesh))
        loss.backward()
        own.backward()
        mean = own.detach().clone()
        dist.all_reduce(mean)
        errors.append(abs(float(mean / RANKS - loss.detach())))
        for a, b in zip(single.parameters(), sharded.parameters(), strict=True):
            errors.append(float((whole(b.grad) - a.grad).abs().max()))
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        for a, b in zip(single.parameters(), sharded.parameters(), strict=True):
            errors.append(float((whole(b.detach()) - a.detach()).abs().max()))
    return max(errors), other


def work(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS, store=dist.FileStore(str(folder / "store"), RANKS))
    good = True
    for name in CASES:
        error, other = train(folder, name)
        good = good and error <= TOLERANCE and not other
        if rank == 0:
            print(f"{name}: error {error:.1e} {other}", flush=True)
    dist.destroy_process_group()
    if not good:
        os._exit(1)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in [*CASES, *REFUSED]:
            export(sys.argv[1], folder, case)
        torch.multiprocessing.spawn(work, (folder,), nprocs=RANKS)


if __name__ == "__main__":
    main()
