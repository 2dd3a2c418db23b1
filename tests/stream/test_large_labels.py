"""Labels beyond 2**53 in files: exact where they are whole numbers, refused where they are floats."""

import io

import numpy as np
import pytest

from onlinesvm import LASVMClassifier, LASVMRegressor, fit_stream, open_reader
from onlinesvm.stream.errors import StreamError

BIG = 2**53
RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(c, 0.2, (40, 2)) for c in (0, 3, 6)]).round(3)[::-1]
Y = np.repeat([BIG, BIG + 1, BIG + 2], 40)[::-1]


def csv(ending=""):
    lines = [f"{a},{b},{label}{ending}" for (a, b), label in zip(X, Y, strict=True)]
    return io.BytesIO(("a,b,t\n" + "\n".join(lines) + "\n").encode())


def libsvm():
    lines = [f"{label} 1:{a} 2:{b}" for (a, b), label in zip(X, Y, strict=True)]
    return io.BytesIO(("\n".join(lines) + "\n").encode())


def test_whole_numbers_of_a_table_are_exact():
    training = fit_stream(LASVMClassifier(gamma=1.0), open_reader(csv(), "csv", label="t"))
    assert training.estimator.classes_.tolist() == [BIG, BIG + 1, BIG + 2]
    assert training.estimator.score(X, Y) == 1.0


@pytest.mark.parametrize("source", ["csv", "libsvm"])
def test_floats_are_refused_before_anything_is_learned(source):
    opened = (
        open_reader(csv(".0"), "csv", label="t")
        if source == "csv"
        else open_reader(libsvm(), "libsvm")
    )
    model = LASVMClassifier(gamma=1.0)
    with pytest.raises(
        StreamError, match=r"has the label 9007199254740994.*cannot all be distinguished"
    ):
        fit_stream(model, opened)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("label", "says"),
    [(1e300, r"row 1 of .* has the label 1e\+300, a floating"), (np.nan, r"row 1 of .* has no label .NaN.; leave")],
)  # fmt: skip
def test_labels_of_arrays_are_shown_in_a_few_digits_and_gaps_are_told(tmp_path, label, says):
    np.savez(tmp_path / "t.npz", X=X, y=np.full(len(X), label))
    for model in (LASVMClassifier(), *[LASVMRegressor()] * bool(np.isnan(label))):
        with pytest.raises(StreamError, match=says):
            fit_stream(model, open_reader(tmp_path / "t.npz"))


@pytest.mark.filterwarnings("ignore:LASVM stopped before")  # numbers of this size are 2 apart
def test_values_to_predict_may_be_as_large():
    model = fit_stream(LASVMRegressor(), open_reader(libsvm(), "libsvm")).estimator
    assert np.isfinite(model.predict(X)).all()
