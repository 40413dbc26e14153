"""Tasks of public sets that are left out, and why, in our own words.

A task is here if its own reference does not pass its own tests under this judge. A test holds the
list against the sets: every other reference passes.
"""

from __future__ import annotations

DEFECTIVE_TASKS: dict[str, dict[int, str]] = {
    "mbpp": {
        367: "the tests build a tree from a class that only the reference defines",
        533: "the tests hand over classes, which are no plain data",
        601: "the tests hand over objects of a class that only the reference defines",
        927: "the tests build a tree from a class that only the reference defines",
    },
    "mbpp_plus": {
        164: "the set's reference contradicts the set's own assertion",
        295: "the set's reference contradicts the set's own assertion",
        737: "the reference returns a match object, which is no plain data",
        787: "the reference returns a match object, which is no plain data",
        794: "the reference returns a match object, which is no plain data",
    },
}
"""By source, number and reason."""
