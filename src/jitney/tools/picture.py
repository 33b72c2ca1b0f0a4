"""The picture of the demonstration: before, after, and the histograms of both.

In: the photograph and what `photo.develop` made of it. Out: a PNG file. Imported only where
matplotlib is installed.
"""

import matplotlib.cbook
import matplotlib.image
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from jitney.tools import photo

PAPER, INK, FAINT, ACCENT = "#14161a", "#e8e6e1", "#8b8f98", "#f2a33c"
SAMPLE = "grace_hopper.jpg"  # Rear Admiral Hopper: she wrote the first compiler


def load(path: str | None, size: int | None) -> tuple[str, np.ndarray]:
    """A name and the bytes [height, width, 3] of a photograph, its longer side `size` if given."""
    file = path or matplotlib.cbook.get_sample_data(SAMPLE, asfileobj=False)
    with Image.open(file) as opened:
        image = opened.convert("RGB")
    if size is not None:
        scale = size / max(image.size)
        image = image.resize([max(1, round(n * scale)) for n in image.size], Image.LANCZOS)
    rgb = np.asarray(image)
    if min(rgb.shape[:2]) < 2 * photo.MARGIN + 8:
        raise ValueError(
            f"a photograph of {rgb.shape[1]} x {rgb.shape[0]} points is too small: "
            f"{2 * photo.MARGIN + 8} are needed both ways"
        )
    return path or f"{SAMPLE} (comes with matplotlib)", rgb


def save(path: str, rgb: np.ndarray, developed: np.ndarray, counts: np.ndarray, text: str) -> None:
    """Writes the three panels side by side, with a line of text below."""
    margin = photo.MARGIN
    before = rgb[margin : margin + developed.shape[0], margin : margin + developed.shape[1]]
    height, width = developed.shape
    figure = Figure(figsize=(15.0, 15.0 / 3.1 * min(1.3, height / width) + 0.9), facecolor=PAPER)
    axes = figure.subplots(
        1, 3, gridspec_kw={"left": 0.02, "right": 0.955, "top": 0.9, "bottom": 0.13, "wspace": 0.06}
    )
    for place, image, title in zip(
        axes, (before, developed), ("before", "after: local contrast, toned"), strict=False
    ):
        place.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="lanczos")
        place.axis("off")
        place.set_title(title, color=INK, fontsize=14, pad=10)
    _histograms(axes[2], photo.histogram(photo.grey(before, np), np), counts)
    figure.text(0.5, 0.035, text, color=FAINT, fontsize=12, ha="center")
    figure.savefig(path, dpi=110, facecolor=PAPER)


def _histograms(place, before, after) -> None:
    """Shares of points by brightness; the square root of the share is the height."""
    middles = (np.arange(photo.BINS) + 0.5) / photo.BINS
    shares = [np.sqrt(100 * c / c.sum()) for c in (before, after)]
    place.bar(middles, shares[1], width=0.86 / photo.BINS, color=ACCENT, label="after")
    place.step(middles, shares[0], where="mid", color=INK, lw=1.4, label="before (grey)")
    place.set_facecolor(PAPER)
    place.set_title("histogram", color=INK, fontsize=14, pad=10)
    place.set_xlim(0, 1)
    ticks = [p for p in (0.1, 1, 3, 10, 20, 40) if p <= max(s.max() for s in shares) ** 2]
    place.set_yticks(np.sqrt(ticks), [f"{p:g} %" for p in ticks])
    place.set_xticks([0, 0.5, 1], ["black", "grey", "white"])
    place.tick_params(colors=FAINT, length=0, labelsize=11)
    place.grid(axis="y", color=FAINT, alpha=0.25, lw=0.6)
    for side in place.spines.values():
        side.set_visible(False)
    place.legend(frameon=False, labelcolor=INK, fontsize=11, loc="upper center")
    place.yaxis.tick_right()
