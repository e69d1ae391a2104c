"""Which mail is new, and the sequence and ring record of each that is.

Owns ids, sequences and the bytes of lines and records; writes nothing.  The hot
part of the store: every mail passes one turn of the loop in _mails().
"""

from collections import deque
from collections.abc import Callable

from homi.envelope import encode
from homi.store.archive import segment_of
from homi.store.base import Kept, Mail
from homi.store.batch import Batch, Entry, Group, Place, Work
from homi.store.dedupe import MASK, key_of
from homi.store.journal import Journal, Journals
from homi.store.lines import line_at
from homi.store.reminder import Reminder, closed_line
from homi.store.ring import FIXED, MAGIC, Ring, crc32, pack_crc, pack_record


class Settler:
    """Makes batches ready for the ring; the places are its to fill and to ask."""

    def __init__(
        self, ring: Ring, journals: Journals, is_dirty: Callable[[Journal], bool]
    ) -> None:
        """No place is known.  is_dirty: written since its last sync that succeeded."""
        self.places: dict[str, Place] = {}
        # Work on the places that others left for the next batch: no two threads may.
        self.notes: deque[Callable[[], None]] = deque()
        self.reminder: Reminder | None = None
        self._is_dirty = is_dirty
        self._ring = ring
        self._journals = journals

    def place(self, name: str) -> Place:
        """The mailbox of that name; a new one touches the disk with its first line."""
        found = self.places.get(name)
        if found is None:
            found = self.places[name] = Place(name, self._journals)
        return found

    def settle(self, batch: Batch, work: Work) -> bool:
        """Answer what is known, number and frame the rest; False: the half is full.

        What found no room is in the batch as late.
        """
        self._recall(batch)
        self._mails(batch, work)
        if batch.late_mails:
            batch.late_decisions, batch.decisions = batch.decisions, []
            return False
        self._decisions(batch, work)
        return not batch.late_decisions

    def known(self, batch: Batch) -> None:
        """Answer what is known, and nothing else."""
        self._recall(batch)
        for mail in batch.mails:
            place = self.place(mail.place)
            key = key_of(mail.origin, mail.id)
            if key in place.known:
                self._is_known(mail, place, key)

    def _mails(self, batch: Batch, work: Work) -> None:
        """Give each new mail its sequence and record, as far as the half has room."""
        ring = self._ring
        generation, room, largest = ring.generations[ring.half], ring.room, ring.largest
        places, fresh, groups, parts = self.places, work.fresh, work.groups, work.parts
        size, usable = work.size, self._journals.usable
        for index, mail in enumerate(batch.mails):
            place = places.get(mail.place) or self.place(mail.place)
            key = hash((mail.origin, mail.id)) & MASK
            if key in place.known and self._is_known(mail, place, key):
                continue
            if mail.barred:
                continue
            ident = (mail.place, mail.origin, mail.id)
            first = fresh.setdefault(ident, mail)
            if first is not mail:
                work.twins.append((mail, first))
                continue
            journal = place.inbox
            # A record for a file that takes no line would close accept for all.
            if (journal.fd < 0 or journal.broken) and not usable(journal):
                continue
            seq = journal.last + 1
            line = b'{"v":1,"seq":%d,%b' % (seq, mail.tail)
            length = FIXED + len(journal.tag) + len(line)
            if length > largest:
                continue
            if size + length > room:
                batch.late_mails = batch.mails[index:]
                del batch.mails[index:]
                break
            mail.seq = journal.last = seq
            head = (
                pack_record(MAGIC, generation, seq, len(journal.tag), len(line))
                + journal.tag
            )
            parts += (head, line, pack_crc(crc32(line, crc32(head))))
            size += length
            group = groups.get(journal)
            if group is None:
                group = groups[journal] = Group(journal, place.known)
            group.lines.append(line)
            group.mails.append(mail)
            group.keys.append(key)
        work.size = size

    def _decisions(self, batch: Batch, work: Work) -> None:
        """Give each decision its number and record, as far as the half has room."""
        ring = self._ring
        generation, room, largest = ring.generations[ring.half], ring.room, ring.largest
        places, groups, parts = self.places, work.groups, work.parts
        size, usable = work.size, self._journals.usable
        for index, entry in enumerate(batch.decisions):
            place = places.get(entry.place) or self.place(entry.place)
            ledger = place.ledger
            if (ledger.fd < 0 or ledger.broken) and not usable(ledger):
                continue
            n = entry.line.n = ledger.last + 1
            line = encode(entry.line) + b"\n"
            length = FIXED + len(ledger.tag) + len(line)
            if length > largest:
                continue
            if size + length > room:
                batch.late_decisions = batch.decisions[index:]
                del batch.decisions[index:]
                break
            ledger.last = n
            head = (
                pack_record(MAGIC, generation, n, len(ledger.tag), len(line))
                + ledger.tag
            )
            parts += (head, line, pack_crc(crc32(line, crc32(head))))
            size += length
            group = groups.get(ledger)
            if group is None:
                group = groups[ledger] = Group(ledger, place.known)
            group.lines.append(line)
            group.entries.append(entry)
        work.size = size

    def _is_known(self, mail: Mail, place: Place, key: int) -> bool:
        """Whether mail is answered from a line that stands; read, never guessed."""
        try:
            found = place.known.look(
                key,
                mail.origin,
                mail.id,
                mail.msg,
                lambda where: self._line_at(place.inbox, where),
            )
        except OSError:
            return True  # it cannot be told: FAILED, and the same id is safe
        if found is None:
            # A failed sync may have dropped its page, and the ring still holds it:
            # FAILED, until the journal was made good.  Damage elsewhere is for ever.
            return self._is_dirty(place.inbox)
        answer_from(mail, found.seq, found.offset, found.length, same=found.same)
        return True

    def _recall(self, batch: Batch) -> None:
        """Let the places know again what they hold of the ids in batch."""
        while self.notes:
            self.notes.popleft()()
        if self.reminder is None:
            return
        for mail in batch.mails:
            place = self.places.get(mail.place)
            if place is None or place.old is None or mail.id not in place.old:
                continue
            key = key_of(mail.origin, mail.id)
            for where in self.reminder.places(place.name, mail.origin, mail.id):
                place.known.add(key, where)

    def _line_at(self, journal: Journal, where: int) -> bytes:
        """The line at that place, line feed included; without one where it is torn."""
        if segment_of(where):
            return closed_line(self._journals.disk, journal.folder, where)
        return line_at(lambda size: self._journals.read(journal, where, size))

    def evidence(self, entries: list[Entry]) -> list[Group]:
        """Give each its number; the lines by ledger, without those that are broken."""
        groups: dict[Journal, Group] = {}
        for entry in entries:
            place = self.place(entry.place)
            ledger = place.ledger
            if ledger.broken:
                continue
            group = groups.get(ledger)
            if group is None:
                group = groups[ledger] = Group(ledger, place.known)
            ledger.last = entry.line.n = ledger.last + 1
            group.lines.append(encode(entry.line) + b"\n")
            group.entries.append(entry)
        return list(groups.values())


def join(mail: Mail, first: Mail) -> None:
    """A twin in the same batch has the outcome of the first copy."""
    if first.kept is Kept.STORED:
        same = mail.msg == first.msg
        answer_from(mail, first.seq, first.offset, first.length, same=same)


def answer_from(mail: Mail, seq: int, offset: int, length: int, *, same: bool) -> None:
    """KNOWN by the line at that place, or CONFLICT, which has no line."""
    if same:
        mail.kept = Kept.KNOWN
        mail.seq, mail.offset, mail.length = seq, offset, length
    else:
        mail.kept = Kept.CONFLICT
