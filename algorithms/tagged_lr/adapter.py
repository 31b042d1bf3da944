"""Words with the part of the sequence that they stand in, and with the operation asked for."""

from __future__ import annotations

from word_model import WordModel
from words import SEPARATOR, TOKEN


class Adapter(WordModel):
    """Logistic regression on words that know where they stand."""

    @staticmethod
    def words(text: str) -> list[str]:
        """Give the words of each part, and those of the candidate with the operation.

        The operation's own letters and numbers, its operand and the steps that it refers to, are
        marked where they come again in the candidate.
        """
        known, operation, candidate = text.split(SEPARATOR)
        op, *details = TOKEN.findall(operation.strip("[]"))
        own = {each for each in details if each not in {",", "{", "}"}}
        found = [f"known:{word}" for word in TOKEN.findall(known)]
        for side, part in zip(("left", "right"), candidate.split(" = "), strict=False):
            words = ["operand" if word in own else word for word in TOKEN.findall(part)]
            pairs = [
                " ".join(pair) for pair in zip(["begin", *words], [*words, "end"], strict=True)
            ]
            for word in words + pairs:
                found += [f"candidate:{word}", f"{op}:{word}", f"{op}:{side}:{word}"]
        return found
