"""How Atlas's costs grow with the collection: search and build at several sizes, exponents, a plot.

A cost that grows as n^e is a line of slope e on paper with two logarithmic axes; e is fitted by least squares
over all sizes, and between the last two, where fixed costs no longer hide it.
"""

import json
import statistics
import time

import numpy as np

from compare import Run, header, keep_record
from systems import Bench, say

SIZES = "1000,10000,100000,1000000"
# name: task, candidates of the walk (0: the scan).
SEARCHES = {
    "exact scan": ("dense", 0), "walk, ef 128": ("dense", 128), "text": ("lexical", 0), "whole search": ("hybrid", 0),
}
BUILDS = ["graph", "text", "whole"]


def measure(run, sizes_chosen):
    """One row a cost at this size."""
    collection, rounds = run.collection, sizes_chosen.rounds
    known = run.build_atlas(BUILDS)
    rows = [(f"build, {part}", "cpu_s", known[part]["cpu_s"], {}) for part in BUILDS]
    rows.append(("index", "bytes", known["whole"]["bytes"], {}))
    for name, (task, ef) in SEARCHES.items():
        with run.bench.start("atlas", collection) as process:
            process.ask("open", task=task, ef=ef)
            count = min(collection.questions, 300)
            process.ask("run", task=task, count=count, ef=ef)
            blocks = [process.ask("run", task=task, count=count, ef=ef)["us"] for _ in range(rounds)]
            more = {}
            if task == "dense":
                ids = process.ask("run", task=task, count=collection.questions, ef=ef, ids=True)["ids"]
                more = {"recall": collection.recall(ids)}
            rows.append((name, "p50_us", statistics.median(float(np.median(us)) for us in blocks), more))
    opened = []
    for turn in range(rounds + 1):
        with run.bench.start("atlas", collection) as process:
            opened.append(process.ask("open", task="hybrid")["first_ms"])
    rows.append(("open, to the first answer", "open_ms", statistics.median(opened[1:]), {}))
    return [
        {"cost": cost, "measure": measure, "passages": collection.passages, "value": float(f"{value:.5g}"), **more}
        for cost, measure, value, more in rows
    ]


def exponents(rows):
    fitted = []
    for cost in dict.fromkeys(row["cost"] for row in rows):
        own = sorted((row["passages"], row["value"]) for row in rows if row["cost"] == cost)
        n, value = np.log10([size for size, _ in own]), np.log10([value for _, value in own])
        if len(own) > 1:
            slope, start = np.polyfit(n, value, 1)
            last = (value[-1] - value[-2]) / (n[-1] - n[-2])
            fitted.append({
                "cost": cost, "exponent": round(float(slope), 3), "at_1": float(f"{10**start:.4g}"),
                "last_decade": round(float(last), 3),
                "at_10000000": float(f"{10 ** (value[-1] + last * (7 - n[-1])):.4g}"),
            })
    return fitted


def plot(rows, fitted, file):
    import matplotlib

    matplotlib.use("Agg")
    # The same bytes from the same numbers.
    matplotlib.rcParams["svg.hashsalt"] = "atlas"
    from matplotlib import pyplot

    figure, sides = pyplot.subplots(1, 2, figsize=(11, 4.5))
    panels = (("p50_us", "µs, p50", "Search"), ("cpu_s", "seconds of processor time", "Build, one thread"))
    for side, (measure, unit, title) in zip(sides, panels):
        for cost in dict.fromkeys(row["cost"] for row in rows if row["measure"] == measure):
            own = sorted((row["passages"], row["value"]) for row in rows if row["cost"] == cost)
            fit = next((one for one in fitted if one["cost"] == cost), None)
            label = cost if fit is None else f"{cost}: n^{fit['exponent']:.2f}, last n^{fit['last_decade']:.2f}"
            side.plot(*zip(*own), marker="o", label=label)
        side.set(xscale="log", yscale="log", xlabel="passages", ylabel=unit, title=title)
        side.grid(True, which="major", alpha=0.3)
        side.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def run(chosen, root):
    sizes = SIZES if chosen.sizes == "10000,100000" else chosen.sizes
    bench = Bench(chosen, root)
    rows, data = [], {}
    for passages in [int(size) for size in sizes.split(",")]:
        collection = bench.collection(passages)
        data[str(passages)] = collection.about
        say(f"growth at {passages} passages")
        rows += measure(Run(bench, collection, chosen, [], {}), chosen)
        for row in rows[-len(BUILDS) - len(SEARCHES) - 2 :]:
            say(f"  {row}")
    fitted = exponents(rows)
    record = header(bench, chosen) | {"bench": "growth", "data": data, "exponents": fitted, "rows": rows}
    folder = bench.root / "benches/records" if chosen.record else bench.cache
    stem = f"{chosen.record or 'last'}-growth"
    keep_record(folder / f"{stem}.json", record)
    plot(rows, fitted, folder / f"{stem}.svg")
    plot(rows, fitted, bench.cache / "growth.png")
    for one in fitted:
        print(f"{one['cost']:28} n^{one['exponent']:.2f}, last decade n^{one['last_decade']:.2f}, at 10^7: {one['at_10000000']:g}")
    print(json.dumps({"plot": str(folder / f"{stem}.svg"), "date": time.strftime("%Y-%m-%d")}))
    return 0
