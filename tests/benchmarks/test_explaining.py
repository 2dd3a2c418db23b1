"""The benchmark of explanations: its definitions agree, and its quick form runs."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest

from benchmarks import explaining


@pytest.fixture(scope="module")
def cases():
    return {case.model.kernel: case for case in explaining.cases(quick=True)}


def by_subsets(value, d):
    """Shapley values by their definition."""
    shares = np.zeros(d)
    for j in range(d):
        others = [k for k in range(d) if k != j]
        for size in range(d):
            weight = factorial(size) * factorial(d - 1 - size) / factorial(d)
            for known in combinations(others, size):
                mask = np.zeros((2, d))
                mask[:, list(known)] = 1.0
                mask[1, j] = 1.0
                shares[j] += weight * np.diff(value(mask))[0]
    return shares


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_game_that_others_are_given_has_our_explanation(cases, kernel):
    case = cases[kernel]
    found, alike = explaining.ours(case)
    assert alike
    for row, shares in zip(case.rows, found, strict=True):
        wanted = by_subsets(explaining.game(case, row), len(row))
        np.testing.assert_allclose(shares, wanted, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1) + case.base, case.values, atol=1e-5)
    np.testing.assert_allclose(case.values, case.model.decision_function(case.rows), atol=1e-5)


def test_shap_agrees_where_its_definition_is_ours(cases):
    pytest.importorskip("shap")
    found, alike = explaining.kernel_explainer(cases["linear"])
    assert alike
    np.testing.assert_allclose(found, explaining.ours(cases["linear"])[0], atol=1e-6)


def test_what_is_not_installed_is_said(cases, monkeypatch):
    def missing(case):
        raise ImportError

    monkeypatch.setitem(explaining.METHODS, "none", missing)
    assert explaining.measure(cases["rbf"], "none", 1) == ["not installed", "–", "–"]


def test_the_quick_form_prints_a_table(capsys, monkeypatch):
    monkeypatch.setattr(explaining, "METHODS", {"model.explain": explaining.ours})
    explaining.main(["--quick"])
    out = capsys.readouterr().out
    assert "| explained by |" in out
    assert out.count("| model.explain |") == 2
