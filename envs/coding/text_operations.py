"""Small transforms of texts and of lists of words."""

from __future__ import annotations

# The source of these functions is what the reference solutions are made of.
# ruff: noqa: D103, RUF007
from execgym.envs.coding.operation import Operation, between, one_of, operation_registry

TEXT_OPERATIONS: dict[str, Operation] = {}

_operation = operation_registry(TEXT_OPERATIONS)


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
