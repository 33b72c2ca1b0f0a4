"""Programs for people, and generators of text.

`python -m jitney demo | explain | cache | coverage | doctor` runs the first of them.

Each command is a module with `add_arguments(parser)` and `run(options) -> exit status`; it is
imported when asked for. Read next: `journey.py` (what `jitney.explain` gathers), `photo.py`.
"""
