"""The demo's decision handler: it takes a moment, as a model would, and sometimes fails."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from watchkeeper.demo.scene import Scene
from watchkeeper.results import Decision, Run

SECONDS = (0.08, 0.7)
FAILED = 0.015
MODEL = "premium"
INPUT_TOKENS = 1_200
OUTPUT_TOKENS_MAX = 400

Suggest = Callable[[Run], list[dict[str, Any]]]


class Thinker:
    """Thinks for a fraction of a second; ends at once when the demo does.

    What it used is what a model would report: about what was reserved for it, or less.
    """

    def __init__(self, scene: Scene, seed: int = 1, suggest: Suggest | None = None) -> None:
        self._scene = scene
        self._random = Random(seed)
        self._suggest = suggest

    def __call__(self, run: Run) -> Decision:
        self._scene.pause(self._random.uniform(*SECONDS))
        if self._random.random() < FAILED:
            raise RuntimeError("the model did not answer (the demo lets some runs fail)")
        usage = {
            "input_tokens": self._random.randint(INPUT_TOKENS // 3, INPUT_TOKENS),
            "output_tokens": self._random.randint(20, OUTPUT_TOKENS_MAX),
        }
        plans = [] if self._suggest is None else self._suggest(run)
        note = f"looked at {len(run.signals)} signals of {run.account_id}"
        if plans:
            note += "; suggests a plan to keep the customer"
        return Decision(note=note, usage=usage, plans=plans)
