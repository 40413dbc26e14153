"""Small transforms of lists of numbers, of tables and of single numbers."""

from __future__ import annotations

# The source of these functions is what the reference solutions are made of.
# ruff: noqa: D103, RUF007
from typing import Any

from execgym.envs.coding.operation import Operation, between, one_of, operation_registry

NUMBER_OPERATIONS: dict[str, Operation] = {}

_operation = operation_registry(NUMBER_OPERATIONS)


# ---- numbers to numbers ------------------------------------------------------------------------


@_operation(
    "numbers",
    "numbers",
    "Keep only the numbers whose remainder on division by {divisor} is {remainder} (the remainder "
    "is never negative, as with Python's %).",
    divisor=between(3, 5),
    remainder=between(0, 2),
)
def keep_remainder(values: list[int], divisor: int, remainder: int) -> list[int]:
    return [value for value in values if value % divisor == remainder]


@_operation(
    "numbers",
    "numbers",
    "Drop every number that is smaller than {low} or larger than {high}.",
    low=between(-12, -3),
    high=between(4, 14),
)
def keep_range(values: list[int], low: int, high: int) -> list[int]:
    return [value for value in values if low <= value <= high]


@_operation(
    "numbers",
    "numbers",
    "Replace every number below {low} by {low} and every number above {high} by {high}.",
    low=between(-9, -2),
    high=between(3, 11),
)
def clamp_values(values: list[int], low: int, high: int) -> list[int]:
    return [min(max(value, low), high) for value in values]


@_operation(
    "numbers",
    "numbers",
    "Replace every number x by {factor} * x + {offset}.",
    factor=one_of(-4, -3, -2, 2, 3, 4, 5),
    offset=one_of(-9, -7, -4, -1, 1, 2, 3, 6),
)
def scale_and_shift(values: list[int], factor: int, offset: int) -> list[int]:
    return [factor * value + offset for value in values]


@_operation(
    "numbers",
    "numbers",
    "Replace every number by the sum of itself and all numbers before it.",
)
def running_sums(values: list[int]) -> list[int]:
    total = 0
    result = []
    for value in values:
        total += value
        result.append(total)
    return result


@_operation(
    "numbers",
    "numbers",
    "Replace every number by the largest of itself and all numbers before it.",
)
def running_maximum(values: list[int]) -> list[int]:
    result: list[int] = []
    for value in values:
        result.append(value if not result else max(value, result[-1]))
    return result


@_operation(
    "numbers",
    "numbers",
    "Replace the list by the differences between each number and the one before it, in order "
    "(next minus previous; a list of fewer than two numbers gives an empty list).",
)
def neighbour_differences(values: list[int]) -> list[int]:
    return [after - before for before, after in zip(values, values[1:], strict=False)]


@_operation(
    "numbers",
    "numbers",
    "Rotate the list to the left by {places} places (the first number goes to the end, {places} "
    "times over; an empty list stays empty).",
    places=between(1, 4),
)
def rotate_left(values: list[int], places: int) -> list[int]:
    if not values:
        return []
    cut = places % len(values)
    return values[cut:] + values[:cut]


@_operation(
    "numbers",
    "numbers",
    "Reverse each run of {size} numbers, taking runs from the front; a shorter run that is left at "
    "the end is reversed too.",
    size=between(2, 4),
)
def reverse_chunks(values: list[int], size: int) -> list[int]:
    result = []
    for start in range(0, len(values), size):
        result += values[start : start + size][::-1]
    return result


@_operation(
    "numbers",
    "numbers",
    "Replace each run of {size} numbers by their sum, taking runs from the front; a shorter run "
    "that is left at the end is summed too.",
    size=between(2, 4),
)
def chunk_sums(values: list[int], size: int) -> list[int]:
    return [sum(values[start : start + size]) for start in range(0, len(values), size)]


@_operation(
    "numbers",
    "numbers",
    "Replace the list by the sums of every window of {size} neighbouring numbers, from left to "
    "right (a list shorter than {size} gives an empty list).",
    size=between(2, 4),
)
def window_sums(values: list[int], size: int) -> list[int]:
    return [sum(values[start : start + size]) for start in range(len(values) - size + 1)]


@_operation(
    "numbers",
    "numbers",
    "Replace the list by the largest number of every window of {size} neighbouring numbers, from "
    "left to right (a list shorter than {size} gives an empty list).",
    size=between(2, 4),
)
def window_maximum(values: list[int], size: int) -> list[int]:
    return [max(values[start : start + size]) for start in range(len(values) - size + 1)]


