"""The hand plans of the field as pins, for any resolved graph: what scripts/test-optimal compares with.

A plan's graph (the JSON form of a plan holds it) says which parameters are the weights of products. A product is the
first of a pair (its columns are split) when a normalisation or an embedding lies between it and the products before it,
else the second (its rows are split): Megatron's rule. `PLANS` is the table: name -> function(Model, axes) -> pins.
"""

import math
import re

PRODUCTS = {"MatMul", "Gemm", "com.microsoft::FusedMatMul"}
CARRIERS = {"Transpose", "Cast", "DequantizeLinear", "Identity"}  # between a weight and its product
NORMALISATION = re.compile(r"Normalization|ReduceMean|^Gather$|EmbedLayer")
TYPE = re.compile(r"^(\w+)\[(.*)\]$")


def shape_of(text):
    """The sizes of "f32[batch=8,seq=1024]"; None when one is unknown."""
    match = TYPE.match(text or "")
    if not match:
        return None
    sizes = [part.rpartition("=")[2] for part in match.group(2).split(",") if part]
    return [int(s) for s in sizes] if all(s.isdigit() for s in sizes) else None


class Model:
    def __init__(self, graph):
        self.ops = graph["ops"]
        self.inputs = {t["name"]: shape_of(t["type"]) for t in graph["inputs"]}
        self.parameters = {t["name"]: shape_of(t["type"]) for t in graph["parameters"]}
        self.shapes = {t["name"]: shape_of(t["type"]) for t in graph.get("tensors", [])} | self.inputs | self.parameters
        self.integers = {t["name"] for t in graph["inputs"] if t["type"][0] in "iu"}
        self.ties = {tie["output"]: tie["input"] for tie in graph.get("ties", [])}
        self.producer = {name: op for op in self.ops for name in op["outputs"] if name}
        self.uses = {}  # tensor -> [(op, operand)]
        for op in self.ops:
            for operand, name in enumerate(op["inputs"]):
                self.uses.setdefault(name, []).append((op, operand))
        self.weights = self.find_weights()  # parameter -> (dimension of the columns, of the rows)
        self.first = self.find_first_of_pairs()  # weights whose columns Megatron splits

    def follow(self, weight):
        """The first product that reads a parameter, its operand, and the parameter's dimensions as they stand there."""
        dims, name = list(range(len(self.shapes[weight]))), weight
        while True:
            for op, operand in self.uses.get(name, []):
                if op["type"] in PRODUCTS and operand < 2:
                    return op, operand, dims
            carriers = [op for op, operand in self.uses.get(name, []) if op["type"] in CARRIERS and operand == 0]
            if not carriers:
                return None
            if carriers[0]["type"] == "Transpose":
                order = carriers[0].get("attributes", {}).get("perm", list(reversed(range(len(dims)))))
                dims = [dims[d] for d in order]
            name = carriers[0]["outputs"][0]

    def find_weights(self):
        weights, self.product_of = {}, {}
        for name, shape in self.parameters.items():
            found = self.follow(name) if shape is not None and len(shape) == 2 else None
            if not found or found[1] != 1:
                continue
            op, _, dims = found
            rows, columns = dims if not op.get("attributes", {}).get("transB", 0) else dims[::-1]
            weights[name] = (columns, rows)
            self.product_of[name] = op
        return weights

    def find_first_of_pairs(self):
        products = {op["name"] for op in self.product_of.values()}
        first = set()
        for name, product in self.product_of.items():
            queue, seen = [product["inputs"][0]], set()
            while queue:
                tensor = queue.pop()
                op = self.producer.get(tensor)
                if op is None or op["name"] in products or op["name"] in seen:
                    continue
                seen.add(op["name"])
                if NORMALISATION.search(op["type"]):
                    first.add(name)
                    break
                queue += [t for t in op["inputs"] if t]
            # A product of the model's inputs begins a pair too.
            if not seen and product["inputs"][0] in self.inputs:
                first.add(name)
        return first

    def residuals(self):
        """Sums of two activations with as many features as the products that follow normalisations read."""
        widths = {self.parameters[w][self.weights[w][1]] for w in self.first}
        for op in self.ops:
            if op["type"] != "Add" or any(t in self.parameters for t in op["inputs"]):
                continue
            shape = self.shapes.get(op["outputs"][0])
            if shape and len(shape) == 3 and shape[2] in widths and shape[1] > 1:
                if all(self.shapes.get(t) == shape for t in op["inputs"]):
                    yield op["outputs"][0], shape


