// Long lists: only the rows that are in sight are elements.

/** Rows beyond the edges that are drawn as well. */
const SPARE = 6;

/** Draws the rows of a list that scrolls. All rows are of one height. */
export class VirtualList {
  /**
   * @param {HTMLElement} scroller what scrolls; its content is this list's
   * @param {(row: number) => HTMLElement} draw
   */
  constructor(scroller, draw) {
    this.scroller = scroller;
    this.draw = draw;
    this.count = 0;
    this.height = 28;
    /** @type {Map<number, HTMLElement>} */
    this.drawn = new Map();
    this.content = document.createElement("div");
    this.content.className = "virtual";
    this.content.setAttribute("role", "presentation");
    scroller.append(this.content);
    scroller.addEventListener("scroll", () => this.place(), { passive: true });
    new ResizeObserver(() => this.place()).observe(scroller);
  }

  /**
   * Draw this many rows anew.
   * @param {number} count
   */
  show(count) {
    this.count = count;
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
    this.measure();
    this.content.style.height = `${count * this.height}px`;
    this.place();
  }

  /** The height of a row, which the user's font size decides. */
  measure() {
    const probe = document.createElement("div");
    probe.className = "virtual-row";
    this.content.append(probe);
    const height = probe.getBoundingClientRect().height;
    probe.remove();
    if (height > 0) this.height = height;
  }

  /** Draw what is in sight. */
  place() {
    const { scroller, height } = this;
    // What scrolls may have other things above the list.
    const above = this.content.offsetTop;
    const first = Math.max(0, Math.floor((scroller.scrollTop - above) / height) - SPARE);
    const last = Math.min(this.count, Math.ceil((scroller.scrollTop - above + scroller.clientHeight) / height) + SPARE);
    for (const [i, row] of this.drawn)
      if (i < first || i >= last) {
        row.remove();
        this.drawn.delete(i);
      }
    for (let i = first; i < last; i++) {
      if (this.drawn.has(i)) continue;
      const row = this.draw(i);
      row.classList.add("virtual-row");
      row.style.top = `${i * height}px`;
      this.drawn.set(i, row);
      this.content.append(row);
    }
  }

  /**
   * Draw a row anew if it is in sight.
   * @param {number} i
   */
  redraw(i) {
    const old = this.drawn.get(i);
    if (!old) return;
    old.remove();
    this.drawn.delete(i);
    this.place();
  }

  /** Draw all rows that are in sight anew. */
  redrawAll() {
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
    this.place();
  }

  /**
   * Scroll so that a row is in sight.
   * @param {number} i
   * @param {boolean} [middle] to the middle if it was out of sight
   */
  reveal(i, middle = false) {
    const { scroller, height } = this;
    const head = this.content.offsetTop;
    const top = i * height;
    const bottom = top + height + head;
    const seen = scroller.clientHeight;
    if (top >= scroller.scrollTop && bottom <= scroller.scrollTop + seen) return;
    if (middle) scroller.scrollTop = Math.max(0, top + head - seen / 2);
    else if (top < scroller.scrollTop) scroller.scrollTop = top;
    else scroller.scrollTop = bottom - seen;
    this.place();
  }

  /** Number of whole rows in sight. */
  get page() {
    return Math.max(1, Math.floor((this.scroller.clientHeight - this.content.offsetTop) / this.height) - 1);
  }
}

/**
 * Show which row of a grid is chosen, to eyes and to screen readers.
 * @param {HTMLElement} grid
 * @param {VirtualList} list
 * @param {number} at position of the row, -1 for none
 */
export function markChosen(grid, list, at) {
  for (const [position, row] of list.drawn) {
    row.classList.toggle("chosen", position === at);
    row.setAttribute("aria-selected", String(position === at));
  }
  if (at >= 0) grid.setAttribute("aria-activedescendant", `row-${at}`);
  else grid.removeAttribute("aria-activedescendant");
}
