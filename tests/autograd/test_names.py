"""Every public name of PyTorch's autograd exists here with the same parameters, or is listed below with the reason."""

import importlib
import inspect
from typing import Any

import pytest

NO_DEVICE = "about devices other than the CPU"
NO_STRIDES = "gradients have no layout of their own to keep"
NO_COMPILER = "about PyTorch's compiler"
DEPRECATED = "deprecated in PyTorch, and to be removed"
NOT_SELECTIVE = "of selective checkpointing, or of looking into a checkpoint, which are refused"
SMALL = "rarely used, and not built"
C_CODE = "how PyTorch's nodes are tied to its C++ code"

# For each module the names of its `__all__` that are absent on purpose.
ABSENT: dict[str, dict[str, str]] = {
    "autograd": {
        "enforce_grad_layout_policy": NO_STRIDES,
        **dict.fromkeys(("set_multithreading_enabled", "NestedIOFunction"), SMALL),
    },
    "autograd.function": dict.fromkeys(("InplaceFunction", "NestedIOFunction"), SMALL),
    "autograd.graph": {
        **dict.fromkeys(("allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "increment_version"), SMALL),
        **dict.fromkeys(("GradientEdge", "get_gradient_edge", "register_multi_grad_hook"), SMALL),
        "region_activation_memory_budget": NO_COMPILER,
        "set_override_stale_capture_stream": NO_DEVICE,
        "set_warn_on_accumulate_grad_stream_mismatch": NO_DEVICE,
    },
    "autograd.functional": {},
    "autograd.forward_ad": {},
    "autograd.grad_mode": {"enforce_grad_layout_policy": NO_STRIDES, "set_multithreading_enabled": SMALL},
    "autograd.anomaly_mode": {},
    "autograd.gradcheck": dict.fromkeys(
        ("get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input"), DEPRECATED
    ),
    "autograd.variable": {},
    "utils.checkpoint": {
        **dict.fromkeys(("DefaultDeviceType", "get_device_states", "set_device_states"), NO_DEVICE),
        "GraphExecGroup": NO_COMPILER,
        **dict.fromkeys(("SAC_IGNORED_OPS", "SelectiveCheckpointContext", "CheckpointPolicy"), NOT_SELECTIVE),
        **dict.fromkeys(("create_selective_checkpoint_contexts", "set_checkpoint_debug_enabled"), NOT_SELECTIVE),
        **dict.fromkeys(("check_backward_validity", "checkpoint_sequential", "detach_variable"), SMALL),
        "set_checkpoint_early_stop": SMALL,
    },
}

# Where both have a name, but not the same parameters.
OTHER_PARAMETERS = {
    **dict.fromkeys(
        (f"autograd.{name}gradcheck" for name in ("", "grad", "gradcheck.", "gradcheck.grad")),
        "settings of batches, masks, dtypes and devices are not built",
    ),
    **dict.fromkeys(("autograd.functional.jacobian", "autograd.functional.hessian"), "vectorize is not built"),
    "autograd.graph.save_on_cpu": "refused, however it is called",
    "utils.checkpoint.checkpoint": "the second run always stops when all is saved, and debug is not built",
    "autograd.function.BackwardCFunction": "PyTorch's is written in C and tells none",
    "autograd.Variable": "PyTorch's is written in C and tells none",
    "autograd.variable.Variable": "PyTorch's is written in C and tells none",
    "autograd.variable": "there a deprecated function, here the module alone",
    "autograd.no_grad": "there the function to decorate is read in __new__, which inspect passes over",
    "autograd.grad_mode.no_grad": "there the function to decorate is read in __new__, which inspect passes over",
}

# Public members of the classes a user meets that are absent on purpose.
IN_C = dict.fromkeys(("apply_boxed", "apply_jvp", "maybe_clear_saved_tensors"), C_CODE)
ABSENT_MEMBERS: dict[str, dict[str, str]] = {"autograd.function.FunctionCtx": {"mark_shared_storage": DEPRECATED}}
ABSENT_MEMBERS["autograd.function.BackwardCFunction"] = IN_C | dict.fromkeys(
    ("mark_shared_storage", "saved_variables"), DEPRECATED
)
CLASSES = ("autograd.function.BackwardCFunction", "autograd.function.FunctionCtx", "autograd.graph.Node")
CLASSES += ("autograd.graph.saved_tensors_hooks", "autograd.forward_ad.UnpackedDualTensor")


def module(engine: str, path: str) -> Any:
    return importlib.import_module(f"{engine}.{path}")


def both(path: str) -> tuple[Any, Any]:
    folder, _, name = path.rpartition(".")
    return getattr(module("torch", folder), name), getattr(module("tinygrad_edu", folder), name)


@pytest.mark.parametrize("path", ABSENT)
def test_every_public_name_is_there_or_absent_on_purpose(path: str) -> None:
    ours = module("tinygrad_edu", path)
    assert {name for name in module("torch", path).__all__ if not hasattr(ours, name)} == set(ABSENT[path])


SHARED = [(path, name) for path in ABSENT for name in module("torch", path).__all__ if name not in ABSENT[path]]
SHARED = [f"{path}.{name}" for path, name in SHARED if callable(getattr(module("torch", path), name))]


def parameters(of: Any) -> list[tuple[str, Any, str]] | None:
    """Name, kind and default of each parameter. Defaults by name where they are functions of either engine."""
    try:
        found = inspect.signature(of).parameters.values()
    except (TypeError, ValueError):
        return None
    return [(p.name, p.kind, getattr(p.default, "__name__", None) or repr(p.default)) for p in found]


def test_what_both_have_takes_the_same_arguments() -> None:
    assert {path for path in SHARED if len({str(parameters(of)) for of in both(path)}) > 1} == set(OTHER_PARAMETERS)


@pytest.mark.parametrize("path", CLASSES)
def test_a_class_has_the_members_of_pytorchs(path: str) -> None:
    theirs, ours = both(path)
    missing = {name for name in dir(theirs) if not name.startswith("_") and not hasattr(ours, name)}
    assert missing == set(ABSENT_MEMBERS.get(path, {}))


METHODS = [
    (path, name)
    for path in (*CLASSES, "autograd.Function")
    for name, method in inspect.getmembers(both(path)[0])
    if not name.startswith("_") and inspect.isfunction(method) and inspect.isroutine(getattr(both(path)[1], name, None))
]


def test_a_method_takes_the_arguments_of_pytorchs() -> None:
    for path, name in METHODS:
        theirs, ours = (parameters(getattr(kind, name)) for kind in both(path))
        assert theirs == ours, (path, name)
