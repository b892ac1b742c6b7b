"""The comparison: builds once, then queries in paired runs, and one record of it all."""

import json
import os
import platform
import statistics
import subprocess
import time
from contextlib import ExitStack

import numpy as np

import table
from peers import FILTERED, GRAPHS, LARGE, MOST, NOTES, SCOPED, TEXTS, WHOLE
from systems import SHARES, Bench, Failed, overlap, say

EFS = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768]
LEVELS = (0.95, 0.99)
# Candidates of the walks under a filter: the default of a search, which without one finds .99 of 100,000 passages.
SCOPED_EF = 256
# Questions that quality of text and whole searches is taken from: the judged ones of aws-docs-full.
QUALITY = 100
# Seconds that a block of queries may take, and how many it has at least.
BUDGET_S = 0.6
LEAST = 5
# A percentile of fewer times than this over all runs is none.
P95_LEAST = 100

TASK = {**{name: "dense" for name in GRAPHS}, **{name: "lexical" for name in TEXTS}, **{name: "hybrid" for name in WHOLE}}
PART = {"dense": "graph", "lexical": "text", "hybrid": "whole"}


class Run:
    """One run of the harness over one collection."""

    def __init__(self, bench, collection, chosen, rows, skipped):
        self.bench, self.collection, self.chosen = bench, collection, chosen
        self.rows, self.skipped = rows, skipped
        self.rounds = chosen.rounds
        self.budget_s = 0.2 if chosen.smoke else BUDGET_S
        self.versions = {}
        self.atlas_curve = None

    def row(self, task, system, measure, value, atlas, ratio, **more):
        def cut(number):
            return number if number is None else float(f"{number:.5g}")

        row = {
            "task": task, "passages": self.collection.passages, "system": system, "version": self.versions.get(system, ""),
            "measure": measure, "value": cut(value), "atlas": cut(atlas), "ratio": cut(ratio),
        }
        row.update({key: cut(own) if isinstance(own, float) else own for key, own in more.items()})
        if system in NOTES:
            row["note"] = NOTES[system]
        self.rows.append(row)
        shown = {key: own for key, own in row.items() if key not in ("note", "version", "passages")}
        say("  " + " ".join(f"{key}={own}" for key, own in shown.items()))

    def trying(self, system, work):
        """Runs `work`; a system that fails is left out with its reason."""
        try:
            work(system)
        except Failed as fault:
            if fault.system == "atlas":
                raise
            say(f"skipped: {fault}")
            self.skipped[f"{system} at {self.collection.passages}"] = str(fault)

    def peers(self, names):
        large = self.collection.passages > 200_000
        only = self.chosen.systems.split(";") if self.chosen.systems else None
        for name in names:
            if (not large or name in LARGE) and (only is None or name in only):
                if f"{name} at {self.collection.passages}" not in self.skipped:
                    yield name

    def filters(self, system):
        """Whether the whole search of `system` is asked under a condition at this size."""
        return system in FILTERED and self.collection.passages <= MOST.get(system, self.collection.passages)

    # Builds.

    def build(self, system):
        """Builds `system` unless its index is there already; what its build took."""
        file = self.bench.index(self.collection.passages, system) / "build.json"
        if file.is_file() and not self.chosen.rebuild:
            about = json.loads(file.read_text())
            self.versions[system] = about["version"]
            return about
        folder = file.parent
        if folder.exists():
            subprocess.run(["rm", "-rf", folder], check=True)
        say(f"building {system} over {self.collection.passages} passages")
        with self.bench.start(system, self.collection) as process:
            about = process.ask("hello")
            about |= process.ask("build", part=PART[TASK[system]])
        about |= {"load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d %H:%M")}
        file.write_text(json.dumps(about) + "\n")
        self.versions[system] = about["version"]
        return about

    def build_atlas(self, parts):
        """Atlas's index, built anew when the program has changed; and what each of `parts` takes."""
        file = self.bench.index(self.collection.passages, "atlas") / "build.json"
        known = json.loads(file.read_text()) if file.is_file() else {}
        if known.get("source") != self.bench.source:
            known = {"source": self.bench.source}
        walked = [] if self.collection.passages >= 20_000 else ["walked"]
        for part in ["whole", *walked, *(part for part in parts if part != "whole")]:
            if part not in known:
                say(f"building Atlas, {part}, over {self.collection.passages} passages")
                with self.bench.start("atlas", self.collection) as process:
                    known[part] = process.ask("build", part=part) | {"load": os.getloadavg()[0]}
                file.write_text(json.dumps(known) + "\n")
        if known["whole"]["passages"] != self.collection.passages:
            raise Failed("atlas", f"cut {known['whole']['passages']} passages of {self.collection.passages}")
        return known

    def compare_builds(self):
        known = self.build_atlas(sorted(set(PART.values())))
        for system in self.peers(GRAPHS + TEXTS + WHOLE):
            def work(system):
                about, own = self.build(system), known[PART[TASK[system]]]
                more = {"part": PART[TASK[system]], "load": about["load"], "atlas_load": own["load"], "runs": 1}
                if about["wall_s"] > 0.01 and system != "faiss Flat":
                    cpu, atlas = about["cpu_s"], own["cpu_s"]
                    self.row("build", system, "cpu_s", cpu, atlas, cpu / atlas, **more)
                size, atlas = about["bytes"], own["bytes"]
                if own.get("hot_bytes"):
                    more["atlas_hot_bytes"] = own["hot_bytes"]
                self.row("build", system, "bytes", size, atlas, size / atlas, **more)

            self.trying(system, work)

    # Queries.

    def pair(self, stack, system, task, ef=0):
        """Atlas and `system`, both open for `task`; and the peer's own memory before that."""
        self.build(system)
        both = [stack.enter_context(self.bench.start(name, self.collection)) for name in ("atlas", system)]
        opened = [process.ask("open", task=task, ef=ef) for process in both]
        return both, opened[1]["before"]["private_bytes"]

    def quality(self, process, task, count, **more):
        """The hits of the first questions; those of peers are kept with their index, as they stay."""
        folder = self.bench.index(self.collection.passages, process.system)
        name = "-".join([task, str(count), *(f"{key}{own}" for key, own in more.items())])
        file = folder / f"hits-{name}.json"
        if process.system != "atlas" and file.is_file():
            return json.loads(file.read_text())
        hits = process.ask("run", task=task, count=count, ids=True, **more)["ids"]
        if process.system != "atlas":
            file.write_text(json.dumps(hits))
        return hits

    def blocks(self, both, task, one=(), other=()):
        """Answers of blocks of the same questions, Atlas and peer in turns, after one that warms up: pairs."""
        orders = [dict(one), dict(other)]
        count = self.collection.questions
        for process, order in zip(both, orders):
            process.ask("run", task=task, count=LEAST, **order)
            took = statistics.median(process.ask("run", task=task, count=LEAST, **order)["us"]) / 1e6
            count = min(count, max(LEAST, int(self.budget_s / took)))
        answers = []
        for turn in range(self.rounds):
            start = (turn * count) % max(self.collection.questions - count + 1, 1)
            ask = [lambda p=p, o=o: p.ask("run", task=task, count=count, **{"from": start}, **o) for p, o in zip(both, orders)]
            answers.append([one() for one in ask])
        return answers, count

    def prepare(self, system):
        """The hits of a peer, which stay as they are while its index does."""
        orders = {"lexical": [("lexical", {})], "hybrid": [("hybrid", {})], "dense": []}[TASK[system]]
        orders += [("filtered", {"pass": share}) for share in SHARES if self.filters(system)]
        orders += [("scoped", {"ef": SCOPED_EF, "pass": share}) for share in (None, *SHARES) if system in SCOPED]
        say(f"preparing {system} over {self.collection.passages} passages")
        if TASK[system] == "dense":
            with self.bench.start(system, self.collection) as process:
                process.ask("open", task="dense", ef=64)
                self.curve(process, [0] if system == "faiss Flat" else EFS)
        for task, more in orders:
            with self.bench.start(system, self.collection) as process:
                process.ask("open", task=task, ef=SCOPED_EF)
                self.quality(process, task, min(QUALITY, self.collection.questions), **more)

    def memory(self, task, system, both, before):
        """Memory that is a process's own: of Atlas all, of a peer what it grew by, so that Python is not counted."""
        if system == "tantivy":
            return
        own, peer = (process.ask("memory") for process in both)
        own_bytes = own["private_bytes"]
        peer_bytes = max(peer["private_bytes"] - before, 1)
        clean = {"clean_bytes": peer["clean_bytes"], "atlas_clean_bytes": own["clean_bytes"]}
        self.row(task, system, "private_bytes", peer_bytes, own_bytes, peer_bytes / own_bytes, **clean)

    def dense(self, system):
        """Queries a second of processor time at two levels of recall, between the points that enclose them."""
        with ExitStack() as stack:
            both, before = self.pair(stack, system, "dense", ef=64)
            if self.atlas_curve is None:
                # 0 is the scan, which needs no graph; below some size nothing is faster.
                self.atlas_curve = self.curve(both[0], [0, *EFS])
            curves = [self.atlas_curve, self.curve(both[1], [0] if system == "faiss Flat" else EFS)]
            points = [enclosing(curve) for curve in curves]
            rounds = []
            counts = [{ef: self.block_count(process, ef) for ef in own} for process, own in zip(both, points)]
            for _ in range(self.rounds):
                turn = []
                for process, own, blocks in zip(both, points, counts):
                    speed = {}
                    for ef in own:
                        answer = process.ask("run", task="dense", count=blocks[ef], ef=ef)
                        speed[ef] = blocks[ef] / answer["cpu_s"]
                    turn.append(speed)
                rounds.append(turn)
            for level in LEVELS:
                pairs = [[at_recall(curve, speed, level) for curve, speed in zip(curves, turn)] for turn in rounds]
                best = [max(curve.values()) for curve in curves]
                # The scan misses nothing: what the graph alone reaches is told beside it.
                walk = {"atlas_walk_recall": max(recall for ef, recall in curves[0].items() if ef)}
                measure = f"qps at recall {level:.2f}".replace("0.", ".")
                if any(value is None for pair in pairs for value in pair):
                    atlas = [pair[0] for pair in pairs if pair[0]]
                    own = statistics.median(atlas) if atlas else None
                    self.row("dense", system, measure, None, own, None, best_recall=best[1], atlas_best_recall=best[0], **walk)
                    continue
                ratios = [own / peer for own, peer in pairs]
                self.row(
                    "dense", system, measure, statistics.median(peer for _, peer in pairs),
                    statistics.median(own for own, _ in pairs), statistics.median(ratios), ratios=spread(ratios),
                    best_recall=best[1], atlas_best_recall=best[0], runs=self.rounds, **walk,
                )
            self.memory("dense", system, both, before)

    def curve(self, process, efs):
        """Recall@10 by ef."""
        count = self.collection.questions
        return {ef: self.collection.recall(self.quality(process, "dense", count, ef=ef)) for ef in efs}

    def block_count(self, process, ef):
        least = min(100, self.collection.questions)
        process.ask("run", task="dense", count=least, ef=ef)
        took = process.ask("run", task="dense", count=least, ef=ef)["wall_s"] / least
        return min(self.collection.questions, max(least, int(self.budget_s / 2 / took)))

    def times(self, task, system, kind, more, quality, one=(), other=()):
        """p50 and p95 of single queries."""
        with ExitStack() as stack:
            both, before = self.pair(stack, system, kind, ef=dict(one).get("ef", 0))
            about = quality(both) | more
            answers, count = self.blocks(both, kind, one, other)
            # Of processor time, which a busy machine bends less.
            cpu = [[answer["cpu_s"] / count * 1e6 for answer in pair] for pair in answers]
            about["cpu_us"] = statistics.median(peer for _, peer in cpu)
            about["atlas_cpu_us"] = statistics.median(own for own, _ in cpu)
            for measure, share in (("p50_us", 50), ("p95_us", 95)):
                if share == 95 and count * self.rounds < P95_LEAST:
                    continue
                pairs = [[float(np.percentile(answer["us"], share)) for answer in pair] for pair in answers]
                ratios = [peer / own for own, peer in pairs]
                self.row(
                    task, system, measure, statistics.median(peer for _, peer in pairs),
                    statistics.median(own for own, _ in pairs), statistics.median(ratios), ratios=spread(ratios),
                    runs=self.rounds, queries=count, **about,
                )
            if task != "scoped":
                self.memory(task, system, both, before)

    def ranked(self, kind):
        """Quality of ranked lists: of the judged pages, and what both found."""

        def quality(both):
            count = min(QUALITY, self.collection.questions)
            own, peer = (self.quality(process, kind, count) for process in both)
            return {
                "ndcg": self.collection.ndcg(peer), "atlas_ndcg": self.collection.ndcg(own), "overlap": overlap(peer, own),
            }

        return quality

    def scoped(self, system):
        if system in SCOPED:
            # Without a filter too: what one costs is told beside that.
            for share in (None, *SHARES):
                order = {"ef": SCOPED_EF, "pass": share}

                def quality(both):
                    count = min(QUALITY, self.collection.questions)
                    own, peer = (self.quality(process, "scoped", count, **order) for process in both)
                    return {"recall": self.collection.recall(peer, share), "atlas_recall": self.collection.recall(own, share)}

                self.times("scoped", system, "scoped", {"pass_percent": share or 100, "of": "vectors", "ef": SCOPED_EF}, quality, order, order)
        if self.filters(system):
            for share in SHARES:
                order = {"pass": share}
                more = {"pass_percent": share, "of": "whole search"}

                def quality(both):
                    count = min(QUALITY, self.collection.questions)
                    own, peer = (self.quality(process, "filtered", count, **order) for process in both)
                    return {"overlap": overlap(peer, own)}

                self.times("scoped", system, "filtered", more, quality, order, order)

    def opens(self, system):
        """From a closed index to the first answer, in fresh processes; files in the page cache."""
        if system == "tantivy":
            return
        task = TASK[system]
        self.build(system)
        pairs, opened = [], []
        for turn in range(self.rounds + 1):
            pair = []
            for name in ("atlas", system):
                with self.bench.start(name, self.collection) as process:
                    pair.append(process.ask("open", task=task, ef=64))
            if turn:
                pairs.append([one["first_ms"] for one in pair])
                opened.append([one["open_ms"] for one in pair])
        ratios = [peer / own for own, peer in pairs]
        self.row(
            "open", system, "open_ms", statistics.median(peer for _, peer in pairs),
            statistics.median(own for own, _ in pairs), statistics.median(ratios), ratios=spread(ratios), runs=self.rounds,
            part=PART[task], until="first answer", open_only=statistics.median(peer for _, peer in opened),
            atlas_open_only=statistics.median(own for own, _ in opened),
        )

    def part(self, part):
        if part == "dense":
            for system in self.peers(GRAPHS):
                self.trying(system, self.dense)
        elif part in ("lexical", "hybrid"):
            for system in self.peers(TEXTS if part == "lexical" else WHOLE):
                self.trying(system, lambda system: self.times(part, system, part, {}, self.ranked(part)))
        elif part == "scoped":
            for system in self.peers(SCOPED + FILTERED):
                self.trying(system, self.scoped)
        elif part == "build":
            self.compare_builds()
        elif part == "open":
            for system in self.peers(GRAPHS + TEXTS + WHOLE):
                self.trying(system, self.opens)


