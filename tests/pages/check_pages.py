#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the Markdown pages of the repository: check_pages.py ROOT.

- No line has more than 120 columns. Exempt is text that other tests compare with the program: shown verdicts
  (shown_verdicts.py, tutorial_test.py, diagnosis_page_test.cc) and the variables of docs/environment.md
  (environment_doc_test.cc).
- Every link to a file or heading has a target. The same holds for every path in backticks that begins with a
  folder of the sources, and for every page of docs/ that a source names. A page that names a function with its file,
  as in `Diagnose()` (`collector/diagnosis/diagnose.cc`), names one that is there. docs/diagnosis.md names no other.
- Every page of docs/ can be reached from README.md or docs/architecture.md.
- Every form of output has a row in docs/ci.md or a section in docs/exporters.md.
- Every room (cli, and each folder of collector/ and shim/ with sources) has a README.md of at most ten lines. Its first
  sentence is the room's row in docs/architecture.md.
- Every picture is what scripts/draw.py draws. In the picture of the rooms, every layer of CMakeLists.txt includes only
  rooms in lower rows.
"""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))
import draw  # noqa: E402

COLUMNS = 120
ROOM_LINES = 10
SOURCES = ("cli", "cmake", "collector", "docs", "proto", "scripts", "shim", "tests")
START = ("README.md", "docs/architecture.md")
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
CODE = re.compile(r"`[^`\n]+`")
FUNCTION = re.compile(r"`(\w+)\(\)`(?:\s\(`((?:%s)/[\w./]+)`\))?" % "|".join(SOURCES))
PATH = re.compile(r"`((?:%s)/[\w./*-]+)`" % "|".join(SOURCES))


class Page:
    """One page: its text, prose without blocks of code, and headings as links name them."""

    def __init__(self, root, name):
        self.name = name
        self.directory = os.path.dirname(name)
        with open(os.path.join(root, name), encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        text = "\n".join(self.lines)
        self.prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        self.anchors = {anchor_of(heading) for heading in re.findall(r"^#+ +(.*)$", self.prose, re.MULTILINE)}

    def links(self):
        """Yields pairs of a path from the root and an anchor; skips addresses."""
        for target in LINK.findall(CODE.sub("", self.prose)):
            if "://" in target:
                continue
            path, _, anchor = target.partition("#")
            yield os.path.normpath(os.path.join(self.directory, path)) if path else self.name, anchor


def anchor_of(heading):
    """Returns the anchor that GitHub derives from a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def find_pages(root):
    names = []
    for directory, folders, files in os.walk(root):
        below = os.path.relpath(directory, root)
        if below == os.path.join("tests", "golden"):
            folders[:] = []  # outputs, some of which may be Markdown
            continue
        folders[:] = [f for f in folders if not f.startswith(".") and f != "node_modules" and
                      not (below == "." and f == "build")]
        names += [os.path.normpath(os.path.join(below, f)) for f in files if f.endswith(".md")]
    return {name: Page(root, name) for name in names}


def check_columns(page, problems):
    shown = False
    for number, line in enumerate(page.lines, 1):
        if line.startswith(("<!-- verdict:", "<!-- shown:", "<!-- output")):
            shown = True
        elif line.startswith(("<!-- /verdict", "<!-- /shown", "<!-- run", "<!-- file", "#")):
            shown = False
        variable = page.name == "docs/environment.md" and line.startswith("| `ROLLCALL_")
        if len(line) > COLUMNS and not shown and not variable:
            problems.append("%s:%d: %d columns" % (page.name, number, len(line)))


def check_links(root, pages, page, problems):
    for target, anchor in page.links():
        if not os.path.exists(os.path.join(root, target)):
            problems.append("%s: link to %s, which does not exist" % (page.name, target))
        elif anchor and target in pages and anchor not in pages[target].anchors:
            problems.append("%s: link to #%s, which %s does not have" % (page.name, anchor, target))
    for path in PATH.findall(page.prose):
        if not glob.glob(os.path.join(root, path)):
            problems.append("%s: names %s, which does not exist" % (page.name, path))


def check_functions(root, page, problems):
    for name, path in FUNCTION.findall(page.prose):
        if not path and page.name != "docs/diagnosis.md":
            continue
        texts = []
        for source in glob.glob(os.path.join(root, path or "collector/**/*.cc"), recursive=True):
            with open(source, encoding="utf-8") as file:
                texts.append(file.read())
        if not any(re.search(r"\b%s\(" % name, text) for text in texts):
            problems.append("%s: names %s(), which is not in %s" % (page.name, name, path or "collector"))


