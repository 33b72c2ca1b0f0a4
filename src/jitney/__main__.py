"""`python -m jitney COMMAND`: the command line.

In: a command and its arguments. Out: its exit status. A command is a module of `jitney.tools`,
imported only when it is asked for (see its `add_arguments` and `run`).
"""

import argparse
import importlib
import sys

from jitney.base.version import __version__

COMMANDS = {
    "demo": "develop a photograph as NumPy, as eager jitney and jitted, and compare the times",
    "explain": "show the journey of a function: jaxpr, graph, kernels, machine code, times",
    "cache": "look at the kernels kept on disk, or drop them",
    "coverage": "which of JAX's names are here, and with which signatures",
    "doctor": "what this installation and this machine are, and whether they work together",
}


def main(arguments: list[str] | None = None) -> int:
    """Runs one command."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(
        prog="python -m jitney",
        description=f"jitney {__version__}: JAX's language, compiled for this CPU.",
    )
    parser.add_argument("--version", action="version", version=f"jitney {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    asked = next((a for a in arguments if not a.startswith("-")), None)
    runners = {}
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if name == asked:
            module = importlib.import_module(f"jitney.tools.{name}")
            module.add_arguments(command)
            runners[name] = module.run
    options = parser.parse_args(arguments)
    try:
        return runners[options.command](options)
    except BrokenPipeError:  # the reader (head, less) has seen enough
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
