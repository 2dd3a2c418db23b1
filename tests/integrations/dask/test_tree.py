"""The tree on Dask's local threads: every kind of input, exact at the end, lazy prediction."""

import os
import signal
import time
import weakref

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC

import onlinesvm
from onlinesvm import LASVMClassifier
from onlinesvm.dask import TreeLASVMClassifier
from onlinesvm.model.export.python import export_python

dd = pytest.importorskip("dask.dataframe")

SETTINGS = {"C": 5.0, "gamma": 0.5, "random_state": 0}


def noisy(n=900, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (classes > 2) * (X[:, 2] > 0.5)
    return X, np.where(rng.random(n) < 0.05, 0, y)


X, Y = noisy()


def tree(**settings):
    return TreeLASVMClassifier(**({"partition_size": 300} | SETTINGS | settings))


def write_parquet(folder, X, y, cuts, label="target"):
    for i, (a, b) in enumerate(zip(cuts, cuts[1:])):
        table = pd.DataFrame(X[a:b], columns=list("abc")).assign(**{label: y[a:b]})
        table.to_parquet(folder / f"part-{i}.parquet")


def same(one, other):
    one, other = one.to_local(), other.to_local()
    return (
        np.array_equal(one.dual_coef_, other.dual_coef_)
        and np.array_equal(one.support_vectors_, other.support_vectors_)
        and np.array_equal(one.intercept_, other.intercept_)
        and np.array_equal(one.support_, other.support_)
    )


@pytest.fixture(scope="module")
def of_numpy():
    return tree().fit(X, Y)


def test_run_to_the_end_it_is_svc():
    model = tree(passes=None).fit(X, Y)
    exact = SVC(C=5.0, gamma=0.5, tol=1e-4).fit(X, Y)
    assert model.converged_
    assert model.n_violators_[-1] == 0
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=5e-3)


def test_several_classes_run_to_the_end_are_the_exact_machines():
    X, y = noisy(classes=3)
    names = np.array(["ant", "bee", "cow"])[y]
    model = tree(passes=None, class_weight="balanced").fit(X, names)
    exact = LASVMClassifier(
        C=5.0, gamma=0.5, class_weight="balanced", epochs="converge", random_state=0
    ).fit(X, names)
    assert model.classes_.tolist() == ["ant", "bee", "cow"]
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=5e-3)


def test_one_look_back_is_nearly_exact_and_none_is_a_model():
    test, labels = noisy(seed=1)
    exact = LASVMClassifier(**SETTINGS, epochs="converge").fit(X, Y)
    assert tree().fit(X, Y).n_passes_ == 1
    assert tree().fit(X, Y).score(test, labels) > exact.score(test, labels) - 0.01
    assert tree(passes=0).fit(X, Y).score(test, labels) > 0.8


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_sorted_by_class_give_the_same_results(classes):
    X, y = noisy(n=1500, classes=classes)
    test, labels = noisy(classes=classes, seed=1)
    order = np.argsort(y, kind="stable")
    model = tree().fit(X[order], y[order])
    shuffled = tree().fit(X, y)
    assert abs(model.score(test, labels) - shuffled.score(test, labels)) < 0.01
    cut = len(y) - np.searchsorted(y[order], 1)  # one class per partition
    assert cut > 300


def test_a_class_in_one_partition_only_works():
    y = np.where(np.arange(900) < 20, 2, Y)
    model = tree().fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.to_local().n_support_[2] > 0


