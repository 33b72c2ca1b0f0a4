"""Pictures of what was measured, readable on light and on dark pages.

In: the dictionaries that `run.py` and `roofline.py` write. Out: SVG or PNG files. Backgrounds are
transparent, and text and lines have a grey that stands out from white as from black; equal
measurements give equal files.
"""

from pathlib import Path

import summaries

INK = "#808080"
COLOURS = ("#3b82f6", "#f97316", "#10b981", "#a855f7", "#ef4444", "#eab308")
MARKERS = "osD^v"


def draw_ratios(found: dict, path: Path) -> None:
    """For each family and peer the geometric mean of ratios, and a dot for each program."""
    plots = pyplot()
    peers, families = summaries.peers(found), summaries.families(found["programs"])
    lines = [None, *families]
    figure, axes = plots.subplots(figsize=(8, 1.2 + 0.42 * len(lines)), layout="constrained")
    for number, peer in enumerate(peers):
        shift = 0.6 * ((number + 0.5) / len(peers) - 0.5)
        style = dict(color=COLOURS[number % 6], marker=MARKERS[number % 5], linestyle="")
        places, means = [], []
        for line, family in enumerate(lines):
            if chosen := summaries.ratios_of(found, peer, family):
                places.append(line + shift)
                means.append(summaries.geometric_mean(chosen))
                if family:
                    axes.plot(chosen, [line + shift] * len(chosen), **style, ms=3, alpha=0.45)
        axes.plot(means, places, **style, ms=7, label=peer)
    axes.set_yticks(range(len(lines)), [f.replace("_", " ") if f else "all" for f in lines])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.axvline(1, color=INK, lw=1.2)
    axes.set_xlabel("jitney's time over the other's (left of 1: jitney is faster)")
    axes.grid(axis="x", color=INK, alpha=0.25)
    if peers:
        figure.legend(loc="outside upper center", ncols=len(peers), frameon=False)
    save(figure, path)


def draw_roofline(found: dict, path: Path) -> None:
    """Left: share of the ceiling, one bar a program. Right: products of matrices under the roof."""
    plots = pyplot()
    size = (11, 1 + 0.2 * len(found["tasks"]))
    figure, (bars, roof) = plots.subplots(1, 2, figsize=size, layout="constrained")
    _bars(bars, found["tasks"])
    _roof(roof, [t for t in found["tasks"] if t["operations"]], found["ceilings"])
    save(figure, path)


def _bars(axes, tasks: list[dict]) -> None:
    for number, family in enumerate(summaries.families(tasks)):
        for limit, alpha in (("memory", 1.0), ("arithmetic", 0.6)):
            mine = [k for k, t in enumerate(tasks) if (t["family"], t["limit"]) == (family, limit)]
            shares = [tasks[k]["share"] for k in mine]
            label = family if alpha == 1 else f"{family}, arithmetic"
            if mine:
                axes.barh(mine, shares, color=COLOURS[number % 6], alpha=alpha, label=label)
    axes.set_yticks(range(len(tasks)), [t["name"] for t in tasks], fontsize=7)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.axvline(1, color=INK, lw=1)
    axes.set_xlabel("share of what memory can do (paler bars: arithmetic)")
    axes.figure.legend(loc="outside upper center", ncols=6, fontsize=7, frameon=False)


def _roof(axes, products: list[dict], limits: dict) -> None:
    intensity = [10 ** (k / 25) for k in range(-25, 76)]
    for number, (label, speed) in enumerate(limits["copies"].items()):
        ceiling = [min(limits["flops"], x * speed) / 1e9 for x in intensity]
        axes.loglog(intensity, ceiling, lw=1, label=label, color=COLOURS[number % 6])
    for task in products:
        spot = task["operations"] / task["bytes"], task["operations"] / task["seconds"] / 1e9
        axes.loglog(*spot, "o", color=INK, ms=3)
        axes.annotate(task["name"].removeprefix("matmul "), spot, fontsize=6, color=INK)
    axes.set(xlabel="operations a byte", ylabel="GFLOP/s")
    axes.legend(fontsize=7, labelcolor=INK, framealpha=0, title="copies of")


def pyplot():
    """matplotlib, set up; it draws into files only."""
    import matplotlib

    matplotlib.use("Agg")
    names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    style = {name: INK for name in names} | {"axes.facecolor": "none", "figure.facecolor": "none"}
    style |= {"svg.hashsalt": "jitney", "svg.fonttype": "none", "font.family": "sans-serif"}
    matplotlib.rcParams.update(style)
    from matplotlib import pyplot

    return pyplot


def save(figure, path: Path) -> None:
    options = {"metadata": {"Date": None, "Creator": None}} if path.suffix == ".svg" else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, transparent=True, **options)
    pyplot().close(figure)
