"""Compile the loops on every worker in advance, also on workers that join later."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from distributed.diagnostics.plugin import WorkerPlugin
from scipy import sparse


def warm_up() -> None:
    """Learn and predict a few rows, dense and sparse: loops are compiled or read from disk."""
    from ...estimators.lasvm import LASVMClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    for rows in (X, sparse.csr_matrix(X)):
        model = LASVMClassifier(gamma=0.5, epochs="converge", n_jobs=1, random_state=0)
        model.fit(rows, y).predict(rows)


class WarmUp(WorkerPlugin):  # type: ignore[misc,unused-ignore]
    """Worker plugin of ``distributed``."""

    name = "onlinesvm-warm-up"
    idempotent = True

    async def setup(self, worker: Any) -> None:
        """Start compiling in a thread, without waiting for it.

        A worker joins its cluster when this returns. Compiling takes longer than a cluster waits for
        a worker that died and is started again (``lost-worker-timeout``, 15 s): it would be closed for
        good. A task that arrives meanwhile waits for Numba's lock; nothing is compiled twice.
        """
        self.warming = asyncio.get_running_loop().run_in_executor(None, warm_up)