def enclosing(curve):
    """The points of a curve of recall that enclose each level, and the scan (0) if there is one."""
    points = {ef for ef in curve if ef == 0}
    for level in LEVELS:
        over = [ef for ef in curve if ef and curve[ef] >= level]
        under = [ef for ef in curve if ef and curve[ef] < level]
        points |= {min(over)} if over else set()
        points |= {max(under)} if under else set()
    return sorted(points)


def at_recall(curve, speed, level):
    """Queries a second at `level`: log-linear in recall between the two points that enclose it. A scan (0)
    counts as it is. `None` when the level is never reached."""
    scan = speed.get(0, 0.0) if curve.get(0, 0.0) >= level else 0.0
    walks = [ef for ef in speed if ef]
    over = [ef for ef in walks if curve[ef] >= level]
    under = [ef for ef in walks if curve[ef] < level]
    if not over:
        return scan or None
    high = min(over)
    if not under:
        return max(speed[high], scan)
    low = max(under)
    share = (level - curve[low]) / (curve[high] - curve[low])
    between = np.exp(np.log(speed[low]) * (1 - share) + np.log(speed[high]) * share)
    return max(float(between), scan)


def spread(ratios):
    return [float(f"{ratio:.4g}") for ratio in sorted(ratios)]


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    return f"{os.cpu_count()} cores, {model}, {platform.machine()}, Linux {platform.release().split('-')[0]}"


