"""Programs for people: `python -m jitney demo | explain | cache | doctor`, and generators of text.

Each command is a module with `add_arguments(parser)` and `run(options) -> exit status`; it is
imported when asked for. Read next: `journey.py` (what `jitney.explain` gathers), `photo.py`.
"""
