"""Algorithms and their parameters on the command line.

All of it is read from the classes: names from the public list, options from the signatures,
ranges from the declared constraints, help from the documentation.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
from numbers import Integral, Real
from typing import Any

import click
from sklearn.utils._param_validation import Interval, StrOptions

import onlinesvm

from .mistakes import Mistake

NOT_OF_A_STREAM = {
    "epochs", "shuffle", "early_stopping", "max_examples", "validation_fraction",
    "n_iter_no_change", "time_limit", "random_state", "sample_size",
    "decision_function_shape", "break_ties", "shrinking", "verbose", "max_iter",
}  # fmt: skip
"""Parameters that only ``fit`` uses, those for which ``train`` has other options, and those without
effect, which exist for programs written for ``SVC``."""


ABBREVIATIONS = ("e.g", "i.e", "eq", "Eq", "sec", "Sec", "cf", "vs", "etc")
"""A full stop after one of these ends no sentence."""


def short_name(class_name: str) -> str:
    """``SimpleSVMRegressor`` becomes ``simplesvm-regressor``, ``LASVMClassifier`` ``lasvm``."""
    name = class_name.removesuffix("Classifier").replace("SVM", "svm")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def algorithms() -> dict[str, Any]:
    """Classes that learn from streams, by the names of the command line."""
    # LASVM first: its documentation is used for shared parameters.
    names = sorted(onlinesvm.__all__, key=lambda name: not name.startswith("LASVM"))
    public = {name: getattr(onlinesvm, name) for name in names}
    return {
        short_name(name): each
        for name, each in public.items()
        if inspect.isclass(each) and hasattr(each, "partial_fit") and hasattr(each, "predict")
    }


def algorithm(name: str) -> Any:
    """The class of that name; the error suggests the most similar name."""
    known = algorithms()
    for short, each in known.items():
        if name.lower() in (short, short.replace("-", ""), each.__name__.lower()):
            return each
    near = difflib.get_close_matches(name.lower(), list(known), 1, 0.4)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise Mistake(f"There is no algorithm {name!r}.{hint} There are {', '.join(known)}.")


def parameters(each: Any) -> list[str]:
    """Names of the parameters of a class that matter on a stream."""
    return [name for name in inspect.signature(each).parameters if name not in NOT_OF_A_STREAM]


def _help(each: Any, name: str) -> str:
    """The first sentence of a parameter's documentation."""
    text = inspect.getdoc(each) or ""
    found = re.search(rf"^{name} : [^\n]*\n((?:    [^\n]*\n?)+)", text, re.M)
    words = " ".join(found[1].split()) if found else ""
    return first_sentence(words).rstrip(".").replace("``", "") + "."


def first_sentence(words: str) -> str:
    """What comes before the first full stop, colon or semicolon; none in brackets ends it."""
    depth = 0
    for mark in re.finditer(r"[()]|(?<=[a-z0-9)\"`])[.:;](?= )", words):
        before = words[: mark.start()]
        if mark[0] in "()":
            depth = depth + 1 if mark[0] == "(" else max(0, depth - 1)
        elif not depth and not before.endswith(ABBREVIATIONS):
            return before
    return words


def parameter_options() -> list[click.Option]:
    """One option for each parameter of any algorithm."""
    holders: dict[str, list[Any]] = {}
    for each in algorithms().values():
        for name in parameters(each):
            holders.setdefault(name, []).append(each)
    every = len(algorithms())
    options = []
    for name, classes in holders.items():
        text = _help(classes[0], name)
        if len(classes) < every:
            text += f" [{', '.join(short_name(each.__name__) for each in classes)}]"
        options.append(_option(name, text, _is_flag(classes[0], name)))
    return options


def _is_flag(each: Any, name: str) -> bool:
    """Whether a parameter is true or false."""
    return list(each._parameter_constraints.get(name, [])) == ["boolean"]


def _option(name: str, text: str, flag: bool) -> click.Option:
    """``--name VALUE``, or ``--name`` and ``--no-name``."""
    long = name.replace("_", "-")
    if flag:
        return click.Option([f"--{long}/--no-{long}", f"parameter_{name}"], default=None, help=text)
    return click.Option(
        [f"--{long}", f"parameter_{name}"], metavar="VALUE", default=None, help=text
    )


def given_parameters(options: dict[str, Any]) -> dict[str, str]:
    """Those of a command's options that are parameters of algorithms and were given."""
    prefix = "parameter_"
    return {
        key.removeprefix(prefix): str(value)
        for key, value in options.items()
        if key.startswith(prefix) and value is not None
    }


def parsed(each: Any, name: str, text: str) -> Any:
    """A parameter's value, as its constraints allow it."""
    short = short_name(each.__name__)
    known = parameters(each)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f" Did you mean --{near[0]}?" if near else ""
        listed = ", ".join(f"--{other.replace('_', '-')}" for other in known)
        raise Mistake(f"{short} has no parameter {name}.{hint} It has {listed}.")
    for constraint in each._parameter_constraints.get(name, [Real]):
        found, value = _as(constraint, text)
        if found:
            return value
    constraints = each._parameter_constraints.get(name, [])
    allowed = " or ".join(_described(c) for c in constraints if c not in (callable, "array-like"))
    names = [option for c in constraints if isinstance(c, StrOptions) for option in c.options]
    near = difflib.get_close_matches(text, names, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise Mistake(f"--{name.replace('_', '-')} {text!r} is not {allowed}.{hint}")


def _described(constraint: Any) -> str:
    """What a constraint allows, as it is typed."""
    if isinstance(constraint, StrOptions):
        return ", ".join(sorted(constraint.options - {"precomputed"}))
    if constraint is dict:
        return """weights such as '{"yes": 2, "no": 1}'"""
    if constraint is Real:
        return "a number"
    return "none" if constraint is None else str(constraint)


def _as(constraint: Any, text: str) -> tuple[bool, Any]:
    """Whether a text can mean what a constraint allows, and what it means."""
    if isinstance(constraint, StrOptions):
        return text in constraint.options, text
    kind = constraint.type if isinstance(constraint, Interval) else constraint
    if kind is None:
        return text.lower() == "none", None
    if kind == "boolean":
        return text.lower() in ("true", "false"), text.lower() == "true"
    convert: Any = {Integral: int, Real: float, dict: _weights}.get(kind)
    if convert is None:
        return False, None
    try:
        return True, convert(text)
    except ValueError:
        return False, None


def _weights(text: str) -> dict[Any, float]:
    """``{"1": 2.5}``: names of classes are numbers where they look like numbers."""
    given = json.loads(text)
    if not isinstance(given, dict):
        raise ValueError
    return {_label(key): float(value) for key, value in given.items()}


def _label(text: str) -> Any:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def build(name: str, given: dict[str, str], seed: int) -> Any:
    """The estimator that was asked for, its parameters checked."""
    each = algorithm(name)
    values = {key: parsed(each, key, text) for key, text in given.items()}
    if "random_state" in inspect.signature(each).parameters:
        values["random_state"] = seed
    estimator = each(**values)
    try:
        estimator._validate_params()
    except ValueError as error:
        raise Mistake(str(error)) from error
    return estimator
