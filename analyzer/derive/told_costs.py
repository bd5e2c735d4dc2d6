"""What kernels cost by all that is known of them: their operators, the calls of their graph, another pass, Inductor."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from analyzer.core.graphs import Graph
from analyzer.derive.attribution import Attribution
from analyzer.derive.kernel_costs import KernelCosts, from_graphs, from_reference
from analyzer.derive.library_calls import from_calls


@dataclass(frozen=True, slots=True)
class Priced:
    """A pass, and the costs that the operators in it tell (`kernel_costs`)."""

    attribution: Attribution
    costs: KernelCosts


def told_costs(own: Priced, graphs: Collection[Graph], reference: Priced | None = None) -> KernelCosts:
    """`graphs` as this pass ran them (`under_plan`). `reference` is a pass of the same graphs in a configuration that
    shows their operators (fused), for one that does not (CUDA graph, C++ wrapper).
    """
    costs = from_calls(own.costs, own.attribution, graphs)
    if reference is not None:
        costs = from_reference(costs, own.attribution, reference.costs, reference.attribution)
    return from_graphs(costs, own.attribution, graphs)
