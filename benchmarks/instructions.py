"""What arithmetic a kernel needs: the vector instructions of the loops of its machine code.

In: the assembly of a program of one kernel (`jitney.explain(f, …).as_text("asm")`). Out:
`slots(assembly)`: how many 32-bit lanes of vector arithmetic it spends on one element of a row.
Every vector instruction counts as one: additions and look-ups in tables as well as divisions, which
take longer. Loads, stores and moves of registers do not count, nor does the loop of what is left
over, nor the way for rare arguments, which lies behind the loop. Where a kernel goes over its rows
several times, the loops add up.
"""

import re

LABEL = re.compile(r"^(\.L\w+):")
JUMP = re.compile(r"^\tj(?!mp)[a-z]+\t(\.L\w+)$")
STEP = re.compile(r"^\taddq\t\$(-?\d+), %r\w+$")
REGISTER = re.compile(r"%([xyz])mm\d+")
LANES = {"x": 4, "y": 8, "z": 16}
MOVES = ("mov", "broadcast", "pbroadcast", "insert", "extract")


def slots(assembly: str) -> float | None:
    """32-bit lanes of arithmetic an element, or None where there is not one kernel of loops."""
    if len(re.findall(r"^# ", assembly, re.MULTILINE)) != 1:
        return None
    found = [cost for body in loops(assembly) if (cost := of_loop(body)) is not None]
    return sum(found) if found else None


def loops(assembly: str) -> list[list[str]]:
    """Innermost loops: the lines from a label to a conditional jump back to it."""
    found, starts, lines = [], {}, assembly.splitlines()
    for number, line in enumerate(lines):
        if at := LABEL.match(line):
            starts[at[1]] = number
        elif (jump := JUMP.match(line)) and jump[1] in starts:
            begin = starts[jump[1]]
            found.append(lines[begin:number])
            starts = {k: v for k, v in starts.items() if v > number}  # loops around it are not
    return found


def of_loop(body: list[str]) -> float | None:
    """Lanes an element of a vector loop, whose last lines step on and compare."""
    steps = [int(m[1]) for line in body[-4:] if (m := STEP.match(line))]
    total = sum(map(lanes, body))
    return total / steps[-1] if steps and steps[-1] > 1 and total else None


def lanes(line: str) -> int:
    """32-bit lanes of an arithmetic instruction; nothing for what is not one."""
    name = line.strip().partition("\t")[0].removeprefix("v")
    found = REGISTER.findall(line)
    return 0 if not found or name.startswith(MOVES) else max(LANES[kind] for kind in found)