def git(root, *words):
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True).stdout.strip()


def header(bench, chosen):
    return {
        "bench": "compare", "date": chosen.record or time.strftime("%Y-%m-%d"), "commit": git(bench.root, "rev-parse", "HEAD"),
        "source_changed_since_commit": bool(git(bench.root, "status", "--porcelain", "--", "src", "examples/compare", "Cargo.lock")),
        "machine": machine(), "load_at_start": os.getloadavg()[0],
        "unit": "us: wall time of one query; qps: queries a second of processor time; ratio above 1: Atlas is ahead",
        "pinned": "every system in a process of its own, on one core and one thread",
    }


def run(chosen, root):
    if chosen.smoke:
        chosen.sizes, chosen.rounds = "2000", 2
        # Filters take as long again, and show the harness no better.
        chosen.parts = "dense,lexical,hybrid,build,open"
    bench = Bench(chosen, root)
    record = header(bench, chosen) | {"rounds": chosen.rounds}
    rows, skipped, data, took = [], {}, {}, {}
    parts = chosen.parts.split(",")
    for passages in [int(size) for size in chosen.sizes.split(",")]:
        collection = bench.collection(passages)
        data[str(passages)] = collection.about
        one = Run(bench, collection, chosen, rows, skipped)
        one.build_atlas([])
        for system in one.peers(GRAPHS + TEXTS + WHOLE):
            one.trying(system, one.build)
        if chosen.prepare:
            for system in one.peers(GRAPHS + TEXTS + WHOLE):
                one.trying(system, one.prepare)
            continue
        for part in parts:
            say(f"{part} over {passages} passages")
            began = time.time()
            one.part(part)
            took[f"{part} at {passages}"] = round(time.time() - began, 1)
            say(f"{part} over {passages} passages took {took[f'{part} at {passages}']} s")
    record |= {"load_at_end": os.getloadavg()[0], "seconds": took, "data": data, "skipped": skipped, "rows": rows}
    if chosen.prepare:
        return 0
    keep(bench, chosen, record)
    print(table.markdown(record))
    wrong = faults(record)
    for fault in wrong:
        say(f"wrong: {fault}")
    return 1 if wrong else 0


