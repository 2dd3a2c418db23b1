"""Learning from streams: prequential error, resuming, mixing, scaling, new features and labels."""

import io
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, mean_absolute_error, mean_pinball_loss
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from onlinesvm import (
    LASVMClassifier,
    LASVMOneClass,
    LASVMRegressor,
    SimpleSVMOneClass,
    SimpleSVMRegressor,
    fit_stream,
)
from onlinesvm.cli.algorithms import algorithms
from onlinesvm.model.files import model_bytes, read_model, write_model
from onlinesvm.stream.blocks import Block
from onlinesvm.stream.errors import StreamError
from onlinesvm.stream.learning import measure_of
from onlinesvm.stream.memory import MemoryReader
from onlinesvm.stream.readers import open_reader
from onlinesvm.stream.shuffling import ShuffleBuffer
from onlinesvm.stream.standardising import RunningScale
from onlinesvm.stream.training import StreamSettings, Training


def noisy(n=1200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, ((X[:, 0] + X[:, 1] ** 2 > 0.8) ^ (rng.random(n) < 0.1)).astype(int)


def data_for(estimator):
    X, y = noisy(600)
    if isinstance(estimator, SimpleSVMOneClass):
        return X, None
    return X, X[:, 0] + 0.1 * y if isinstance(estimator, SimpleSVMRegressor) else y


def file_bytes(training):
    facts, arrays = training.state()
    return model_bytes(
        training.estimator, preprocessing=training.preprocessing(), summary={"stream": facts},
        arrays=arrays,
    )  # fmt: skip


def resumed(training, path, reader):
    """The run as another process would go on with it."""
    facts, arrays = training.state()
    write_model(
        path, training.estimator, preprocessing=training.preprocessing(),
        summary={"stream": facts}, arrays=arrays,
    )  # fmt: skip
    model = read_model(path)
    again = Training(model.estimator, reader, training.settings)
    again.resume(model.summary["stream"], model.arrays, model.preprocessing)
    return again


def run_to_the_end(training):
    for _ in training.steps():
        pass
    training.finish()
    return training


# -- the prequential error -----------------------------------------------------------------------


def test_each_block_is_predicted_before_it_is_learned():
    X, y = noisy()
    found = []
    training = fit_stream(
        LASVMClassifier(gamma=0.2), MemoryReader(X, y), batch_rows=300, callbacks=[found.append]
    )
    model = LASVMClassifier(gamma=0.2)
    mistakes = []
    cuts = [
        0,
        256,
        300,
        600,
        900,
        1200,
    ]  # the first block in parts, so that some of it is predicted
    for first, end in zip(cuts, cuts[1:]):
        if first:
            mistakes.append(np.sum(model.predict(X[first:end]) != y[first:end]))
        model.partial_fit(X[first:end], y[first:end])
    assert [p.block_error for p in found] == pytest.approx(np.array(mistakes) / [44, 300, 300, 300])
    assert found[-1].error == pytest.approx(np.sum(mistakes) / 944)
    assert [p.rows for p in found] == [300, 600, 900, 1200]
    assert found[-1].n_support == len(model.support_)
    assert found[-1].delta > 0
    np.testing.assert_array_equal(
        training.estimator.decision_function(X), model.finish().decision_function(X)
    )


def test_a_callback_ends_the_run_and_time_does():
    X, y = noisy()
    training = fit_stream(
        LASVMClassifier(), MemoryReader(X, y), batch_rows=100, callbacks=[lambda p: p.rows >= 300]
    )
    assert (training.rows, training.finished) == (300, False)
    with pytest.warns(ConvergenceWarning, match="100 rows were learned. There was no time left"):
        training = fit_stream(
            LASVMClassifier(), MemoryReader(X, y), batch_rows=100, time_limit=1e-9
        )
    assert (training.rows, training.finished) == (100, False)
    run_to_the_end(training)  # goes on where it stopped
    assert (training.rows, training.finished) == (1200, True)


@pytest.mark.parametrize("model", [LASVMClassifier(C=10.0), LASVMClassifier(window=250)])
def test_what_was_learned_within_a_time_limit_is_finished(model, monkeypatch):
    X, y = noisy()
    seconds = count()  # one for each block
    watch = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr("onlinesvm.stream.fitting.time", watch)
    with pytest.warns(
        ConvergenceWarning, match=r"time_limit=9 seconds: \d00 rows were learned\. t"
    ):
        training = fit_stream(clone(model), MemoryReader(X, y), batch_rows=100, time_limit=9)
    assert 100 < training.rows < 1000
    rows = slice(0, training.rows)
    plain = clone(model)
    for first in range(0, training.rows, 100):
        plain.partial_fit(X[rows][first : first + 100], y[rows][first : first + 100])
    np.testing.assert_allclose(
        training.estimator.decision_function(X), plain.finish().decision_function(X), atol=1e-6
    )
    run_to_the_end(training)
    assert (training.rows, training.finished) == (1200, True)


def test_passes_and_sources():
    X, y = noisy(500)
    text = "\n".join(f"{b} 1:{a[0]} 2:{a[1]}" for a, b in zip(X, y)).encode()
    training = fit_stream(LASVMClassifier(), MemoryReader(X, y), epochs=3)
    assert training.rows == 1500
    assert fit_stream(LASVMClassifier(), io.BytesIO(text)).rows == 500


def overlapping(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)


AGAIN = {
    "blocks": {},
    "small blocks": {"batch_rows": 50},
    "shuffled": {"shuffle_buffer": 120, "batch_rows": 64},
    "row by row": {"batch_rows": 3},
}


@pytest.mark.parametrize("decision", ["ovr", "ovo"])
@pytest.mark.parametrize("case", [*AGAIN, "listing"])
def test_later_passes_look_at_the_same_rows(case, decision):
    """No row has two coefficients; the model is that of ``SVC`` with the same C, not with epochs times C."""
    X, y = overlapping()
    y = y + 2 * (X[:, 0] > 1) if decision == "ovo" else y
    settings = {"gamma": 0.5, "decision": decision, "block_size": 1 if case == "listing" else 2048}
    training = fit_stream(
        LASVMClassifier(**settings), MemoryReader(X, y), epochs=4, **AGAIN.get(case, {})
    )
    model = training.estimator
    assert training.rows == 4 * len(X)
    assert len(np.unique(model.support_vectors_, axis=0)) == len(model.support_vectors_)
    assert np.abs(model.dual_coef_).max() <= 1.0 + 1e-9
    values = model.decision_function(X)
    once, again = (
        SVC(C=C, gamma=0.5, decision_function_shape="ovr").fit(X, y).decision_function(X)
        for C in (1, 4)
    )
    nearer = 0.6 if case == "listing" else 0.3
    assert np.abs(values - once).mean() < nearer * np.abs(values - again).mean()


def test_later_passes_are_as_good_as_epochs_of_a_fit():
    """The dual objective is within a thousandth of that of fit(epochs=2), and of the exact SVM's."""

    def dual(model):
        coef = model.dual_coef_[0]
        K = np.exp(-0.5 * ((model.support_vectors_[:, None] - model.support_vectors_) ** 2).sum(-1))
        return np.abs(coef).sum() - coef @ K @ coef / 2

    X, y = overlapping(1500)
    stream = fit_stream(LASVMClassifier(gamma=0.5), MemoryReader(X, y), epochs=2, batch_rows=100)
    fitted = LASVMClassifier(gamma=0.5, epochs=2).fit(X, y)
    exact = LASVMClassifier(gamma=0.5, epochs="converge").fit(X, y)
    assert dual(stream.estimator) > 0.999 * dual(fitted)
    assert 0.999 * dual(exact) < dual(stream.estimator) < 1.001 * dual(exact)


def test_later_passes_of_values_and_of_one_class():
    X, _ = overlapping()
    target = np.sin(2 * X[:, 0]) + 0.3 * np.random.default_rng(1).normal(size=len(X))
    values = fit_stream(LASVMRegressor(gamma=0.5), MemoryReader(X, target), epochs=4).estimator
    assert np.abs(values.dual_coef_).max() <= 1.0 + 1e-9
    once, again = (SVR(C=C, gamma=0.5).fit(X, target).predict(X) for C in (1, 4))
    found = values.predict(X)
    assert np.abs(found - once).mean() < 0.3 * np.abs(found - again).mean()
    inside = fit_stream(LASVMOneClass(nu=0.2, gamma=0.5), MemoryReader(X), epochs=3).estimator
    np.testing.assert_allclose(inside.dual_coef_.sum(), 0.2 * len(X), rtol=1e-6)
    assert inside.dual_coef_.max() <= 1.0 + 1e-9


def test_scores_of_rows_that_come_again_are_not_recorded():
    """They would be those of a model that has learned them, and probabilities too sure."""
    X, y = overlapping(1500)
    once, thrice = (
        fit_stream(LASVMClassifier(gamma=0.5, probability=True), MemoryReader(X, y), epochs=n)
        for n in (1, 3)
    )
    watches = [t.estimator._trained.learner.watch for t in (once, thrice)]
    assert watches[0].n == watches[1].n


def test_rows_that_come_again_are_forgotten_by_one_number():
    X, y = overlapping()
    model = fit_stream(
        LASVMClassifier(gamma=0.5), MemoryReader(X, y), epochs=3, batch_rows=100
    ).estimator
    gone = np.arange(0, 500, 3)
    model.forget(gone)
    held = {tuple(row) for row in model.support_vectors_.tolist()}
    assert not held & {tuple(row) for row in X[gone].tolist()}
    with pytest.raises(ValueError, match="500"):
        model.forget(500)


def test_a_run_goes_on_with_the_same_rows():
    """Another run of an estimator that has learned from a stream, and rows that it had not."""
    X, y = overlapping(900)
    model = LASVMClassifier(gamma=0.5).partial_fit(X[:300], y[:300])
    fit_stream(model, MemoryReader(X[300:], y[300:]), epochs=2, batch_rows=128)
    assert len(np.unique(model.support_vectors_, axis=0)) == len(model.support_vectors_)
    model.forget(899)


@pytest.mark.parametrize("settings", [{"window": 300}, {"budget": 40}])
def test_with_bounded_memory_rows_count_again(settings):
    X, y = overlapping()
    training = fit_stream(LASVMClassifier(gamma=0.5, **settings), MemoryReader(X, y), epochs=2)
    plain = LASVMClassifier(gamma=0.5, **settings)
    for part in (slice(0, 256), slice(256, None), slice(None)):  # the first block comes in parts
        plain.partial_fit(X[part], y[part])
    plain.finish()
    np.testing.assert_allclose(
        training.estimator.decision_function(X), plain.decision_function(X), atol=1e-9
    )


# -- resuming -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(algorithms()))
def test_a_resumed_run_ends_with_the_same_bytes(name, tmp_path):
    estimator = algorithms()[name](random_state=0)
    X, y = data_for(estimator)
    settings = StreamSettings(batch_rows=90)
    whole = run_to_the_end(
        Training(algorithms()[name](random_state=0), MemoryReader(X, y), settings)
    )
    training = Training(estimator, MemoryReader(X, y), settings)
    for number, _ in enumerate(training.steps()):
        if number in (0, 1, 4):
            break
    for _ in range(2):
        training = resumed(training, tmp_path / "model", MemoryReader(X, y))
        for _ in training.steps():
            break
    training = resumed(training, tmp_path / "model", MemoryReader(X, y))
    assert file_bytes(run_to_the_end(training)) == file_bytes(whole)


@pytest.mark.parametrize("form", ["dense", "sparse", "text labels"])
@pytest.mark.parametrize("stop", [1, 5, 99])  # the last: between the last row and finishing
def test_with_passes_a_buffer_a_scale_and_a_budget(form, stop, tmp_path):
    X, y = noisy(260)
    X, y = (sparse.csr_matrix(np.where(abs(X) > 0.5, X, 0.0)), y) if form == "sparse" else (X, y)
    y = np.where(y, "yes", "no") if form == "text labels" else y
    settings = StreamSettings(2, 60, shuffle_buffer=90, standardize=True, seed=3)

    def begun():
        return Training(LASVMClassifier(budget=20, gamma=0.2), MemoryReader(X, y), settings)

    whole, training = run_to_the_end(begun()), begun()
    for number, _ in enumerate(training.steps()):
        if number == stop:
            break
    training = resumed(training, tmp_path / "model", MemoryReader(X, y))
    assert file_bytes(run_to_the_end(training)) == file_bytes(whole)


def test_a_state_of_nothing_is_refused():
    X, y = noisy(50)
    with pytest.raises(ValueError, match="no state of a stream"):
        Training(LASVMClassifier(), MemoryReader(X, y)).resume({}, {}, {})


# -- new features and labels -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("name", [n for n in algorithms() if "simple" not in n])
def test_features_that_come_late(name, kernel):
    """As if all features had been known from the first row on; gamma is given."""
    refused = (name, kernel) == ("streamsvm", "linear")  # keeps dense vectors
    rng = np.random.default_rng(0)
    X = sparse.random(300, 30, 0.3, format="csr", random_state=0)
    X = sparse.csr_matrix(X.toarray() * (np.arange(30) < 10 + np.arange(300)[:, None] // 10))
    y = rng.integers(2, size=300)
    each = algorithms()[name]
    models = [each(kernel=kernel, gamma=0.5, random_state=0) for _ in range(2)]
    lines = [
        " ".join([str(b), *(f"{k + 1}:{v!r}" for k, v in zip(a.indices, a.data.tolist()))])
        for a, b in zip(X, y)
    ]
    text = "\n".join(lines).encode()
    for model, width in zip(models, (30, None)):
        reader = open_reader(io.BytesIO(text), "libsvm", n_features=width)
        if refused and width is None:
            with pytest.raises(ValueError, match="cannot add features; give --n-features"):
                fit_stream(model, reader, batch_rows=40)
            return
        fit_stream(model, reader, batch_rows=40)
    assert models[1].n_features_in_ == 30
    known, late = (getattr(model, "decision_function", model.predict)(X) for model in models)
    np.testing.assert_allclose(late, known, rtol=1e-4, atol=1e-4)


def test_features_that_come_late_to_rows_that_are_shifted():
    rng = np.random.default_rng(0)
    X = np.c_[1e4 + rng.normal(size=200), rng.normal(size=(200, 3))]
    X[:100, 3] = 0.0
    y = (X[:, 0] > 1e4).astype(int)
    blocks = [
        Block(sparse.csr_matrix(X[:100, :3]), y[:100], 0),
        Block(sparse.csr_matrix(X[100:]), y[100:], 100),
    ]

    class Widening(MemoryReader):
        def blocks(self, size, skip=0):
            return iter(blocks)

    model = fit_stream(LASVMClassifier(gamma=0.5), Widening(X, y)).estimator
    assert model._trained.centre[0] > 9000  # shifted, or single precision loses the digits
    known = LASVMClassifier(gamma=0.5)
    for part in (slice(0, 100), slice(100, 200)):
        known.partial_fit(sparse.csr_matrix(X[part]), y[part])
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_matrix(X)),
        known.finish().decision_function(sparse.csr_matrix(X)), atol=1e-4,
    )  # fmt: skip


def test_dense_models_do_not_grow():
    X, y = noisy(40)

    class Wider(MemoryReader):
        def blocks(self, size, skip=0):
            yield Block(X, y, 0)
            yield Block(np.c_[X, X], y, 40)

    with pytest.raises(ValueError, match=r"feature 8, but the first rows had 4 .*--n-features"):
        fit_stream(LASVMClassifier(), Wider(X, y))


def test_a_new_class_in_mid_stream():
    X, y = noisy(600)
    y = np.where((np.arange(600) > 300) & (X[:, 2] > 1), 2, y)
    training = fit_stream(LASVMClassifier(gamma=0.2), MemoryReader(X, y), batch_rows=100)
    assert training.estimator.classes_.tolist() == [0, 1, 2]


# -- mixing and scaling ----------------------------------------------------------------------------


def test_the_buffer_loses_and_doubles_no_row():
    buffer, seen = ShuffleBuffer(50, seed=1), []
    for k in range(0, 200, 30):
        rows = np.arange(k, min(k + 30, 200))
        out = buffer.push(Block(rows[:, None].astype(float), rows, k))
        assert buffer.n <= 50
        if out is not None:
            seen += out.y.tolist()
            np.testing.assert_array_equal(out.X[:, 0], out.y)
    while (out := buffer.pop(30)) is not None:
        seen += out.y.tolist()
    assert sorted(seen) == list(range(200))
    assert seen != sorted(seen)


def test_a_buffer_helps_where_rows_are_sorted():
    """A budget forgets: sorted by class, the first class would be learned and lost."""
    X, y = noisy(1000)
    order = np.argsort(y, kind="stable")
    errors = []
    for size in (0, 800):
        model = LASVMClassifier(budget=30, gamma=0.2)
        fit_stream(model, MemoryReader(X[order], y[order]), batch_rows=100, shuffle_buffer=size)
        errors.append(1 - model.score(X, y))
    assert errors[1] < errors[0] - 0.1


@pytest.mark.parametrize("far", [0.0, 1e9])
def test_running_scale_is_that_of_all_rows(far):
    rng = np.random.default_rng(0)
    X = far + rng.normal(size=(1000, 3)) * [1, 1e-3 if not far else 2, 5]
    X[:, 1] = far if far else X[:, 1]
    scale = RunningScale()
    for k in range(0, 1000, 37):
        scale.update(X[k : k + 37])
    expected = StandardScaler().fit(X)
    np.testing.assert_allclose(scale.mean, expected.mean_, rtol=1e-12, atol=1e-12)
    if far:
        assert scale.scale()[1] == 1.0  # constant
        np.testing.assert_allclose(scale.scale()[[0, 2]], X.std(axis=0)[[0, 2]], rtol=1e-6)
    else:
        np.testing.assert_allclose(scale.apply(X), expected.transform(X), rtol=1e-9, atol=1e-9)
    again = RunningScale.from_json(scale.to_json())
    np.testing.assert_array_equal(again.apply(X), scale.apply(X))


def test_sparse_rows_are_scaled_and_stay_sparse():
    X = sparse.random(500, 8, 0.2, format="csr", random_state=0)
    scale = RunningScale()
    scale.update(X[:200, :5])  # three features come later
    scale.update(X[200:])
    wide = X.toarray()
    wide[:200, 5:] = 0
    np.testing.assert_allclose(scale.scale(), wide.std(axis=0))
    found = scale.apply(X)
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), X.toarray() / wide.std(axis=0))


