"""What arithmetic a kernel needs: the vector instructions of the loops of its machine code.

In: the assembly of a program of one kernel (`jitney.explain(f, …).as_text("asm")`). Out:
`work(assembly)`: for each of its loops, how many 32-bit lanes of vector arithmetic it spends on an
element, and how many of them are multiplications, look-ups in tables of two registers and
comparisons, how many additions (and differences, extremes, roundings, their remainders and scalings
by powers of two, which the units that add do on Zen 4 and 5), and divisions, which fewer units can
do; each scaling takes the place of several, and a remainder that of a scaling (a Zen 5 begins one
of either a cycle, and two additions). Every vector instruction counts as one: additions and
look-ups in one register as well. Loads, stores and moves of registers do not count, nor does the
loop of what is left over, nor the way for rare arguments, which lies behind the loop. Loops run one
after another, so their times add up.
"""

import re
from typing import NamedTuple

LABEL = re.compile(r"^(\.L\w+):")
JUMP = re.compile(r"^\tj(?!mp)[a-z]+\t(\.L\w+)$")
STEP = re.compile(r"^\taddq\t\$(-?\d+), (%r\w+)$")
COUNTED = re.compile(r"^\tv(pbroadcast|mov)[dq]\t%[er]\w+, %[xyz]mm")
BY_ROWS = re.compile(r"^\tincq\t%r\w+$")
BASE = re.compile(r"\((%\w+|)")
STACK = ("%rsp", "%rbp")
REGISTER = re.compile(r"%([xyz])mm\d+")
LANES = {"x": 4, "y": 8, "z": 16}
MOVES = ("mov", "broadcast", "pbroadcast", "insert", "extract")
MULTIPLY = re.compile(r"fn?m|mul[ps][sdh]")  # of floats; those of integers begin with pmul
LOOK_UP = re.compile(r"perm[it]2|cmp\w*p[sd]")  # in two registers; comparisons of floats
DIVIDE = re.compile(r"div|sqrt")
SCALE = re.compile(r"(?:scalef|reduce)[ps][sd]")
ADD = re.compile(r"(?:add|sub|max|min|range|rndscale|scalef|reduce)[ps][sd]$")  # of floats


class Work(NamedTuple):
    """32-bit lanes of arithmetic that a loop spends on an element."""

    slots: float  # all of it
    multiplied: float  # products, those of multiply-adds too
    divided: float  # quotients and roots
    looked_up: float  # in tables, and compared
    scaled: float = 0  # by powers of two
    added: float = 0  # sums and what the same units do, scalings too


def work(assembly: str, rows: int = 1, is_pipelined: bool = False) -> list[Work]:
    """The loops of a kernel, each of which does so many rows at a time; none where there is not one
    kernel of loops. Of a pipeline the one that does all stages: it stores as much as any, and the
    others are those of the ends, and of rows that are done again."""
    if len(re.findall(r"^# ", assembly, re.MULTILINE)) != 1:
        return []
    every = [(of_loop(body), stored(body)) for body in loops(assembly)]
    found = [(work, count) for work, count in every if work is not None]
    if is_pipelined and found:
        most = max(count for _, count in found)
        found = [max(pair for pair in found if pair[1] == most)]
    return [Work(*(number / rows for number in work)) for work, _ in found]


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


def of_loop(body: list[str]) -> Work | None:
    """Lanes an element of a vector loop."""
    count = elements(body)
    every = [(name_of(line), lanes(line)) for line in body]
    total = sum(number for _, number in every)
    if count <= 1 or not total:
        return None
    multiplied = sum(number for name, number in every if MULTIPLY.match(name))
    divided = sum(number for name, number in every if DIVIDE.match(name))
    looked_up = sum(number for name, number in every if LOOK_UP.match(name))
    scaled = sum(number for name, number in every if SCALE.match(name))
    added = sum(number for name, number in every if ADD.match(name))
    found = (total, multiplied, divided, looked_up, scaled, added)
    return Work(*[number / count for number in found])


def elements(body: list[str]) -> int:
    """How many elements an iteration does: its step, or the lanes it moves where it takes rows.
    What is copied from another register in each iteration, and added to, is no step."""
    if is_left_over(body):
        return 0
    copied = {line.rpartition(" ")[2] for line in body if line.startswith("\tmovq\t%")}
    found = [m for line in body[-4:] if (m := STEP.match(line)) and m[2] not in copied]
    steps = [int(m[1]) for m in found]
    if any(map(BY_ROWS.match, body[-8:])):
        if any("kunpck" in line for line in body):  # the columns left over
            return 0
        stored, loaded = moved(body, stores=True), moved(body, stores=False)
        return stored or loaded
    return steps[-1] if steps else 0


def is_left_over(body: list[str]) -> bool:
    """Whether a loop compares how much is left with the numbers of its lanes each time."""
    return any(map(COUNTED.match, body)) and any(name_of(x).startswith("pcmpgt") for x in body)


def moved(body: list[str], stores: bool) -> int:
    """32-bit lanes that an iteration writes to memory or, of whole vectors, reads from it: to the
    array that most go to, for stages side by side write one each."""
    count: dict[str, int] = {}
    for line in body:
        operands = line.strip().partition("\t")[2]
        if name_of(line).startswith("mov") and "(" in operands and REGISTER.search(operands):
            array = BASE.search(operands)[1]
            lanes = (operands.endswith(")") == stores) * LANES[REGISTER.search(operands)[1]]
            count[array] = count.get(array, 0) + lanes
    return max(count.values(), default=0)


def stored(body: list[str]) -> float:
    """32-bit lanes that an iteration writes to memory, for each of the elements it does; what is
    put on the stack, a row's samples, is none of the results."""
    ends = [line.strip().partition("\t")[2] for line in body if name_of(line).startswith("mov")]
    ends = [end for end in ends if (at := BASE.search(end)) and at[1] not in STACK]
    written = [REGISTER.search(end) for end in ends if end.endswith(")")]
    return sum(LANES[m[1]] for m in written if m) / max(1, elements(body))


def name_of(line: str) -> str:
    return line.strip().partition("\t")[0].removeprefix("v")


def lanes(line: str) -> int:
    """32-bit lanes of an arithmetic instruction; nothing for what is not one."""
    found = REGISTER.findall(line)
    return 0 if not found or name_of(line).startswith(MOVES) else max(LANES[k] for k in found)
