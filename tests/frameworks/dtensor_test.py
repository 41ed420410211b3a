#!/usr/bin/env python3
"""Plans of torch.export programs, run on DTensors by what `export --to dtensor` writes, equal the unsharded programs.

    dtensor_test.py SBP_PLAN [CASE...]

Outputs, losses and gradients are compared, and what each rank sends with the plan, by kind, count and bytes. Exit code
77: torch is not there.
"""

import importlib.machinery
import importlib.util
import math
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from torch.export.experimental import _export_forward_backward

    import dtensor_bed as bed
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TOLERANCE = 1e-5
ROOT = Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("make_pt2", str(ROOT / "scripts/make-pt2"))
MODELS = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_pt2", LOADER))
LOADER.exec_module(MODELS)
MESHES = ("data=8", "model=8", "data=2,model=4")


def scaled(module):
    """With weights small enough for results of about 1."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.mul_(0.3)
    return module


def tokens():
    return torch.randint(0, 64, (8, 16))


def gpt(**options):
    return scaled(MODELS.Gpt(vocab=64, width=64, heads=8, positions=16, **options))


def regression():
    return MODELS.Regression(), (torch.randn(16, 8), torch.randn(16, 4))


def llama():
    return scaled(MODELS.Llama(64, 64, 8, 4, 96, 2))


def images():
    return torch.randn(8, 3, 16, 16)


class Repeated(torch.nn.Module):
    """Rows for each of some experts: whole copies, of which ranks have their share."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 16, 8) * 0.3)

    def forward(self, x):
        return x.repeat(8, 1).view(8, -1, 16) @ self.weight


class Windowed(torch.nn.Module):
    """Attention whose rows see a few keys, by scores that are held below a cap."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (torch.nn.Linear(16, 64, bias=False) for _ in range(3))

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (8, 8)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scores, at = torch.tanh(q @ k.transpose(2, 3) * 0.3 / 2.0) * 2.0, torch.arange(x.shape[1])
        seen = (at[None] <= at[:, None]) & (at[None] > at[:, None] - 4)
        return torch.softmax(scores.masked_fill(~seen, -math.inf), -1) @ v


class Biased(torch.nn.Module):
    """Attention with a bias of scores that is learned."""

    def __init__(self):
        super().__init__()
        self.q, self.bias = torch.nn.Linear(16, 64, bias=False), torch.nn.Parameter(torch.randn(1, 8, 6, 6))

    def forward(self, x):
        q = self.q(x).unflatten(-1, (8, 8)).transpose(1, 2)
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, self.bias)


class Parted(torch.nn.Module):
    """Operands of which each kind of partial result is made, numbers and bools."""

    def forward(self, x, y, z, seen):
        return torch.sin(x), torch.cos(y), torch.tanh(z), ~seen


class Resized(torch.nn.Module):
    """Images of other sizes, by each of torch's ways."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, x):
        y, other = self.conv(x), torch.nn.functional.interpolate
        return (other(y, scale_factor=2), other(y, size=(7, 9), mode="bilinear"), other(y, size=(5, 5), mode="nearest-exact"),
                other(y, scale_factor=1.5, mode="bilinear", align_corners=True), other(y, scale_factor=2, mode="bicubic"),
                other(y[:, :, 0], size=11, mode="linear"))


class Recurring(torch.nn.Module):
    """Layers of each recurrent kind, in both directions and in one; their last states too."""

    def __init__(self):
        super().__init__()
        self.lstm, self.gru = torch.nn.LSTM(16, 8, 2, bidirectional=True), torch.nn.GRU(16, 8, batch_first=True)
        self.rnn, self.relu = torch.nn.RNN(16, 8, bidirectional=True), torch.nn.RNN(16, 8, nonlinearity="relu", bias=False)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        other, last = self.rnn(y)
        return y, h, c, self.gru(x.transpose(0, 1))[0], other, last, self.relu(other)[0]


