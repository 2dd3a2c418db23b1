"""What is compared: each method takes a training part and a time limit, and predicts the test part.

Trees are given data frames with their categories, dates as seconds; a plain SVM is given columns as a
user would prepare them: one-hot and standardised.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

Method = Callable[[Any, np.ndarray, Any, bool, float, int], np.ndarray]


def _numbers(X: Any, like: Any = None) -> tuple[Any, list[str]]:
    """A data frame whose texts are categories and whose dates are seconds; names of categories."""
    if not hasattr(X, "iloc"):
        return X, []
    X, names = X.copy(), []
    for name in X.columns:
        if X[name].dtype.kind == "M":
            X[name] = X[name].astype("int64") / 1e9
        elif X[name].dtype.kind not in "biuf":
            known = None if like is None else like[name].cat.categories
            X[name] = X[name].astype("category") if known is None else _as_known(X[name], known)
            names.append(name)
    return X, names


def _as_known(column: Any, known: Any) -> Any:
    import pandas as pd

    return column.astype(pd.CategoricalDtype(known))


def auto(A: Any, a: Any, B: Any, is_regression: bool, limit: float, threads: int) -> np.ndarray:
    """AutoSVM without arguments but the limit."""
    from onlinesvm import AutoSVMClassifier, AutoSVMRegressor

    kind = AutoSVMRegressor if is_regression else AutoSVMClassifier
    return kind(time_limit=limit, n_jobs=threads).fit(A, a).predict(B)


def prepared(A: Any, B: Any) -> tuple[np.ndarray, np.ndarray]:
    """One-hot and standardised, gaps filled with the median."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    A, names = _numbers(A)
    B, _ = _numbers(B, A if names else None)
    if names:
        others = [name for name in A.columns if name not in names]
        words = OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=100)
        made = make_column_transformer((numeric, others), (words, names))
    else:
        made = numeric
    return np.asarray(made.fit_transform(A)), np.asarray(made.transform(B))


def lasvm(A: Any, a: Any, B: Any, is_regression: bool, limit: float, threads: int) -> np.ndarray:
    """LASVM at its defaults on standardised columns."""
    A, B = prepared(A, B)
    return _svm(A, a, is_regression, threads, {})(B)


def _svm(A: Any, a: Any, is_regression: bool, threads: int, settings: dict[str, Any]) -> Any:
    from onlinesvm import LASVMClassifier, LASVMRegressor

    kind = LASVMRegressor if is_regression else LASVMClassifier
    return _fitted(kind(n_jobs=threads, **settings), A, a, is_regression)


def _svc(A: Any, a: Any, is_regression: bool, threads: int, settings: dict[str, Any]) -> Any:
    from sklearn.svm import SVC, SVR

    own = {name: value for name, value in settings.items() if name != "time_limit"}
    return _fitted((SVR if is_regression else SVC)(cache_size=1000, **own), A, a, is_regression)


def _fitted(model: Any, A: Any, a: Any, is_regression: bool) -> Any:
    """What predicts; targets are learned in standard deviations."""
    if not is_regression:
        return model.fit(A, a).predict
    middle, spread = a.mean(), a.std() or 1.0
    model.fit(A, (a - middle) / spread)
    return lambda B: middle + spread * model.predict(B)


def grid(A: Any, a: Any, B: Any, is_regression: bool, limit: float, threads: int) -> np.ndarray:
    """The RBF kernel with the best C and gamma of a 7 x 5 grid on a hold-out of up to 5,000 rows."""
    return _best_of_grid(_svm, A, a, B, is_regression, limit, threads)


def svc_grid(A: Any, a: Any, B: Any, is_regression: bool, limit: float, threads: int) -> np.ndarray:
    """The same grid with scikit-learn's ``SVC`` and ``SVR``, where they finish."""
    return _best_of_grid(_svc, A, a, B, is_regression, limit, threads)


def _best_of_grid(
    svm: Any, A: Any, a: Any, B: Any, is_regression: bool, limit: float, threads: int
) -> np.ndarray:
    A, B = prepared(A, B)
    which = np.random.default_rng(0).permutation(len(a))[:10_000]
    P, Q, p, q = train_test_split(A[which], a[which], test_size=0.5, random_state=0)
    unit = 1.0 / max(A.shape[1] * A.var(), 1e-12)
    best, found = np.inf, {}
    for C in 10.0 ** np.arange(-2, 5):
        for gamma in unit * 4.0 ** np.arange(-2, 3):
            settings = {"C": C, "gamma": gamma, "time_limit": limit}
            loss = error_of(svm(P, p, is_regression, threads, settings)(Q), q, is_regression)
            if loss < best:
                best, found = loss, settings
    return np.asarray(svm(A, a, is_regression, threads, found)(B))


