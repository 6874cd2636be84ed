"""The diary of a process that remembers: what it began, what it knows to be done."""

from collections import Counter


class Diary:
    """What must be in the memory, if everything that was acknowledged is there.

    Each line is ``begin``, ``done`` or ``never``, the deed and what belongs to it. The last deed
    may have been begun and not ended: nobody knows yet whether it happened.
    """

    def __init__(self, written):
        self.lines = []
        self.deeds = Counter()
        self.open = None
        self.space = None
        self.live = {}
        """The token of each memory, by its number."""
        self.children = {}
        self.older = {}
        self.trash = {}
        """The tokens of what was forgotten together, by the name to undo it by."""
        for line in written:
            self.read(line)

    def read(self, line):
        self.lines.append(line)
        word, deed, about = line
        if word == "begin":
            self.open = (deed, about)
            return
        _, begun = self.open
        self.open = None
        if word == "never":
            return
        self.deeds[deed] += 1
        {"forget": self._forgot, "undo": self._undid, "move": self._moved}.get(deed, self._wrote)(
            begun, about
        )

    def _wrote(self, begun, numbers):
        for number, token in zip(numbers or [], begun.get("tokens", []), strict=True):
            self.live[number] = token
            for parent in begun["parents"]:
                self.children.setdefault(parent, set()).add(number)
            if "old" in begun:
                self.older[number] = begun["old"]

    def _forgot(self, _, told):
        gone = {number: self.live.pop(number) for number in told["ids"] if number in self.live}
        if told["batch"] is not None:
            self.trash[told["batch"]] = gone
            return
        for batch in list(self.trash):
            kept = {n: t for n, t in self.trash[batch].items() if n not in told["ids"]}
            self.trash[batch] = kept
            if not kept:
                del self.trash[batch]

    def _undid(self, _, told):
        if told["ids"]:
            self.live |= self.trash.pop(told["batch"])

    def _moved(self, _, told):
        self.space = told["space"]

    def current(self):
        """What nothing has superseded."""
        return sorted(set(self.live) - set(self.older.values()))

    def closure(self, ids):
        """What goes with some memories when they are forgotten by their numbers."""
        found = {number for number in ids if number in self.live}
        for number in list(found):
            old = self.older.get(number)
            while old in self.live and old not in found:
                found.add(old)
                old = self.older.get(old)
        return self._descent(found, self.live)

    def thrown(self, gone):
        """What lies in the trash and was derived from what goes at once."""
        lying = {number for rows in self.trash.values() for number in rows}
        return self._descent(set(gone), lying) & lying

    def _descent(self, found, among):
        edge = set(found)
        while edge:
            edge = {n for parent in edge for n in self.children.get(parent, ()) if n in among}
            edge -= found
            found |= edge
        return found
