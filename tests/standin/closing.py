"""What is closed at the end of a with, however that comes."""

from typing import Self


class Closing:
    """Has a close()."""

    def close(self) -> None:
        """End what was begun."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