def test_the_same_partitions_give_the_same_bits_whatever_they_are_made_of(tmp_path, of_numpy):
    cuts, single = [0, 300, 600, 900], X.astype(np.float32)
    arrays = tree().fit(da.from_array(X, chunks=(300, 2)), da.from_array(Y, chunks=450))
    assert same(arrays, of_numpy)
    unknown = da.from_array(X, chunks=(300, 3))[da.from_array(np.ones(900, bool), chunks=300)]
    labels = da.from_array(Y, chunks=300)[da.from_array(np.ones(900, bool), chunks=300)]
    assert np.isnan(unknown.shape[0])
    assert same(tree().fit(unknown, labels), of_numpy)
    pieces = [dask.delayed(X[a:b]) for a, b in zip(cuts, cuts[1:])]
    labels = [dask.delayed(Y[a:b]) for a, b in zip(cuts, cuts[1:])]
    assert same(tree().fit(pieces, labels), of_numpy)
    pairs = [dask.delayed((X[a:b], Y[a:b])) for a, b in zip(cuts, cuts[1:])]
    assert same(tree().fit(pairs), of_numpy)
    table = pd.DataFrame(X, columns=list("abc")).assign(target=Y)
    frame = dd.from_pandas(table, npartitions=3, sort=False)
    frames = tree().fit(frame, "target")
    assert same(frames, of_numpy)
    assert frames.feature_names_in_.tolist() == ["a", "b", "c"]
    write_parquet(tmp_path, single, Y, cuts)
    assert same(tree().fit(tmp_path, "target"), tree().fit(single, Y))


@pytest.mark.parametrize("kernel", ["laplacian", "matern12"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_gamma_scale_of_columns_is_that_of_all_partitions(kernel, form):
    order = np.argsort(X[:, 1])  # partitions differ in their spread, and in their mean
    rows, y = form(X[order] * np.array([1.0, 5.0, 1.0]) + 3.0), Y[order]
    model = tree(kernel=kernel, gamma="scale", passes=None).fit(rows, y)
    exact = LASVMClassifier(C=5.0, kernel=kernel, epochs="converge", random_state=0).fit(rows, y)
    assert model.to_local().gamma_ == pytest.approx(exact.gamma_, rel=1e-12)
    ours, theirs = model.decision_function(rows), exact.decision_function(rows)
    np.testing.assert_allclose(ours, theirs, atol=1e-2)


def test_sparse_rows_and_gamma_scale_are_those_of_all_partitions():
    some = np.where(np.abs(X) > 0.7, X, 0.0) * np.array([1.0, 5.0, 1.0])
    order = np.argsort(some[:, 1])  # partitions differ in their spread
    rows, y = some[order], Y[order]
    model = tree(gamma="scale", passes=None).fit(sparse.csr_matrix(rows), y)
    exact = SVC(C=5.0, gamma="scale", tol=1e-4).fit(rows, y)
    assert model.to_local().gamma_ == pytest.approx(exact._gamma, rel=1e-12)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_matrix(rows)), exact.decision_function(rows), atol=5e-3
    )


def test_prediction_is_lazy_on_collections_and_equal(tmp_path, of_numpy):
    wanted = of_numpy.decision_function(X)
    blocks = da.from_array(X, chunks=(250, 2))
    values = of_numpy.decision_function(blocks)
    assert isinstance(values, da.Array)
    assert values.chunks == ((250, 250, 250, 150),)
    assert np.array_equal(values.compute(), wanted)
    assert np.array_equal(of_numpy.predict(blocks).compute(), of_numpy.predict(X))
    score = of_numpy.score(blocks, da.from_array(Y, chunks=300))
    assert dask.is_dask_collection(score)
    assert float(score) == of_numpy.score(X, Y)
    parts = of_numpy.predict([dask.delayed(X[:10]), dask.delayed(X[10:20])])
    assert np.array_equal(np.concatenate(dask.compute(*parts)), of_numpy.predict(X[:20]))
    frame = dd.from_pandas(pd.DataFrame(X).assign(t=Y).rename(columns=str), npartitions=2)
    assert of_numpy.score(frame, "t").compute() == of_numpy.score(X, Y)
    write_parquet(tmp_path, X, Y, [0, 500, 900])
    with pytest.raises(ValueError, match="4 features"):
        of_numpy.predict(tmp_path).compute()  # the label is a column like the others
    assert of_numpy.score(tmp_path, "target").compute() == of_numpy.score(X, Y)
    several = tree().fit(*noisy(classes=3))
    assert several.decision_function(blocks).compute().shape == (900, 3)
    files = tree().fit(tmp_path, "target")
    rows = X.astype(np.float32)
    assert np.array_equal(files.predict(tmp_path).compute(), files.predict(rows))