class Moved(torch.nn.Module):
    """Images read where a learned map says, blocks of channels as pixels and back, and columns as images."""

    def __init__(self):
        super().__init__()
        self.where, self.conv = torch.nn.Linear(16, 6), torch.nn.Conv2d(4, 16, 3, padding=1)

    def forward(self, x, style):
        other, y = torch.nn.functional, self.conv(x)
        grid = other.affine_grid(self.where(style).view(-1, 2, 3), [8, 16, 5, 4], align_corners=False)
        ways = [other.grid_sample(y, grid, mode, padding, corners) for mode, padding, corners in (
            ("bilinear", "zeros", False), ("nearest", "border", True), ("bicubic", "reflection", False))]
        columns = other.unfold(y, 2, stride=2)
        return (*ways, other.pixel_unshuffle(other.pixel_shuffle(y, 2) * 2, 2), other.fold(columns, (8, 8), 2, stride=2))


class Dropping(torch.nn.Module):
    """In training mode: of which nothing is dropped in plans without --train-mode."""

    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)
        self.drop, self.rows = torch.nn.Dropout(0.5), torch.nn.Dropout1d(0.5)

    def forward(self, x):
        return self.down(self.drop(torch.relu(self.up(self.rows(x)))))


class Assorted(torch.nn.Module):
    """Functions that few models have."""

    def __init__(self):
        super().__init__()
        self.lin, self.slope = torch.nn.Linear(16, 16), torch.nn.Parameter(torch.rand(16))

    def forward(self, x, shift):
        y, whole = self.lin(x), (x * 100).to(torch.int32)
        return (torch.asinh(y), torch.acosh(1 + y.abs()), torch.atanh(torch.tanh(y)), torch.nn.functional.celu(y, 0.5),
                torch.nn.functional.prelu(y, self.slope), torch.linalg.det(y.view(-1, 4, 4)), whole << shift, whole >> shift, y + torch.eye(16))


class Namesakes(torch.nn.Module):
    """A parameter that is called as a node is, and a result that a number divides."""

    def __init__(self):
        super().__init__()
        self.lin, self.t = torch.nn.Linear(16, 16), torch.nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        y = self.lin(x)
        return ((self.t * y @ x.t()).square().mean() + y.square().mean()) / 2


class Cached(torch.nn.Module):
    """Attention to what earlier calls left, which this one adds to."""

    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(16, 16)
        self.register_buffer("kept", torch.randn(8, 6, 16))

    def forward(self, x, at):
        self.kept[:, at] = self.up(x)
        return torch.nn.functional.scaled_dot_product_attention(x, self.kept, self.kept)


class WithLoss(torch.nn.Module):
    """The model and one number that it is trained by."""

    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, x, *labels):
        return self.loss(self.model(x), *labels)


def classes(logits, labels):
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())


def joint_gpt():
    return gpt(layers=1, tied=False, fused=False), (tokens(), tokens())


def joint_llama():
    return WithLoss(llama(), classes), (tokens(), tokens())


def joint_moe():
    return WithLoss(MODELS.Moe(16, 32, 8), lambda made: made[0].square().mean()), (torch.randn(16, 16),)


def joint_resnet():
    return WithLoss(MODELS.ResNet(), classes), (images(), torch.randint(0, 5, (8,)))


MLP = [("x==", "S(0)", "B"), ("net.0.weight==", "B", "S(0)"), ("net.2.weight==", "B", "S(1)")]
GPT = [("tokens==", "S(0)", "B"), ("*.c_fc.weight==", "B", "S(0)"), ("*.mlp_proj.weight==", "B", "S(1)"), ("wte.weight=", "S(1)", "S(0)")]
LLAMA = [("*q_proj.weight==", "B", "S(0)"), ("*o_proj.weight==", "B", "S(1)"), ("*gate_proj.weight=", "S(0)", "S(0)"),
         ("*down_proj.weight==", "B", "S(1)")]
MOE = [("x=", "S(0)", "B"), ("*up=", "S(1)", "S(0)"), ("*down==", "B", "S(0)"), ("*router.weight=", "S(1)", "B")]
RESNET = [("x==", "S(0)", "B"), ("*layer2.conv2.weight==", "B", "S(1)"), ("*fc.weight==", "B", "S(1)")]

