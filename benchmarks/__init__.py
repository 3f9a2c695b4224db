"""Benchmarks of mbndt beside other learners, one thread a run."""

import os

# Before numpy, scikit-learn or torch start threads; worker processes inherit it.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"