def test_the_local_model_is_an_ordinary_one(tmp_path, of_numpy):
    local = of_numpy.to_local()
    assert type(local) is LASVMClassifier
    assert np.array_equal(local.decision_function(X), of_numpy.decision_function(X))
    np.testing.assert_allclose(local.support_vectors_, X[local.support_], atol=1e-6)
    local.save(tmp_path / "model.safetensors")
    loaded = onlinesvm.load_model(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.predict(X), local.predict(X))
    before = of_numpy.decision_function(X)
    for model in (local, loaded):
        model.partial_fit(X[:50] + 3.0, np.full(50, 7))
        assert 7 in model.classes_
    assert np.array_equal(local.decision_function(X), loaded.decision_function(X))
    assert np.array_equal(of_numpy.decision_function(X), before)
    export_python(of_numpy.to_local(), tmp_path / "model.py")
    assert "def decision_function" in (tmp_path / "model.py").read_text()


def test_what_is_sent_to_the_root_is_support_vectors_and_coefficients():
    X, y = noisy(n=3000)
    X = np.hstack([X, np.random.default_rng(0).standard_normal((3000, 20))])
    model = tree(gamma=0.05, partition_size=1000).fit(X, y)
    assert model.root_content_bytes_ < model.bytes_to_root_ <= 1.2 * model.root_content_bytes_
    assert model.root_content_bytes_ < X.astype(np.float32).nbytes
    assert {"leaf", "merge", "look back", "admit"} <= set(model.costs_)
    assert len(model.costs_["leaf"]) == 3


def test_it_is_an_estimator():
    model = clone(tree(passes=None))
    assert model.get_params()["passes"] is None
    with pytest.raises(ValueError, match="passes"):
        tree(passes=-1).fit(X, Y)
    with pytest.raises(Exception, match="not fitted"):
        tree().predict(X)


def test_progress_is_shown_where_asked_for(capsys):
    tree(passes=0).fit(X[:400], Y[:400])
    assert capsys.readouterr().out == ""
    tree(passes=0, verbose=True).fit(X[:400], Y[:400])
    assert "100% Completed" in capsys.readouterr().out


def test_a_failed_fit_changes_nothing(of_numpy):
    model = clone(of_numpy).fit(X, Y)
    with pytest.raises(ValueError, match="Partition 1"):
        model.fit(with_a_hole())
    assert np.array_equal(model.decision_function(X), of_numpy.decision_function(X))


def with_a_hole():
    hole = X.copy()
    hole[400] = np.nan
    return [dask.delayed((hole[a : a + 300], Y[a : a + 300])) for a in (0, 300, 600)]


def pairs(*parts):
    return [dask.delayed(part) for part in parts]


GOOD = (X[:300], Y[:300])
BAD_INPUT = {
    "columns": (lambda: pairs(GOOD, (X[:300, :2], Y[:300])), "Partition 1 has 2 columns"),
    "rows": (lambda: pairs(GOOD, (X[:0], Y[:0])), "Partition 1: it has no rows"),
    "labels": (lambda: pairs(GOOD, (X[:300], Y[:299])), "Partition 1: it has 300 rows"),
    "kinds": (
        lambda: pairs(GOOD, GOOD, (X[:9], np.array(["a"] * 9))),
        "Partition 2 has labels that are text",
    ),
    "mixed": (lambda: pairs(GOOD, (sparse.csr_matrix(X[:300]), Y[:300])), "Partition 1 is sparse"),
    "single": (lambda: pairs((X[:9], Y[:9] * 0), (X[:9], Y[:9] * 0)), "greater than one"),
    "pair": (lambda: pairs(GOOD, X[:300]), "Partition 1 is a ndarray"),
}


@pytest.mark.parametrize("what", BAD_INPUT)
def test_bad_partitions_are_named(what):
    make, said = BAD_INPUT[what]
    with pytest.raises(ValueError, match=said) as caught:
        tree().fit(make())
    assert "\n" not in str(caught.value)


