#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/: scripts/draw.py writes docs/pictures/NAME.svg from each docs/pictures/NAME.txt.

A picture is a text with one statement a line; a line that begins with `#` is a comment. Numbers are pixels; X and Y are of the top left.

    size WIDTH HEIGHT
    frame X Y WIDTH HEIGHT | LABEL             a dashed frame around boxes
    box NAME X Y WIDTH HEIGHT [mark] | LINE…   a box with lines of text, the first one bold; `mark`: highlighted
    arrow FROM TO [back] | LABEL               from side to side of two boxes, or between points X,Y; `back`: a second
                                               head at FROM
    text X Y | LINE                            text that begins at X
    grid X Y WIDTH HEIGHT                      boxes of this size in rows, one for each `level` below
    level NAME[:NUMBER]…                       a row of the grid; `-`: no box; a NUMBER highlights the box, which shows
                                               the last part of a NAME such as diagnosis/graph

The test `pages` compares the .svg with the .txt. It also checks that every layer in CMakeLists.txt includes only rooms
in lower rows of the grid.
"""

import glob
import html
import os

STYLE = """
  text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .name { font-weight: 600; }
  .label { font-size: 12px; fill: #59636e; }
  .middle { text-anchor: middle; }
  .paper { fill: #ffffff; }
  .box { fill: #f6f8fa; stroke: #818b98; }
  .mark { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.5; }
  .frame { fill: none; stroke: #818b98; stroke-dasharray: 4 3; }
  .line { fill: none; stroke: #59636e; stroke-width: 1.5; }
  .head { fill: #59636e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .label { fill: #b1bac4; }
    .paper { fill: #0d1117; }
    .box { fill: #151b23; stroke: #656c76; }
    .mark { fill: #0c2d4d; stroke: #4493f8; }
    .frame { stroke: #656c76; }
    .line { stroke: #b1bac4; }
    .head { fill: #b1bac4; }
  }
"""
GAP = 12  # between the boxes of a grid
LEADING = 17


class Picture:
    """The statements of one text. `levels` are the rows of the grid, from above, as lists of names."""

    def __init__(self, text):
        self.levels = []
        self._shapes = []
        self._boxes = {}
        for number, line in enumerate(text.splitlines(), 1):
            head, _, tail = line.partition("|")
            words = head.split()
            if not words or line.startswith("#"):
                continue
            try:
                getattr(self, "_" + words[0])(words[1:], [part.strip() for part in tail.split("|")])
            except (AttributeError, KeyError, ValueError) as error:
                raise ValueError("line %d: %s: %s" % (number, line.strip(), error)) from error

    def svg(self):
        return '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">\n' \
            '<style>%s</style>\n<rect class="paper" width="100%%" height="100%%"/>\n%s\n</svg>\n' % (
                *self._extent, *self._extent, STYLE, "\n".join(self._shapes))

    def _size(self, words, _):
        self._extent = tuple(map(int, words))

    def _rect(self, kind, x, y, width, height):
        self._shapes.append('<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="5"/>' % (
            kind, x, y, width, height))

    def _write(self, kind, x, y, text):
        if text:
            self._shapes.append('<text class="%s" x="%d" y="%d">%s</text>' % (kind, x, y, html.escape(text)))

    def _frame(self, words, lines):
        x, y, width, height = map(int, words)
        self._rect("frame", x, y, width, height)
        self._write("label", x + 8, y + 16, lines[0])

    def _box(self, words, lines):
        name = words[0]
        x, y, width, height = map(int, words[1:5])
        self._boxes[name] = (x, y, width, height)
        self._rect("mark" if "mark" in words[5:] else "box", x, y, width, height)
        top = y + height // 2 + 5 - (len(lines) - 1) * LEADING // 2
        for number, line in enumerate(lines):
            self._write("middle name" if number == 0 else "middle label", x + width // 2, top + number * LEADING, line)

    def _text(self, words, lines):
        self._write("label", int(words[0]), int(words[1]), lines[0])

    def _head(self, x, y, dx, dy):
        self._shapes.append('<polygon class="head" points="%d,%d %d,%d %d,%d"/>' % (
            x, y, x - 8 * dx - 4 * dy, y - 8 * dy - 4 * dx, x - 8 * dx + 4 * dy, y - 8 * dy + 4 * dx))

    def _place(self, word):
        return (*map(int, word.split(",")), 1, 1) if "," in word else self._boxes[word]

    def _arrow(self, words, lines):
        ax, ay, aw, ah = self._place(words[0])
        bx, by, bw, bh = self._place(words[1])
        if max(ax, bx) < min(ax + aw, bx + bw):  # one is above the other
            down = 1 if by > ay else -1
            x = (max(ax, bx) + min(ax + aw, bx + bw)) // 2
            start, end = (x, ay + ah if down > 0 else ay), (x, by if down > 0 else by + bh)
            step = (0, down)
        elif max(ay, by) < min(ay + ah, by + bh):
            right = 1 if bx > ax else -1
            y = (max(ay, by) + min(ay + ah, by + bh)) // 2
            start, end = (ax + aw if right > 0 else ax, y), (bx if right > 0 else bx + bw, y)
            step = (right, 0)
        else:
            raise ValueError("the boxes are neither side by side nor one above the other")
        self._shapes.append('<path class="line" d="M%d,%d L%d,%d"/>' % (*start, *end))
        self._head(*end, *step)
        if "back" in words[2:]:
            self._head(*start, -step[0], -step[1])
        for number, line in enumerate(lines):
            if step[0]:
                self._write("middle label", (start[0] + end[0]) // 2, start[1] - 6 - (len(lines) - 1 - number) * 15, line)
            else:
                self._write("label", start[0] + 8, (start[1] + end[1]) // 2 + 4 + number * 15, line)

    def _grid(self, words, _):
        self._grid_at = tuple(map(int, words))

    def _level(self, words, _):
        x, y, width, height = self._grid_at
        for column, word in enumerate(words):
            if word == "-":
                continue
            name, _, number = word.partition(":")
            left = x + column * (width + GAP)
            self._boxes[name] = (left, y, width, height)
            self._rect("mark" if number else "box", left, y, width, height)
            self._write("middle name", left + width // 2, y + height // 2 + 5,
                        (number + " · " if number else "") + name.rpartition("/")[2])
        self.levels.append([word.partition(":")[0] for word in words if word != "-"])
        self._grid_at = (x, y + height + GAP, width, height)


def sources(root):
    return sorted(glob.glob(os.path.join(root, "docs/pictures/*.txt")))


def read(path):
    with open(path, encoding="utf-8") as file:
        return Picture(file.read())


def main():
    for path in sources(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))):
        with open(path.removesuffix(".txt") + ".svg", "w", encoding="utf-8") as file:
            file.write(read(path).svg())


if __name__ == "__main__":
    main()
