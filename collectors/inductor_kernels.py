"""What Inductor knows of a kernel when it generates it: the buffers that it touches, and its operations.

The objects are the scheduler's own, of a private module that only `torch_compat` imports; what is read of them is the
same from torch 2.11 to 2.14.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Final

from analyzer.core.graphs import KernelFacts, OpCount

SECTOR_BYTES: Final = 32
"""The least that a GPU of NVIDIA reads from memory (CUDA C++ Best Practices Guide, coalesced access)."""

NEAREST_CACHE_BYTES: Final = 32 * 2**10
"""The first data cache of a core, on x86 and Arm servers alike: what fits is found there however it is read."""

_ADDS: Final = "atomic_add"
"""The mode of a store that reads what it adds to."""

_MASKED: Final = "flex"
"""Flex attention skips blocks that its mask hides, which torch's formula does not know."""


def facts_of(name: str, schedule: Iterable[Any], kernel: Any, graph: Any) -> KernelFacts | None:
    """The facts of the kernel `name`, generated from these scheduler nodes of a `GraphLowering`.

    Traffic is that of a perfect cache inside the kernel: of each buffer, the elements that any node reaches, once.
    What nobody outside reads is not written. None where a size is symbolic or a buffer has none.
    """
    nodes = _flat(schedule, kernel)
    try:
        read, written = _accesses(nodes, graph)
        reads, writes = (_bytes_of(deps, graph) for deps in (read, written))
        return KernelFacts(
            name=name,
            bytes=sum(reads) + sum(writes),
            flops=_flops(name, nodes),
            dtype=_matrix_dtype(nodes),
            ops=_ops(nodes),
            reads=reads,
            writes=writes,
            again_bytes=sum(_again(name, deps, graph) for part in (read, written) for name, deps in part.items()),
        )
    except (TypeError, ValueError, AttributeError, KeyError, NotImplementedError, AssertionError):
        return None


def _flat(schedule: Iterable[Any], kernel: Any) -> list[Any]:
    """The nodes themselves: a schedule also holds markers of where a reduction begins, and nodes of nodes.

    A combined kernel is given the node of all that are combined, and holds those that are its own.
    """
    parts = getattr(kernel, "sub_kernels", None)
    if parts is not None:
        return [node for part in parts for node in part.features.scheduler_nodes()]
    found = []
    for node in schedule:
        if hasattr(node, "get_nodes") and hasattr(node, "read_writes"):
            found += list(node.get_nodes())
    return list(dict.fromkeys(found))


_Accesses = dict[str, list[Any]]


def _accesses(nodes: list[Any], graph: Any) -> tuple[_Accesses, _Accesses]:
    """What is read and written outside of the kernel, by buffer."""
    inside = {dep.name for node in nodes for dep in node.read_writes.writes}
    read: dict[str, list[Any]] = defaultdict(list)
    written: dict[str, list[Any]] = defaultdict(list)
    for node in nodes:
        for dep in node.read_writes.reads:
            # A dependency without an index only orders what mutates after what reads.
            if dep.name not in inside and type(dep).__name__ != "WeakDep":
                read[_real(dep.name, graph)].append(dep)
        for dep in node.read_writes.writes:
            if _is_used_outside(dep.name, nodes, graph):
                written[_real(dep.name, graph)].append(dep)
            if getattr(dep, "mode", None) == _ADDS:
                read[_real(dep.name, graph)].append(dep)
    return read, written


def _bytes_of(accesses: _Accesses, graph: Any) -> tuple[int, ...]:
    """A buffer each."""
    return tuple(size for name, deps in accesses.items() if (size := _touched(name, deps, graph)))


def _real(name: str, graph: Any) -> str:
    """A buffer that is another one after it was written to, under the name of that."""
    return str(graph.scheduler.mutation_real_name.get(name, name))


def _is_used_outside(name: str, nodes: list[Any], graph: Any) -> bool:
    buffer = graph.scheduler.name_to_buf.get(name)
    if buffer is None or buffer.get_mutations():
        return True
    users = [user.node for user in buffer.users]
    # A reduction split over a loop keeps what only itself reads: no user at all is a user that is not told of.
    return not users or any(user not in nodes for user in users)


