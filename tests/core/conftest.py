"""Makes the toy language importable; the front half is tested by NumPy references."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "core"))
