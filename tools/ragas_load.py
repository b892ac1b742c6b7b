"""Loads an export with Ragas' own dataset class, in an environment of its own.

    python3 -m venv /tmp/ragas
    pip install uv
    uv pip install --python /tmp/ragas/bin/python ragas==0.4.3 "langchain-community<0.4" datasets
    atlas measure --export-ragas out.jsonl
    /tmp/ragas/bin/python tools/ragas_load.py out.jsonl

Every field of every row must come back. Then Ragas' two measures that need no model are printed:
precision by ids is our precision; recall by ids counts every unit of an any-of group as needed.
"""

import asyncio
import json
import math
import sys

import ragas
from ragas import EvaluationDataset
from ragas.metrics import IDBasedContextPrecision, IDBasedContextRecall


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main(path):
    dataset = EvaluationDataset.from_jsonl(path)
    rows, ids = lines(path), lines(path + ".ids")
    assert len(dataset) == len(rows) == len(ids), "rows were lost"
    for sample, row in zip(dataset, rows):
        for key, value in row.items():
            assert getattr(sample, key) == value, key
    answered = sum(bool(sample.response) for sample in dataset)
    print(f"ragas {ragas.__version__}: {len(dataset)} rows came back whole, {answered} with an answer")
    for metric in (IDBasedContextPrecision(), IDBasedContextRecall()):
        values = [asyncio.run(metric.single_turn_ascore(sample)) for sample in dataset]
        missing = sum(math.isnan(value) for value in values)
        print(f"{metric.name} {sum(values) / len(values):.4f} over {len(values)}, {missing} without a value")


if __name__ == "__main__":
    main(sys.argv[1])
