"""The tree on a cluster of processes: the same bits, also when workers are killed half-way."""

import asyncio
import os
import signal
import threading
import time

import dask
import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from onlinesvm import LASVMClassifier
from onlinesvm.dask import CellLASVMClassifier, TreeLASVMClassifier

distributed = pytest.importorskip("distributed")


def noisy(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X, np.where(rng.random(n) < 0.05, 0, y)


X, Y = noisy()


def tree():
    return TreeLASVMClassifier(C=5, gamma=0.5, passes=None, partition_size=150, random_state=0)


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set(
            {
                "distributed.comm.timeouts.connect": "60s",
                # A killed worker that is not back by then is closed for good.
                "distributed.deploy.lost-worker-timeout": "200s",
            }
        ),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def local():
    """Fitted without the client, on threads."""
    from onlinesvm.integrations.dask import running

    with pytest.MonkeyPatch.context() as patch, dask.config.set(scheduler="threads"):
        patch.setattr(running, "current_client", lambda: None)
        return tree().fit(X, Y).to_local()


def assert_same(model, local):
    model = model.to_local()
    assert np.array_equal(model.dual_coef_, local.dual_coef_)
    assert np.array_equal(model.support_vectors_, local.support_vectors_)
    assert np.array_equal(model.intercept_, local.intercept_)


class Killer(distributed.WorkerPlugin):
    """Kills its worker with SIGKILL when a task of some phase begins there, once."""

    name, idempotent = "killer", False

    def __init__(self, phase, marker):
        self.phase, self.marker = phase, str(marker)

    def transition(self, key, start, finish, **kwargs):
        if finish == "executing" and str(key).startswith(self.phase + "-"):
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("phase", ["summary", "leaf", "merge", "look-back", "admit"])
def test_a_killed_worker_changes_no_bit(client, local, phase, tmp_path):
    client.wait_for_workers(2)
    client.register_plugin(Killer(phase, tmp_path / phase))
    try:
        assert_same(tree().fit(X, Y), local)
    finally:
        client.unregister_worker_plugin("killer")
    assert (tmp_path / phase).exists()


def test_a_worker_joins_before_its_code_is_compiled(monkeypatch):
    """A cluster gives up a worker that takes long to come back."""
    from onlinesvm.integrations.dask import warming

    begun, finish = threading.Event(), threading.Event()
    monkeypatch.setattr(warming, "warm_up", lambda: (begun.set(), finish.wait(60)))

    async def join():
        plugin = warming.WarmUp()
        await asyncio.wait_for(plugin.setup(None), timeout=20)
        assert not plugin.warming.done()
        finish.set()
        await plugin.warming

    try:
        asyncio.run(join())
    finally:
        finish.set()
    assert begun.is_set()


def test_one_worker_or_two_give_the_same_bits_and_warm_ones(client, local):
    client.wait_for_workers(2)
    assert_same(tree().fit(X, Y), local)

    def plugins(dask_worker):
        return list(dask_worker.plugins)

    assert all("onlinesvm-warm-up" in names for names in client.run(plugins).values())
    cells = CellLASVMClassifier(gamma=0.5, n_cells=3, partition_size=200, random_state=0)
    here = [cells.fit(X, Y).decision_function(X)]
    with dask.config.set(scheduler="threads"):
        here.append(cells.fit(X, Y).decision_function(X))
    assert np.array_equal(*here)


def test_grid_search_on_the_cluster_fits_our_estimators(client):
    search = GridSearchCV(LASVMClassifier(gamma=0.5), {"C": [0.1, 5.0]}, cv=2)
    with joblib.parallel_backend("dask"):
        search.fit(X, Y)
    assert search.best_params_ == {"C": 5.0}


def test_ctrl_c_cancels_the_tasks(client):
    driver = os.getpid()

    def press(number):
        if number == 0:
            os.kill(driver, signal.SIGINT)
        time.sleep(0.3)
        return X, Y

    with pytest.raises(KeyboardInterrupt):
        tree().fit([dask.delayed(press)(i) for i in range(40)])
    time.sleep(0.1)
    assert sum(len(keys) for keys in client.processing().values()) <= 2  # those that had begun


def test_partitions_of_a_closed_client_are_told(client):
    with distributed.Client(client.cluster, set_as_default=False) as other:
        held = other.scatter([(X, Y)])
        gone = [dask.delayed(held[0])]
    with pytest.raises(ValueError, match="their client was closed"):
        tree().fit(gone)
