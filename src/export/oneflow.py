

def _checked(table, name, tensor):
    if name not in table:
        raise KeyError(f"{name}: the plan has no such name; it has {', '.join(table)}")
    shape, sbp = table[name]
    if list(tensor.shape) != shape:
        raise ValueError(f"{name}: of shape {list(tensor.shape)}, where the plan's model has {shape}")
    return sbp


def shard_model(model):
    """Makes the parameters of a oneflow.nn.Module global, whose names must be the plan's, and returns it."""
    for path, module in model.named_modules():
        for key, parameter in list(module._parameters.items()):
            if parameter is not None:
                sbp = _checked(PARAMETERS, f"{path}.{key}" if path else key, parameter)
                module._parameters[key] = flow.nn.Parameter(parameter.to_global(placement=PLACEMENT, sbp=WHOLE).to_global(
                    sbp=sbp))
    return model


def shard_input(name, tensor):
    """An input, whole on every rank, as the plan has it."""
    sbp = _checked(INPUTS, name, tensor)
    return tensor.to_global(placement=PLACEMENT, sbp=WHOLE).to_global(sbp=sbp)
