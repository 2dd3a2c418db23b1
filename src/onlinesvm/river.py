"""Models for River: pipelines, ``evaluate``, dictionaries of features, bounded memory.

    from river import datasets, evaluate, metrics, preprocessing
    from onlinesvm.river import LASVMClassifier

    model = preprocessing.StandardScaler() | LASVMClassifier()
    evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())

They are River's own kinds of model (``river.base.MiniBatchClassifier``, ``Regressor`` and
``AnomalyDetector``) around the estimators of the same name in ``onlinesvm``: a dictionary becomes a
row in a buffer that is used again and again, and goes the quick way of ``learn_one`` and
``predict_one``. Names of features may appear and disappear: a name that an example does not have is
zero there, and a name that was never learned is left out of a prediction. A name stays known for
ever; where there is no end of new names, put ``river.preprocessing.FeatureHasher`` in front. Needs
River, the extra ``river``.
"""

from .integrations.river import (
    BudgetPerceptronClassifier,
    LASVMClassifier,
    LASVMOneClass,
    LASVMRegressor,
)

__all__ = ["BudgetPerceptronClassifier", "LASVMClassifier", "LASVMOneClass", "LASVMRegressor"]