@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize("far", [1e6, 1.7e9])
def test_the_scale_of_sparse_rows_does_not_cancel(far, share):
    rng = np.random.default_rng(0)
    wide = far + rng.normal(size=(900, 3)) * [1, 0.01, 50]
    wide[rng.random(wide.shape) >= share] = 0.0
    scale = RunningScale()
    for k in range(0, 900, 77):
        scale.update(sparse.csr_matrix(wide[k : k + 77]))
    np.testing.assert_allclose(scale.mean, wide.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scale.scale(), wide.std(axis=0), rtol=1e-4)


def test_categories_are_not_scaled():
    text = b"v,town,target\n" + b"100,a,0\n300,b,1\n200,a,1\n" * 30
    reader = open_reader(io.BytesIO(text), "csv", label="target")
    training = fit_stream(LASVMClassifier(), reader, standardize=True)
    assert training.scale.numeric.tolist() == [True, False, False, False]
    assert training.scale.scale()[1:].tolist() == [1, 1, 1]
    assert training.scale.scale()[0] == pytest.approx(81.6496, rel=1e-4)


def test_scaling_is_worth_it():
    X, y = noisy(1500)
    X = X * [1, 1, 1000, 1000] + 5000
    errors = [
        fit_stream(
            LASVMClassifier(), MemoryReader(X, y), batch_rows=200, standardize=standardize
        ).progress().error
        for standardize in (False, True)
    ]  # fmt: skip
    assert errors[1] < errors[0] - 0.05