def _boosted(is_regression: bool, threads: int, **settings: Any) -> Any:
    import lightgbm

    kind = lightgbm.LGBMRegressor if is_regression else lightgbm.LGBMClassifier
    return kind(n_jobs=threads, verbose=-1, **settings)


def lightgbm(A: Any, a: Any, B: Any, is_regression: bool, limit: float, threads: int) -> np.ndarray:
    """LightGBM at its defaults, with its own treatment of categories and gaps."""
    A, names = _numbers(A)
    B, _ = _numbers(B, A if names else None)
    return np.asarray(_boosted(is_regression, threads).fit(A, a).predict(B))


def lightgbm_tuned(
    A: Any, a: Any, B: Any, is_regression: bool, limit: float, threads: int
) -> np.ndarray:
    """Random search with early stopping until half of the limit is over, then all rows."""
    import lightgbm as library

    begin, rng = time.monotonic(), np.random.default_rng(0)
    A, names = _numbers(A)
    B, _ = _numbers(B, A if names else None)
    P, Q, p, q = train_test_split(A, a, test_size=0.25, random_state=0)
    best, found, tried = np.inf, {}, 0
    while tried == 0 or time.monotonic() - begin < 0.5 * limit:
        settings = _drawn(rng, tried)
        model = _boosted(is_regression, threads, n_estimators=3000, **settings)
        stop = [library.early_stopping(50, verbose=False), _late(begin + 0.5 * limit)]
        model.fit(P, p, eval_set=[(Q, q)], callbacks=stop)
        loss = error_of(model.predict(Q), q, is_regression)
        if loss < best:
            best, found = (
                loss,
                {**settings, "n_estimators": int(1.2 * (model.best_iteration_ or 100)) + 1},
            )
        tried += 1
    return np.asarray(_boosted(is_regression, threads, **found).fit(A, a).predict(B))


def _late(ends: float) -> Any:
    """A callback that stops boosting when its time is over."""
    from lightgbm.callback import EarlyStopException

    def look(env: Any) -> None:
        if env.iteration > 5 and time.monotonic() > ends:
            raise EarlyStopException(env.iteration, env.evaluation_result_list)

    return look


def _drawn(rng: np.random.Generator, tried: int) -> dict[str, Any]:
    """The defaults first, then settings by chance."""
    if not tried:
        return {}
    return {
        "num_leaves": int(2 ** rng.uniform(3, 8)), "learning_rate": float(10 ** rng.uniform(-2, -0.5)),
        "min_child_samples": int(2 ** rng.uniform(1, 7)), "subsample": float(rng.uniform(0.5, 1)),
        "subsample_freq": 1, "colsample_bytree": float(rng.uniform(0.4, 1)),
        "reg_lambda": float(10 ** rng.uniform(-3, 2)),
    }  # fmt: skip


def histogram(
    A: Any, a: Any, B: Any, is_regression: bool, limit: float, threads: int
) -> np.ndarray:
    """scikit-learn's HistGradientBoosting at its defaults."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if is_regression else HistGradientBoostingClassifier
    A, names = _numbers(A)
    B, _ = _numbers(B, A if names else None)
    A, B = _few_categories(A, B, names)
    return np.asarray(kind(categorical_features="from_dtype").fit(A, a).predict(B))


def _few_categories(A: Any, B: Any, names: list[str]) -> tuple[Any, Any]:
    """Columns of more categories than it takes become their numbers."""
    for name in names:
        if len(A[name].cat.categories) > 255:
            A[name], B[name] = A[name].cat.codes, B[name].cat.codes
    return A, B


def forest(A: Any, a: Any, B: Any, is_regression: bool, limit: float, threads: int) -> np.ndarray:
    """scikit-learn's random forest at its defaults; categories are numbers."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestRegressor if is_regression else RandomForestClassifier
    A, names = _numbers(A)
    B, _ = _numbers(B, A if names else None)
    for name in names:
        A[name], B[name] = A[name].cat.codes, B[name].cat.codes
    return np.asarray(kind(n_jobs=threads, random_state=0).fit(A, a).predict(B))


METHODS: dict[str, Method] = {
    "AutoSVM": auto,
    "LASVM default": lasvm,
    "RBF 7 x 5 grid": grid,
    "SVC 7 x 5 grid": svc_grid,
    "LightGBM": lightgbm,
    "LightGBM tuned": lightgbm_tuned,
    "HistGradientBoosting": histogram,
    "random forest": forest,
}
"""Every method by its name."""


def error_of(predicted: np.ndarray, truth: np.ndarray, is_regression: bool) -> float:
    """Share of wrong labels, or the root mean squared error in standard deviations of the truth."""
    if not is_regression:
        return float(np.mean(np.asarray(predicted) != truth))
    return float(np.sqrt(np.mean((predicted - truth) ** 2)) / (truth.std() or 1.0))