@_operation(
    "numbers",
    "numbers",
    "Drop every number that has occurred earlier in the list.",
)
def drop_repeats(values: list[int]) -> list[int]:
    result = []
    for value in values:
        if value not in result:
            result.append(value)
    return result


@_operation(
    "numbers",
    "numbers",
    "Keep only the numbers that occur at least {least} times in the list; keep all their "
    "occurrences, in place.",
    least=between(2, 3),
)
def keep_frequent(values: list[int], least: int) -> list[int]:
    return [value for value in values if values.count(value) >= least]


@_operation(
    "numbers",
    "numbers",
    "Sort the numbers by absolute value, from small to large; of two with the same absolute value "
    "the negative one comes first.",
)
def sort_by_magnitude(values: list[int]) -> list[int]:
    return sorted(values, key=lambda value: (abs(value), value))


@_operation(
    "numbers",
    "numbers",
    "Sort the numbers by their remainder on division by {divisor} (never negative, as with "
    "Python's %), from small to large; numbers with the same remainder keep their order.",
    divisor=between(3, 7),
)
def sort_by_remainder(values: list[int], divisor: int) -> list[int]:
    return sorted(values, key=lambda value: value % divisor)


@_operation(
    "numbers",
    "numbers",
    "Put all even numbers before all odd ones; within both groups the order stays.",
)
def evens_first(values: list[int]) -> list[int]:
    evens = [value for value in values if value % 2 == 0]
    return evens + [value for value in values if value % 2 != 0]


@_operation(
    "numbers",
    "numbers",
    "Keep only the numbers at index {start} and every {step} places further on (indices begin at "
    "0).",
    step=between(2, 3),
    start=between(0, 2),
)
def take_every(values: list[int], step: int, start: int) -> list[int]:
    return values[start::step]


@_operation(
    "numbers",
    "numbers",
    "Replace every number by the sum of the decimal digits of its absolute value.",
)
def digit_sums(values: list[int]) -> list[int]:
    return [sum(int(digit) for digit in str(abs(value))) for value in values]


@_operation(
    "numbers",
    "numbers",
    "Multiply every number by its index (indices begin at {start}).",
    start=between(0, 2),
)
def multiply_by_index(values: list[int], start: int) -> list[int]:
    return [index * value for index, value in enumerate(values, start)]


@_operation(
    "numbers",
    "numbers",
    "Replace every number by the number of smaller numbers in the list (count each occurrence).",
)
def count_smaller(values: list[int]) -> list[int]:
    return [sum(other < value for other in values) for value in values]


@_operation(
    "numbers",
    "numbers",
    "Keep only the local peaks: numbers that are larger than each neighbour they have. The first "
    "and the last number have one neighbour; a single number has none and is a peak.",
)
def local_peaks(values: list[int]) -> list[int]:
    result = []
    for index, value in enumerate(values):
        left = index == 0 or values[index - 1] < value
        right = index == len(values) - 1 or values[index + 1] < value
        if left and right:
            result.append(value)
    return result


@_operation(
    "numbers",
    "numbers",
    "Collapse each run of equal neighbouring numbers into the number followed by the length of the "
    "run (5, 5, 2 becomes 5, 2, 2, 1).",
)
def run_lengths(values: list[int]) -> list[int]:
    result: list[int] = []
    for value in values:
        if result and result[-2] == value:
            result[-1] += 1
        else:
            result += [value, 1]
    return result


@_operation(
    "numbers",
    "numbers",
    "Interleave the first half and the second half of the list: first of the first half, first of "
    "the second half, second of the first half, and so on. With an odd count the first half has "
    "one number more.",
)
def interleave_halves(values: list[int]) -> list[int]:
    middle = (len(values) + 1) // 2
    result = []
    for index in range(middle):
        result.append(values[index])
        if middle + index < len(values):
            result.append(values[middle + index])
    return result


# ---- numbers to something else -----------------------------------------------------------------


@_operation("numbers", "number", "Compute the sum of the numbers (0 for none).")
def total(values: list[int]) -> int:
    return sum(values)


@_operation(
    "numbers",
    "number",
    "Compute the largest number minus the smallest one (0 for an empty list).",
)
def spread(values: list[int]) -> int:
    return max(values) - min(values) if values else 0


