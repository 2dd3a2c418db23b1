"""The record of scores: cuts, labels that come later, bounded memory."""

import copy
import pickle

import numpy as np
import pytest

from onlinesvm.core.prequential.drift import BLOCK
from onlinesvm.core.prequential.record import (
    NARROWEST,
    RECENT,
    SELDOM,
    WIDEST,
    Prequential,
    excess,
)


def noted(scores, label, cuts, ask=False, **wanted):
    """A record of these scores, noted in pieces."""
    settings = {"probability": True, "drift": True, **wanted}
    record = Prequential(scores.shape[1], **settings)
    for part in np.split(np.arange(len(label)), cuts):
        if len(part) == 1:
            record.note_one(scores[part[0]], label[part[0]], 1.0)
        else:
            record.note(scores[part], label[part], np.ones(len(part)))
        if ask:
            record.snapshot(np.ones(5))
    return record


def same(one, other):
    """All that follows from two records is equal to the last bit."""
    mine, theirs = (record.snapshot(np.ones(5)) for record in (one, other))
    np.testing.assert_array_equal(mine.q, theirs.q)
    np.testing.assert_array_equal(mine.calibration.slopes, theirs.calibration.slopes)
    np.testing.assert_array_equal(one.detector.errors, other.detector.errors)
    assert (one.n, one.window, one.detector.last) == (other.n, other.window, other.detector.last)


def sample(n=1000, machines=1, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, machines))
    label = (scores[:, 0] > 0).astype(int) if machines == 1 else scores.argmax(axis=1)
    label = np.where(rng.random(n) < 0.2, 0, label)
    label[n // 2 :] = 1 - np.minimum(label[n // 2 :], 1)
    return scores, label


@pytest.mark.parametrize("machines", [1, 3])
@pytest.mark.parametrize("ask", [False, True])
def test_cuts_do_not_matter(machines, ask):
    scores, label = sample(machines=machines)
    whole = noted(scores, label, [])
    assert whole.detector.n_drifts
    same(whole, noted(scores, label, [1, 2, 3, 70, 71, 600, 999], ask))
    same(whole, noted(scores, label, range(1, 1000), False))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies_go_on_alike(again):
    scores, label = sample(RECENT + 777)
    for n in (0, 5, 100, RECENT + 45):
        record = noted(scores[:n], label[:n], [])
        twin = again(record)
        for r in (record, twin):
            r.note(scores[n:], label[n:], np.ones(len(label) - n))
        same(record, twin)


def test_memory_is_bounded_and_small_without_probabilities():
    scores, label = sample(3 * RECENT)
    assert noted(scores, label, []).scores.shape == (RECENT, 1)
    assert noted(scores, label, [], probability=False).scores.shape == (BLOCK, 1)
    assert len(pickle.dumps(noted(scores[:10], label[:10], []))) < 5000


def test_only_the_last_scores_make_probabilities():
    scores, label = sample(RECENT + 1024)
    late = slice(1024 - SELDOM, None)
    old, new = noted(scores, label, []), noted(scores[late], label[late], [])
    np.testing.assert_array_equal(
        *(r.snapshot(np.ones(2)).calibration._examples[0] for r in (old, new))
    )


def test_weights_of_labels_are_taken_out_again():
    scores, label = sample()
    plain = noted(scores, label, [])
    record = Prequential(1, probability=True, drift=False)
    record.note(scores, label, np.where(label == 1, 50.0, 5.0))
    own = record.snapshot(np.array([1.0, 10.0])).calibration.slopes
    np.testing.assert_allclose(own, plain.snapshot(np.ones(2)).calibration.slopes, rtol=1e-6)


def test_labels_that_come_later_have_said_no():
    record = Prequential(1, probability=True, drift=False)
    record.note(np.array([[0.5], [-2.0]]), np.array([1, 0]), np.ones(2))
    record.add_label(2)
    record.add_label(3)
    np.testing.assert_array_equal(record.scores[:2], [[-0.5, 0.5, -1.0], [2.0, -2.0, -1.0]])
    record.note_one(np.array([0.0, -1.0, 0.3]), 2, 1.0)
    record.add_label(4)
    np.testing.assert_array_equal(record.scores[2], [0.0, -1.0, 0.3, -1.0])
    assert np.isfinite(record.snapshot(np.ones(4)).calibration.slopes).all()


def test_excess_of_two_labels_and_of_several():
    np.testing.assert_array_equal(excess(np.array([[0.5], [0.5]]), np.array([1, 0])), [-0.5, 0.5])
    scores = np.array([[0.5, 2.0, -1.0]] * 3)
    np.testing.assert_array_equal(excess(scores, np.arange(3)), [1.5, -1.5, 3.0])


def test_window_follows_the_drift_within_its_range():
    record = Prequential(1, probability=False, drift=False, window=True)
    right, wrong = np.full((64, 1), -1.0), np.full((64, 1), 1.0)
    label, weight = np.zeros(64, int), np.ones(64)
    assert record.window == NARROWEST
    for _ in range(200):
        record.note(right, label, weight)
    assert record.window == WIDEST
    record.begin()
    record.note(wrong, label, weight)
    assert record.window == NARROWEST
    assert record.drifted
    record.begin()
    record.note(right, label, weight)
    assert not record.drifted
    assert record.window == 128 + BLOCK
