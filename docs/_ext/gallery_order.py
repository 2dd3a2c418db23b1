"""The order of the gallery: that in which a learner would read it, not that of file names.

A script or a section that is missing from the list comes last; ``tests/test_examples.py`` tells.
"""

from __future__ import annotations

from pathlib import PurePath

ORDER = {
    "online": ["plot_growing_boundary", "plot_drift_and_recovery", "plot_active_learning"],
    "algorithms": [
        "plot_huller_hulls",
        "plot_exact_forgetting",
        "plot_leave_one_out_map",
        "plot_streamsvm_ball",
    ],
    "answers": [
        "plot_calibrated_probabilities",
        "plot_prediction_sets",
        "plot_tube_and_quantiles",
        "plot_explanations",
    ],
    "data": ["plot_many_classes", "plot_text", "plot_novelty_contours"],
    "scale": ["plot_error_against_time", "plot_tree_on_dask"],
}
"""Scripts of each folder of ``examples/``."""


def by_section(folder: str) -> tuple[int, str]:
    """Sort key of a folder."""
    return _place(list(ORDER), PurePath(folder).name)


def by_example(file: str) -> tuple[int, str]:
    """Sort key of a script among those of its folder."""
    return _place([name for names in ORDER.values() for name in names], PurePath(file).stem)


def _place(order: list[str], name: str) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order)), name
