"""The drift detector: its twin, false alarms, delays."""

import copy
import pickle

import numpy as np
import pytest
from naive.prequential import NaiveDetector

from onlinesvm.core.prequential import drift
from onlinesvm.core.prequential.drift import BLOCK, BLOCKS, DriftDetector, threshold


def feed(detector, wrong, begin=0):
    """Errors in pieces that end where blocks end; returns the detector."""
    while begin < len(wrong):
        end = begin + BLOCK - detector.seen % BLOCK
        detector.update(wrong[begin:end])
        begin = end
    return detector


def stream(*parts, seed=0):
    """Errors at these rates: pairs of rate, or array of rates, and length."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.random(n) < rate for rate, n in parts])


@pytest.mark.parametrize("seed", range(4))
def test_detector_is_its_twin(seed, monkeypatch):
    monkeypatch.setattr(drift, "BLOCKS", 20)
    rng = np.random.default_rng(seed)
    parts = [(rng.choice([0.0, 0.05, 0.3, 0.7, 1.0]), int(rng.integers(20, 600))) for _ in range(6)]
    wrong = stream(*parts, seed=seed)
    quick, slow = DriftDetector(0.05), NaiveDetector(0.05, BLOCK, 20)
    for error in wrong:
        quick.update(np.array([error]))
        slow.update(error)
        assert quick.n_drifts == len(slow.found)
    assert quick.start == slow.start
    assert quick.last == (slow.found[-1] if slow.found else -1)
    assert quick.error == pytest.approx(np.mean(slow.errors[slow.first :]))
    assert seed or slow.found


@pytest.mark.parametrize("check", [1, 2, 10, 319, 320, 10**6])
@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.5])
def test_threshold_keeps_its_share_of_delta(check, delta):
    blocks = min(check, BLOCKS)
    level = delta / (check * (check + 1) * max(1, blocks * (blocks - 1) // 2))
    u = threshold(check, delta)
    assert (1 + u) * np.exp(-u) <= level
    assert (1 + u) * np.exp(-u) > 0.999999 * level


def test_false_alarms_are_fewer_than_delta():
    """2,000 streams without drift, of all error rates, learning or not."""
    rng = np.random.default_rng(0)
    alarms, n, delta = 0, 960, 0.2
    for k in range(2000):
        rate = rng.uniform(0.0, 0.6)
        learning = np.exp(-np.arange(n) / 300) if k % 2 else 0.0
        wrong = rng.random(n) < rate + (1.0 - rate) * 0.5 * learning
        alarms += feed(DriftDetector(delta), wrong).n_drifts > 0
    assert alarms < delta * 2000


def test_an_alarm_is_raised_at_the_promised_level():
    """The other way round: errors that are likelier by a factor 1/delta raise it."""
    detector = feed(DriftDetector(), stream((0.1, 3200)))
    assert detector.n_drifts == 0
    before = detector.seen
    feed(detector, np.ones(2 * BLOCK, bool))
    assert detector.n_drifts == 1
    assert detector.start == before


@pytest.mark.parametrize(
    ("before", "after", "most"),
    [(0.1, 0.9, 64), (0.1, 0.5, 128), (0.1, 0.3, 512), (0.02, 0.1, 1024)],
)
def test_sudden_drift_is_found_soon(before, after, most):
    for seed in range(10):
        detector = feed(DriftDetector(), stream((before, 8000), (after, 2000), seed=seed))
        assert detector.n_drifts == 1
        assert 8000 < detector.last <= 8000 + most
        assert abs(detector.start - 8000) <= most


def test_gradual_drift_is_found_on_the_way():
    rates = np.concatenate([np.full(5000, 0.1), np.linspace(0.1, 0.5, 3000)])
    for seed in range(10):
        wrong = np.random.default_rng(seed).random(8000) < rates
        found = feed(DriftDetector(), wrong[:7000])
        assert found.n_drifts >= 1
        assert feed(DriftDetector(), wrong[:5000]).n_drifts == 0


def test_learning_is_no_drift_and_does_not_hide_one():
    rates = 0.05 + 0.45 * np.exp(-np.arange(6000) / 500)
    wrong = stream((rates, 6000), (0.2, 600))
    detector = feed(DriftDetector(), wrong[:6000])
    assert (detector.n_drifts, detector.width) == (0, 5984)
    assert detector.error < 0.08  # the beginning is left out
    assert feed(detector, wrong, 6000).n_drifts == 1


def test_memory_is_bounded_and_old_errors_are_forgotten():
    detector = feed(DriftDetector(), stream((0.1, 5 * BLOCKS * BLOCK)))
    assert detector.errors.shape == (BLOCKS,)
    assert detector.blocks == BLOCKS
    assert detector.width == 5 * BLOCKS * BLOCK


@pytest.mark.parametrize("again", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_copies_go_on_as_the_detector_does(again):
    wrong = stream((0.1, 1000), (0.6, 500))
    one, other = feed(DriftDetector(), wrong), feed(DriftDetector(), wrong[:1003])
    other = feed(again(other), wrong, 1003)
    assert one.__dict__.keys() == other.__dict__.keys()
    for name, value in one.__dict__.items():
        np.testing.assert_array_equal(value, other.__dict__[name])
