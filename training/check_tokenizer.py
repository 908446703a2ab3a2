"""Compare the built-in embedder's tokens with those of the tokenizers library: all code points, and
10,000 texts in all scripts. The library's vocabulary gets the words that the table has besides.

    python check_tokenizer.py                      prints how many are equal and how many differ
    python check_tokenizer.py --record FILE.json   also writes a small sample of texts and tokens,
    for the tests

Texts are random: words of one to twelve letters from each block of 128 code points, mixed with
ASCII words, punctuation, marks, white space, control characters and very long words. Texts that
spell a special token, such as "[SEP]", are left out on purpose: for the library they are the
special tokens of the model, for the embedder they are text.
"""

from __future__ import annotations

import argparse
import json
import random
import unicodedata
from pathlib import Path

import teacher
import vocabulary
from table import DATA, BuiltinEmbedder, tokens_of

TEXTS = 10_000
SENTENCES = """\
The quick brown fox isn't unaffable; naïve café, Straße, ŒUVRE!
C++ and C#: foo_bar(x->y) == 3.14e-10 && path/to/file.md --max-fail=2
##ing ## #hash
ΟΔΥΣΣΕΥΣ είπε: «καλημέρα»
Привет, мир! Ёлка и йод
İstanbul'da ılık bir gün
Việt Nam: tiếng Việt
שָׁלוֹם עוֹלָם
اَلسَّلَامُ عَلَيْكُمْ
नमस्ते दुनिया
বাংলা ভাষা
தமிழ் மொழி
ภาษาไทย สวัสดี
ကမ္ဘာ
ქართული ენა
Հայերեն լեզու
한국어 문장입니다.
日本語の文章、カタカナ。
中文：搜索，记忆！
𠀀𪜀 ideographs beyond the first plane
ＦＵＬＬ ｗｉｄｔｈ １２３
ﬁne ﬂow ½ ² ①
emoji 👩‍👩‍👧 🇩🇪 ❤️ 😀""".split("\n")
ODDITIES = [
    "zero\u200bwidth\u00ad soft hy\u00adphen \ufeffbom",
    "tab\tnew\nline\rreturn\x0bvertical\x07bell\x00nul \ufffd",
    "a\u0301\u0323 e\u0308 decomposed; \u212b angstrom",
    "marks younger than the tokenizer's tables: a\u0898b \u2e5d \u0fd5",
    "   ",
    "",
    "x" * 100,
    "x" * 101,
]
ASCII = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
PUNCTUATION = ".,;:!?'\"-_/()[]{}<>@#$%^&*+=|\\~`"
GAPS = (" ", " ", " ", "", "\t", "\n", "\u00a0", "\u3000", "\u0301", "\u200d")


def alphabets() -> list[list[str]]:
    """All blocks of 128 code points that contain a letter, mark, number or symbol."""
    blocks = [[chr(code) for code in range(start, start + 128)] for start in range(0, 0x32000, 128)]
    return [block for block in blocks if any(unicodedata.category(c)[0] in "LMNPS" for c in block)]


def random_text(rng: random.Random, alphabet: list[str]) -> str:
    text = ""
    for _ in range(rng.randint(1, 12)):
        letters = rng.choice((alphabet, alphabet, alphabet, ASCII, ASCII + PUNCTUATION))
        length = (
            rng.choice((99, 100, 101)) if rng.random() < 0.003 else rng.choice((1, 2, 3, 5, 8, 12))
        )
        text += "".join(rng.choices(letters, k=length)) + rng.choice(GAPS)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--table", type=Path, default=DATA)
    args = parser.parse_args()
    ours = BuiltinEmbedder(str(args.table))
    library = vocabulary.extended(teacher.tokenizer(), tokens_of(args.table))

    def expected(text: str) -> list[str]:
        tokens: list[str] = library.encode(text, add_special_tokens=False).tokens
        return tokens

    points = [
        f"a{chr(code)}b {chr(code)}" for code in range(0x110000) if not 0xD800 <= code < 0xE000
    ]
    different = [text for text in points if ours.tokenize(text) != expected(text)]
    print(
        f"code points: {len(points) - len(different):,} equal, {len(different):,} different {different[:3]}"
    )
    rng = random.Random(1)
    blocks = alphabets()
    texts = [random_text(rng, blocks[number % len(blocks)]) for number in range(TEXTS)]
    wrong = [text for text in texts if ours.tokenize(text) != expected(text)]
    print(
        f"texts: {TEXTS - len(wrong):,} equal, {len(wrong):,} different, of "
        f"{len(blocks):,} blocks of code points {wrong[:2]}"
    )
    if args.record:
        sample = [*SENTENCES, *ODDITIES, *texts[:: TEXTS // 60]]
        rows = [json.dumps([text, " ".join(expected(text))]) for text in sample]
        args.record.write_text("[\n" + ",\n".join(rows) + "\n]\n", "ascii")


if __name__ == "__main__":
    main()
