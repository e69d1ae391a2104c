"""Why a tool does not take what it was given, in one line of homi's own.

Owns the words, made of the schema; the library's are for programmers.
"""

import re
from typing import Any

from homi.address import show
from homi.errors import Usage
from homi.mcp.tools import Tool

_UNKNOWN = re.compile(r"unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"missing required field `(\w+)`")
_AT = re.compile(r"at `\$\.(\w+)")
_KINDS = {"string": "a text", "boolean": "true or false", "array": "a list"}
_KINDS |= {"integer": "a whole number", "number": "a number"}
_BOUNDS = (
    ("minLength", "maxLength", "characters"),
    ("minItems", "maxItems", "entries"),
    ("minimum", "maximum", ""),
)


def refused(tool: Tool, why: str) -> Usage:
    """What is said of arguments that the library refuses for that reason."""
    fields = tool.schema["properties"]
    takes = f"it takes {', '.join(fields)}"
    if found := _UNKNOWN.search(why):
        return Usage(f"{tool.name} takes no {show(found[1][:64])}", hint=takes)
    if found := _MISSING.search(why):
        return Usage(f"{tool.name} needs {found[1]}", hint=takes)
    at = _AT.search(why)
    if at is None or at[1] not in fields:
        return Usage(f"{tool.name} was given no object of arguments", hint=takes)
    return Usage(f"{tool.name}: {at[1]} must be {_shape(fields[at[1]])}")


def _shape(field: dict[str, Any]) -> str:
    """What a field may be."""
    said = _KINDS.get(field.get("type", ""), "something else")
    for low, high, what in _BOUNDS:
        if low in field or high in field:
            said += (
                f" of {field.get(low, 0)} to {field.get(high, 'any')} {what}".rstrip()
            )
    if pattern := field.get("pattern"):
        said += f", like {pattern}"
    if items := field.get("items"):
        said += f", each {_shape(items)}"
    return said
