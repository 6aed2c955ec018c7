"""`Tensor`, the class that users meet: what the core keeps in it, with the methods of each subject.

Each base has the methods of one module, where they are written. The class has none of its own.
"""

from __future__ import annotations

from .array.tensor import ArrayMethods
from .autograd.hooks import HookMethods
from .autograd.variable import VolatileMethods
from .core.graph import results_are
from .ops.creation.copies import CopiesMethods
from .ops.creation.factories import FactoriesMethods
from .ops.creation.legacy import LegacyMethods
from .ops.creation.methods import AbsentMethods, ConversionMethods
from .ops.creation.random import RandomMethods
from .ops.indexing.distinct import DistinctMethods
from .ops.indexing.gather import GatherMethods
from .ops.indexing.index import IndexMethods
from .ops.indexing.masking import MaskingMethods
from .ops.indexing.slices import SlicesMethods
from .ops.linalg.decomposition import DecompositionMethods
from .ops.linalg.einsum import EinsumMethods
from .ops.linalg.matmul import MatmulMethods
from .ops.network.rectifier import RectifierMethods
from .ops.network.softmax import SoftmaxMethods
from .ops.pointwise.arithmetic import ArithmeticMethods
from .ops.pointwise.clamp import ClampMethods
from .ops.pointwise.compare import CompareMethods
from .ops.pointwise.division import DivisionMethods
from .ops.pointwise.exponential import ExponentialMethods
from .ops.pointwise.logic import LogicMethods
from .ops.pointwise.powers import PowersMethods
from .ops.pointwise.rounding import RoundingMethods
from .ops.pointwise.trigonometric import TrigonometricMethods
from .ops.pointwise.weighted_sums import WeightedSumsMethods
from .ops.reductions.extremes import ExtremesMethods
from .ops.reductions.norms import NormsMethods
from .ops.reductions.ordering import OrderingMethods
from .ops.reductions.reduce import ReduceMethods
from .ops.reductions.running import RunningMethods
from .ops.reductions.statistics import StatisticsMethods
from .ops.shapes.diagonal import DiagonalMethods
from .ops.shapes.joining import JoiningMethods
from .ops.shapes.permute import PermuteMethods
from .ops.shapes.repeating import RepeatingMethods
from .ops.shapes.shape import ShapeMethods
from .ops.shapes.turning import TurningMethods
from .ops.shapes.windows import WindowsMethods
from .overrides import OverridableMethods
from .printing import PrintingMethods

__all__ = ["Tensor"]


class Tensor(
    PrintingMethods,
    HookMethods,
    VolatileMethods,
    OverridableMethods,
    ArrayMethods,
    CopiesMethods,
    FactoriesMethods,
    LegacyMethods,
    ConversionMethods,
    RandomMethods,
    DistinctMethods,
    GatherMethods,
    IndexMethods,
    MaskingMethods,
    SlicesMethods,
    DecompositionMethods,
    EinsumMethods,
    MatmulMethods,
    RectifierMethods,
    SoftmaxMethods,
    ArithmeticMethods,
    ClampMethods,
    CompareMethods,
    DivisionMethods,
    ExponentialMethods,
    LogicMethods,
    PowersMethods,
    RoundingMethods,
    TrigonometricMethods,
    WeightedSumsMethods,
    ExtremesMethods,
    NormsMethods,
    OrderingMethods,
    ReduceMethods,
    RunningMethods,
    StatisticsMethods,
    DiagonalMethods,
    JoiningMethods,
    PermuteMethods,
    RepeatingMethods,
    ShapeMethods,
    TurningMethods,
    WindowsMethods,
    AbsentMethods,
):
    """A multi-dimensional array that autograd can follow.

    >>> w = T.tensor([2.0, 3.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> w.grad
    tensor([4., 6.])
    """

    _prints_as_tensor = True


results_are(Tensor)
from . import layers  # noqa: E402, F401 - from here on the core asks it
