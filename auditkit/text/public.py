"""What a text is by its looks, where it may be public text: a quotation, encyclopaedia text, or a statute.

Text of these kinds stands on many web pages, so a pool of the web holds it whether or not it ever held the benchmark.
The patterns are for English and ask for marks that prompts seldom have; what they miss and mistake is measured in
tests/text/test_text_public.py (docs/public-text.md has the figures).
"""

from __future__ import annotations

import re

import polars as pl

QUOTATION, ENCYCLOPAEDIA, STATUTE = "quotation", "encyclopaedia", "statute"

#: Least words of a quotation, and of the text around marks of the other kinds.
MIN_QUOTED_WORDS, MIN_WORDS = 8, 15
#: Share of a text's characters that its quotations must be; less is enough beside words of saying.
QUOTED_SHARE, SAID_SHARE = 0.9, 0.6

_QUOTED = re.compile(r"“[^“”]+”|«[^«»]+»|„[^„“”]+[“”]|\"[^\"]+\"")
_SAYING = re.compile(r"\b(?:said|says|wrote|writes|put it|remarked|replied|cried|observed|declared)\b|[—–]")
#: "— Jane Austen, Persuasion (1817)" at the end of a text; a first name alone signs a letter.
_ATTRIBUTION = re.compile(
    r"[.!?,;”\"’]\s*(?:—|–|--|~)\s*[A-Z][\w’'-]*(?:,| (?:de|da|von|van|of|the|[A-Z]))[^.!?\n]{0,80}\.?\s*$"
)

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DAY = rf"(?:\d{{1,2}} (?:{_MONTH})|(?:{_MONTH}) \d{{1,2}},) \d{{3,4}}"
_YEAR = r"(?:c\. ?)?\d{3,4}(?: BC| AD)?"
#: Marks of encyclopaedia text: dates of a life, reference numbers, access dates, numbers of books and papers.
_ENCYCLOPAEDIA = (
    re.compile(rf"\((?:[^()]{{0,60}}; )?(?:born |died |b\. |d\. |c\. )?{_DAY}(?: ?[–—-] ?(?:{_DAY})?)?[^()]{{0,40}}\)"),
    re.compile(
        r"\((?:c\. ?)?\d{3,4}(?: BC| AD)? ?[–—-] ?(?:c\. ?)?\d{3,4}(?: BC| AD)?\) (?:was|were|is) (?:an?|the|one of)\b"
    ),
    re.compile(rf"(?:Retrieved|Archived|Accessed)(?: on| from the original on)? {_DAY}"),
    re.compile(r"\bISBN[ :-]*[\d-]{9,}|\bdoi:\s?10\.\d{4,}"),
)
#: A number in brackets behind a sentence or a part of one; behind a word it may be an index of a program.
_REFERENCE = re.compile(r"[.,;:)”\"]\[\d{1,3}\]")

#: Marks of statutes and regulations; a text of law has several of them.
_STATUTE = (
    re.compile(r"§+ ?\d|\b\d+ U\.?S\.?C\b|\bC\.?F\.?R\.? (?:§|Part|\d)"),
    re.compile(r"\b(?:Section|Article|Art\.|Sec\.|Clause|Regulation|Chapter|Schedule|Title) [\dIVXL]+[\w.()-]*"),
    re.compile(r"\b(?:sub-?section|sub-?paragraph|paragraph|sub-?clause) \(?[\da-z]+\)?"),
    re.compile(r"\b(?:pursuant to|notwithstanding|in accordance with|within the meaning of|subject to) "
               r"(?:the provisions of |any |this |that )?"
               r"(?:sub)?(?:section|article|paragraph|chapter|title|act|regulation)", re.IGNORECASE),
    re.compile(r"\bshall (?:not )?(?:be (?:liable|guilty|punish\w+|fined|deemed|imprisoned|entitled|construed|subject)"
               r"|have the right|apply|mean|come into force|take effect)\b"),
    re.compile(r"\b(?:hereinafter|hereby|thereof|therein|hereof|aforesaid|hereunder)\b", re.IGNORECASE),
    re.compile(r"\b(?:This|the said|the) (?:Act|Regulation|Directive|Ordinance|Code) (?:may be cited|shall|applies|is"
               r" repealed)\b"),
    re.compile(r"^\s*\((?:\d{1,2}|[a-z]|[ivx]+)\) ", re.MULTILINE),
)  # fmt: skip
_LEAST_STATUTE = 2

#: What no text of any kind lacks all of; polars looks for it many times as fast as for the kinds.
_MAYBE = (
    r"[\"“«„§—–~]|--|\[\d|\([^()]*\d|ISBN|doi:|Retrieved|Archived|Accessed|U\.?S\.?C|C\.?F\.?R|shall"
    r"|(?i:here|there)(?:of|in|by|under)|(?i:aforesaid|pursuant|notwithstanding|in accordance|within the meaning)"
    r"|(?i:subject to)"
    r"|Section|Article|Art\.|Sec\.|Clause|Regulation|Chapter|Schedule|Title"
)


def public_kinds(texts: pl.Series) -> list[str]:
    """Return `public_kind` of each text. Length [n]."""
    maybe = texts.str.contains(_MAYBE)
    return [public_kind(text) if is_likely else "" for text, is_likely in zip(texts, maybe, strict=True)]


def public_kind(text: str) -> str:
    """Return "quotation", "encyclopaedia" or "statute" for a text that looks like public text, else ""."""
    n_words = len(text.split())
    if _is_quotation(text, n_words):
        return QUOTATION
    if n_words < MIN_WORDS:
        return ""
    if len(_REFERENCE.findall(text)) >= 2 or any(mark.search(text) for mark in _ENCYCLOPAEDIA):
        return ENCYCLOPAEDIA
    return STATUTE if sum(mark.search(text) is not None for mark in _STATUTE) >= _LEAST_STATUTE else ""


def _is_quotation(text: str, n_words: int) -> bool:
    if n_words >= MIN_QUOTED_WORDS and _ATTRIBUTION.search(text):
        return True
    if "?" in _QUOTED.sub("", text):  # a question about what is quoted
        return False
    quoted = [match.group() for match in _QUOTED.finditer(text) if len(match.group().split()) >= MIN_QUOTED_WORDS]
    least = SAID_SHARE if _SAYING.search(_QUOTED.sub("", text)) else QUOTED_SHARE
    return sum(map(len, quoted)) >= least * len(text.strip()) > 0
