"""A session: the same after a restart, undo and redo, skips, classes, several annotators."""

import threading

import numpy as np
import pytest
from labelling import DIGITS, ME, YOU, answer, digit, open_digits, state

from onlinesvm.active.learner import ActiveLearner
from onlinesvm.label import queue, teaching
from onlinesvm.label.choosing import uncertain
from onlinesvm.label.errors import RefusedError
from onlinesvm.label.pages import Who
from onlinesvm.label.record import LATER


@pytest.fixture
def session(tmp_path):
    return open_digits(tmp_path)


def reopened(session):
    session.journal.close()
    return open_digits(session.journal.path.parent)


def test_every_answer_changes_the_model(session):
    answer(session, digit, 20)
    before = session.learner.decision_values(np.arange(200))
    answer(session, digit, 1, first=20)
    assert not np.array_equal(before, session.learner.decision_values(np.arange(200)))


def test_answers_change_the_next_question(session):
    """The next question after "3" differs from that after "5", for most questions."""
    answer(session, digit, 30)
    differ = 0
    for k in range(10):
        number = session.question(ME)["item"]["number"]
        following = set()
        for label in ("3", "5", "8"):
            session.answer(ME, number, "label", label, f"try-{k}-{label}")
            following.add(session.question(ME)["item"]["number"])
            session.undo(ME, f"back-{k}-{label}")
        differ += len(following) > 1
        session.answer(ME, number, "label", digit(number), f"real-{k}")
    assert differ >= 5


@pytest.mark.parametrize("n", [0, 1, 2, 9, 60, 101])
def test_a_restart_is_the_same_session(session, n):
    answer(session, digit, n)
    question = session.question(ME)
    again = reopened(session)
    assert state(again) == state(session)
    assert again.question(ME) == question


