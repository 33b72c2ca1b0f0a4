"""Data that the tests of Fourier transforms share."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
