"""How fast the page of a profile is in a browser: the first picture, frames while zooming and selecting, memory.

    python bench/page_speed.py                     # 1,000,000 rows, 200,000 different stacks of about 40 frames
    python bench/page_speed.py page.html           # a page that exists

Needs chromium, chromedriver and selenium.
"""

import argparse
import random
import shutil
import tempfile
import time
from array import array
from pathlib import Path
from typing import Any

from undwarf.outputs.page.html import write
from undwarf.outputs.page.parts import encode
from undwarf.views.page.part import Part

NONE = 0xFFFFFFFF
FUNCTIONS = 6000
FRAMES_EACH = 4
KINDS = ("program", "library", "library", "kernel", "jit", "vdso", "library", "library", "library", "library")
THREADS = 24
FLAGS = "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"

FRAMES_OF_ZOOM = """const [done, count] = [arguments[0], 180];
const canvas = document.getElementById("flame-canvas");
const { left, top, width } = canvas.getBoundingClientRect();
const times = [];
let before = performance.now();
const step = (now) => {
  times.push(now - before);
  before = now;
  if (times.length > count) return done(times.slice(1));
  const place = { clientX: left + width * 0.3, clientY: top + 50, bubbles: true, cancelable: true };
  const deltaY = times.length <= count / 2 ? -20 : 20;
  canvas.dispatchEvent(new WheelEvent("wheel", { ...place, ctrlKey: true, deltaY }));
  requestAnimationFrame(step);
};
requestAnimationFrame(step);"""

FRAMES_OF_SELECTING = """const [done, count] = [arguments[0], 60];
const plot = document.querySelector(".timeline-plot");
const { left, top, width } = plot.getBoundingClientRect();
plot.setPointerCapture = () => {};
const send = (type, share) => plot.dispatchEvent(new PointerEvent(type, {
  pointerId: 1, button: 0, buttons: 1, bubbles: true, clientX: left + width * share, clientY: top + 40 }));
const times = [];
send("pointerdown", 0.1);
let before = performance.now();
const step = (now) => {
  times.push(now - before);
  before = now;
  if (times.length > count) {
    send("pointerup", 0.5);
    return done(times.slice(1));
  }
  send("pointermove", 0.1 + (0.4 * times.length) / count);
  requestAnimationFrame(step);
};
requestAnimationFrame(step);"""


def stacks(count: int, depth: int) -> "tuple[array[int], array[int], list[int]]":
    """Parent and frame of the nodes of a tree with ``count`` different stacks, depth first, and the stacks' nodes."""
    source = random.Random(1)
    called: dict[int, list[int]] = {}
    children: dict[tuple[int, int], int] = {}
    parent: list[int] = []
    frame: list[int] = []
    depths: list[int] = []

    def child(under: int, of: int) -> int:
        node = children.setdefault((under, of), len(parent))
        if node == len(parent):
            parent.append(under)
            frame.append(of)
            depths.append(depths[under] + 1 if under >= 0 else 1)
        return node

    leaves: dict[int, None] = {}
    known: list[int] = []
    while len(leaves) < count:
        if len(known) < 50 or source.random() < 0.002:
            node = child(-1, source.randrange(2))
        else:
            node = source.choice(known)
            for _ in range(source.randint(1, 4)):
                node = parent[node] if parent[node] >= 0 else node
        new = depths[node] < 5
        want = int(depth * source.uniform(0.6, 1.2)) if new else depths[node] + source.randint(1, 5)
        for _ in range(depths[node], min(want, 2 * depth)):
            function = frame[node] // FRAMES_EACH
            if function not in called:
                called[function] = [source.randrange(FUNCTIONS * FRAMES_EACH) for _ in range(source.randint(2, 6))]
            node = child(node, called[function][int(len(called[function]) * source.random() ** 2)])
        if node not in leaves:
            leaves[node] = None
            known.append(node)

    below: list[list[int]] = [[] for _ in parent]
    pending: list[int] = []
    for node, under in enumerate(parent):
        (below[under] if under >= 0 else pending).append(node)
    order = array("I", bytes(4 * len(parent)))
    parents, frames = array("I"), array("I")
    while pending:
        node = pending.pop()
        order[node] = len(parents)
        parents.append(order[parent[node]] if parent[node] >= 0 else NONE)
        frames.append(frame[node])
        pending += below[node]
    return parents, frames, [order[node] for node in leaves]


