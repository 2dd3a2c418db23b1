"""Write the golden files. Run by hand, once for each format version; never over files that exist.

python tests/model/golden/write.py
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "helpers"))

from model_cases import CASES, learn, make  # noqa: E402

FILES = {
    "lasvm": "LASVM",
    "lasvm-budget": "LASVM budget",
    "huller": "Huller",
    "streamsvm": "StreamSVM rbf",
    "norma": "NORMA",
    "budget-perceptron": "budget perceptron",
    "simplesvm": "SimpleSVM sparse",
    "svr": "SVR",
    "one-class": "one class",
}


def main():
    """The files, and what their models say of a few rows."""
    warnings.simplefilter("ignore")
    said = {}
    for name, case in FILES.items():
        path = HERE / f"{name}.safetensors"
        if path.exists():
            sys.exit(f"{path} exists; golden files are never written again.")
        model = learn(make(case), case, 0, 60, 30)
        model.save(path, extra={"case": case})
        rows = CASES[case][2][60:70]
        rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
        decide = getattr(model, "decision_function", model.predict)
        said[name] = {
            "case": case,
            "rows": rows.tolist(),
            "values": decide(rows).tolist(),
            "predictions": [str(v) for v in model.predict(rows)],
        }
    text = json.dumps(said, indent=1)
    (HERE / "decisions.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
