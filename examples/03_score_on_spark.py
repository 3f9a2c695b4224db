"""Score more rows than one machine has to hold: learned rules answer a Parquet set on Spark.

The rules are plain Spark expressions, so rows stay where they lie, and nothing of this package
runs on Spark's workers. Needs PySpark, and Java 17 or later.

    python examples/03_score_on_spark.py 200000
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from mbndt import EngineMissing, Rules, learn
from mbndt.spark import local_session, score


def write_patients(spark: Any, patients: Any, rules: Rules, rows: int, folder: Path) -> None:
    """Write drawn rows over the range of each measurement, some missing, by hospital."""
    from pyspark.sql import functions as sf

    columns = []
    for seed, feature in enumerate(rules.used):
        values = np.asarray(patients[feature.name], float)
        drawn = sf.rand(seed) * float(np.ptp(values)) + float(values.min())
        known = sf.when(sf.rand(100 + seed) >= 0.05, sf.round(drawn, 3))
        columns.append(known.alias(feature.name))
    table = spark.range(rows).select("id", (sf.col("id") % 4).alias("hospital"), *columns)
    table.write.partitionBy("hospital").parquet(str(folder))


def mismatches(scored: Any, rules: Rules) -> int:
    """Count the rows that the interpreter answers otherwise."""
    rows = scored.toArrow()
    columns = {name: rows[name].to_numpy(zero_copy_only=False) for name in rows.column_names}
    expected = rules.predict(columns)
    wrong = columns["leaf"] != expected.leaf
    wrong |= columns["prediction"] != np.array(expected.prediction)
    for name, by_class in expected.outputs.items():  # risks and scores
        for k, number in enumerate(by_class.T):
            wrong |= columns[f"{name}_{k}"] != number
    return int(wrong.sum())


def main(rows: int) -> None:
    print("Spark starts, which takes some 10 s", flush=True)
    try:
        spark = local_session(cores=2)
    except EngineMissing as error:
        print(f"Spark is left out: {error}")
        return
    patients = load_breast_cancer(as_frame=True).frame
    rules = learn(patients, "target", preset="fast", seed=1, refits=0).rules
    with tempfile.TemporaryDirectory() as folder:
        source, answers = Path(folder, "patients"), Path(folder, "answers")
        write_patients(spark, patients, rules, rows, source)
        start = time.perf_counter()
        scored = score(spark.read.parquet(str(source)), rules)
        partitions = scored.rdd.getNumPartitions()
        scored.write.partitionBy("hospital").parquet(str(answers))
        seconds = time.perf_counter() - start
        wrong = mismatches(spark.read.parquet(str(answers)), rules)
    print(
        f"{rows} rows in {partitions} partitions scored and written in {seconds:.1f} s;"
        f" {wrong} mismatches with the interpreter"
    )
    if wrong:
        sys.exit("Spark disagrees with the interpreter")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
