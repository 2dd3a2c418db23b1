"""p-values of LASVMOneClass: rates of false alarms on rows that were not learned."""

import numpy as np
import pytest
from sklearn.svm import OneClassSVM

from onlinesvm import LASVMOneClass, SimpleSVMOneClass, load_model


def rows(seed, n, d=2):
    return np.random.default_rng(seed).standard_normal((n, d))


def rates(model, usual, levels=(0.05, 0.1, 0.3)):
    p = model.p_values(usual)
    return np.array([np.mean(p <= level) for level in levels])


@pytest.mark.parametrize("gamma", ["scale", 0.01, 2.0])
@pytest.mark.parametrize("nu", [0.3, 0.5])
def test_after_fit_the_share_of_small_p_values_is_as_they_say(nu, gamma):
    """As many of SimpleSVM's, which has them by leaving out each example, within the noise of 600."""
    found, peers = [], []
    for seed in range(3):
        X, usual = rows(seed, 600), rows(seed + 100, 1000)
        model = LASVMOneClass(nu=nu, gamma=gamma).fit(X)
        found.append(rates(model, usual))
        assert model.p_values(usual[:20] + 10.0).max() <= 0.02
        assert model.p_values(usual).max() <= 1.0
        peers.append(rates(SimpleSVMOneClass(nu=nu, gamma=gamma).fit(X[:200]), usual))
    assert abs(np.mean(found, axis=0)[1] - 0.1) < 0.04
    assert abs(np.mean(found, axis=0)[0] - 0.05) < 0.03
    assert abs(np.mean(peers, axis=0)[1] - 0.1) < 0.04


@pytest.mark.parametrize("limits", [{}, {"window": 400}, {"budget": 150}, {"half_life": 400.0}])
def test_on_a_stream_each_asked_before_it_is_learned(limits):
    X = rows(3, 1500)
    model, p = LASVMOneClass(nu=0.3, gamma=0.5, **limits).partial_fit(X[:300]), []
    for x in X[300:]:
        p.append(model.p_value_one(x))
        model.learn_one(x)
    assert abs(np.mean(np.array(p) <= 0.1) - 0.1) < 0.04
    np.testing.assert_allclose(
        model.p_values(X[:50]), [model.p_value_one(x) for x in X[:50]], atol=2e-3
    )


@pytest.mark.parametrize("nu", [0.02, 0.05])
def test_a_level_above_nu_is_an_upper_limit(nu):
    X, usual = rows(0, 2000), rows(1, 2000)
    model = LASVMOneClass(nu=nu).fit(X)
    assert rates(model, usual)[1] < 0.13
    assert model.p_values(usual[:10] + 10.0).max() < 0.01


@pytest.mark.parametrize(
    "change",
    [lambda X: X + 1e3, lambda X: X * 1e-6, lambda X: X * 1e6],
    ids=["far", "tiny", "huge"],
)
def test_units_do_not_matter(change):
    X, usual = rows(0, 800), rows(1, 1000)
    wanted = LASVMOneClass(nu=0.3).fit(X).p_values(usual)
    found = LASVMOneClass(nu=0.3).fit(change(X)).p_values(change(usual))
    assert np.mean(np.abs(found - wanted) <= 0.02) > 0.98


def test_repeated_rows_give_no_more_alarms_than_promised():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((1500, 1)) < 0.7, 0.0, rng.standard_normal((1500, 3)))
    usual = np.where(rng.random((1500, 1)) < 0.7, 0.0, rng.standard_normal((1500, 3)))
    for model in (
        LASVMOneClass(nu=0.2, gamma=0.5).fit(X),
        LASVMOneClass(nu=0.2, gamma=0.5).partial_fit(X[:500]).partial_fit(X[500:]),
    ):
        assert rates(model, usual)[1] < 0.14
        assert model.p_values(np.zeros((1, 3)))[0] > 0.2
        assert model.p_values(np.full((1, 3), 20.0))[0] < 0.02


def test_few_rows_promise_little_and_one_row_nothing():
    X = rows(0, 40)
    one = LASVMOneClass(gamma=0.5).fit(X[:1])
    assert (one.p_values(X) == 1.0).all()
    assert one.p_value_one(X[3]) == 1.0
    few = LASVMOneClass(gamma=0.5).fit(X)
    assert few.p_values(rows(1, 500)).min() >= 1 / 41
    same = LASVMOneClass(gamma=0.5).fit(np.ones((30, 2)))
    assert same.p_values(np.ones((1, 2)))[0] == 1.0
    with pytest.raises(ValueError, match="features"):
        few.p_values(np.ones((2, 3)))


def test_the_order_is_that_of_the_decision_values():
    X, usual = rows(0, 300), rows(1, 200)
    p = LASVMOneClass(nu=0.3, gamma=0.2).fit(X).p_values(usual)
    peer = OneClassSVM(nu=0.3, gamma=0.2, tol=1e-8).fit(X).decision_function(usual)
    assert (np.diff(p[np.argsort(peer)]) >= -0.02).all()


def test_files_and_copies_say_the_same_and_go_on_alike(tmp_path):
    X, asked = rows(0, 500), rows(1, 100)
    for limits in ({}, {"window": 100}):
        model = LASVMOneClass(nu=0.3, gamma=0.5, **limits).partial_fit(X[:300])
        for x in X[300:307]:
            model.learn_one(x)
        model.save(tmp_path / "model")
        twin = load_model(tmp_path / "model")
        np.testing.assert_array_equal(twin.p_values(asked), model.p_values(asked))
        for each in (model, twin):
            for x in X[307:400]:
                each.learn_one(x)
        np.testing.assert_array_equal(twin.p_values(asked), model.p_values(asked))
