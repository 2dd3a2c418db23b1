"""Ctrl-C between steps, never within one: see ``core/interrupts.py``."""

from __future__ import annotations

from ..core.interrupts import Interruptible, checkpoint

__all__ = ["Interruptible", "checkpoint"]
