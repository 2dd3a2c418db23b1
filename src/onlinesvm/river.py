"""Models for River: pipelines, ``evaluate``, dictionaries of features, bounded memory.

    from river import datasets, evaluate, metrics, preprocessing
    from onlinesvm.river import LASVMClassifier

    model = preprocessing.StandardScaler() | LASVMClassifier()
    evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())

They are River's own kinds of model (``river.base.MiniBatchClassifier``, ``Regressor`` and
``AnomalyDetector``) around the estimators of the same name in ``onlinesvm``. Dictionaries are
copied into a reused row buffer and passed to the fast methods ``learn_one`` and ``predict_one``.
Features may appear and disappear: a feature that an example does not have is zero, and a feature
that was never learned is ignored in a prediction. Names are never forgotten; if new ones keep
appearing, put ``river.preprocessing.FeatureHasher`` in front. Needs River, the extra ``river``.
"""

from .integrations.river import (
    BudgetPerceptronClassifier,
    LASVMClassifier,
    LASVMOneClass,
    LASVMRegressor,
)

__all__ = ["BudgetPerceptronClassifier", "LASVMClassifier", "LASVMOneClass", "LASVMRegressor"]