KEYS = ("task", "passages", "system", "version", "measure", "value", "atlas", "ratio")
MEASURES = (
    "qps at recall .95", "qps at recall .99", "p50_us", "p95_us", "cpu_s", "bytes", "private_bytes", "open_ms",
)


def faults(record):
    """What cannot be in a record of a run that went well."""
    wrong = [] if record["rows"] else ["no row"]
    for row in record["rows"]:
        if any(key not in row for key in KEYS) or row["measure"] not in MEASURES:
            wrong.append(f"a row lacks a key or has an unknown measure: {row}")
        elif row["ratio"] is not None and not 0 < row["ratio"] < float("inf"):
            wrong.append(f"a ratio is no factor: {row}")
        # The truth is numpy's: an exact scan finds it.
        if row["task"] == "dense" and row.get("atlas_best_recall", 1.0) < 0.9999:
            wrong.append(f"Atlas's exact scan misses some of numpy's first ten: {row}")
        if row["task"] == "scoped" and "recall" in row and row["passages"] <= 10_000 and row["atlas_recall"] < 0.9999:
            wrong.append(f"Atlas misses under a filter what it should scan for: {row}")
    between = at_recall({10: 0.90, 20: 1.0}, {10: 400.0, 20: 100.0}, 0.95)
    if abs(between - 200.0) > 1e-6 or at_recall({10: 0.90}, {10: 400.0}, 0.95) is not None:
        wrong.append(f"the speed between two points is {between}, not their geometric mean")
    return wrong


def keep(bench, chosen, record):
    file = bench.cache / "last-compare.json"
    if chosen.record:
        file = bench.root / "benches/records" / f"{chosen.record}-compare.json"
        if chosen.join and file.is_file():
            known = json.loads(file.read_text())
            new = {(row["task"], row["passages"]) for row in record["rows"]}
            old = [row for row in known["rows"] if (row["task"], row["passages"]) not in new]
            measured = {f"{row['system']} at {row['passages']}" for row in record["rows"]}
            known["skipped"] = {what: why for what, why in known.get("skipped", {}).items() if what not in measured}
            record["rows"] = old + record["rows"]
            for key in ("data", "skipped", "seconds"):
                record[key] = known.get(key, {}) | record[key]
    keep_record(file, record)


def keep_record(file, record):
    """Writes a record, a row a line."""
    lines = ",\n".join("    " + json.dumps(row) for row in record["rows"])
    head = json.dumps({**record, "rows": []}, indent=2)
    file.write_text(head.replace('"rows": []', f'"rows": [\n{lines}\n  ]') + "\n")
    say(f"kept in {file}")