# Of what is partial each rank reads its rows: by reduce-scatters of each kind.
PARTS = [(f"{start}=", f"P({kind})", "S(1)") for start, kind in (("x", "max"), ("y", "min"), ("z", "prod"), ("seen", "max"))]
PARTS += [(f"{op}.{name}=", "S(0)", "S(1)") for op, name in (("sin", "input"), ("cos", "input"), ("tanh", "input"), ("bitwise_not", "x"))]

# Name -> module and inputs; "" for the forward pass, "joint" for torch's joint graph, else the flags of --train, which are
# steps of ours; pins: a tensor's layout along data and along model, starting there (=) or read so by all
# (==), or a recipe along each.
CASES = {
    "mlp": (regression, "", MLP),
    "mlp from parts": (regression, "", [("x=", "P(sum)", "P(sum)"), ("net.0.weight=", "S(1)", "P(sum)"), ("y=", "P(max)", "P(max)")]),
    "parts": (lambda: (Parted(), (*(torch.randn(16, 8) for _ in range(3)), torch.rand(16, 8) < 0.5)), "", PARTS),
    "gpt2": (lambda: (gpt(), (tokens(),)), "", [*GPT, ("*.c_proj.weight=", "S(0)", "S(1)")]),
    "llama": (lambda: (llama(), (tokens(),)), "", [("tokens==", "S(0)", "B"), *LLAMA]),
    "moe": (lambda: (MODELS.Moe(16, 32, 8), (torch.randn(16, 16),)), "", MOE),
    "resnet": (lambda: (MODELS.ResNet().eval(), (images(),)), "", RESNET),
    "repeated": (lambda: (Repeated(), (torch.randn(8, 16),)), "", [("weight==", "S(0)", "S(2)")]),
    "windowed": (lambda: (Windowed(), (torch.randn(8, 12, 16),)), "", [("x==", "S(0)", "B"), ("*.weight==", "B", "S(0)")]),
    "windowed step": (lambda: (Windowed(), (torch.randn(8, 12, 16),)), "--loss mse:output:0", ("dp", "tp")),
    "biased step": (lambda: (Biased(), (torch.randn(8, 6, 16),)), "--loss mse:output:0", ("dp", "tp")),
    "resized": (lambda: (Resized(), (torch.randn(8, 3, 6, 8),)), "", [("x==", "S(0)", "B"), ("conv.weight==", "B", "S(0)")]),
    "recurring": (lambda: (Recurring(), (torch.randn(5, 8, 16),)), "", [("x==", "S(1)", "B"), ("lstm.weight_hh_l0=", "S(0)", "B")]),
    "recurring step": (lambda: (WithLoss(Recurring(), lambda made: sum(y.square().mean() for y in made)), (torch.randn(5, 8, 16),)),
                       "--loss output:0", [("x==", "S(1)", "B")]),
    "moved": (lambda: (Moved(), (torch.randn(8, 4, 8, 8), torch.randn(8, 16))), "", [("x==", "S(0)", "B"), ("conv.weight==", "B", "S(0)")]),
    "assorted": (lambda: (Assorted(), (torch.randn(16, 16), torch.randint(0, 40, (16,)).to(torch.int32))), "", [("x==", "S(0)", "B"), ("lin.weight==", "B", "S(0)")]),
    "calls": (lambda: (MODELS.Calls(MODELS.CALLS), MODELS.call_inputs()), "", [("c=", "P(sum)", "S(3)")]),
    "more calls": (lambda: (MODELS.Calls(MODELS.MORE_CALLS), MODELS.call_inputs()), "", [("c=", "P(sum)", "S(3)")]),
    "fourier calls": (lambda: (MODELS.Calls(MODELS.FOURIER_CALLS), MODELS.call_inputs()), "", [("c=", "P(sum)", "S(3)")]),
    "spectral step": (lambda: (MODELS.Spectral(), (torch.randn(8, 8, 6),)), "--loss output:0", [("x=", "S(0)", "S(1)")]),
    "stopped step": (lambda: (MODELS.Stopped(), (torch.randn(8, 8),)), "--loss output:0", [("x=", "S(0)", "S(1)"), ("teacher.weight==", "B", "S(1)")]),
    "complex rotary": (lambda: (MODELS.ComplexRotary(), (torch.randn(8, 5, 16), torch.tensor([4, 2, 3, 0, 1]))), "", [("x==", "S(0)", "S(2)")]),
    "dropping": (lambda: (Dropping(), (torch.randn(8, 4, 16),)), "", [("x==", "S(0)", "B"), ("up.weight==", "B", "S(0)")]),
    "dropping step": (lambda: (Dropping(), (torch.randn(8, 4, 16),)), "--loss mse:output:0", ("dp", "tp")),
    "namesakes step": (lambda: (Namesakes(), (torch.randn(8, 16),)), "--loss output:0", [("x==", "S(0)", "B"), ("lin.weight==", "B", "S(0)")]),
    "cached step": (lambda: (Cached(), (torch.randn(8, 2, 16), torch.tensor([3, 4]))), "--loss mse:output:0", [("x==", "S(0)", "B")]),
    "mlp joint": (regression, "joint", MLP),
    "gpt2 joint": (joint_gpt, "joint", GPT),
    "llama joint": (joint_llama, "joint", [("x==", "S(0)", "B"), *LLAMA]),
    "moe joint": (joint_moe, "joint", MOE),
    "resnet joint": (joint_resnet, "joint", RESNET),
    "mlp step": (regression, "--loss output:0 --wrt-inputs x", ("dp", "tp")),
    "mlp updated": (regression, "--loss output:0 --optimizer momentum:nesterov=1 --weight-decay 0.1", ("zero3", "tp")),
    "gpt2 step": (lambda: (gpt(), (tokens(),)), "--loss cross-entropy:output:0", ("dp", "sp")),
    "gpt2 updated": (lambda: (gpt(), (tokens(),)), "--loss cross-entropy:output:0 --optimizer adamw --clip-norm 0.5 --remat full", ("fsdp", "tp")),
    "llama step": (lambda: (llama(), (tokens(),)), "--loss causal-lm:output:0", ("zero3", "sp")),
    "llama updated": (lambda: (llama(), (tokens(),)), "--loss causal-lm:output:0 --optimizer adam", ("zero2", "tp")),
    "moe step": (lambda: (MODELS.Moe(16, 32, 8), (torch.randn(16, 16),)), "--loss mse:output:0", ("ep", "tp")),
    "resnet step": (lambda: (MODELS.ResNet().eval(), (images(),)), "--loss cross-entropy:output:0", ("dp", "tp")),
    "resnet in training": (lambda: (MODELS.ResNet().eval(), (images(),)), "--loss cross-entropy:output:0 --train-mode --optimizer sgd", ("zero1", "tp")),
}


