"""Draws the plots of the results page: `python benches/plots.py` writes an SVG for each entry of `results/plots.json`.

An entry names its file and either its bars or its lines. Values are taken from the JSON files beside `plots.json` with
`FILE:PATH`, where the path goes down by name or number: `peers-dev.json:peers/semble/chunks_per_second`.

    {"file": "speed.svg", "kind": "bars", "title": "Cold index", "unit": "s",
     "groups": {"flask": {"semble": "peers-flask.json:peers/semble/total_seconds", "ours": 0.4}}}

    {"file": "scale.svg", "kind": "lines", "title": "Latency", "x_label": "chunks", "y_label": "ms", "log_x": true,
     "series": {"p50": "scale.json:steps/*/[chunks,p50_ms]", "limit": [[1000, 60], [1000000, 60]]}}

`*` takes every element of a list, or every value of an object under its name: `quality.json:languages/*/ndcg` is a
group of bars. `[a,b]` at the end takes those paths as a pair. Every other value is used as it is. If a file or a step
of a path is missing, the program names it and stops; it never leaves a value out silently. The same results produce
the same bytes.
"""

import json
import re
import sys
from functools import cache
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402

RESULTS = Path(__file__).parent / "results"
#: Distinguishable with any colour vision; used in this order.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444"]
MARKERS = "osD^vP*"
STYLE = {
    "svg.hashsalt": "pairofcleats",
    # Draws letters as shapes, so that the plot looks the same where the font is missing.
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 12,
    "axes.titlesize": 14,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "legend.frameon": False,
}


@cache
def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def descend(value, path):
    """The value at `path` below `value`; a KeyError names the missing step."""
    if not path:
        return value
    if path.startswith("["):
        return [descend(value, one.strip()) for one in path.strip("[]").split(",")]
    step, _, rest = path.partition("/")
    if step == "*" and isinstance(value, dict):
        return {name: descend(each, rest) for name, each in value.items()}
    if step == "*":
        return [descend(each, rest) for each in value]
    try:
        return descend(value[int(step)] if isinstance(value, list) else value[step], rest)
    except (KeyError, IndexError, ValueError, TypeError):
        raise KeyError(f"no {step!r} in {str(value)[:80]}") from None


def resolve(spec, folder):
    """The specification with every `FILE:PATH` replaced by its value."""
    if isinstance(spec, dict):
        return {name: resolve(value, folder) for name, value in spec.items()}
    if isinstance(spec, list):
        return [resolve(value, folder) for value in spec]
    found = re.fullmatch(r"([\w.-]+\.json):(.+)", spec) if isinstance(spec, str) else None
    return descend(read(folder / found[1]), found[2]) if found else spec


def short(value, _=None):
    """A number in a short form: 1M, 2.6k, 350, 12.5, 0.872."""
    size, letter = next(((size, letter) for size, letter in ((1e6, "M"), (1e3, "k")) if abs(value) >= size), (1, ""))
    value /= size
    return (f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}") + letter


def frame(spec):
    """An empty plot with its title and scales."""
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    axes.set_title(spec["title"])
    for scale, turn in (("log_x", axes.set_xscale), ("log_y", axes.set_yscale)):
        if spec.get(scale):
            turn("log")
    return figure, axes


def bars(spec):
    """Grouped bars from {title, unit, groups: {group: {name: value}}}, or one group from {groups: {name: value}}.

    A null value leaves a gap. Every bar is labelled with its value.
    """
    groups = spec["groups"]
    if not any(isinstance(values, dict) for values in groups.values()):
        groups = {name: {"": value} for name, value in groups.items()}
    names = list(dict.fromkeys(name for values in groups.values() for name in values))
    figure, axes = frame(spec)
    axes.grid(visible=False, axis="x")
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        heights = {at: values[name] for at, values in enumerate(groups.values()) if values.get(name) is not None}
        where = [at + (place - (len(names) - 1) / 2) * width for at in heights]
        colour = COLOURS[place % len(COLOURS)]
        drawn = axes.bar(where, list(heights.values()), width * 0.92, color=colour, label=name)
        axes.bar_label(drawn, fmt=short, padding=2, fontsize=10 if len(groups) * len(names) <= 12 else 8)
    many = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(groups) > 8 else {}
    axes.set_xticks(range(len(groups)), list(groups), **many)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(spec["unit"])
    axes.yaxis.set_major_formatter(FuncFormatter(short))
    axes.margins(y=0.12)
    if len(names) > 1:
        axes.legend(loc="best")
    return figure


def lines(spec):
    """Curves from {title, x_label, y_label, log_x, log_y, series: {name: [[x, y], ...]}}, pairs or named pairs."""
    figure, axes = frame(spec)
    for place, (name, points) in enumerate(spec["series"].items()):
        pairs = points.values() if isinstance(points, dict) else points
        x, y = zip(*sorted(pairs), strict=True)
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        axes.plot(x, y, color=colour, marker=marker, markersize=5, linewidth=2, label=name)
    axes.set_xlabel(spec["x_label"])
    axes.set_ylabel(spec["y_label"])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(short))
    if not spec.get("log_y"):
        axes.set_ylim(bottom=0)
    if len(spec["series"]) > 1:
        axes.legend(loc="best")
    return figure


KINDS = {"bars": bars, "lines": lines}


def main(folder=RESULTS):
    folder = Path(folder)
    plt.rcParams.update(STYLE)
    for spec in read(folder / "plots.json"):
        try:
            figure = KINDS[spec["kind"]](resolve(spec, folder))
        except (KeyError, OSError) as fault:
            sys.exit(f"{spec.get('file')}: {fault}")
        figure.savefig(folder / spec["file"], metadata={"Date": None, "Creator": None})
        plt.close(figure)
        print(folder / spec["file"])


if __name__ == "__main__":
    main(*sys.argv[1:2])