def check_sources(root, problems):
    for top in SOURCES:
        for directory, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                path = os.path.relpath(os.path.join(directory, name), root)
                if not re.search(r"(\.(cc|h|c|py|def|proto|cmake|txt)|/[^.]+)$", path):
                    continue
                with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                    for page in set(re.findall(r"(?<![\w./])docs/[\w/-]+\.md\b", file.read())):
                        if not os.path.exists(os.path.join(root, page)):
                            problems.append("%s: names %s, which does not exist" % (path, page))


def check_reachable(pages, problems):
    seen, todo = set(START), list(START)
    while todo:
        for target, _ in pages[todo.pop()].links():
            if target in pages and target not in seen:
                seen.add(target)
                todo.append(target)
    for name in sorted(pages):
        if name.startswith("docs/") and name not in seen:
            problems.append("%s: no link leads there from %s" % (name, " or ".join(START)))


def check_exporters(root, pages, problems):
    with open(os.path.join(root, "collector/export/exporters.def"), encoding="utf-8") as file:
        kinds = re.findall(r"^EXPORTER\(([^,]+),", file.read(), re.MULTILINE)
    if not kinds:
        problems.append("collector/export/exporters.def: no EXPORTER lines")
    for kind in kinds:
        if kind not in pages["docs/exporters.md"].anchors and not any(
                line.startswith("| `%s` |" % kind) for line in pages["docs/ci.md"].lines):
            problems.append("docs/ci.md, docs/exporters.md: neither describes the output %s" % kind)


def find_rooms(root):
    rooms = ["cli"]
    for top in ("collector", "shim"):
        for directory, _, files in os.walk(os.path.join(root, top)):
            if any(name.endswith((".cc", ".h")) for name in files):
                rooms.append(os.path.relpath(directory, root))
    return sorted(rooms)


def check_rooms(root, pages, problems):
    rows = set(pages["docs/architecture.md"].lines)
    for room in find_rooms(root):
        page = pages.get(room + "/README.md")
        if page is None:
            problems.append("%s: has no README.md (CONTRIBUTING.md, \"Add something else\")" % room)
            continue
        lines = page.lines[:-1]
        if len(lines) > ROOM_LINES:
            problems.append("%s: %d lines, more than %d" % (page.name, len(lines), ROOM_LINES))
        name = room.removeprefix("collector/")
        row = "| [%s](../%s) | %s |" % (name, room, lines[2] if len(lines) > 2 else "")
        if lines[0] != "# " + name or row not in rows:
            problems.append("docs/architecture.md: lacks the row %s" % row)


def check_pictures(root, problems):
    for path in draw.sources(root):
        drawn = path.removesuffix(".txt") + ".svg"
        picture = draw.read(path)
        current = os.path.exists(drawn) and open(drawn, encoding="utf-8").read() == picture.svg()
        if not current:
            problems.append("%s: run scripts/draw.py" % os.path.relpath(drawn, root))
    levels = draw.read(os.path.join(root, "docs/pictures/architecture.txt")).levels
    rows = {name: number for number, level in enumerate(levels) for name in level}
    with open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8") as file:
        layers = re.findall(r"^rollcall_layer\((\S+)\s+LINKS([^)]*)\)", file.read(), re.MULTILINE)
    for layer, links in layers:
        for link in re.split(r"EXTERNAL|SOURCES", links)[0].split():
            if rows.get(layer, -1) >= rows.get(link, -1):
                problems.append("docs/pictures/architecture.txt: %s includes %s, which is not in a lower row" %
                                (layer, link))
        if layer not in rows:
            problems.append("docs/pictures/architecture.txt: lacks the layer %s" % layer)


def main():
    root = sys.argv[1]
    pages = find_pages(root)
    problems = []
    for _, page in sorted(pages.items()):
        check_columns(page, problems)
        check_links(root, pages, page, problems)
        check_functions(root, page, problems)
    check_reachable(pages, problems)
    check_exporters(root, pages, problems)
    check_rooms(root, pages, problems)
    check_pictures(root, problems)
    check_sources(root, problems)
    if problems:
        sys.exit("\n".join(problems))
    print("pages: %d pages are in order" % len(pages))


if __name__ == "__main__":
    main()
