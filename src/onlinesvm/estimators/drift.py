"""Fitted attributes that tell of drift: see ``core/prequential/drift``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class DriftAttributes:
    """What a classifier has noticed about changes of its stream."""

    if TYPE_CHECKING:  # of the classes that it is mixed into
        _fitted: Any

    def _detector(self, name: str) -> tuple[Any, Any]:
        watch = self._fitted(name).watch
        if watch is None or watch.detector is None:
            raise AttributeError(
                f"{name} needs a drift detector: set detect_drift=True or window='auto' before the "
                "model learns."
            )
        return watch, watch.detector

    @property
    def drift_detected_(self) -> bool:
        """Whether the last call that learned has noticed a drift."""
        return bool(self._detector("drift_detected_")[0].drifted)

    @property
    def n_drifts_(self) -> int:
        """Number of drifts noticed so far."""
        return int(self._detector("n_drifts_")[1].n_drifts)

    @property
    def prequential_error_(self) -> float:
        """Share of wrong predictions, each made before its label was learned, of late."""
        return float(self._detector("prequential_error_")[1].error)
