

def _checked(table, name, tensor):
    if name not in table:
        raise KeyError(f"{name}: the plan has no such name; it has {', '.join(table)}")
    shape, placements = table[name]
    if list(tensor.shape) != shape:
        raise ValueError(f"{name}: of shape {list(tensor.shape)}, where the plan's model has {shape}")
    return placements


def shard_model(model):
    """Splits the parameters of a paddle.nn.Layer, whose names must be the plan's, and returns it."""

    def shard(path, layer, mesh):
        for key, parameter in list(layer._parameters.items()):
            if parameter is not None:
                placements = _checked(PARAMETERS, f"{path}.{key}" if path else key, parameter)
                setattr(layer, key, dist.shard_tensor(parameter, mesh, placements))

    return dist.shard_layer(model, MESH, shard)


def shard_input(name, tensor):
    """An input, whole on every rank, as the plan has it."""
    return dist.shard_tensor(tensor, MESH, _checked(INPUTS, name, tensor))