def test_bad_collections_are_told():
    array = da.from_array(X, chunks=(300, 3))
    unknown = array[da.from_array(np.ones(900, bool), chunks=300)]
    with pytest.raises(ValueError, match=r"partition 2 has no counterpart.*compute_chunk_sizes"):
        tree().fit(unknown, da.from_array(Y, chunks=450))
    with pytest.raises(ValueError, match="unknown sizes"):
        tree().fit(unknown, Y)
    with pytest.raises(ValueError, match="900 rows and y 899"):
        tree().fit(array, Y[:-1])
    with pytest.raises(ValueError, match="partition 1 has no counterpart"):
        tree().fit(pairs(X, X), pairs(Y))
    with pytest.raises(ValueError, match="no column 'zzz'"):
        tree().fit(dd.from_pandas(pd.DataFrame(X).rename(columns=str), npartitions=2), "zzz")
    for rows in (array, dd.from_pandas(pd.DataFrame(X), npartitions=2), X, "a folder"):
        with pytest.raises(
            ValueError, match="The labels are missing: give y, which may be the name"
        ):
            tree().fit(rows, None)


def test_columns_of_a_data_frame_are_known_by_name():
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(t=Y), npartitions=2)
    model = tree().fit(frame, "t")
    mixed = frame[["c", "b", "a", "t"]]
    rows = mixed[["c", "b", "a"]]
    for ask in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="select them by name in the order of fit"):
            ask(rows)
        with pytest.raises(ValueError, match="no column 'a'"):
            ask(frame[["b", "c"]])
    with pytest.raises(ValueError, match="select them by name in the order of fit"):
        model.score(mixed, "t")
    chosen = rows[list(model.feature_names_in_)]
    assert np.array_equal(model.predict(chosen).compute(), model.predict(X))


def test_data_frames_as_partitions_have_the_same_columns():
    first, second = (pd.DataFrame(rows, columns=list("abc")) for rows in (X[:450], X[450:]))
    labels = pairs(Y[:450], Y[450:])
    with pytest.raises(ValueError, match=r"Partition 1 has the columns .*in the same order"):
        tree().fit(pairs(first, second[["c", "b", "a"]]), labels)
    model = tree().fit(pairs(first, second), labels)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    plain = tree().fit(pairs(X[:450], X[450:]), labels)
    assert same(model, plain)


def test_a_score_has_one_label_and_one_weight_for_each_row(of_numpy):
    wanted = of_numpy.score(X, Y)
    blocks = da.from_array(X, chunks=(300, 3))
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    ones = frame[0] * 0 + 1
    labels = dd.from_pandas(pd.Series(Y), npartitions=2)
    for score in (
        of_numpy.score(X, Y[:, None]),
        of_numpy.score(blocks, da.from_array(Y[:, None], chunks=(450, 1))),
        of_numpy.score(pairs(X), pairs(Y[:, None])).compute(),
        of_numpy.score(frame, labels, sample_weight=ones),
        of_numpy.score(blocks, Y, sample_weight=np.ones(900)),
    ):
        assert float(score) == pytest.approx(wanted)
    for rows in (X, blocks):
        with pytest.raises(ValueError, match="X has 900 rows and y 899 labels"):
            of_numpy.score(rows, Y[:-1])
    with pytest.raises(ValueError, match="X has 900 rows and sample_weight 899 weights"):
        of_numpy.score(blocks, Y, sample_weight=np.ones(899))
    with pytest.raises(ValueError, match="partition 1 has no counterpart"):
        of_numpy.score(pairs(X, X), pairs(Y))
    with pytest.raises(ValueError, match="X has 900 rows and y 899 labels"):
        of_numpy.score(pairs(X), pairs(Y[:-1])).compute()
    with pytest.raises(ValueError, match="not supported with a list"):
        of_numpy.score(pairs(X), pairs(Y), sample_weight=np.ones(900))
    with pytest.raises(ValueError, match="unknown sizes, so y cannot be cut"):
        of_numpy.score(frame, Y)


