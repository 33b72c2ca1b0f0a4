"""What people see of a compilation: JITNEY_DEBUG topics and JITNEY_DUMP folders.

In: the texts of the stages, as functions (nothing is formatted unless somebody asked).
Out: lines on stderr, and one numbered folder per compilation with a file for each stage.
"""

import itertools
import os
import re

from ..base import debug

_numbers = itertools.count()


class StageLog:
    """The record of one compilation."""

    def __init__(self, name: str):
        self.name = name
        self.folder = None
        directory = debug.dump_directory()
        self.silent = not directory and not debug.any_enabled()
        if directory:
            label = re.sub(r"[^A-Za-z0-9_]+", "_", name)[:40]
            self.folder = os.path.join(directory, f"{next(_numbers):04d}_{label}")
            os.makedirs(self.folder, exist_ok=True)

    def show(self, topic: str, file: str, text) -> None:
        """`text()` under a topic and in a file of the dump."""
        if self.silent:
            return
        wanted = debug.enabled(topic, self.name)
        if not wanted and self.folder is None:
            return
        content = text()
        if wanted:
            debug.log(topic, f"{self.name}\n{content}", self.name)
        if self.folder is not None:
            with open(os.path.join(self.folder, file), "w") as out:
                out.write(content + "\n")