# -- several values or labels per example --------------------------------------------------


def losses_before_learning(make, X, y, size, loss):
    """The mean loss of rows that a model predicts block by block before it learns them."""
    model, found = make().partial_fit(X[:size], y[:size]), []
    for start in range(size, len(X), size):
        found.append(loss(y[start : start + size], model.predict(X[start : start + size])))
        model.partial_fit(X[start : start + size], y[start : start + size])
    return np.mean(found)


@pytest.mark.parametrize("quantile", [0.9, [0.9], [0.1, 0.5, 0.9]])
def test_the_error_of_quantiles_is_their_pinball_loss(quantile):
    X, _ = noisy(1000)
    y = X[:, 0] + np.random.default_rng(1).normal(size=len(X))

    def make():
        return LASVMRegressor(gamma=0.2, quantile=quantile)

    def loss(true, found):
        columns = zip(np.reshape(found, (len(true), -1)).T, np.atleast_1d(quantile), strict=True)
        return np.mean([mean_pinball_loss(true, column, alpha=level) for column, level in columns])

    training = fit_stream(make(), MemoryReader(X, y), batch_rows=200)
    expected = losses_before_learning(make, X, y, 200, loss)
    assert training.progress().error == pytest.approx(expected)
    assert measure_of(training.estimator) == "mean pinball loss"