def _touched(name: str, deps: list[Any], graph: Any) -> int:
    """Bytes of one buffer that are reached by any of these dependencies."""
    item = int(graph.get_dtype(name).itemsize)
    whole = int(graph.get_numel(name)) * item
    pieces = {_place(dep): _reach(dep, whole, item) for dep in deps}
    return min(whole, sum(pieces.values()))


def _again(name: str, deps: list[Any], graph: Any) -> int:
    """Bytes of one buffer that are reached through an index more than once; 0 where the nearest cache holds it all."""
    item = int(graph.get_dtype(name).itemsize)
    whole = int(graph.get_numel(name)) * item
    if whole <= NEAREST_CACHE_BYTES:
        return 0
    indirect = [dep for dep in deps if type(dep).__name__ == "MemoryDep" and dep.is_indirect()]
    reached = sum({_place(dep): _reach(dep, whole, item) for dep in indirect}.values())
    return max(reached - whole, 0)


def _place(dep: Any) -> str:
    """What two equal accesses share: the same index over the same ranges, whatever its variables are called."""
    if type(dep).__name__ != "MemoryDep":
        return "all"
    # Nodes of one kernel loop in one order, so that normalized loops are enough; reordering costs ten times as much.
    normal = dep.normalize()
    return f"{normal.index} over {normal.size}"


def _reach(dep: Any, whole: int, item: int) -> int:
    """Bytes that one access touches: an element for each value of the variables in its index; in sectors if strided."""
    if type(dep).__name__ != "MemoryDep":
        return whole
    is_indirect = dep.is_indirect()
    used = dep.index.free_symbols
    count, steps = 1, []
    for variable, size in zip(dep.var_names, dep.size, strict=True):
        if is_indirect or variable in used:
            count *= int(size)
        if variable in used and int(size) > 1:
            steps.append(abs(_step(dep.index, variable)))
    dense = is_indirect or not steps or any(step in (0, 1) for step in steps)
    return count * (item if dense else min(min(steps) * item, max(SECTOR_BYTES, item)))


def _step(index: Any, variable: Any) -> int:
    """How far one step of a variable moves; 0 where the index is not linear in it."""
    step = index.coeff(variable)
    return int(step) if step.is_Integer else 0


def _ops(nodes: list[Any]) -> tuple[OpCount, ...] | None:
    """How often each operation runs: once for equal operations of one loop, which the generated code shares.

    A template's own loop is its `flops`. None where a node does not tell.
    """
    total: Counter[str] = Counter()
    known: dict[tuple[object, ...], int] = {}
    for node in nodes:
        if node.is_template():
            continue
        body = getattr(node, "_body", None)
        if body is None:
            return None
        runs = 1
        for sizes in node.get_ranges():
            for size in sizes:
                runs *= int(size)
        for op in _new_operations(body, runs, known):
            total[op] += runs
    return tuple(OpCount(op, count) for op, count in sorted(total.items()))


def _new_operations(body: Any, runs: int, known: dict[tuple[object, ...], int]) -> list[str]:
    """The operations of a loop's body that no loop of as many runs had before; `known` numbers those met."""
    found = []
    for block in (body.root_block, *body.subblocks.values()):
        numbers: dict[Any, int] = {}
        for step in block.graph.nodes:
            is_index = step.op == "call_module" and step.target == "get_index"
            told = (str(body.indexing_exprs[step.args[0]]),) if is_index else _told(step, numbers)
            key = (runs, step.op, str(step.target), *told)
            if key not in known and step.op == "call_method":
                found.append(str(step.target))
            numbers[step] = known.setdefault(key, len(known))
    return found


def _told(step: Any, numbers: dict[Any, int]) -> tuple[object, ...]:
    """The arguments of an operation, those that are operations by their number."""
    values = (*step.args, *step.kwargs.values())
    return tuple(numbers[v] if hasattr(v, "all_input_nodes") else str(v) for v in values)


def _flops(name: str, nodes: list[Any]) -> int | None:
    """Operations of the matrix templates among the nodes, by torch's formulas; None where one has none."""
    templates = [node for node in nodes if node.is_template()]
    if _MASKED in name:
        return None
    counted = [node.estimate_flops() for node in templates]
    return None if any(flops is None for flops in counted) else sum(int(flops) for flops in counted)


def _matrix_dtype(nodes: list[Any]) -> str | None:
    for node in nodes:
        if node.is_template():
            return str(node.node.inputs[0].get_dtype()).removeprefix("torch.")
    return None
