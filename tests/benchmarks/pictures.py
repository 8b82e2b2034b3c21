"""Pictures of what the benchmarks found, beside the page that shows them."""

from __future__ import annotations

from pathlib import Path

from spectra.cli.pictures import pyplot

from .timing import Table

__all__ = ["PICTURE", "draw_times"]

PICTURE = Path(__file__).parents[2] / "docs" / "gallery" / "transform.png"
_DPI = 75
# Of one method the same colour in every panel; what is ours is drawn with full lines.
_STYLES = {
    "RBFSampler": ("tab:red", "--"),
    "plain numpy, cos and sin": ("tab:orange", "--"),
    "plain torch, cos and sin": ("tab:purple", "--"),
    "rf, numpy alone": ("tab:green", "-"),
    "rf, fast, out=": ("tab:blue", "-"),
    "product alone": ("0.6", ":"),
}


def draw_times(table: Table, path: Path) -> None:
    """Nanoseconds an element against the dimension, one panel for each precision."""
    plt = pyplot()
    kinds = list(dict.fromkeys(row[1] for row in table.rows))
    figure, axes = plt.subplots(
        1, len(kinds), figsize=(12, 4.6), layout="constrained", sharey=True, squeeze=False
    )
    for panel, kind in zip(axes[0], kinds, strict=True):
        for name, (colour, line) in _STYLES.items():
            found = [
                (int(d), float(each)) for d, k, method, each, *_ in table.rows
                if (k, method) == (kind, name)
            ]  # fmt: skip
            if found:
                panel.loglog(*zip(*found, strict=True), line, color=colour, marker="o", label=name)
        dims = sorted({int(row[0]) for row in table.rows})
        panel.set_xticks(dims, [str(d) for d in dims])
        panel.minorticks_off()
        panel.set_yticks([0.5, 1, 2, 5, 10, 20, 50], ["0.5", "1", "2", "5", "10", "20", "50"])
        panel.set(xlabel="dimension $d$", title=kind)
        panel.grid(alpha=0.3)
    axes[0, 0].set_ylabel("ns an element, one thread")
    axes[0, -1].legend(fontsize="small")
    figure.savefig(path, dpi=_DPI)
    plt.close(figure)
