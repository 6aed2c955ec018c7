"""Neural networks: modules, parameters, layers, losses, and the functions behind them (PyTorch: `torch.nn`)."""

from __future__ import annotations

from ..compat.later import later
from . import (
    activations,
    attention,
    containers,
    functional,
    init,
    layers,
    losses,
    norms,
    padding,
    pooling,
    recurrent,
    transformer,
    utils,
)
from .module import Module
from .parameter import Buffer, Parameter

_FAMILIES = (activations, attention, containers, layers, losses, norms, padding, pooling, recurrent, transformer)

__all__ = ["Buffer", "Module", "Parameter", "functional", "init", "utils"]
for _family in _FAMILIES:
    globals().update({name: getattr(_family, name) for name in _family.__all__})
    __all__ += _family.__all__

# The hooks of all modules, found in `nn.modules.module` in PyTorch.
_OF_ALL = [
    f"register_module_{which}_hook" for which in ("forward", "forward_pre", "full_backward", "full_backward_pre")
]
# The names that programs import from `torch.nn.modules`: base classes of layers, and helpers.
_BELOW = {
    **dict.fromkeys(["_BatchNorm", "_InstanceNorm", "_NormBase"], "norms"),
    **dict.fromkeys(["_ConvNd", "_ConvTransposeNd", "_DropoutNd"], "layers"),
    **dict.fromkeys(["_Loss", "_WeightedLoss"], "losses"),
    **dict.fromkeys(
        ["_IncompatibleKeys", "_addindent", "_get_activation_fn", "_get_clones", "_ntuple", "_pair", "_quadruple"],
        "bases",
    ),
    **dict.fromkeys(["_reverse_repeat_tuple", "_single", "_triple"], "bases"),
    "NonDynamicallyQuantizableLinear": "attention",
    **dict.fromkeys(["_AdaptiveAvgPoolNd", "_AvgPoolNd", "_MaxPoolNd"], "pooling"),
    **dict.fromkeys(["_AdaptiveMaxPoolNd", "_LPPoolNd"], "rarer"),
}
_LATER = {
    **dict.fromkeys(
        [
            "AdaptiveAvgPool3d",
            "AdaptiveMaxPool1d",
            "AdaptiveMaxPool2d",
            "AdaptiveMaxPool3d",
            "AlphaDropout",
            "AvgPool3d",
            "CTCLoss",
            "Conv3d",
            "ConvTranspose3d",
            "Dropout3d",
            "FeatureAlphaDropout",
            "FractionalMaxPool2d",
            "FractionalMaxPool3d",
            "LPPool1d",
            "LPPool2d",
            "LPPool3d",
            "LocalResponseNorm",
            "MaxPool3d",
            "MaxUnpool1d",
            "MaxUnpool2d",
            "MaxUnpool3d",
            "MultiLabelMarginLoss",
            "MultiLabelSoftMarginLoss",
            "MultiMarginLoss",
            "NLLLoss2d",
            "RReLU",
            "Softmax2d",
            "SyncBatchNorm",
            "TripletMarginWithDistanceLoss",
        ],
        "rarer",
    ),
    **dict.fromkeys(
        [
            "LazyBatchNorm1d",
            "LazyBatchNorm2d",
            "LazyBatchNorm3d",
            "LazyConv1d",
            "LazyConv2d",
            "LazyConv3d",
            "LazyConvTranspose1d",
            "LazyConvTranspose2d",
            "LazyConvTranspose3d",
            "LazyInstanceNorm1d",
            "LazyInstanceNorm2d",
            "LazyInstanceNorm3d",
            "LazyLinear",
            "UninitializedParameter",
        ],
        "lazy",
    ),
    **dict.fromkeys(_OF_ALL, "hooks"),
    "AdaptiveLogSoftmaxWithLoss": "adaptive",
    **_BELOW,
    "DataParallel": "parallel",
    "modules": "modules",
    "_reduction": "_reduction",
    "grad": "grad",
    "parallel": "parallel",
}

__getattr__ = later(__name__, _LATER, "Write it as a custom Module, from the layers that exist here.")
__all__ += sorted(_LATER.keys() - {"grad", "modules", "parallel", "_reduction", *_OF_ALL, *_BELOW})