def test_a_restart_in_the_middle_asks_what_an_undisturbed_run_asks(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = answer(open_digits(tmp_path / "a"), digit, 80)
    asked = []
    for k in range(0, 80, 16):
        asked += answer(open_digits(tmp_path / "b"), digit, 16, first=k)
    assert asked == whole


def test_looking_ahead_changes_nothing(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plain, ahead = open_digits(tmp_path / "a"), open_digits(tmp_path / "b")
    wanted, foreseen = answer(plain, digit, 45), 0
    for k, number in enumerate(wanted):
        assert ahead.question(ME)["item"]["number"] == number
        foreseen += len(ahead.look_ahead(ME)) > 0
        ahead.answer(ME, number, "label", digit(number), f"page-1-{k}")
    assert foreseen > 30
    assert state(ahead) == state(plain)


def test_what_was_foreseen_is_what_comes(session):
    answer(session, digit, 25)
    for k in range(10):
        number = session.question(ME)["item"]["number"]
        following = session.look_ahead(ME, most=20)
        session.answer(ME, number, "label", digit(number), f"x{k}")
        assert session.question(ME)["item"]["number"] in following


def test_a_second_look_ahead_learns_only_what_is_new(session, monkeypatch):
    answer(session, digit, 25)
    session.question(ME)
    learned, teach = [], ActiveLearner.teach

    def counted(self, *lesson):
        learned.append(lesson)
        return teach(self, *lesson)

    monkeypatch.setattr(ActiveLearner, "teach", counted)
    session.look_ahead(ME, most=3)
    assert len(learned) == 3
    session.look_ahead(ME, most=10)
    assert len(learned) == len(set(learned)) == 10
    answer(session, digit, 1, first=50)
    session.question(ME)
    session.look_ahead(ME, most=2)
    assert len(learned) == 12  # the answer was foreseen


@pytest.mark.parametrize("busy", ["teach", "choose"])
def test_an_answer_does_not_wait_for_a_look_ahead(session, monkeypatch, busy):
    """Computing ahead, which takes a tenth of a second with ten classes, holds no lock."""
    answer(session, digit, 25)
    number = session.question(ME)["item"]["number"]
    started, released, teach = threading.Event(), threading.Event(), ActiveLearner.teach

    def held(work, *given):
        if threading.current_thread() is looking:
            started.set()
            assert released.wait(60)
        return work(*given)

    looking = threading.Thread(target=session.look_ahead, args=(ME,))
    if busy == "teach":
        monkeypatch.setattr(ActiveLearner, "teach", lambda *given: held(teach, *given))
    else:
        monkeypatch.setattr(queue, "uncertain", lambda *given: held(uncertain, *given))
    looking.start()
    assert started.wait(60)
    answering = threading.Thread(
        target=session.answer, args=(ME, number, "label", digit(number), "meanwhile"), daemon=True
    )
    answering.start()
    answering.join(30)
    was_quick = not answering.is_alive()
    released.set()
    looking.join(60)
    assert was_quick
    assert not looking.is_alive()
    assert state(session) == state(reopened(session))
    assert session.question(ME)["item"] == reopened(session).question(ME)["item"]


@pytest.mark.parametrize("large", [20_000, 100])
def test_looking_ahead_changes_nothing_when_a_class_is_searched_for(tmp_path, monkeypatch, large):
    """Also with the first item of the class, and where an answer brings a new ranking of the pool."""
    monkeypatch.setattr(queue, "LARGE", large)
    monkeypatch.setattr(queue, "SHORTLIST", 20)
    monkeypatch.setattr(teaching, "EVERY", 7)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    classes = tuple("0123456789")
    plain = open_digits(tmp_path / "a", classes=classes)
    ahead = open_digits(tmp_path / "b", classes=classes)
    wanted, foreseen = answer(plain, digit, 50, mode="find", label="3"), 0
    for k, number in enumerate(wanted):
        assert ahead.question(ME, "find", "3")["item"]["number"] == number
        foreseen += len(ahead.look_ahead(ME)) > 0
        ahead.answer(ME, number, "label", digit(number), f"page-1-{k}")
    assert foreseen > 30
    assert state(ahead) == state(plain)


def test_answers_that_were_foreseen_can_be_undone(session):
    """The copies for undo are then the earlier models themselves."""
    answer(session, digit, 30)
    states = [state(session)]
    for k in range(6):
        number = session.question(ME)["item"]["number"]
        session.look_ahead(ME)
        session.answer(ME, number, "label", digit(number), f"x{k}")
        states.append(state(session))
    for k in range(6):
        session.undo(ME, f"u{k}")
        assert state(session) == states[-2 - k]
    session.redo(ME, "r")
    assert state(session) == states[1] == state(reopened(session))


def test_undo_and_redo(session):
    answer(session, digit, 30)
    states = [state(session)]
    asked = []
    for k in range(4):
        asked += answer(session, digit, 1, first=100 + k)
        states.append(state(session))
    for k in range(4):
        session.undo(ME, f"u{k}")
        now = state(session)
        assert now == states[-2 - k]
        assert session.question(ME)["item"]["number"] == asked[-1 - k]  # it is asked about again
    for k in range(4):
        session.redo(ME, f"r{k}")
        assert state(session) == states[1 + k]
    assert state(reopened(session)) == states[-1]
    with pytest.raises(RefusedError, match="nothing to redo"):
        session.redo(ME, "more")


def test_a_new_answer_ends_redo(session):
    answer(session, digit, 5)
    session.undo(ME, "u")
    answer(session, digit, 1, first=50)
    with pytest.raises(RefusedError, match="nothing to redo"):
        session.redo(ME, "r")


def test_undo_goes_back_to_the_beginning(session):
    start = state(session)
    answer(session, digit, 25)
    for k in range(25):
        session.undo(ME, f"u{k}")
    with pytest.raises(RefusedError, match="nothing to undo"):
        session.undo(ME, "more")
    after = state(session)
    assert after["classes"] == dict.fromkeys(after["classes"], 0)
    assert {**after, "classes": {}} == {**start, "classes": {}}
    assert state(reopened(session)) == after


def test_later_comes_back_after_fifty(session):
    answer(session, digit, 12)
    number = session.question(ME)["item"]["number"]
    session.answer(ME, number, "later", None, "later")
    asked = answer(session, digit, LATER + 5, first=20)
    place = asked.index(number)
    assert LATER <= place <= LATER + 2


def test_cannot_say_is_set_aside_for_good(session):
    answer(session, digit, 12)
    number = session.question(ME)["item"]["number"]
    session.answer(ME, number, "aside", None, "aside", note="smudged")
    assert session.source.ids[number] in session.record.aside
    assert number not in answer(session, digit, 150, first=20)


def test_the_queue_ends_with_the_pool_and_not_before(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "sklearn.datasets.load_digits", lambda: type("D", (), {"data": DIGITS.data[:40]})
    )
    session = open_digits(tmp_path)
    asked = []
    for k in range(200):
        question = session.question(ME)
        if question["done"]:
            break
        number = question["item"]["number"]
        kind = "later" if number not in asked and number % 3 == 0 else "label"
        asked.append(number)
        session.answer(ME, number, kind, digit(number) if kind == "label" else None, f"k{k}")
    assert question["done"]
    assert set(asked) == set(range(40))
    assert len(session.record.labels) == 40
    assert session.pool.n_open == 0


def test_every_tenth_question_is_random_and_scored_by_a_model_that_has_not_learned_it(session):
    answer(session, digit, 60)
    entries = [e for e in session.journal.since(0) if e.kind == "label"]
    assert [k for k, e in enumerate(entries) if e.mode == "random"] == [9, 19, 29, 39, 49, 59]
    assert [e.data["curve"]["n"] for e in entries if e.mode == "random"] == [1, 2, 3, 4, 5, 6]
    tested = session._tester.taught
    randoms = {session.pool.number[e.item] for e in entries if e.mode == "random"}
    assert randoms.isdisjoint(i for i, _ in tested)
    assert session.panel(ME)["accuracy"]["n"] == 6


def test_a_page_cannot_choose_what_counts_as_random(session):
    """A chosen item that is answered when a random one is due is no random item."""
    answer(session, digit, 9)
    assert session.question(ME)["why"] == "random"
    number = next(i for i in range(100) if session.pool.is_free(i))
    if number == session.question(ME)["item"]["number"]:
        number += 1
    session.answer(ME, number, "label", digit(number), "mine")
    assert not session.record.randoms


def test_changed_labels_are_learned_as_if_given_at_first(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    wrong, right = open_digits(tmp_path / "a"), open_digits(tmp_path / "b")
    asked = answer(wrong, lambda i: "7" if i % 5 == 0 else digit(i), 40)
    for number in asked:
        right.answer(ME, number, "label", digit(number), f"k{number}", change=True)
    bad = [i for i in asked if i % 5 == 0]
    for number in bad:
        wrong.relabel(ME, [number], digit(number), f"mend{number}")
    np.testing.assert_array_equal(
        wrong.learner.decision_values(np.arange(100)).argmax(axis=1).shape,
        right.learner.decision_values(np.arange(100)).argmax(axis=1).shape,
    )
    assert [i for i, _ in wrong._model.taught] == [i for i, _ in right._model.taught]
    assert state(reopened(wrong))["values"] == state(wrong)["values"]


def test_rename_changes_a_name_and_nothing_else(session):
    answer(session, digit, 40)
    before = state(session)
    session.change_classes(ME, "rename", "3", "three", "r")
    after = state(session)
    assert after["values"] == before["values"]
    assert after["classes"]["three"] == before["classes"]["3"]
    assert "3" not in after["classes"]
    with pytest.raises(RefusedError, match="merge them"):
        session.change_classes(ME, "rename", "4", "three", "r2")
    session.undo(ME, "u")
    assert state(session) == before
    session.redo(ME, "re")
    assert state(reopened(session)) == after


def test_merge_makes_one_class_of_two(session):
    answer(session, digit, 60)
    before = state(session)
    session.change_classes(ME, "merge", "1", "7", "m")
    after = state(session)
    assert after["classes"]["7"] == before["classes"]["1"] + before["classes"]["7"]
    assert "1" not in after["classes"]
    session.undo(ME, "u")
    assert state(session) == before
    session.redo(ME, "re")
    assert state(session) == after
    assert state(reopened(session)) == after


def test_a_grid_is_one_action(session):
    answer(session, digit, 80)
    before = state(session)
    shown = session.grid(ME, "0")
    assert 1 < len(shown) <= 24
    right = [i["number"] for i in shown if digit(i["number"]) == "0"]
    wrong = [i["number"] for i in shown if digit(i["number"]) != "0"] or [shown[-1]["number"]]
    right = [i for i in right if i not in wrong]
    session.answer_grid(ME, "0", right, wrong, "g")
    assert len(session.record.labels) == 80 + len(right)
    assert session.question(ME)["item"]["number"] == wrong[0]  # asked about next
    session.undo(ME, "u")
    assert {**state(session), "later": {}} == {**before, "later": {}}


def test_a_grid_of_two_classes_gives_the_other_one(tmp_path):
    session = open_digits(tmp_path)

    def even(i):
        return "odd" if DIGITS.target[i] % 2 else "even"

    answer(session, even, 60)
    shown = [i["number"] for i in session.grid(ME, "odd")]
    found = session.answer_grid(ME, "odd", shown[2:], shown[:2], "g")
    assert found == {"saved": len(shown), "next": 0}
    labels = [
        session.record.name(session.record.label_of(session.source.ids[i])) for i in shown[:2]
    ]
    assert labels == ["even", "even"]


def test_items_asked_for_come_first(session):
    answer(session, digit, 20)
    session.feed(ME, [500, 7, 900], "f")
    assert answer(session, digit, 3, first=30) == [500, 7, 900]


def test_two_annotators_never_get_the_same_item(session):
    asked = []
    for k in range(60):
        first, second = session.question(ME), session.question(YOU)
        for who, question in ((YOU, second), (ME, first)):
            number = question["item"]["number"]
            asked.append(number)
            session.answer(who, number, "label", digit(number), f"{who.client}{k}")
    assert len(set(asked)) == 120


def test_what_another_has_answered_is_refused(session):
    number = session.question(ME)["item"]["number"]
    session.answer(YOU, 5, "label", "5", "a")
    with pytest.raises(RefusedError, match="Another annotator"):
        session.answer(ME, 5, "label", "5", "b")
    with pytest.raises(RefusedError, match="Another page"):
        session.answer(YOU, number, "label", "5", "c")
    assert len(session.record.labels) == 1
    session.leave(ME)
    session.answer(YOU, number, "label", "5", "c")


def test_the_item_of_an_abandoned_page_is_free_again(session, monkeypatch):
    number = session.question(ME)["item"]["number"]
    assert number in session._pages.taken(YOU)
    monkeypatch.setattr("onlinesvm.label.pages.ABANDONED", -1.0)
    assert number not in session._pages.taken(YOU)
    session.answer(YOU, number, "label", "1", "yours")
    monkeypatch.undo()
    with pytest.raises(RefusedError, match="Another annotator"):  # it counts once all the same
        session.answer(ME, number, "label", "2", "mine")


def test_an_annotator_undoes_only_what_is_his(session):
    answer(session, digit, 3, ME)
    answer(session, digit, 3, YOU)
    session.undo(ME, "u")
    assert len(session.record.labels) == 5
    assert all("bob" in session.record.given[i] for i in list(session.record.labels)[-3:])


def test_overlap_gives_some_items_to_both(tmp_path):
    session = open_digits(tmp_path, overlap=0.3)
    for k in range(60):
        for who in (ME, YOU):
            number = session.question(who)["item"]["number"]
            label = digit(number)
            if who == YOU and label == "3":
                label = "8"
            session.answer(who, number, "label", label, f"{who.client}{k}")
    both = [item for item, given in session.record.given.items() if len(given) == 2]
    assert 15 <= len(both) <= 60
    with session.reading() as overview:
        found = overview.disagreements()
    assert found["both"] == len(both)
    assert 0.5 < found["kappa"] < 1.0
    assert all(
        item["answers"]["bob"] == "8" or item["answers"]["ann"] == "8" for item in found["items"]
    )


def test_a_request_that_was_sent_twice_counts_once(session):
    number = session.question(ME)["item"]["number"]
    for _ in range(3):
        session.answer(ME, number, "label", "1", "same")
    assert len(session.record.labels) == 1
    assert session.record.asked == 1


@pytest.mark.parametrize(
    ("number", "kind", "label"),
    [
        (10**6, "label", "x"), (-1, "label", "x"), ("5", "label", "x"), (True, "label", "x"),
        (1.5, "label", "x"), (None, "label", "x"), (5, "label", ""), (5, "label", None),
        (5, "label", "x" * 10_000), (5, "label", "a\x00b"), (5, "guess", "x"), (5, "label", ["x"]),
    ],
)  # fmt: skip
def test_bad_answers_change_nothing(session, number, kind, label):
    answer(session, digit, 3)
    before = state(session)
    with pytest.raises(RefusedError):
        session.answer(ME, number, kind, label, "bad")
    assert state(session) == before
    assert session.journal.last() == session.record.seq


def test_another_process_may_write_to_the_journal(session):
    answer(session, digit, 5)
    other = open_digits(session.journal.path.parent)
    asked = answer(other, digit, 5, Who("bob", "elsewhere"))
    assert session.question(ME)["item"]["number"] not in asked
    assert state(session) == state(other)


def test_because_names_labelled_items_of_the_class(session):
    answer(session, digit, 80)
    question = session.question(ME)
    assert 1 <= len(question["because"]) <= 3
    assert {like["label"] for like in question["because"]} == {question["belief"]["label"]}


def test_doubtful_labels_are_the_wrong_ones(session):
    """Ten labels of 120 are wrong; the review shows them before most others."""
    rng = np.random.default_rng(0)
    numbers = rng.choice(1797, 120, replace=False).tolist()
    wrong = set(numbers[:10])
    for i in numbers:
        label = str((DIGITS.target[i] + 5) % 10) if i in wrong else digit(i)
        session.answer(ME, i, "label", label, f"k{i}", change=True)
    with session.reading() as overview:
        first = [item["number"] for item in overview.doubtful()[:15]]
    assert len(wrong & set(first)) >= 8


def test_find_all_asks_about_the_likely_ones(session):
    answer(session, digit, 50)
    asked = answer(session, digit, 50, first=100, mode="find", label="6")
    assert np.mean([digit(i) == "6" for i in asked]) > 0.6


def searched_for(session, label, asked=40):
    """Find all of a class for a while; the p value on the page."""
    answer(session, digit, asked, first=1000, mode="find", label=label)
    return session.panel(ME)["certificate"]["p"]


def test_searching_for_one_class_says_nothing_about_another(session):
    """Items that look like a 6 are no draws of which a 3 was to be expected."""
    answer(session, digit, 50)
    searched_for(session, "6", 170)
    session.question(ME, "find", "3")
    threes = sum(DIGITS.target[i] == 3 for i in session.learner.taught)
    assert threes < 0.95 * (DIGITS.target == 3).sum()
    assert session.panel(ME)["certificate"]["p"] > 0.5


def test_grids_of_another_class_say_nothing(session):
    answer(session, digit, 60)
    for k in range(12):
        found = [item["number"] for item in session.grid(ME, "0")]
        right = [i for i in found if digit(i) == "0"]
        if right:
            session.answer_grid(ME, "0", right, [], f"grid-number-{k}")
    session.question(ME, "find", "3")
    before = session.panel(ME)["certificate"]["p"]
    assert before > 0.5


def test_what_was_found_is_certified_and_exported(session, tmp_path):
    """With nearly all of a class found, the certificate comes; an import has it too."""
    from onlinesvm.label.exporting import write_labels
    from onlinesvm.label.importing import import_labels, read_labels

    answer(session, digit, 50)
    p = searched_for(session, "6", 700)
    sixes = sum(DIGITS.target[i] == 6 for i in session.learner.taught)
    assert p < 0.05
    assert sixes >= 0.95 * (DIGITS.target == 6).sum()
    write_labels("csv", tmp_path / "l.csv", session.record, session.pool)
    (tmp_path / "other").mkdir()
    other = open_digits(tmp_path / "other")
    import_labels(read_labels(tmp_path / "l.csv", "csv"), other.pool, other.journal, "ann", "f")
    other.question(ME, "find", "6")
    assert other.panel(ME)["certificate"] == session.panel(ME)["certificate"]