def pins_for(mesh, pins):
    if isinstance(pins[0], str):
        words = {"data=8": "data={0}", "model=8": "model={1}", "data=2,model=4": "data={0},model={1}"}[mesh]
        return ["--recipe", words.format(*pins)]
    words = {"data=8": "{0}{1}", "model=8": "{0}{2}", "data=2,model=4": "{0}({1}, {2})"}[mesh]
    return [argument for pin in pins for argument in ("--pin", words.format(*pin))]


STEPS = 2  # of training steps, so that states go on


def cases_of(apply_plan, program, table):
    """Inputs, and what the unsharded program makes of them, of each step; gradients of buffers torch has not."""
    inputs = dict(apply_plan.example_inputs(program))
    if not table["train"]:
        return [(inputs, apply_plan.expected_outputs(program))]
    unsharded, steps = apply_plan.UnshardedStep(program, table), []
    for number in range(1, STEPS + 1):
        given = apply_plan.example_step(program, inputs, table, number)
        steps.append((given, unsharded.run(given)))
    return steps


def error_of_graph(apply_plan, program, module, inputs):
    """How far the gradients that plans of a joint graph are held against are from autograd's."""
    module.zero_grad()
    module(*inputs).backward()
    made = apply_plan.expected_outputs(program)
    return max(float((made[f"grad/{name}"] - p.grad).abs().max()) for name, p in module.named_parameters())


