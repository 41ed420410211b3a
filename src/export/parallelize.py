

def make_mesh(device: str = "cpu") -> DeviceMesh:
    """The plan's mesh. Needs a process group of as many ranks."""
    return DeviceMesh(device, RANKS, mesh_dim_names=AXES)


def own_part(batch: torch.Tensor, mesh: DeviceMesh) -> torch.Tensor:
    """The rows that this rank's model takes of a batch that is whole on every rank."""
    for axis in AXES:
        if axis in COPIES + SHARDED:
            batch = batch.tensor_split(mesh[axis].size())[mesh.get_local_rank(axis)]
    return batch


def parallelize(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """Splits the model's parameters as the plan does, in place. Gradients are means over the ranks of a batch."""
    _check_modules(model)
    if TENSOR_PLAN:
        parallelize_module(model, mesh[TENSOR], TENSOR_PLAN)
        parallelize_module(model, mesh[TENSOR], GATHERED)
    if SHARDED:
        names = {parameter: name for name, parameter in model.named_parameters()}

        def placement(parameter: nn.Parameter) -> Shard:
            return Shard(next((dim for pattern, dim in SPLIT_ALONG.items() if _is_any(names[parameter], [pattern])), 0))

        shard = partial(fully_shard, mesh=mesh[COPIES + SHARDED], reshard_after_forward=RESHARDS,
                        shard_placement_fn=placement)
    elif COPIES:
        shard = partial(replicate, mesh=mesh[COPIES])
    else:
        return model
    for path, module in list(model.named_modules()):
        if _is_any(path, BLOCKS):
            shard(module)
    return shard(model)


def _is_any(path: str, patterns: Iterable[str]) -> bool:
    """Does a pattern name the path? A level * is any number."""
    levels = path.split(".")
    return any(len(levels) == len(p.split(".")) and all(map(_is_level, levels, p.split("."))) for p in patterns)


def _is_level(level: str, pattern: str) -> bool:
    return level.isdecimal() if pattern == "*" else level == pattern


def _check_modules(model: nn.Module) -> None:
    """Parallel styles replace parameters, so that those which modules share would come apart; names must be there."""
    paths = [path for path, _ in model.named_modules()]
    for pattern in TENSOR_PLAN:
        if not any(_is_any(path, [pattern]) for path in paths):
            raise KeyError(f"the model has no module {pattern}, which the plan splits")
    names: dict[nn.Parameter, str] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        first = names.setdefault(parameter, name)
        split = [n for n in (first, name) if _is_any(n.rpartition(".")[0], TENSOR_PLAN)]
        if first != name and split:
            raise ValueError(f"{first} and {name} are one parameter, which parallelize_module would take apart")
