"""What a daemon has to have done before something else is measured."""

from pathlib import Path

from homi.store.index import Index
from tests.bench import pair
from tests.standin import journals


def test_a_place_is_at_rest_once_its_index_knows_mail_and_words(tmp_path: Path) -> None:
    """Either would be done beside what is measured next."""
    assert pair.knows_all(tmp_path)
    journals.write_mailbox(tmp_path, "ada", 3)
    assert not pair.knows_all(tmp_path)
    with Index.open(tmp_path) as index:
        index.catch_up()
        assert not pair.knows_all(tmp_path)
        index.catch_up(text=True)
    assert pair.knows_all(tmp_path)
