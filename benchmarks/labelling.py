"""What ``onlinesvm label`` promises, measured: labels saved, questions to find all, honest figures.

    python -m benchmarks.labelling [--what reuters mnist find certificate interval] [--runs N]
    python -m benchmarks.labelling --what report --plot docs/images/label-measured.png

Sessions are real ones, journal included; answers are given by a script that knows the labels. The JSON goes
to ``benchmarks/results/labelling.json``; from it come the table, on standard output, and the plot.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.clock import Clock
from benchmarks.markdown import markdown
from onlinesvm import ActiveLearner, LASVMClassifier
from onlinesvm.label.choosing import RECENT, SAMPLE, drawn, likely, uncertain
from onlinesvm.label.journal import Journal
from onlinesvm.label.measures import accuracy_interval, recall_p_value
from onlinesvm.label.opening import Settings, open_session
from onlinesvm.label.pages import Who
from onlinesvm.label.record import RANDOM_EVERY
from onlinesvm.label.session import Session
from onlinesvm.label.teaching import predicted

ME = Who("script", "page")
RESULTS = Path(__file__).parent / "results"


def fresh_folder():
    """A folder in memory where there is one: the disk is not what is measured."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return Path(tempfile.mkdtemp(dir=place))


def data_folder():
    folder = os.environ.get("ONLINESVM_DATA")
    if not folder:
        raise SystemExit("Set ONLINESVM_DATA to the folder of the data sets.")
    return Path(folder)


def reuters(split):
    """Texts and topics of one part of Reuters-21578."""
    path = data_folder() / "reuters21578_modapte.jsonl.xz"
    with lzma.open(path, "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    chosen = [d for d in documents if d["split"] == split]
    return [d["title"] + "\n" + d["body"] for d in chosen], [set(d["topics"]) for d in chosen]


class Pool:
    """A source with its rows, prepared once; sessions over it with other seeds."""

    def __init__(self, source, text=None):
        self.folder = fresh_folder()
        first = open_session(Settings(source, self.folder / "first.db", text))
        self.source, self.prepared = first.session.source, first.session.prepared

    def session(self, seed):
        path = self.folder / f"{seed}-{time.time_ns()}.db"
        return Session(self.source, self.prepared, Journal(path), seed=seed)


def text_pool(texts):
    path = fresh_folder() / "texts.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text"])
        writer.writerows([[text] for text in texts])
    return Pool(str(path), "text")


def answer(session, truth, n, mode="label", label=None):
    """Answer n questions; seconds of each, and the items."""
    seconds, items = [], []
    for _ in range(n):
        with Clock() as clock:
            question = session.question(ME, mode, label)
            if question["done"]:
                break
            number = question["item"]["number"]
            session.answer(ME, number, "label", truth(number), f"{time.time_ns()}-{number}")
        seconds.append(clock.seconds)
        items.append(number)
    return seconds, items


# -- fewer labels ----------------------------------------------------------------------------


def measure_reuters(runs):
    """F1 of money-fx: 300 answers beside 1,000 random labels."""
    from sklearn.metrics import f1_score

    from onlinesvm.label.features import fitted_vectorizer

    texts, topics = reuters("train")
    y = np.array(["yes" if "money-fx" in t else "no" for t in topics])
    test_texts, test_topics = reuters("test")
    y_test = np.array(["yes" if "money-fx" in t else "no" for t in test_topics])
    pool = text_pool(texts)
    places = pool.source.places
    vectorizer, _ = fitted_vectorizer(pool.source, pool.source.texts.to_pylist())
    X_test = vectorizer.transform(test_texts)
    out = []
    for seed in range(runs):
        session = pool.session(seed)
        seconds, _ = answer(session, lambda i: y[places[i]], 300)
        names = [session.record.name(c) for c in sorted(set(session.learner.labels))]
        active = np.array(names)[
            (session.learner.estimator.decision_function(X_test) > 0).astype(int)
        ]
        rng = np.random.default_rng(seed)
        some = rng.choice(len(pool.source), 1000, replace=False)
        model = pool.prepared.estimator().fit(pool.prepared.X[some], y[places[some]])
        out.append(
            {
                "active_300": f1_score(y_test, active, pos_label="yes"),
                "random_1000": f1_score(y_test, model.predict(X_test), pos_label="yes"),
                "median_ms": 1000 * float(np.median(seconds)),
            }
        )
    return out


