"""The scripts of ``examples/``: run one and look at its figures, or make it a notebook.

``python tests/helpers/gallery.py SCRIPT [MODULE ...]`` runs a script in the present folder, without a
network and as if the modules were not installed, saves its figures here as ``figure-1.png`` and so on,
and prints what their axes show as the last line.
"""

import json
import re
import runpy
import socket
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/plot_*.py"))


def blocks(script):
    """Pairs of text and code: the docstring, then one for each ``# %%``."""
    source = script.read_text(encoding="utf-8")
    _, title, rest = source.split('"""', 2)
    found = [(title.strip(), "")]
    for part in re.split(r"^# %%\n", rest, flags=re.M)[1:]:
        text, code = re.match(r"((?:#[^\n]*\n)*)(.*)", part, re.S).groups()
        found.append((re.sub(r"^# ?", "", text, flags=re.M).strip(), code.strip()))
    return found


def notebook(script):
    """A notebook with a cell for each text and each code."""
    import nbformat.v4 as nb

    cells = []
    for text, code in blocks(script):
        cells += [nb.new_markdown_cell(text)] if text else []
        cells += [nb.new_code_cell(code)] if code else []
    return nb.new_notebook(cells=cells)


def _refuse(self, address):
    raise AssertionError(f"An example must not use the network: {address}.")


def _explained(axis):
    """Whether an axis says what it shows: by a label, by words on its ticks, or by having none."""
    ticks = [tick.get_text() for tick in axis.get_ticklabels()]
    words = any(re.search("[a-z]{3}", text) for text in ticks)
    return bool(axis.label.get_text() or words or not len(axis.get_ticklocs()))


def _run(script, missing):
    import matplotlib

    matplotlib.use("Agg")
    socket.socket.connect = _refuse
    sys.modules.update(dict.fromkeys(missing))  # None makes an import fail
    names = runpy.run_path(script, run_name="__main__")  # keeps an animation alive
    import matplotlib.pyplot as plt

    shown = []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.savefig(f"figure-{number}.png", dpi=60)
        for ax in figure.axes:
            drawn = ax.has_data() or bool(ax.texts) or bool(ax.patches)
            shown.append([number, drawn, _explained(ax.xaxis), _explained(ax.yaxis)])
    assert names
    print(json.dumps(shown))


if __name__ == "__main__":
    _run(sys.argv[1], sys.argv[2:])