def layout(entries):
    return f"({', '.join(entries)})" if len(entries) > 1 else entries[0]


def pin(name, entries):
    return f"{name} = {layout(entries)}"


def batch_axes(model, axes, leave):
    """S(0) for the data inputs on all mesh axes but the last `leave`, where their sizes allow."""
    count = len(axes) - leave
    pins = []
    for name, shape in model.inputs.items():
        if shape and count > 0 and shape[0] % math.prod(axes[:count]) == 0:
            pins.append(pin(name, ["S(0)"] * count + ["B"] * leave))
    return pins


def tensor_parallel(model, axes):
    n = axes[-1]
    before = ["B"] * (len(axes) - 1)
    for name, (columns, rows) in model.weights.items():
        dim = columns if name in model.first else rows
        if model.parameters[name][dim] % n == 0:
            yield pin(name, before + [f"S({dim})"])


def megatron(model, axes):
    weights = list(tensor_parallel(model, axes))
    return weights and weights + batch_axes(model, axes, 1)


def split_dim(shape, ways):
    """The first dimension that divides into `ways` parts, of a tensor worth splitting."""
    if not shape or math.prod(shape) < 64 * ways:
        return None
    return next((d for d, size in enumerate(shape) if size % ways == 0), None)


def fsdp(model, axes):
    """Weights lie split over all devices and are gathered where they are read."""
    ways, pins = math.prod(axes), []
    for name in model.weights:
        dim = split_dim(model.parameters[name], ways)
        if dim is None:
            continue
        pins.append(pin(name, [f"S({dim})"] * len(axes)))
        for op, operand in model.uses[name]:
            if op["outputs"][0] not in model.ties:
                pins.append(pin(f"{op['name']}.{operand}", ["B"] * len(axes)))
    return pins and pins + batch_axes(model, axes, 0)


def zero(model, axes):
    """Weights are whole while the step runs; each device updates its part (ZeRO's stages 1 and 2)."""
    ways, pins = math.prod(axes), []
    for output, source in model.ties.items():
        dim = split_dim(model.parameters.get(source), ways)
        if dim is not None:
            pins.append(pin(source, ["B"] * len(axes)))
            pins.append(pin(output, [f"S({dim})"] * len(axes)))
    return pins and pins + batch_axes(model, axes, 0)


def data_parallel(model, axes):
    """Weights whole, the batch split over every device."""
    inputs = batch_axes(model, axes, 0)
    return inputs and inputs + [pin(name, ["B"] * len(axes)) for name in model.weights]


def megatron_sequence(model, axes):
    """Megatron's, with the sequence split between the pairs of products."""
    weights = list(tensor_parallel(model, axes))
    sums = [(name, shape) for name, shape in model.residuals() if shape[1] % axes[-1] == 0]
    if not weights or not sums:
        return []
    pins = weights + batch_axes(model, axes, 1)
    for name, shape in sums:
        split = len(axes) > 1 and shape[0] % math.prod(axes[:-1]) == 0
        pins.append(pin(name, (["S(0)"] if split else ["B"]) * (len(axes) - 1) + ["S(1)"]))
    return pins


def sequence(model, axes):
    """Weights whole, tokens split along the sequence over the last axis."""
    pins = []
    for name in model.integers:
        shape = model.inputs[name]
        if shape and len(shape) == 2 and shape[1] > 1 and shape[1] % axes[-1] == 0:
            split = shape[0] % math.prod(axes[:-1]) == 0
            pins.append(pin(name, (["S(0)"] if split else ["B"]) * (len(axes) - 1) + ["S(1)"]))
    return pins and pins + [pin(name, ["B"] * len(axes)) for name in model.weights]


PLANS = {
    "megatron": megatron,
    "fsdp": fsdp,
    "zero": zero,
    "data-parallel": data_parallel,
    "megatron-sequence": megatron_sequence,
    "sequence": sequence,
}
