#!/usr/bin/env python3
"""Writes evals/distributor/usage-sample.jsonl: a usage log that is made up.

It shows `atlas adoption` and `atlas latency --log` something at once. Every line says "synthetic" where the
index's digest would stand, and reports repeat it. Nothing in it was measured. The seed fixes every byte.

    python3 tools/usage_sample.py > evals/distributor/usage-sample.jsonl
"""

import datetime
import json
import random
import re
import sys

SEED = 20260907
LAUNCH = datetime.datetime(2026, 9, 7, tzinfo=datetime.timezone.utc)
PEOPLE = [f"is-{number:02}" for number in range(1, 21)]
# Who asks at all in each week, how many questions they ask between them. Week 6 is the annual stocktaking:
# nobody asks. From week 7 on fewer people ask more.
WEEKS = [(4, 14), (7, 25), (10, 36), (12, 45), (12, 48), (0, 0), (11, 40), (7, 52), (5, 9)]


def questions(path="evals/distributor/questions.yaml"):
    with open(path, encoding="utf-8") as file:
        return re.findall(r"^    question: \"?(.+?)\"?$", file.read(), re.MULTILINE)


def request(rng, at, asker, question):
    tokens = rng.randint(180, 2000)
    stages = {
        "embed": rng.lognormvariate(11.3, 0.25),
        "lexical": rng.lognormvariate(7.6, 0.4),
        "dense": rng.lognormvariate(9.4, 0.3),
        "fuse": rng.lognormvariate(5.5, 0.3),
        "rerank": rng.lognormvariate(3.5, 0.3),
        "min-score": rng.lognormvariate(1.0, 0.2),
        "window": rng.lognormvariate(2.5, 0.3),
        "generate": rng.lognormvariate(14.55, 0.35) * (0.6 + tokens / 2500),
    }
    stages = [[name, round(us, 1)] for name, us in stages.items()]
    total = sum(us for _, us in stages) + rng.uniform(200, 900)
    return {
        "at_s": round(at.timestamp() + rng.random(), 3),
        "asker": asker,
        "question": question,
        "index": "synthetic",
        "stages_us": stages,
        "total_us": round(total, 1),
        "context": [],
        "tokens": tokens,
    }


def main():
    rng = random.Random(SEED)
    asked = questions()
    rows = []

    def at(week, day=None):
        day = rng.randrange(2 if week == len(WEEKS) - 1 else 5) if day is None else day
        return LAUNCH + datetime.timedelta(
            weeks=week, days=day, hours=rng.randint(8, 16), minutes=rng.randrange(60), seconds=rng.randrange(60)
        )

    for week, (askers, count) in enumerate(WEEKS):
        # People who began earlier are likelier to ask again.
        chosen = PEOPLE[:3] + rng.sample(PEOPLE[3 : 6 + 2 * min(week, 6)], max(askers - 3, 0)) if askers else []
        for number in range(count):
            # Everyone once, then mostly the first few.
            asker = chosen[number] if number < len(chosen) else chosen[min(int(rng.expovariate(0.45)), len(chosen) - 1)]
            rows.append(request(rng, at(week), asker, rng.choice(asked)))
        if week < len(WEEKS) - 1:
            rows.append(request(rng, at(week, 6), "smoke-test", asked[0]))
    for week in (1, 3, 6):
        rows.append(request(rng, at(week), None, rng.choice(asked)))
    rows.append(request(rng, at(4), "visitor", rng.choice(asked)))
    rows.sort(key=lambda row: row["at_s"])
    for row in rows:
        sys.stdout.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