def test_labels_may_be_dates():
    both = np.array(["2020-01-01", "2021-05-05"], "M8[D]")
    days = both[Y]
    model = tree().fit(da.from_array(X, chunks=(300, 3)), da.from_array(days, chunks=300))
    assert np.array_equal(model.predict(X), both[tree().fit(X, Y).predict(X)])
    assert model.score(X, days) > 0.9
    with pytest.raises(ValueError, match=r"labels that are numbers, .* partition 0 are dates"):
        tree().fit(pairs(X[:450], X[450:]), pairs(days[:450], Y[450:]))


def test_files_that_cannot_be_read_are_named(tmp_path):
    write_parquet(tmp_path, X, Y, [0, 300, 600])
    (tmp_path / "part-9.parquet").write_text("not Parquet")
    with pytest.raises(ValueError, match=r"Partition 2: .*part-9\.parquet' is not Parquet"):
        tree().fit(tmp_path, "target")
    (tmp_path / "part-9.parquet").unlink()
    pd.DataFrame(X[:9, :2], columns=["a", "b"]).assign(target=0).to_parquet(
        tmp_path / "part-9.parquet"
    )
    with pytest.raises(ValueError, match=r"Partition 2: .*part-9\.parquet' has no column 'c'"):
        tree().fit(tmp_path, "target")
    with pytest.raises(ValueError, match="no column 'nothing'"):
        tree().fit(tmp_path, "nothing")
    with pytest.raises(ValueError, match="There is no file or folder"):
        tree().fit(tmp_path / "nowhere", "target")


@pytest.mark.parametrize("offset", [1e7, 1.7e9])
def test_parquet_far_from_zero_keeps_its_digits(tmp_path, offset):
    """Time stamps, ids, coordinates: the model of the rows near zero."""
    Z, y = noisy(600)
    write_parquet(tmp_path, Z + offset, y, [0, 300, 600])
    settings = {"C": 10.0, "gamma": 0.5, "random_state": 0}
    model = tree(**settings).fit(str(tmp_path), "target")
    near = LASVMClassifier(**settings).fit(Z, y)
    far = np.asarray(model.predict(Z + offset))
    assert np.mean(far == y) > near.score(Z, y) - 0.02


def test_categories_of_small_files_are_decided_together(tmp_path):
    for k, town in enumerate(("Ulm", "Bonn", "Oslo")):
        frame = pd.DataFrame({"town": [town] * 20, "v": np.arange(20.0), "target": [0, 1] * 10})
        frame.to_parquet(tmp_path / f"{k}.parquet")
    model = tree(C=1.0, gamma=0.1).fit(str(tmp_path), "target")
    names = ["town=Bonn", "town=Oslo", "town=Ulm", "town=other", "v"]
    assert model.feature_names_in_.tolist() == names


def test_large_files_are_cut_at_row_groups(tmp_path):
    table = pd.DataFrame(X, columns=list("abc")).assign(target=Y)
    table.to_parquet(tmp_path / "all.parquet", row_group_size=100)
    model = tree(partition_size=250).fit(tmp_path, "target")
    assert model.n_partitions_ == 5  # two groups of 100 each, the last one alone
    assert (
        model.partition_bytes_ == 200 * 3 * 8
    )  # float64: far from zero float32 has too few digits


def test_partitions_are_read_when_needed_and_let_go():
    held = weakref.WeakSet()
    most, reads = [], []

    class Held(np.ndarray):
        def __hash__(self):
            return id(self)

    def load(i):
        rows = X[100 * i : 100 * i + 100].copy().view(Held)
        held.add(rows)
        most.append(len(held))
        reads.append(i)
        return rows, Y[100 * i : 100 * i + 100]

    with dask.config.set(scheduler="synchronous"):
        tree().fit([dask.delayed(load)(i) for i in range(9)])
    assert max(most) <= 2  # of nine
    assert sorted(reads) == sorted(3 * list(range(9)))  # summary, leaf, look back


def test_ctrl_c_ends_a_fit_on_threads():
    def press(part):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        return part

    model = tree()
    parts = [dask.delayed(press)((X[:300], Y[:300])), *pairs(GOOD)]
    with pytest.raises(KeyboardInterrupt):
        model.fit(parts)
    assert not hasattr(model, "classes_")
