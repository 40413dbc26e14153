"""Small transforms of lists, texts and tables, from which tasks are composed.

Each operation is a plain function, which is the reference, and a sentence that fixes its behaviour
to the last edge case, which goes into prompts. The function's own source text is the reference
solution, so the two cannot drift apart.
"""

from __future__ import annotations

# The source of these functions is what the reference solutions are made of.
# ruff: noqa: D103, RUF007
import dataclasses
import random
from collections.abc import Callable, Mapping
from typing import Any

Draw = Callable[[random.Random], dict[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A transform.

    Attributes:
        function: The reference. It takes the value and the parameters by keyword, changes
            nothing in place, and uses nothing but built-ins.
        takes: Kind of value that it takes: `"numbers"`, `"number"`, `"text"`, `"words"`, `"table"`.
        gives: Kind of value that it gives.
        sentence: What it does: a text with the parameters in braces, or what makes it of them.
        draw: Draws the parameters.
        structure: Parameters that change what the algorithm is, not only its constants.
    """

    function: Callable[..., Any]
    takes: str
    gives: str
    sentence: str | Callable[..., str]
    draw: Draw
    structure: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    def describe(self, parameters: Mapping[str, Any]) -> str:
        """Compute the sentence with the parameters filled in."""
        if callable(self.sentence):
            return self.sentence(**parameters)
        return self.sentence.format(**parameters)

    def shape(self, parameters: Mapping[str, Any]) -> str:
        """Compute what the algorithm is: the name and the structural parameters."""
        flags = "".join(f",{name}={parameters[name]}" for name in self.structure)
        return self.name + flags


OPERATIONS: dict[str, Operation] = {}


def operation_registry(
    registry: dict[str, Operation],
) -> Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """Compute a decorator that puts operations into `registry`, by the function's name."""

    def decorate(
        takes: str,
        gives: str,
        sentence: str | Callable[..., str],
        structure: tuple[str, ...] = (),
        **parameters: Callable[[random.Random], Any],
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        return _register(registry, takes, gives, sentence, structure, parameters)

    return decorate


def _register(
    registry: dict[str, Operation],
    takes: str,
    gives: str,
    sentence: str | Callable[..., str],
    structure: tuple[str, ...],
    parameters: Mapping[str, Callable[[random.Random], Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def draw(generator: random.Random) -> dict[str, Any]:
            return {name: choose(generator) for name, choose in parameters.items()}

        registry[function.__name__] = Operation(
            function=function,
            takes=takes,
            gives=gives,
            sentence=sentence,
            draw=draw,
            structure=structure,
        )
        return function

    return register


_operation = operation_registry(OPERATIONS)


def between(low: int, high: int) -> Callable[[random.Random], int]:
    """Compute what draws a whole number from `low` to `high`, both included."""
    return lambda generator: generator.randint(low, high)


def one_of(*choices: Any) -> Callable[[random.Random], Any]:
    """Compute what draws one of the choices."""
    return lambda generator: generator.choice(choices)


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


# ---- text --------------------------------------------------------------------------------------


@_operation("text", "text", "Swap the case of every letter.")
def swap_case(text: str) -> str:
    return text.swapcase()


@_operation(
    "text",
    "text",
    "Replace each letter a-z by the letter {places} places later in the alphabet, going on at a "
    "after z; do likewise with A-Z, and leave all other characters.",
    places=between(2, 12),
)
def shift_letters(text: str, places: int) -> str:
    result = ""
    for char in text:
        if "a" <= char <= "z":
            result += chr((ord(char) - ord("a") + places) % 26 + ord("a"))
        elif "A" <= char <= "Z":
            result += chr((ord(char) - ord("A") + places) % 26 + ord("A"))
        else:
            result += char
    return result


@_operation("text", "text", "Remove every vowel (a, e, i, o, u in either case).")
def remove_vowels(text: str) -> str:
    return "".join(char for char in text if char not in "aeiouAEIOU")


@_operation(
    "text",
    "text",
    "Write each character twice whose place in the text, counted from 1, is a multiple of {step}.",
    step=between(2, 4),
)
def double_every(text: str, step: int) -> str:
    result = ""
    for index, char in enumerate(text, 1):
        result += char * 2 if index % step == 0 else char
    return result


@_operation(
    "text",
    "text",
    "Collapse each run of the same character into one such character.",
)
def squeeze_runs(text: str) -> str:
    result = ""
    for char in text:
        if not result or result[-1] != char:
            result += char
    return result


@_operation(
    "text",
    "text",
    "Reverse every word in place (words are separated by single spaces; spaces stay where they "
    "are).",
)
def reverse_words(text: str) -> str:
    return " ".join(word[::-1] for word in text.split(" "))


@_operation(
    "text",
    "text",
    "Replace every decimal digit d by the digit (d + {places}) modulo 10.",
    places=between(1, 9),
)
def shift_digits(text: str, places: int) -> str:
    result = ""
    for char in text:
        result += str((int(char) + places) % 10) if char in "0123456789" else char
    return result


@_operation(
    "text",
    "text",
    "Move the first {count} characters to the end (a text of at most {count} characters stays as "
    "it is).",
    count=between(1, 4),
)
def rotate_text(text: str, count: int) -> str:
    return text[count:] + text[:count]


@_operation(
    "text",
    "words",
    "Split at spaces into words and drop empty ones.",
)
def split_words(text: str) -> list[str]:
    return [word for word in text.split(" ") if word]


@_operation(
    "text",
    "number",
    "Compute the number of different letters, taking both cases as the same letter.",
)
def distinct_letters(text: str) -> int:
    return len({char.lower() for char in text if char.isalpha()})


@_operation(
    "text",
    "number",
    "Compute the sum of all numbers written in the text, a number being a longest run of decimal "
    "digits (0 if there is none).",
)
def sum_written_numbers(text: str) -> int:
    result = 0
    digits = ""
    for char in text + " ":
        if char in "0123456789":
            digits += char
        elif digits:
            result += int(digits)
            digits = ""
    return result


@_operation(
    "text",
    "numbers",
    "Compute the lengths of the words, in order, words being what is between spaces when empty "
    "pieces are left out.",
)
def word_lengths(text: str) -> list[int]:
    return [len(word) for word in text.split(" ") if word]


@_operation(
    "text",
    "table",
    "Compute a dictionary from each letter that occurs, in lower case, to how often it occurs in "
    "either case.",
)
def letter_counts(text: str) -> dict[str, int]:
    result: dict[str, int] = {}
    for char in text.lower():
        if char.isalpha():
            result[char] = result.get(char, 0) + 1
    return result


# ---- words -------------------------------------------------------------------------------------


@_operation(
    "words",
    "words",
    "Keep only the words of at least {least} characters.",
    least=between(3, 5),
)
def keep_long_words(words: list[str], least: int) -> list[str]:
    return [word for word in words if len(word) >= least]


@_operation(
    "words",
    "words",
    "Sort the words by length, from short to long, and words of the same length by Python's order "
    "of strings.",
)
def sort_by_length(words: list[str]) -> list[str]:
    return sorted(words, key=lambda word: (len(word), word))


@_operation(
    "words",
    "words",
    "Sort the words by their last character in Python's order; words with the same last character "
    "keep their order.",
)
def sort_by_last(words: list[str]) -> list[str]:
    return sorted(words, key=lambda word: word[-1])


@_operation(
    "words",
    "words",
    "Write the first character of each word in upper case and the rest in lower case.",
)
def title_words(words: list[str]) -> list[str]:
    return [word[0].upper() + word[1:].lower() for word in words]


@_operation(
    "words",
    "words",
    "Write every word backwards if its length is {parity}.",
    parity=one_of("even", "odd"),
)
def reverse_some_words(words: list[str], parity: str) -> list[str]:
    wanted = 0 if parity == "even" else 1
    return [word[::-1] if len(word) % 2 == wanted else word for word in words]


@_operation(
    "words",
    "words",
    "Drop every word that has occurred earlier in the list, taking both cases as the same.",
)
def drop_repeated_words(words: list[str]) -> list[str]:
    seen = set()
    result = []
    for word in words:
        if word.lower() not in seen:
            seen.add(word.lower())
            result.append(word)
    return result


@_operation(
    "words",
    "numbers",
    "Replace every word by its score: the sum of the places of its letters in the alphabet (a is "
    "1, z is 26, either case; other characters count 0).",
)
def word_scores(words: list[str]) -> list[int]:
    return [
        sum(ord(char) - ord("a") + 1 for char in word.lower() if "a" <= char <= "z")
        for word in words
    ]


@_operation(
    "words",
    "text",
    "Join the first characters of all words into one text (an empty text for no words).",
)
def acronym(words: list[str]) -> str:
    return "".join(word[0] for word in words)


@_operation(
    "words",
    "text",
    'Join the words with "{separator}" between them.',
    separator=one_of("-", "_", "/", "+"),
)
def join_words(words: list[str], separator: str) -> str:
    return separator.join(words)


@_operation(
    "words",
    "table",
    "Compute a dictionary from each first character that occurs to the number of words that begin "
    "with it (upper and lower case are different).",
)
def count_by_initial(words: list[str]) -> dict[str, int]:
    result: dict[str, int] = {}
    for word in words:
        result[word[0]] = result.get(word[0], 0) + 1
    return result


@_operation(
    "words",
    "number",
    "Compute the number of pairs of neighbouring words of which the second begins with the last "
    "character of the first, either case.",
)
def count_chained(words: list[str]) -> int:
    count = 0
    for before, after in zip(words, words[1:], strict=False):
        if before[-1].lower() == after[0].lower():
            count += 1
    return count


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
