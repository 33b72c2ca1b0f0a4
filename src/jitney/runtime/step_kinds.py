"""Numbers of the kinds of steps in a native program (`csrc/abi.h` has the same).

In: nothing. Out: what the first element of a step says it is.
"""

KERNEL, PYTHON, COPY, WHILE, BRANCH, FOR = 0, 1, 2, 16, 17, 18
