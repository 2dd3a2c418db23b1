"""The drift detector: its twin, false alarms, delays."""

import copy
import pickle

import numpy as np
import pytest
from naive.prequential import NaiveDetector

from onlinesvm.core.prequential import drift
from onlinesvm.core.prequential.drift import BLOCK, BLOCKS, GROWTH, DriftDetector, recent_lengths


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
    quick, slow = DriftDetector(8.0), NaiveDetector(8.0, BLOCK, 20, GROWTH)
    for error in wrong:
        quick.update(np.array([error]))
        slow.update(error)
        assert quick.n_drifts == len(slow.found)
    assert quick.start == slow.start
    assert quick.last == (slow.found[-1] if slow.found else -1)
    assert quick.error == pytest.approx(np.mean(slow.errors[slow.first :]))
    assert seed or slow.found


def test_lengths_of_the_recent_part_are_few_and_close():
    assert recent_lengths(2).tolist() == [1]
    for blocks in (3, 10, 17, BLOCKS):
        lengths = recent_lengths(blocks)
        assert lengths[0] == 1
        assert lengths[-1] < blocks <= max(lengths[-1] + 1, GROWTH * lengths[-1])
        assert len(lengths) <= 10 * np.log2(blocks)
        assert (np.diff(lengths) >= 1).all()
        assert (lengths[1:] <= np.maximum(lengths[:-1] + 1, GROWTH * lengths[:-1])).all()


@pytest.mark.parametrize("rate", [0.002, 0.05, 0.3, 0.7])
def test_false_alarms_are_as_rare_as_the_header_says(rate):
    """A quarter of a million errors: with one alarm in ten million, two have probability 3e-4."""
    wrong = np.random.default_rng(0).random(250_000) < rate
    assert feed(DriftDetector(), wrong).n_drifts <= 1
    short = [feed(DriftDetector(), part).n_drifts for part in np.split(wrong, 250)]
    assert sum(short) <= 1


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.5])
def test_learning_raises_no_false_alarm(rate):
    """Errors that become fewer, quickly or slowly, down to nothing or to guessing."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        learning = np.exp(-np.arange(3000) / rng.choice([30, 300, 3000]))
        wrong = rng.random(3000) < rate + (0.9 - rate) * learning
        assert feed(DriftDetector(), wrong).n_drifts == 0


def test_two_levels_of_the_threshold():
    """A likelihood ratio of u is enough, and needed."""
    zeros = np.zeros(64 * BLOCK, bool)
    for errors in range(1, BLOCK):
        wrong = np.concatenate([zeros, np.arange(BLOCK) < errors])
        n = len(wrong)
        k = errors
        ratio = xlogx(k) + xlogx(BLOCK - k) - xlogx(BLOCK) - xlogx(k) - xlogx(n - k) + xlogx(n)
        for u in (0.999 * ratio, 1.001 * ratio):
            assert feed(DriftDetector(u), wrong).n_drifts == (u < ratio)


@pytest.mark.parametrize(
    ("before", "length", "rate"),
    [(0.05, 60, 0.4), (0.1, 80, 0.4), (0.02, 30, 0.45), (0.2, 160, 0.45), (0.0, 20, 0.5)],
)
def test_a_rise_that_is_soon_over_is_noticed(before, length, rate):
    """As of a model that forgets, and recovers."""
    found = 0
    for seed in range(20):
        wrong = stream((before, 3000), (rate, length), (before, 1000), seed=seed)
        detector = feed(DriftDetector(), wrong)
        found += detector.n_drifts == 1 and 3000 < detector.last <= 3000 + length + 2 * BLOCK
    assert found >= 16


def test_no_worse_than_adwin_on_the_same_errors():
    """Rises of all kinds: at least as many are found, no later on average."""
    adwin = pytest.importorskip("river.drift").ADWIN
    rng = np.random.default_rng(0)
    delays, false = {"own": [], "adwin": []}, {"own": 0, "adwin": 0}
    for _ in range(150):
        low = rng.choice([0.0, 0.01, 0.1, 0.3])
        high, length = rng.uniform(low + 0.1, 1.0), int(rng.choice([40, 100, 300, 1500]))
        lasting = np.linspace(0.0, 1.0, length) if rng.random() < 0.3 else 1.0
        wrong = stream((low, 2000), (low + (high - low) * lasting, length), (low, 400), seed=rng)
        for name, found in (("own", alarms_of_own(wrong)), ("adwin", alarms_of(adwin(), wrong))):
            false[name] += sum(alarm <= 2000 for alarm in found)
            hits = [alarm - 2000 for alarm in found if alarm > 2000]
            delays[name].append(hits[0] if hits else np.inf)
    own, other = (np.array(delays[name]) for name in ("own", "adwin"))
    assert np.isfinite(own).sum() >= np.isfinite(other).sum() > 100
    assert np.minimum(own, 1500).mean() <= np.minimum(other, 1500).mean()
    assert np.median(own) <= np.median(other)
    assert false["own"] <= 1  # of 300,000 examples; the rate is tested above


def alarms_of_own(wrong):
    detector, found = DriftDetector(), []
    for begin in range(0, len(wrong) - BLOCK + 1, BLOCK):
        detector.update(wrong[begin : begin + BLOCK])
        if detector.last == detector.seen:
            found.append(detector.seen)
    return found


def alarms_of(adwin, wrong):
    """Where it reports more errors; fewer are learning, no drift."""
    found = []
    for k, error in enumerate(wrong, start=1):
        before = adwin.estimation
        adwin.update(float(error))
        if adwin.drift_detected and adwin.estimation > before:
            found.append(k)
    return found


def xlogx(x):
    return x * np.log(x) if x else 0.0


def test_an_alarm_is_raised_at_the_promised_level():
    """The other way round: two blocks of errors raise it, and are where the new concept begins."""
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
    assert (detector.n_drifts, detector.width) == (0, 6000 - 6000 % BLOCK)
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
