"""How many of something, in words that agree with the number."""


def amount(number: int, one: str, more: str = "") -> str:
    """1 message, 2 messages; more: where an s at the end of one does not make it."""
    return f"{number} {one if number == 1 else more or one + 's'}"
