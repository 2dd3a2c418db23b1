"""The journal: what was acknowledged is there, once, whatever fails."""

import sqlite3

import pytest
from labelling import ME, answer, digit, open_digits, state

from onlinesvm.label.errors import LabelError, UnsavedError
from onlinesvm.label.journal import Draft, Journal, check_file


def test_entries_come_back_as_they_were_written(tmp_path):
    journal = Journal(tmp_path / "a.db")
    draft = Draft("label", "ann", "item 1", "ümlaut ✓", "label", {"label": "x"}, "note", {"a": [1]})
    journal.append([draft, Draft("aside", "bob", "item 2")], "key")
    first, second = Journal(tmp_path / "a.db").since(0)
    assert first[1:5] == ("label", "item 1", "ümlaut ✓", "ann")
    assert (first.belief, first.note, first.data) == ({"label": "x"}, "note", {"a": [1]})
    assert (second.seq, second.kind, second.belief, second.key) == (2, "aside", None, "key")
    assert [e.seq for e in journal.since(1)] == [2]
    assert journal.last() == 2


def test_a_request_is_written_once(tmp_path):
    journal = Journal(tmp_path / "a.db")
    journal.append([Draft("label", "ann", "i", "x")], "key")
    assert journal.has("key")
    with pytest.raises(sqlite3.IntegrityError):
        journal.append([Draft("label", "ann", "i", "x")], "key")
    journal.append([Draft("label", "ann", "j", "x")], "other")
    assert len(list(journal.since(0))) == 2


def test_the_disk_is_waited_for(tmp_path):
    journal = Journal(tmp_path / "a.db")
    other = sqlite3.connect(tmp_path / "a.db")
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert journal._ready().execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_there_is_no_payload_in_the_database(tmp_path):
    from labelling import write_texts

    from onlinesvm.label.opening import Settings, open_session

    labels = write_texts(tmp_path / "t.csv", 50)
    session = open_session(Settings(str(tmp_path / "t.csv"), tmp_path / "a.db", "body")).session
    answer(session, lambda i: labels[i], 10)
    text = session.source.text(0)
    session.journal.close()
    assert len(text) > 30
    assert text.encode() not in (tmp_path / "a.db").read_bytes()


@pytest.mark.parametrize("content", [b"not a database", b"SQLite format 3\x00" + bytes(200)])
def test_other_files_are_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "a.db"
    path.write_bytes(content)
    with pytest.raises(LabelError, match="not a database"):
        check_file(path)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["a.db"]


def test_a_newer_version_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "a.db"
    Journal(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version=9")
    database.commit()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(LabelError, match=r"newer version.*format 9"):
        Journal(path)
    assert path.read_bytes() == before


class Failing:
    """A connection of which every n-th statement fails, before or after its effect."""

    def __init__(self, real, plan):
        self.real, self.plan = real, plan

    def execute(self, statement, *rest):
        if statement.startswith(("BEGIN", "COMMIT", "PRAGMA", "SELECT")):
            return self.plan.run(lambda: self.real.execute(statement, *rest), statement)
        return self.real.execute(statement, *rest)

    def executemany(self, statement, rows):
        return self.plan.run(lambda: self.real.executemany(statement, rows), statement)

    def __getattr__(self, name):
        return getattr(self.real, name)


class Plan:
    def __init__(self, every, late):
        self.every, self.late, self.count, self.on = every, late, 0, False

    def run(self, call, statement):
        self.count += self.on
        fails = self.on and self.count % self.every == 0
        if fails and not self.late:
            raise sqlite3.OperationalError("disk I/O error")
        result = call()
        if fails and self.late:  # it has happened, but nobody was told
            raise sqlite3.OperationalError("disk I/O error")
        return result

    def connect(self, *args, **extra):
        return Failing(sqlite3.connect(*args, **extra), self)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("every", [1, 2, 3, 4, 5, 7])
def test_failing_writes_lose_nothing_and_count_nothing_twice(tmp_path, every, late):
    """Whoever answers sends the same request again until it is acknowledged."""
    (tmp_path / "plain").mkdir()
    plain = open_digits(tmp_path / "plain")
    wanted = answer(plain, digit, 25)
    plan = Plan(every, late)
    session = open_digits(tmp_path)
    session.journal.close()
    session.journal._connect = plan.connect
    plan.on = True
    asked, failures = [], 0
    for k in range(25):
        plan.on = False
        number = session.question(ME)["item"]["number"]
        asked.append(number)
        for attempt in range(20):
            before = state(session)
            plan.on = attempt < 19 and not (every == 1 and attempt == 3)
            try:
                session.answer(ME, number, "label", digit(number), f"page-1-{k}")
                break
            except UnsavedError:
                failures += 1
                plan.on = False
                after = state(session)
                assert after == before or len(after["labels"]) == len(before["labels"]) + 1
        else:
            pytest.fail("never acknowledged")
    assert failures
    assert asked == wanted
    assert state(session) == state(plain)
    plan.on = False
    session.journal.close()
    assert state(open_digits(tmp_path)) == state(plain)
