"""The files that a call enters are counted, in all threads, and nothing else is."""

import threading

from benchmarks.walks import files_entered
from onlinesvm.estimators.labels import LabelBook, unrounded


def test_files_of_the_package_are_seen_once_each():
    assert files_entered(lambda: [unrounded([2.0]), LabelBook([1, 2])]) == ["estimators/labels.py"]
    assert files_entered(lambda: max([1, 2])) == []


def test_threads_are_seen():
    def in_a_thread():
        thread = threading.Thread(target=unrounded, args=([1.0],))
        thread.start()
        thread.join()

    assert files_entered(in_a_thread) == ["estimators/labels.py"]