def run_case(planner, folder, name, mesh, flags):
    """Whether all is as planned, and how many collectives each rank made."""
    model, plan_file, out = folder / f"{name}.pt2", folder / "plan.json", folder / "out"
    bed.run_planner(planner, "infer", model, "--mesh", mesh, "-o", plan_file, *flags)
    bed.run_planner(planner, "export", "--to", "dtensor", plan_file, "-o", out)
    apply_plan, program = bed.load_exported(out), torch.export.load(model)
    table = apply_plan.read_table()
    steps = cases_of(apply_plan, program, table)

    def work(rank):
        sharded, errors = apply_plan.apply(program, apply_plan.make_mesh(table), table), []
        for inputs, expected in steps:
            with bed.Collectives() as counted:
                made = sharded.run(inputs)
            compared = {n: v for n, v in made.items() if n in expected or not table["train"]}
            errors.append(apply_plan.largest_error(compared, expected, sharded.mover))
        return max(errors), counted.sent

    ranks = bed.run_ranks(math.prod(table["mesh_shape"]), work)
    error = max(rank[0] for rank in ranks)
    other = bed.compare_collectives([rank[1] for rank in ranks], bed.read_plan(plan_file))
    count = sum(sent[0] for sent in ranks[0][1].values())
    print(f"{name} on {mesh}, {len(flags)} flags: error {error:.1e}, {count} collectives {'; '.join(other)}", flush=True)
    return error <= TOLERANCE and not other, count


def is_meta_right(planner, folder):
    """A model without values is planned, and takes those of another as `state`."""
    real, inputs = regression()
    with torch.device("meta"):
        empty = MODELS.Regression()
    torch.export.save(torch.export.export(empty, tuple(i.to("meta") for i in inputs)), folder / "meta.pt2")
    bed.run_planner(planner, "infer", folder / "meta.pt2", "--mesh", "data=2", "-o", folder / "plan.json")
    bed.run_planner(planner, "export", "--to", "dtensor", folder / "plan.json", "-o", folder / "out")
    apply_plan, program = bed.load_exported(folder / "out"), torch.export.load(folder / "meta.pt2")
    table = apply_plan.read_table()

    def work(rank):
        mesh, refused = apply_plan.make_mesh(table), False
        try:
            apply_plan.apply(program, mesh, table)
        except ValueError as error:
            refused = "has no value" in str(error)
        sharded = apply_plan.apply(program, mesh, table, real.state_dict())
        made = sharded.run(dict(zip(table["inputs"], inputs)))
        refused &= apply_plan.largest_error(made, {"mse_loss": torch.tensor(math.nan)}, sharded.mover) == math.inf
        return float((made["mse_loss"].full_tensor() - real(*inputs)).abs().max()) if refused else math.inf

    error = max(bed.run_ranks(2, work))
    print(f"meta: error {error:.1e}", flush=True)
    return error <= TOLERANCE


def main():
    passed, collectives = True, 0
    only = sys.argv[2:] or list(CASES)
    for name in only:
        make, form, pins = CASES[name]
        torch.manual_seed(0)
        module, inputs = make()
        program = torch.export.export(module, inputs)
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(_export_forward_backward(program) if form == "joint" else program, Path(folder) / f"{name}.pt2")
            train = ["--train", *form.split()] if form.startswith("--") else []
            for mesh in MESHES:
                good, count = run_case(sys.argv[1], Path(folder), name, mesh, [*train, *pins_for(mesh, pins)])
                passed, collectives = passed and good, collectives + count
            if form == "joint":
                apply_plan = bed.load_exported(Path(folder) / "out")
                error = error_of_graph(apply_plan, torch.export.load(Path(folder) / f"{name}.pt2"), module, inputs)
                print(f"{name}: the unsharded graph is {error:.1e} from autograd", flush=True)
                passed = passed and error <= TOLERANCE
    if only == list(CASES):
        with tempfile.TemporaryDirectory() as folder:
            passed = is_meta_right(sys.argv[1], Path(folder)) and passed
    sys.exit(0 if passed and collectives > 0 else 1)


if __name__ == "__main__":
    main()
