"""The input of every peer: the files of a folder, their chunks, and the questions about them."""

import json
import os
import re
from pathlib import Path

#: Folders of third-party code and build output; hidden folders are left out as well.
OTHERS = {"node_modules", "__pycache__", "venv", "dist", "build", "target", "_build", "deps"}
FILE_BYTES_MAX = 1_000_000


def walk(folder):
    """Yields (path below `folder`, text) of every UTF-8 text file of at most 1 MB, sorted by path."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in OTHERS and not f.startswith("."))
        for name in sorted(names):
            path = Path(here, name)
            if name.startswith(".") or path.is_symlink() or path.stat().st_size > FILE_BYTES_MAX:
                continue
            try:
                text = path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                continue
            if text.strip() and "\0" not in text:
                yield str(path.relative_to(folder)), text


def chunks(text, target):
    """Cuts a text into runs of whole lines: (first line, last line, text).

    A run takes lines until the next one would bring it over `target` characters; a line longer than that stands alone.
    Whitespace is not counted, as PairOfCleats does not count it, so that both give the model pieces of one size.
    """
    lines = text.splitlines(keepends=True)
    start, size = 0, 0
    for number, line in enumerate(lines):
        length = len("".join(line.split()))
        if size and size + length > target:
            yield start + 1, number, "".join(lines[start:number])
            start, size = number, 0
        size += length
    if size:
        yield start + 1, len(lines), "".join(lines[start:])


def questions(folder, count):
    """`count` distinct questions from the files' own words, always the same ones for the same files.

    Every other one is a single name, the rest are four neighbouring names: what people type into a code search.
    """
    texts = [text for _, text in walk(folder)]
    found = {}
    for turn in range(50):
        for number, text in enumerate(texts):
            names = re.findall(r"[A-Za-z_][A-Za-z_0-9]{4,30}", text)
            if len(names) < 20:
                continue
            place = (turn * 7919 + number * 104_729) % (len(names) - 4)
            near = dict.fromkeys(names[place : place + 12])
            found[" ".join(list(near)[: 1 if len(found) % 2 else 4])] = None
            if len(found) == count:
                return list(found)
    return list(found)


def asked(path, folder, count):
    """The questions of a JSON file (strings, or objects with `query`); without one, those of the folder itself."""
    if path is None:
        return questions(folder, count)
    rows = json.loads(Path(path).read_text(encoding="utf-8"))
    return [row if isinstance(row, str) else row["query"] for row in rows][:count]
