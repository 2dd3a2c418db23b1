"""Random generators as named values, and back again, checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .errors import InvalidState

_KEYS = 624
"""Words of the state of MT19937."""


def generator_fields(generator: Any) -> dict[str, Any]:
    """The state of a ``RandomState`` (MT19937) or of a ``Generator`` (PCG64)."""
    if isinstance(generator, np.random.RandomState):
        state = generator.get_state(legacy=False)
        if state["bit_generator"] == "MT19937":
            return {
                "generator": "MT19937",
                "key": np.array(state["state"]["key"], np.uint32),
                "pos": int(state["state"]["pos"]),
                "has_gauss": int(state["has_gauss"]),
                "gauss": float(state["gauss"]),
            }
    else:
        state = generator.bit_generator.state
        if state["bit_generator"] == "PCG64":
            return {
                "generator": "PCG64",
                "state": int(state["state"]["state"]),
                "inc": int(state["state"]["inc"]),
                "has_uint32": int(state["has_uint32"]),
                "uinteger": int(state["uinteger"]),
            }
    raise TypeError(f"The random generator {state['bit_generator']} cannot be saved.")


def generator_of(fields: Any, present: bool = True) -> Any:
    """The generator again; without its arrays (``present=False``) its name."""
    name = fields.get("generator") if isinstance(fields, dict) else None
    if name == "MT19937" and set(fields) == {"generator", "key", "pos", "has_gauss", "gauss"}:
        return _mersenne(fields) if present else name
    if name == "PCG64" and set(fields) == {"generator", "state", "inc", "has_uint32", "uinteger"}:
        return _pcg(fields) if present else name
    raise InvalidState("the state of its random generator is malformed")


def _is_whole(value: Any, low: int, limit: int) -> bool:
    return type(value) is int and low <= value < limit


def _mersenne(fields: dict[str, Any]) -> np.random.RandomState:
    key, gauss = fields["key"], fields["gauss"]
    good = isinstance(key, np.ndarray) and key.dtype == np.uint32 and key.shape == (_KEYS,)
    good = good and bool(
        (key[0] & 0x80000000) | key[1:].any()
    )  # a state of zeros would never change
    good = good and _is_whole(fields["pos"], 0, _KEYS + 1) and fields["has_gauss"] in (0, 1)
    if not (good and type(gauss) is float and math.isfinite(gauss)):
        raise InvalidState("the state of its random generator is malformed")
    made = np.random.RandomState(0)
    made.set_state(("MT19937", key, fields["pos"], int(fields["has_gauss"]), gauss))
    return made


def _pcg(fields: dict[str, Any]) -> np.random.Generator:
    good = all(_is_whole(fields[name], 0, 2**128) for name in ("state", "inc"))
    good = good and fields["inc"] % 2 == 1 and fields["has_uint32"] in (0, 1)
    if not (good and _is_whole(fields["uinteger"], 0, 2**32)):
        raise InvalidState("the state of its random generator is malformed")
    made = np.random.PCG64(0)
    made.state = {
        "bit_generator": "PCG64",
        "state": {"state": fields["state"], "inc": fields["inc"]},
        "has_uint32": int(fields["has_uint32"]),
        "uinteger": fields["uinteger"],
    }
    return np.random.Generator(made)
