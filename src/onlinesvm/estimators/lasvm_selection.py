"""What LASVM's example selection leaves to see: how many examples it judged and learned."""

from __future__ import annotations

from typing import Any


class SelectionCounts:
    """Fitted attributes of a fit with a ``selection`` other than ``"random"``."""

    _fitted: Any

    @property
    def n_looked_at_(self) -> int:
        """Examples judged by the criterion of ``selection``."""
        return self._counted("n_looked_at_").n_looked_at

    @property
    def n_learned_(self) -> int:
        """Examples learned of those looked at."""
        return self._counted("n_learned_").n_learned

    def _counted(self, name: str) -> Any:
        learner = self._fitted(name)
        if not hasattr(learner, "n_learned"):
            raise AttributeError(f"{name} is counted with a selection other than 'random'.")
        return learner
