"""Models from the network: nothing is downloaded here (PyTorch: `torch.hub`, `torch.utils.model_zoo`)."""

from __future__ import annotations

from typing import Any

__all__ = ["load", "load_state_dict_from_url", "load_url"]


def _refused(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        "hub: nothing is downloaded here. Write the module in the program, and load a file of weights with load()."
    )


load = load_state_dict_from_url = load_url = download_url_to_file = list = help = _refused


def set_dir(d: str) -> None:
    """Has no effect."""