def measure_mnist(runs):
    """Error of 8 v. rest: 300 answers beside 1,000 random labels, on rows of the images' pixels."""
    data = np.load(data_folder() / "mnist.npz")
    X, X_test = (data[name].astype(np.float32) / 255 for name in ("X_train", "X_test"))
    y = np.where(data["y_train"] == 8, "eight", "other")
    y_test = np.where(data["y_test"] == 8, "eight", "other")
    folder = fresh_folder()
    np.save(folder / "rows.npy", X)
    with open(folder / "rows.csv", "w", encoding="utf-8") as file:
        file.write("number\n" + "\n".join(map(str, range(len(X)))) + "\n")
    first = open_session(
        Settings(str(folder / "rows.csv"), folder / "a.db", None, folder / "rows.npy")
    )
    out = []
    for seed in range(runs):
        source, prepared = first.session.source, first.session.prepared
        session = Session(source, prepared, Journal(folder / f"{seed}.db"), seed=seed)
        seconds, _ = answer(session, lambda i: y[i], 300)
        names = np.array([session.record.name(c) for c in sorted(set(session.learner.labels))])
        active = names[(session.learner.estimator.decision_function(X_test) > 0).astype(int)]
        some = np.random.default_rng(seed).choice(len(X), 1000, replace=False)
        model = prepared.estimator().fit(X[some], y[some])
        out.append(
            {
                "active_300_error": float(np.mean(active != y_test)),
                "random_1000_error": float(np.mean(model.predict(X_test) != y_test)),
                "median_ms": 1000 * float(np.median(seconds)),
            }
        )
    return out


# -- find all --------------------------------------------------------------------------------


def questions_for(found, total, recall=0.95):
    """Questions until the share was found."""
    counts = np.cumsum(found)
    enough = np.flatnonzero(counts >= np.ceil(recall * total))
    return int(enough[0]) + 1 if len(enough) else None


def refitting_linear_svc(X, y, start, total, rng):
    """Ask about the most likely one by LinearSVC, fitted anew after every answer."""
    from sklearn.svm import LinearSVC

    known, found = list(start), [bool(y[i]) for i in start]
    is_open = np.ones(len(y), bool)
    is_open[known] = False
    while sum(found) < np.ceil(0.95 * total):
        model = LinearSVC(C=1.0, class_weight="balanced").fit(X[known], y[known])
        free = np.flatnonzero(is_open)
        best = int(free[(X[free] @ model.coef_[0]).argmax()])
        known.append(best)
        is_open[best] = False
        found.append(bool(y[best]))
    return found


def asking_here(X, y, start, total, rng):
    """Ask as find-all does, every tenth question at random."""
    learner = ActiveLearner(LASVMClassifier(kernel="linear", C=10), X, random_state=0)
    is_open, found, number = np.ones(len(y), bool), [], start[0]
    while sum(found) < np.ceil(0.95 * total):
        number = start[len(found)] if len(found) < len(start) else number
        learner.teach(number, int(y[number]))
        is_open[number] = False
        found.append(bool(y[number]))
        free = np.flatnonzero(is_open)
        at_random = len(found) % RANDOM_EVERY == RANDOM_EVERY - 1
        number = int(rng.choice(free) if at_random else likely(learner, free, 1)[0])
    return found


def measure_find(runs, topics=("money-fx", "crude", "interest")):
    """Share of the pool asked about until 95 % of a topic was found.

    The questions are those of a session, without its journal and page; the first two items are given.
    """
    texts, all_topics = reuters("train")
    pool = text_pool(texts)
    places = pool.source.places
    leaders = np.flatnonzero(pool.prepared.group == np.arange(len(places)))
    X, out = pool.prepared.X[leaders], {}
    for topic in topics:
        y = np.array([topic in t for t in all_topics])[places][leaders]
        total, rows = int(y.sum()), []
        for seed in range(runs):
            start = [
                int(np.random.default_rng(seed).choice(np.flatnonzero(y == k))) for k in (1, 0)
            ]
            rng = np.random.default_rng(seed)
            here = asking_here(X, y, start, total, rng)
            svc = refitting_linear_svc(X, y, start, total, rng)
            rows.append(
                {
                    "questions": questions_for(here, total),
                    "linear_svc": questions_for(svc, total),
                    "random": int(0.95 * len(leaders)),
                }
            )
            print(topic, total, rows[-1], flush=True)
        out[topic] = {"items": len(leaders), "of_topic": total, "runs": rows}
    return out


