"""The benchmark of probabilities, on small sets."""

import numpy as np
import pytest

from benchmarks.calibration import SETS, _mixed, compare, main


@pytest.mark.parametrize("way", ["fit", "stream", "active"])
def test_probabilities_are_as_good_as_those_of_cross_validation(way):
    make, _ = SETS["noise, 500"]
    found = [compare(_mixed(make(seed), seed, None), way) for seed in range(10)]
    own, theirs, ratio = np.mean(found, axis=0)
    assert abs(own) < abs(theirs) + 0.01
    assert ratio < 1.02


def test_a_table_is_printed_and_unknown_sets_are_refused(capsys, monkeypatch):
    make, _ = SETS["noise, 500"]
    monkeypatch.setitem(SETS, "noise, 500", (make, 1))
    main(["noise, 500", "--quick", "--after", "active"])
    assert "| noise, 500 | active |" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["nothing"])
