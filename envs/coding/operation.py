"""What the steps are of which generated tasks are composed.

Each operation is a plain function, which is the reference, and a sentence that fixes its behaviour
to the last edge case, which goes into prompts. The function's own source text is the reference
solution, so the two cannot drift apart.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping
from typing import Any

Draw = Callable[[random.Random], dict[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A transform.

    Attributes:
        function: The reference. It takes the value and the parameters by keyword, changes
            nothing in place, and uses nothing but built-ins.
        takes: Kind of value that it takes: `"numbers"`, `"number"`, `"text"`, `"words"`, `"table"`.
        gives: Kind of value that it gives.
        sentence: What it does: a text with the parameters in braces, or what makes it of them.
        draw: Draws the parameters.
        structure: Parameters that change what the algorithm is, not only its constants.
    """

    function: Callable[..., Any]
    takes: str
    gives: str
    sentence: str | Callable[..., str]
    draw: Draw
    structure: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    def describe(self, parameters: Mapping[str, Any]) -> str:
        """Compute the sentence with the parameters filled in."""
        if callable(self.sentence):
            return self.sentence(**parameters)
        return self.sentence.format(**parameters)

    def shape(self, parameters: Mapping[str, Any]) -> str:
        """Compute what the algorithm is: the name and the structural parameters."""
        flags = "".join(f",{name}={parameters[name]}" for name in self.structure)
        return self.name + flags


def operation_registry(
    registry: dict[str, Operation],
) -> Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """Compute a decorator that puts operations into `registry`, by the function's name."""

    def decorate(
        takes: str,
        gives: str,
        sentence: str | Callable[..., str],
        structure: tuple[str, ...] = (),
        **parameters: Callable[[random.Random], Any],
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        return _register(registry, takes, gives, sentence, structure, parameters)

    return decorate


def _register(
    registry: dict[str, Operation],
    takes: str,
    gives: str,
    sentence: str | Callable[..., str],
    structure: tuple[str, ...],
    parameters: Mapping[str, Callable[[random.Random], Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def draw(generator: random.Random) -> dict[str, Any]:
            return {name: choose(generator) for name, choose in parameters.items()}

        registry[function.__name__] = Operation(
            function=function,
            takes=takes,
            gives=gives,
            sentence=sentence,
            draw=draw,
            structure=structure,
        )
        return function

    return register


def between(low: int, high: int) -> Callable[[random.Random], int]:
    """Compute what draws a whole number from `low` to `high`, both included."""
    return lambda generator: generator.randint(low, high)


def one_of(*choices: Any) -> Callable[[random.Random], Any]:
    """Compute what draws one of the choices."""
    return lambda generator: generator.choice(choices)
