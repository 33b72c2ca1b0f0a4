"""The doors that open backwards. Everything else in the house goes one way.

`core` calls up through slots: evaluation of a primitive on concrete values, operators and
methods of arrays and tracers. They are filled here, when the package is imported.
"""

from __future__ import annotations

from jitney.api import array_attributes, eager
from jitney.core import operators, slots
from jitney.numpy import operators as table

slots.set_eager_evaluator(eager.evaluate)
array_attributes.attach()
operators.attach_operators(table.OPERATORS)
operators.attach_methods(table.METHODS)