# -- honest figures --------------------------------------------------------------------------


def small_texts(rng, n=600, share=0.06, noise=0.25):
    """Texts of a topic that is not easy to tell, with its labels."""
    y = rng.random(n) < share
    own = [f"own{k}" for k in range(60)]
    common = [f"word{k}" for k in range(800)]
    texts = []
    for is_own in y:
        words = list(rng.choice(common, 18))
        if is_own and rng.random() > noise:
            words += list(rng.choice(own, rng.integers(1, 4)))
        elif rng.random() < 0.03:
            words += list(rng.choice(own, 1))
        texts.append(" ".join(rng.permutation(words)))
    return texts, y


def measure_certificate(runs):
    """Runs in which the first certificate at p < 0.05 was given before 95 % were found.

    The questions are those of a session, without its journal and page: 200 runs take long enough.
    """
    wrong, recalls, asked = 0, [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        texts, y = small_texts(rng, share=rng.uniform(0.02, 0.15), noise=rng.uniform(0.0, 0.6))
        X = TfidfVectorizer(sublinear_tf=True, dtype=np.float32).fit_transform(texts)
        found = found_until_certified(X, y, rng)
        recalls.append(sum(found) / y.sum())
        asked.append(len(found) / len(y))
        wrong += recalls[-1] < 0.95
        if seed % 20 == 19:
            print(
                f"certificate: {wrong} wrong of {seed + 1}, asked {np.mean(asked):.2f}", flush=True
            )
    return {
        "runs": runs,
        "wrong": int(wrong),
        "mean_recall": float(np.mean(recalls)),
        "share_asked": float(np.mean(asked)),
    }


def found_until_certified(X, y, rng):
    """Ask as find-all does, every tenth question at random, until the certificate."""
    learner = ActiveLearner(LASVMClassifier(kernel="linear", C=10), X, random_state=0)
    is_open, found = np.ones(len(y), bool), []
    number = int(rng.choice(np.flatnonzero(y)))
    while True:
        learner.teach(number, int(y[number]))
        is_open[number] = False
        found.append(bool(y[number]))
        free = np.flatnonzero(is_open)
        if not len(free) or recall_p_value(found, len(y)) < 0.05:
            return found
        at_random = len(found) % RANDOM_EVERY == RANDOM_EVERY - 1
        number = int(rng.choice(free) if at_random else likely(learner, free, 1)[0])


def measure_interval(runs, n=200):
    """Runs in which the 90 % interval covers the accuracy on the items that were not asked about.

    The questions are those of a session, without its journal and page.
    """
    from sklearn.datasets import make_classification

    covered, shares = 0, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X, y = make_classification(
            2000, 12, n_informative=6, n_classes=3, class_sep=0.9, flip_y=0.05, random_state=seed
        )
        truth, found = asked_and_judged(X, y, n, rng)
        covered += found.low <= truth <= found.high
        shares.append((truth, found.value))
        if seed % 20 == 19:
            means = np.mean(shares, axis=0).round(3)
            print(f"interval: {covered} of {seed + 1} cover; truth, estimate {means}", flush=True)
    means = np.mean(shares, axis=0).tolist()
    return {"runs": runs, "covered": int(covered), "mean_truth_and_estimate": means}


def asked_and_judged(X, y, n, rng):
    """The accuracy on the rest after n questions, and what the random ones say about it."""
    model, judge = (ActiveLearner(LASVMClassifier(C=10), X, random_state=0) for _ in range(2))
    is_open, asked, randoms = np.ones(len(y), bool), [], []
    for k in range(n):
        free = np.flatnonzero(is_open)
        at_random = k % RANDOM_EVERY == RANDOM_EVERY - 1
        if at_random:
            number = int(rng.choice(free))
            randoms.append(number)
        else:
            recent = np.array(asked[-RECENT:], np.int64)
            number = uncertain(model, drawn(free, SAMPLE, rng), recent)
            judge.teach(number, int(y[number]))
        model.teach(number, int(y[number]))
        is_open[number] = False
        asked.append(number)
    right = int((predicted(judge, randoms) == y[randoms]).sum())
    rest = np.flatnonzero(is_open)
    truth = float(np.mean(predicted(model, rest) == y[rest]))
    return truth, accuracy_interval(right, len(randoms))


MEASURES = {
    "reuters": (measure_reuters, 3),
    "mnist": (measure_mnist, 3),
    "find": (measure_find, 1),
    "certificate": (measure_certificate, 200),
    "interval": (measure_interval, 100),
}


# -- table and plot --------------------------------------------------------------------------


def mean_of(rows, name):
    """The mean over the runs that have this figure."""
    found = [row[name] for row in rows if row[name] is not None]
    return float(np.mean(found)) if found else None


def find_shares(found):
    """Shares of the pool asked about until 95 % were found: here, by refitting, at random."""
    rows, n = found["runs"], found["items"]
    return [mean_of(rows, name) / n for name in ("questions", "linear_svc", "random")]


def report_rows(results):
    """One row for each claim: what, here, beside what, measured there."""
    if "reuters" in results:
        rows = results["reuters"]
        here, there = (f"{mean_of(rows, name):.3f}" for name in ("active_300", "random_1000"))
        yield "F1 of money-fx, Reuters", f"300 answers: {here}", f"1,000 random labels: {there}"
    if "mnist" in results:
        rows, names = results["mnist"], ("active_300_error", "random_1000_error")
        here, there = (f"{100 * mean_of(rows, name):.2f} %" for name in names)
        yield "error of 8 v. rest, MNIST", f"300 answers: {here}", f"1,000 random labels: {there}"
    for topic, found in results.get("find", {}).items():
        here, svc, random = (f"{100 * share:.1f} %" for share in find_shares(found))
        other = f"LinearSVC refitted after every answer: {svc}; random order: {random}"
        yield f"questions for 95 % of {topic} ({found['of_topic']})", here, other
    if "certificate" in results:
        found = results["certificate"]
        yield "certificates given too early", f"{found['wrong']} of {found['runs']}", "at most 5 %"
    if "interval" in results:
        found = results["interval"]
        share = f"{found['covered']} of {found['runs']}"
        yield "90 % intervals that cover the accuracy", share, "85 to 95 %"


def draw(results, path):
    """Bars: labels saved, and questions needed to find all."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3), layout="constrained")
    first, second, third = figure.subplots(1, 3, width_ratios=[1, 1, 2])
    pairs = [
        (first, "reuters", ("active_300", "random_1000"), 1.0, "F1 of money-fx (Reuters)"),
        (second, "mnist", ("active_300_error", "random_1000_error"), 100.0, "error of 8 v. rest, %"),
    ]  # fmt: skip
    for axes, name, keys, scale, title in pairs:
        values = [scale * mean_of(results[name], key) for key in keys]
        axes.bar(["300\nanswers", "1,000\nrandom"], values, color=["#1a6570", "#b9c2c7"])
        axes.set_title(title, fontsize=9)
    labels = ("onlinesvm label", "LinearSVC refitted", "random order")
    for k, (label, colour) in enumerate(zip(labels, ["#1a6570", "#d9a441", "#b9c2c7"])):
        heights = [100 * find_shares(found)[k] for found in results["find"].values()]
        third.bar(
            np.arange(len(heights)) + 0.27 * (k - 1), heights, 0.25, color=colour, label=label
        )
    third.set_xticks(range(len(results["find"])), list(results["find"]))
    third.set_title("share of the pool asked about for 95 % of a topic, %", fontsize=9)
    third.legend(fontsize=8, loc="upper left", frameon=False)
    third.set_ylim(0, 150)
    third.set_yticks(range(0, 101, 20))
    for axes in (first, second, third):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    figure.savefig(path, dpi=110)


def report(results, plot):
    print(markdown(["measured", "here", "beside"], report_rows(results)))
    if plot is not None:
        draw(results, plot)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    choices = [*MEASURES, "report"]
    parser.add_argument("--what", nargs="+", choices=choices, default=list(MEASURES))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--plot", type=Path, help="where to draw the figure")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "labelling.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in [name for name in arguments.what if name != "report"]:
        measure, runs = MEASURES[name]
        results[name] = measure(arguments.runs or runs)
        path.write_text(json.dumps(results, indent=1))
        print(name, json.dumps(results[name], indent=1))
    report(results, arguments.plot)


if __name__ == "__main__":
    main()