@_operation(
    "numbers",
    "number",
    "Compute the sum of the numbers with alternating signs: plus the first, minus the second, plus "
    "the third, and so on (0 for an empty list).",
)
def alternating_sum(values: list[int]) -> int:
    return sum(values[0::2]) - sum(values[1::2])


@_operation(
    "numbers",
    "number",
    "Compute the length of the longest stretch of neighbouring numbers in which each is strictly "
    "larger than the one before it (0 for an empty list).",
)
def longest_rise(values: list[int]) -> int:
    best = length = 0
    for index, value in enumerate(values):
        length = length + 1 if index and values[index - 1] < value else 1
        best = max(best, length)
    return best


@_operation(
    "numbers",
    "number",
    "Compute the largest sum that a stretch of neighbouring numbers has; the empty stretch, with "
    "sum 0, counts too.",
)
def best_stretch(values: list[int]) -> int:
    best = current = 0
    for value in values:
        current = max(0, current + value)
        best = max(best, current)
    return best


@_operation(
    "numbers",
    "number",
    "Compute the number of pairs of positions i < j for which the two numbers add up to a multiple "
    "of {divisor} (0 is a multiple).",
    divisor=between(3, 6),
)
def count_pairs(values: list[int], divisor: int) -> int:
    count = 0
    for index, value in enumerate(values):
        for other in values[index + 1 :]:
            if (value + other) % divisor == 0:
                count += 1
    return count


@_operation(
    "numbers",
    "number",
    "Compute the checksum that begins as {start} and becomes, for each number x in order, "
    "(checksum * {factor} + x) modulo {modulus} (never negative, as with Python's %).",
    start=between(1, 9),
    factor=one_of(3, 5, 7, 11),
    modulus=one_of(97, 101, 251, 509),
)
def checksum(values: list[int], start: int, factor: int, modulus: int) -> int:
    state = start
    for value in values:
        state = (state * factor + value) % modulus
    return state


@_operation(
    "numbers",
    "table",
    "Compute a dictionary from each different number to how often it occurs.",
)
def count_values(values: list[int]) -> dict[int, int]:
    result: dict[int, int] = {}
    for value in values:
        result[value] = result.get(value, 0) + 1
    return result


@_operation(
    "numbers",
    "table",
    "Compute a dictionary from each remainder on division by {divisor} that occurs (never "
    "negative, as with Python's %) to the sum of the numbers with that remainder.",
    divisor=between(3, 5),
)
def sums_by_remainder(values: list[int], divisor: int) -> dict[int, int]:
    result: dict[int, int] = {}
    for value in values:
        result[value % divisor] = result.get(value % divisor, 0) + value
    return result


# ---- tables ------------------------------------------------------------------------------------


@_operation(
    "table",
    "table",
    "Drop every entry whose value is smaller than {least}.",
    least=between(2, 3),
)
def keep_large_entries(table: dict[Any, int], least: int) -> dict[Any, int]:
    return {key: value for key, value in table.items() if value >= least}


@_operation(
    "table",
    "numbers",
    "Compute the list of the values, ordered by key from small to large.",
)
def values_by_key(table: dict[Any, int]) -> list[int]:
    return [table[key] for key in sorted(table)]


@_operation(
    "table",
    "number",
    "Compute the number of entries that share their value with another entry.",
)
def count_shared_values(table: dict[Any, int]) -> int:
    values = list(table.values())
    return sum(1 for value in values if values.count(value) > 1)


# ---- a single number ---------------------------------------------------------------------------


@_operation(
    "number",
    "number",
    "Compute the number's remainder on division by {modulus} (never negative, as with Python's %).",
    modulus=between(7, 23),
)
def reduce_number(value: int, modulus: int) -> int:
    return value % modulus


@_operation(
    "number",
    "text",
    "Compute the number in base {base} as text, with the digits 0 to 9 and a minus sign in front "
    "of negative numbers.",
    base=between(3, 8),
)
def write_in_base(value: int, base: int) -> str:
    digits = ""
    rest = abs(value)
    while rest:
        digits = str(rest % base) + digits
        rest //= base
    return ("-" if value < 0 else "") + (digits or "0")


@_operation(
    "number",
    "numbers",
    "Compute the list of the decimal digits of the number's absolute value, from the last to the "
    "first.",
)
def digits_backwards(value: int) -> list[int]:
    return [int(digit) for digit in reversed(str(abs(value)))]
