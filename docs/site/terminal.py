"""Runs the commands that the pages show, and draws their output as a terminal would.

A block of a page that begins with ```` ```{terminal} ```` has one command a line, as a reader would type it in the
folder of the kept recordings (`examples/recording`).
"""

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "examples" / "recording"
BLOCK = re.compile(r"^```\{(terminal|flamegraph)\}[^\n]*\n(?::[^\n]*\n)*(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A directive of a page: its name and its content."""
SECONDS = 60
MOST_COLUMNS = 112
SCALE = 0.655
"""Of a picture with letters of 20 pixels: letters are 8 pixels wide."""
THEME = TerminalTheme(
    (24, 27, 33),
    (214, 218, 224),
    [(60, 66, 78), (240, 113, 120), (152, 207, 114), (242, 190, 92), (110, 170, 245), (200, 150, 235), (90, 205, 215),
     (214, 218, 224)],
    [(126, 134, 148), (255, 140, 145), (180, 230, 140), (255, 210, 120), (140, 190, 255), (220, 175, 250),
     (120, 225, 235), (255, 255, 255)],
)  # fmt: skip  # a row of plain colours, a row of bright ones
DRAWING = """\
<svg class="terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: system-ui, sans-serif; font-size: 17px; }}
{styles}
</style>
<defs>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""
"""How rich composes its pictures, without the font that its own template loads from the network."""


def commands(content: str) -> list[str]:
    """The commands of a block."""
    return [line for line in content.replace("\\\n", " ").splitlines() if line.strip()]


def run(command: str, folder: Path = RECORDINGS) -> str:
    """What a command prints, errors too, with colours. Raises RuntimeError if it fails or prints nothing.

    The `undwarf` of this interpreter is the one that runs.
    """
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    settings = {"FORCE_COLOR": "1", "UNDWARF_CACHE_DIR": "off", "UNDWARF_CONFIG": "off", "LC_ALL": "C.UTF-8"}
    environment = os.environ | settings | {"PATH": path}
    environment.pop("NO_COLOR", None)
    shell = [shutil.which("bash") or "sh", "-c", command]
    done = subprocess.run(
        shell, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS
    )
    text = done.stdout.decode()
    if done.returncode or not text.strip():
        raise RuntimeError(f"{command}: status {done.returncode}\n{text}")
    return text


def flamegraph(arguments: str, folder: Path = RECORDINGS) -> str:
    """The page that `undwarf flamegraph` writes with these arguments."""
    return run(f"undwarf flamegraph {arguments} -o -", folder)


def plain(output: str) -> str:
    """The output without colours."""
    return Text.from_ansi(output).plain


def drawn(command: str, output: str) -> str:
    """The output as SVG, with the command as the window's title."""
    text = Text.from_ansi(output.strip("\n"))
    text.no_wrap, text.overflow = True, "ellipsis"
    columns = min(MOST_COLUMNS, max(60, *map(len, text.plain.split("\n"))))
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(text)
    name = "t" + hashlib.sha256(f"{command}\n{output}".encode()).hexdigest()[:8]
    found = re.search(r"undwarf \w+", command)
    title = found[0] if found else ""
    picture = console.export_svg(title=title, theme=THEME, code_format=DRAWING, unique_id=name)
    width = float(picture.split('viewBox="0 0 ', 1)[1].split()[0]) * SCALE
    return picture.replace("<svg ", f'<svg width="{width:.0f}" ', 1)