def synthetic(rows: int, different: int, depth: int) -> Part:
    """A profile of a server and its client that nobody recorded."""
    source = random.Random(2)
    parents, frames, leaves = stacks(different, depth)
    images = [
        {"name": f"{kind}{i}", "path": f"/usr/lib/{kind}{i}", "build_id": None, "kind": kind}
        for i, kind in enumerate(KINDS)
    ]
    image = array("I", [source.randrange(len(KINDS)) for _ in range(FUNCTIONS)])
    count = FUNCTIONS * FRAMES_EACH
    of_function = array("I", [i // FRAMES_EACH for i in range(count)])
    phase = [source.randrange(different) for _ in range(rows // 2000 + 1)]
    node = array(
        "I", [leaves[(phase[i // 2000] + int(different * source.random() ** 3)) % different] for i in range(rows)]
    )
    threads = [{"tid": 1000 + i, "process": int(i > 15), "name": f"worker-{i}", "idle": False} for i in range(THREADS)]
    values: dict[str, Any] = {
        "version": 1,
        "title": f"{rows} rows",
        "recording": dict.fromkeys(("path", "host", "kernel", "cpu", "command", "recorded", "undwarf")),
        "served": False,
        "time_unit_ns": 1000,
        "time_start_ns": 0,
        "time_end_ns": 60 * 10**9,
        "merged_time_ns": 0,
        "events": [{"name": "cpu-clock", "unit": "ns"}],
        "measures": [{"name": "cpu-clock", "unit": "ns", "events": [0]}],
        "images": images,
        "functions": [f"ns{i % 40}::function_{i}" if i % 20 else None for i in range(FUNCTIONS)],
        "files": [f"/src/file{i}.cc" for i in range(200)],
        "processes": [{"pid": 1000, "name": "server"}, {"pid": 1001, "name": "client"}],
        "threads": threads,
        "gaps": [
            {"reason": "root", "description": "root reached", "kind": "whole", "image": None, "advice": None},
            {"reason": "no_rule", "description": "no unwind rule", "kind": "early", "image": 2, "advice": None},
        ],
        "quality": {},
        "marks": [],
        "switches": None,
        "origin": None,
        "notes": [],
    }
    columns = {
        "node_parent": parents,
        "node_frame": frames,
        "frame_function": of_function,
        "frame_image": array("I", [image[i] for i in of_function]),
        "frame_file": array("I", [i % 200 for i in of_function]),
        "frame_line": array("I", [10 + i % 500 for i in range(count)]),
        "frame_address": array("Q", [0x1000 + 16 * i for i in range(count)]),
        "frame_inline": array("B", [int(i % 5 == 0) for i in of_function]),
        "frame_flags": array("B", bytes(count)),
        "function_image": image,
        "function_address": array("Q", [0x1000 + 64 * i for i in range(FUNCTIONS)]),
        "function_flags": array("B", [int(i % 20 == 0) for i in range(FUNCTIONS)]),
        "row_time": array("I", [60_000_000 * i // rows for i in range(rows)]),
        "row_thread": array("I", [source.randrange(THREADS) for _ in range(rows)]),
        "row_cpu": array("H", [i % 8 for i in range(rows)]),
        "row_event": array("B", bytes(rows)),
        "row_node": node,
        "row_gap": array("H", [int(source.random() < 0.03) for _ in range(rows)]),
        "row_count": array("I", [1]) * rows,
        "row_weight": array("Q", [1_000_000]) * rows,
    }
    return Part("profile", values, {name: memoryview(column) for name, column in columns.items()})


def shown(times: list[float]) -> str:
    times = sorted(times)
    return (
        f"median {times[len(times) // 2]:.1f} ms, 95 % {times[len(times) * 95 // 100]:.1f} ms, most {times[-1]:.1f} ms"
    )


def measure(address: str) -> None:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in (*FLAGS.split(), "--window-size=1280,900"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        browser.get(address)
        drawn = "return Number(document.getElementById('flame-canvas')?.dataset.drawn ?? 0)"
        while not browser.execute_script(drawn):
            time.sleep(0.01)
        painted = browser.execute_script("return Number(document.getElementById('flame-canvas').dataset.first)")
        print(f"first picture    {painted:.0f} ms after the page was opened")
        memory("memory           ", browser)
        print("zooming          ", shown(browser.execute_async_script(FRAMES_OF_ZOOM)))
        print("selecting a time ", shown(browser.execute_async_script(FRAMES_OF_SELECTING)))
        for name, state in (
            ("callers", "tree=callers"),
            ("in time", "order=time"),
            ("by thread", "byThread=true"),
            ("recursion", "recursion=true"),
        ):
            script = """const [state, done] = arguments; const start = performance.now(); location.hash = state;
                requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)))"""
            browser.execute_async_script(script, "")
            print(f"{name:<17}{browser.execute_async_script(script, state):.0f} ms")
        memory("memory then      ", browser)
    finally:
        browser.quit()


def memory(title: str, browser: Any) -> None:
    used = browser.execute_cdp_cmd("Runtime.getHeapUsage", {})
    total = (used["usedSize"] + used.get("backingStorageSize", 0) + used.get("embedderHeapUsedSize", 0)) / 1e6
    print(f"{title}{total:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description="The speed of the page of a profile in a browser.")
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--stacks", type=int, default=200_000)
    parser.add_argument("--depth", type=int, default=40)
    chosen = parser.parse_args()
    if chosen.page:
        measure(chosen.page.resolve().as_uri())
        return
    with tempfile.TemporaryDirectory() as folder:
        part = synthetic(chosen.rows, chosen.stacks, chosen.depth)
        page = Path(folder) / "page.html"
        with page.open("wb") as sink:
            write({"profile": encode(part, 6)}, sink)
        nodes = len(part.columns["node_parent"])
        print(f"{chosen.rows:,} rows, {chosen.stacks:,} stacks, {nodes:,} nodes: {page.stat().st_size / 1e6:.1f} MB")
        measure(page.as_uri())


if __name__ == "__main__":
    main()
