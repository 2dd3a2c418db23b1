"""Error against time: every method is measured or named as missing, and the picture has its line."""

import pytest
from PIL import Image

from benchmarks import error_time
from benchmarks.error_time import METHODS, STYLES, Method, ask, described, draw, measure

SPEC = {"dataset": "waveform:300", "form": "dense32", "repeats": 1, "limit": 60.0}


@pytest.mark.parametrize(
    ("name", "effort"),
    [("onlinesvm, one pass", 1.0), ("onlinesvm on a sample", 0.5), ("Nystroem + linear", 40)],
)
def test_a_point_is_a_time_and_an_error(name, effort):
    found = measure(SPEC | {"method": name, "effort": effort})
    assert found["seconds"] > 0
    assert 0.05 < found["error"] < 0.25  # no classifier errs on less than 7 % of the waveforms


def test_a_sample_has_as_many_rows_as_asked_for(monkeypatch):
    seen = []

    class Model:
        def fit(self, X, y):
            seen.append(len(y))
            return self

        def predict(self, X):
            return [1] * X.shape[0]

    method = Method("onlinesvm", lambda *_: Model(), (0.5,), samples=True)
    monkeypatch.setitem(METHODS, "a sample", method)
    measure(SPEC | {"method": "a sample", "effort": 0.5})
    assert seen[-1] == 150


def test_a_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(METHODS, "nobody", Method("no-such-library", error_time.svc))
    found = ask(SPEC | {"method": "nobody", "effort": 1.0})
    assert described(found) == "not installed: no-such-library"


def test_every_method_has_a_line_in_the_picture(tmp_path):
    assert set(STYLES) == set(METHODS)
    points = [
        {"method": name, "dataset": "x:10", "seconds": 0.1 * k, "error": 0.1 / k}
        for k, name in enumerate(METHODS, 1)
    ]
    points[2] |= {"seconds": None, "error": None}  # not measured: no point
    draw(points, tmp_path / "p.png")
    with Image.open(tmp_path / "p.png") as picture:
        assert min(picture.size) > 400
