"""Strict reading of msg, the sender's JSON object, before anything believes it.

Owns what a msg must look like; its bytes are kept as they came.  Knows nothing
of names or rights.  homi-protocol(7) lists the rules.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from homi import ids
from homi.address import show
from homi.config import MAX_TEXT_CHARS, MSG_DEPTH
from homi.envelope import Msg, decode_msg, encode
from homi.errors import BadMessage

TTL_MAX = 10 * 366 * 86_400  # s: a longer one is a unit error
_FULL_INT = 1 << 64
_is_id = ids.SHAPE.fullmatch
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_msg(raw: bytes) -> Msg:
    """The msg in raw; BadMessage (65) with the measured fact where a rule breaks.

    Bytes that equal their own canonical encoding hold no duplicate key, no
    unknown field and no odd number, so only other bytes are walked through.
    """
    try:
        msg = decode_msg(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadMessage(f"msg is not usable: {plain(error)}") from error
    if encode(msg) != raw:
        _walk(raw)
    # Every mail pays for this look, so a plain one is told without a call.
    if not (
        _is_id(msg.id)
        and 0 < len(msg.text) <= MAX_TEXT_CHARS
        and msg.ttl_s is None
        and msg.reply_to is None
        and msg.mode is None
    ):
        _check_fields(msg)
    return msg


def _check_fields(msg: Msg) -> None:
    """The rules over single fields."""
    if not ids.is_id(msg.id):
        raise BadMessage(
            f"id {show(msg.id)} is not a UUID",
            hint="an id is 8-4-4-4-12 hex digits in lower case",
        )
    if not msg.text:
        raise BadMessage("the text is empty")
    check_text(msg.text)
    if msg.ttl_s is not None and not 0 < msg.ttl_s <= TTL_MAX:
        raise BadMessage(f"ttl_s is {msg.ttl_s}, must be 1 to {TTL_MAX} seconds")
    if msg.reply_to is not None and not ids.is_id(msg.reply_to):
        raise BadMessage(f"reply_to {show(msg.reply_to)} is not a UUID")
    if msg.mode not in (None, "prompting", "bypass"):
        raise BadMessage(f"mode {show(msg.mode)} is neither prompting nor bypass")


def check_text(text: str) -> None:
    """BadMessage with both numbers where a text is over the limit."""
    if len(text) > MAX_TEXT_CHARS:
        raise BadMessage(
            f"the text has {len(text)} characters, the limit is {MAX_TEXT_CHARS}",
            reason="too-large",
        )


def _walk(raw: bytes) -> None:
    """Look at every value of unusual bytes: depth, keys, numbers, surrogates."""
    if _depth(raw) > MSG_DEPTH:
        raise BadMessage(f"msg is nested {_depth(raw)} deep, the limit is {MSG_DEPTH}")
    try:
        value = json.loads(
            raw,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_small,
        )
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"msg is not usable: {plain(error)}") from error
    _refuse_surrogates(value)


def _depth(raw: bytes) -> int:
    """How deep brackets nest outside strings."""
    deepest = depth = 0
    for part in re.finditer(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', raw, re.DOTALL):
        mark = part.group()
        if mark in (b"[", b"{"):
            depth += 1
            deepest = max(deepest, depth)
        elif mark in (b"]", b"}"):
            depth -= 1
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object, refused where a key comes twice: readers would disagree on it."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, count in Counter(_keys(pairs)).items() if count > 1)
        raise BadMessage(f"msg has the key {show(twice)} twice")
    return found


def _keys(pairs: list[tuple[str, Any]]) -> Iterator[str]:
    """The keys in order, repeated ones too."""
    return (key for key, _ in pairs)


def _refuse_constant(text: str) -> float:
    """NaN and the infinities are no JSON."""
    raise BadMessage(f"msg holds the number {text}")


def _finite(text: str) -> float:
    """A float that this and other readers can hold."""
    value = float(text)
    if not math.isfinite(value):
        raise BadMessage(f"msg holds the number {show(text, 20)}, which is not finite")
    return value


def _small(text: str) -> int:
    """An integer of at most 64 bits: longer ones cost quadratic time to read."""
    value = int(text) if len(text) <= 20 else _FULL_INT
    if not -_FULL_INT // 2 <= value < _FULL_INT:
        raise BadMessage(
            f"msg holds a number of {len(text)} digits, the limit is 64 bit"
        )
    return value


def _refuse_surrogates(value: object) -> None:
    """No string, key or value, may hold half a character."""
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str) and _SURROGATE.search(item):
            raise BadMessage("msg holds a lone surrogate, which is no character")
        if isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def plain(error: Exception) -> str:
    """The parser's own words on one line, without the sender's text."""
    text = str(error) or type(error).__name__
    return text.splitlines()[0][:200]
