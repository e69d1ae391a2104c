"""Questions over a whole exchange: answered, refused, or ended with it."""

import msgspec

from homi.errors import NoInput
from homi.links.frames import Req, Res
from tests.unit.links.kit import Pair


class Said(msgspec.Struct):
    """An answer."""

    text: str


def test_an_answer_and_an_error_come_back_to_who_asked() -> None:
    """Both kinds, in any order."""
    pair = Pair()
    answers: list[tuple[str, Res | None]] = []
    for verb in ("first", "second"):
        pair.laptop.exchange.ask(verb, {}, lambda res, v=verb: answers.append((v, res)))
    pair.carry()
    asked: list[Req] = [req for req, _line in pair.mini.port.questions]
    pair.mini.exchange.reply(asked[1].i, NoInput("none", hint="look"))
    pair.mini.exchange.reply(asked[0].i, Said("here"))
    pair.mini.exchange.reply(asked[0].i, Said("twice"))
    pair.carry()
    (second, error), (first, found) = answers
    assert (first, second) == ("first", "second")
    assert found is not None
    assert bytes(found.ok) == b'{"text":"here"}'
    assert error is not None
    assert error.error is not None
    assert (error.error.text, bytes(error.ok)) == ("none", b"")
    assert pair.laptop.port.ends == []
