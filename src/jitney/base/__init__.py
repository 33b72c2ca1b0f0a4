"""Layer 0: switches, data types, error classes, source locations, debug topics.

Knows nothing of arrays or programs. Everything above may import from here; nothing here
imports from above.
"""
