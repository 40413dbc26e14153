"""Verdicts, the result codec, comparators and grading: everything that decides about rewards."""

from execgym.judging.codec import (
    CodecError,
    CodecLimits,
    DecodeError,
    EncodeError,
    decode,
    encode,
)
from execgym.judging.compare import (
    Match,
    RowOptions,
    close_text,
    close_value,
    ordered_rows,
    row_bag,
    same_text,
    same_value,
)
from execgym.judging.grading import gate, grade_with_retry
from execgym.judging.matching import Tolerance
from execgym.judging.verdict import Check, Status, Verdict

__all__ = [
    "Check",
    "CodecError",
    "CodecLimits",
    "DecodeError",
    "EncodeError",
    "Match",
    "RowOptions",
    "Status",
    "Tolerance",
    "Verdict",
    "close_text",
    "close_value",
    "decode",
    "encode",
    "gate",
    "grade_with_retry",
    "ordered_rows",
    "row_bag",
    "same_text",
    "same_value",
]
