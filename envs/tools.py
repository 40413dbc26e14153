"""Tool calls: how a domain declares its tools, and how a model's message is read as a call."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_type_hints

_MethodT = TypeVar("_MethodT", bound=Callable[..., Any])
_JSON_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ARGUMENT_LINE = re.compile(r"\s*(\w+)\s*:\s*(.+)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})([^`]*)\Z")
_QUOTED_LENGTH = 80


class ToolCallError(ValueError):
    """The message is not a call that the env understands. The text is meant for the model."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a model may call.

    Attributes:
        name: The method's name.
        description: First paragraph of its docstring.
        parameters: A JSON schema of the arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]

    def as_function(self) -> dict[str, Any]:
        """Return the OpenAI-style function schema, new objects each time."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": json.loads(json.dumps(self.parameters)),
        }
        return {"type": "function", "function": function}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that has been read and checked against the tool's parameters."""

    name: str
    arguments: Mapping[str, str | int | float | bool]


def tool(method: _MethodT) -> _MethodT:
    """Mark an async method of an `ExecEnv` as a tool.

    Its parameters must be annotated with `str`, `int`, `float` or `bool`, and its docstring must
    be in Google style with an `Args:` section, since both are shown to models.
    """
    method.__execgym_tool__ = True  # type: ignore[attr-defined]
    return method


@functools.cache
def tools_of(owner: type) -> Mapping[str, Tool]:
    """Return the tools that a class declares, by name, in order of definition.

    Raises:
        TypeError: A tool is not annotated or documented as `tool` asks.
    """
    found: dict[str, Tool] = {}
    for parent in reversed(owner.__mro__):
        for name, method in vars(parent).items():
            if getattr(method, "__execgym_tool__", False):
                found[name] = _describe(name, method)
    return MappingProxyType(found)


def parse_action(text: str, tools: Mapping[str, Tool], default_tool: str) -> ToolCall:
    """Read a model's message as a tool call.

    A JSON object with a `name` and `arguments`, alone or as the whole of a fenced block (the last
    such block), is a call. Else the last fenced block, else the whole text, is the first argument
    of the default tool. Fences are those of CommonMark, so one that is left open reaches to the
    end. The time taken is proportional to the length of the text.

    Raises:
        ToolCallError: The call is malformed. The text says what was wrong and what is allowed.
    """
    blocks = _fenced_blocks(text)
    candidates = [text, *reversed(blocks)]
    for candidate in candidates:
        call = _read_call(candidate.strip())
        if call is not None:
            return _check_call(call, tools)
    body = blocks[-1] if blocks else text
    first = next(iter(tools[default_tool].parameters["properties"]))
    return ToolCall(name=default_tool, arguments={first: body})


def _fenced_blocks(text: str) -> list[str]:
    """Return the contents of the fenced blocks, in order.

    It looks at each line once: a regular expression over the whole text would take quadratic time
    on texts that a model can write, and all envs share one event loop.
    """
    blocks: list[str] = []
    fence = ""
    body: list[str] = []
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if not fence:
            if match:
                fence, body = match.group(1), []
        elif match and match.group(1).startswith(fence) and not match.group(2).strip():
            blocks.append("".join(body))
            fence = ""
        else:
            body.append(f"{line}\n")
    if fence:
        blocks.append("".join(body))
    return blocks


def _read_call(text: str) -> dict[str, Any] | None:
    """Return the object if `text` is one that means to be a call, None if it is anything else."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        if re.match(r'\{\s*"name"\s*:', text):
            raise ToolCallError(f"the tool call is not valid JSON: {error}") from None
        return None
    if isinstance(value, dict) and "name" in value:
        return value
    return None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return result


def _check_call(call: dict[str, Any], tools: Mapping[str, Tool]) -> ToolCall:
    name = call["name"]
    if not isinstance(name, str) or name not in tools:
        raise ToolCallError(f"there is no tool {_quoted(name)}; the tools are {', '.join(tools)}")
    arguments = call.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, object_pairs_hook=_no_duplicates)
        except (ValueError, RecursionError) as error:
            raise ToolCallError(f"the arguments of {name} are not valid JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise ToolCallError(f"the arguments of {name} must be a JSON object")
    unknown = sorted(set(call) - {"name", "arguments"})
    if unknown:
        raise ToolCallError(
            f"a tool call has 'name' and 'arguments' only, not {_quoted(unknown[0])}"
        )
    properties = tools[name].parameters["properties"]
    for key in arguments:
        if key not in properties:
            allowed = ", ".join(properties) or "none"
            raise ToolCallError(
                f"{name} has no argument {_quoted(key)}; its arguments are {allowed}"
            )
    for key in tools[name].parameters["required"]:
        if key not in arguments:
            raise ToolCallError(f"{name} needs the argument {key!r}")
    for key, value in arguments.items():
        if not _has_json_type(value, properties[key]["type"]):
            kind = properties[key]["type"]
            raise ToolCallError(f"the argument {key!r} of {name} must be of type {kind}")
        if isinstance(value, str) and not value.isascii():
            _check_text(name, key, value)
    return ToolCall(name=name, arguments=arguments)


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _QUOTED_LENGTH else f"{text[:_QUOTED_LENGTH]}..."


def _check_text(name: str, key: str, value: str) -> None:
    # JSON escapes can spell a lone surrogate that the action itself could not contain.
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ToolCallError(
            f"the argument {key!r} of {name} has a lone surrogate at position {error.start}"
        ) from None


def _has_json_type(value: object, kind: str) -> bool:
    if kind == "boolean":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind == "string":
        return isinstance(value, str)
    if kind == "integer":
        return isinstance(value, int) and abs(value) < 2**63
    return isinstance(value, int | float) and abs(value) < 2**63


def _describe(name: str, method: Callable[..., Any]) -> Tool:
    documentation = inspect.getdoc(method) or ""
    summary = documentation.split("\n\n")[0].replace("\n", " ").strip()
    meanings = _argument_meanings(documentation)
    hints = get_type_hints(method)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        hint = hints.get(parameter.name)
        if hint not in _JSON_TYPES or parameter.name not in meanings or not summary:
            raise TypeError(
                f"tool {name}: parameter {parameter.name!r} needs a type among str, int, float, "
                f"bool and a line in the docstring's Args section"
            )
        properties[parameter.name] = {
            "type": _JSON_TYPES[hint],
            "description": meanings[parameter.name],
        }
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return Tool(name=name, description=summary, parameters=parameters)


def _argument_meanings(documentation: str) -> dict[str, str]:
    meanings: dict[str, str] = {}
    section: Literal["args", "other"] = "other"
    current = ""
    for line in documentation.splitlines():
        if line and not line.startswith(" "):
            section = "args" if line.strip() == "Args:" else "other"
            current = ""
        elif section == "args" and line.strip():
            indentation = len(line) - len(line.lstrip())
            match = _ARGUMENT_LINE.match(line)
            if indentation == 4 and match:
                current = match.group(1)
                meanings[current] = match.group(2).strip()
            elif current:
                meanings[current] += " " + line.strip()
    return meanings