def test_the_error_of_several_targets_is_their_mean():
    X, _ = noisy(800)
    y = np.column_stack([X[:, 0], -10.0 * X[:, 1], np.sin(X[:, 2])])
    make = partial(LASVMRegressor, gamma=0.2)
    found = fit_stream(make(), MemoryReader(X, y), batch_rows=200).progress().error
    expected = losses_before_learning(make, X, y, 200, mean_absolute_error)
    assert found == pytest.approx(expected)


def test_the_error_of_several_labels_is_the_share_of_rows_with_a_wrong_one():
    X, _ = noisy(800)
    y = np.column_stack([X[:, k] + X[:, k - 1] * X[:, 2] > 0 for k in range(4)]).astype(int)
    make = partial(LASVMClassifier, gamma=0.2)
    found = fit_stream(make(), MemoryReader(X, y), batch_rows=200).progress().error
    expected = losses_before_learning(
        make, X, y, 200, lambda true, seen: 1 - accuracy_score(true, seen)
    )
    assert found == pytest.approx(expected)
    assert 0.2 < found < 1


def test_labels_as_a_sparse_matrix():
    X, _ = noisy(600)
    y = (X[:, :3] > 0.3).astype(int)
    dense, *others = (
        fit_stream(LASVMClassifier(gamma=0.2), MemoryReader(X, form(y)), batch_rows=200)
        for form in (np.asarray, sparse.csr_matrix, sparse.csc_array)
    )
    for other in others:
        assert (other.estimator.decision_function(X) == dense.estimator.decision_function(X)).all()
        assert other.progress().error == dense.progress().error


def test_a_missing_target_of_several_is_told_with_its_row():
    X, _ = noisy(100)
    y = X[:, :3].copy()
    y[70, 1] = np.nan
    with pytest.raises(StreamError, match="row 71 of the arrays has no label"):
        fit_stream(LASVMRegressor(gamma=0.2), MemoryReader(X, y), batch_rows=50)
