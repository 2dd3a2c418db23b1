"""What the SimpleSVM benchmarks share: the paper's data sets, clocks, verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.datasets import arrays, load

SIGMA_SQUARED = {"spiral": 0.5, "wbc": 4.0, "a1a": 10.0, "a4a": 10.0, "a7a": 10.0}
FILES = {"spiral": "two_spirals", "wbc": "wbc", "sonar": "sonar", "vote": "vote"}
TITLES = {
    "spiral": "Spiral", "wbc": "WBC", "a1a": "Adult-1", "a4a": "Adult-4", "a7a": "Adult-7",
    "sonar": "Sonar", "vote": "Vote",
}  # fmt: skip


def data(name: str) -> tuple[Any, np.ndarray, float]:
    """Examples, labels and gamma = 1 / (2 sigma^2), as in Table 1 of the paper (else 0.1)."""
    gamma = 1.0 / (2.0 * SIGMA_SQUARED.get(name, 5.0))
    if name not in FILES:
        found = load(name)
        return found.X_train.astype(np.float64), found.y_train, gamma
    z = arrays(FILES[name])
    return z["X"].astype(np.float64), z["y"], gamma


def classifier(**options: Any) -> Any:
    from onlinesvm import SimpleSVMClassifier

    return SimpleSVMClassifier(random_state=0, **options)


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def scientific(value: float, digits: int = 0) -> str:
    """As in 6.2e-8: without the zeros of the exponent."""
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
