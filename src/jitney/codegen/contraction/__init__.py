"""Contractions (batched matrix products) as generated kernels. Read next: `plan.py`, `tiled.py`."""

from .plan import plan_contraction
from .pointwise import pointwise_epilogue
from .shape import (
    ContractionKernel,
    ContractionPlan,
    ContractionShape,
    ContractionStep,
    Epilogue,
)
from .store import StorePoint, bias_epilogue

__all__ = [
    "ContractionKernel",
    "ContractionPlan",
    "ContractionShape",
    "ContractionStep",
    "Epilogue",
    "StorePoint",
    "bias_epilogue",
    "plan_contraction",
    "pointwise_epilogue",
]
