// The groups as rows of one height, of which only those near the window exist.
// An opened group is followed by a row for each copy and each further name.

const SPARE_ROWS = 8;
// Beyond some millions of pixels browsers stop growing elements; from here on
// scrolling is scaled.
const TALLEST = 5_000_000;
// Width of a character in a folder's path.
const CHARACTER = 7.3;

class Table {
  constructor(report, { onCopy }) {
    this.report = report;
    this.onCopy = onCopy;
    this.box = document.getElementById("rows");
    this.tools = document.getElementById("tools");
    this.opened = new Set();
    this.drawn = new Map();
    this.groups = [];
    this.current = 0;
    this.box.addEventListener("click", (event) => this.click(event));
    this.box.addEventListener("keydown", (event) => this.key(event));
    addEventListener("scroll", () => this.drawSoon(), { passive: true });
    addEventListener("resize", () => this.redraw());
  }

  /** Shows other groups, from the first. */
  show(groups) {
    this.groups = groups;
    this.current = 0;
    this.indexOpened();
    const top = this.box.getBoundingClientRect().top - this.tools.offsetHeight;
    if (top < 0) scrollBy({ top, behavior: "instant" });
    this.redraw();
  }

  /** Opened groups by position, with the rows that come before them. */
  indexOpened() {
    this.positions = [];
    this.before = [];
    let extra = 0;
    if (this.opened.size > 0) {
      this.groups.forEach((group, position) => {
        if (!this.opened.has(group)) return;
        this.positions.push(position);
        this.before.push(extra);
        extra += this.details(group);
      });
    }
    this.count = this.groups.length + extra;
  }

  /** Rows that an opened group has below its own. */
  details(group) {
    const { copyStart, linkStart } = this.report;
    return copyStart[group + 1] - copyStart[group] + linkStart[group + 1] - linkStart[group];
  }

  /** What a row shows: a group, and which of its details, or -1. */
  rowAt(row) {
    let low = 0;
    let high = this.positions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.positions[middle] + this.before[middle] < row) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return { position: row, group: this.groups[row], detail: -1 };
    const position = this.positions[low - 1];
    const head = position + this.before[low - 1];
    const details = this.details(this.groups[position]);
    if (row - head <= details) return { position, group: this.groups[position], detail: row - head - 1 };
    const after = row - this.before[low - 1] - details;
    return { position: after, group: this.groups[after], detail: -1 };
  }

  /** The row of the group at a position. */
  rowOf(position) {
    const index = this.positions.findLastIndex((opened) => opened < position);
    return index < 0 ? position : position + this.before[index] + this.details(this.groups[this.positions[index]]);
  }

  drawSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  redraw() {
    const hadFocus = this.box.contains(document.activeElement);
    this.drawn.forEach((row) => row.remove());
    this.drawn.clear();
    this.rowHeight = parseFloat(getComputedStyle(this.box).getPropertyValue("--row"));
    this.height = Math.min(TALLEST, this.count * this.rowHeight);
    this.box.style.height = `${this.height}px`;
    this.box.setAttribute("aria-rowcount", String(this.count));
    this.draw();
    if (hadFocus) this.focus(Math.min(this.current, this.count - 1));
  }

  /** How far the rows are scrolled, and how far the element is. */
  scrolled() {
    const element = Math.max(0, -this.box.getBoundingClientRect().top);
    const room = this.height - innerHeight;
    const scale = this.count * this.rowHeight > TALLEST && room > 0 ? (this.count * this.rowHeight - innerHeight) / room : 1;
    return { element, rows: element * scale, scale };
  }

  draw() {
    const { element, rows } = this.scrolled();
    const first = Math.max(0, Math.floor(rows / this.rowHeight) - SPARE_ROWS);
    const last = Math.min(this.count, Math.ceil((rows + innerHeight) / this.rowHeight) + SPARE_ROWS);
    for (const [index, row] of this.drawn) {
      // A row that has the focus must not vanish under it.
      if ((index < first || index >= last) && !row.contains(document.activeElement)) {
        row.remove();
        this.drawn.delete(index);
      }
    }
    for (let index = first; index < last; index += 1) {
      if (!this.drawn.has(index)) this.insert(index, this.make(index));
    }
    for (const [index, row] of this.drawn) row.style.top = `${index * this.rowHeight - rows + element}px`;
  }

  /** Keeps the rows of the page in order, for screen readers. */
  insert(index, row) {
    let next = null;
    let nearest = Infinity;
    for (const [other, candidate] of this.drawn) {
      if (other > index && other < nearest) [nearest, next] = [other, candidate];
    }
    this.box.insertBefore(row, next);
    this.drawn.set(index, row);
  }

  make(index) {
    const { group, detail } = this.rowAt(index);
    const row = detail < 0 ? this.groupRow(group) : this.detailRow(group, detail);
    row.setAttribute("role", "row");
    row.setAttribute("aria-rowindex", String(index + 1));
    row.setAttribute("aria-level", detail < 0 ? "1" : "2");
    row.dataset.index = String(index);
    row.tabIndex = index === this.current ? 0 : -1;
    return row;
  }

  groupRow(group) {
    const { report } = this;
    const row = element("div", "row group");
    const copies = report.copies(group);
    const isOpen = this.opened.has(group);
    row.setAttribute("aria-expanded", String(isOpen));
    const folder = report.folderPath(report.copyFolder[report.copyStart[group]]);
    const file = cell("file");
    // The folders of an open group are listed below it.
    const where = element("span", "where", isOpen ? this.comparison(group) : this.fitting(folder, false));
    if (!isOpen) where.title = folder;
    file.append(element("span", "name", report.title(group)), where);
    const [type, label] = TYPES[report.groupType[group]];
    const kind = cell("kind", label);
    kind.dataset.type = type;
    const size = cell("number size", humanSize(report.groupSize[group]));
    size.title = exactSize(report.groupSize[group]);
    const reclaimable = cell("number reclaimable", humanSize(report.reclaimable(group)));
    reclaimable.title = exactSize(report.reclaimable(group));
    row.append(file, kind, cell("number copies", `${grouped(copies)} ×`), size, reclaimable);
    return row;
  }

  detailRow(group, detail) {
    const { name, folder, copy, link } = this.nameOf(group, detail);
    const { report } = this;
    const row = element("div", "row detail");
    const file = cell("file");
    const path = report.folderPath(folder);
    const where = element("span", "where", this.fitting(path, true));
    where.title = report.path(folder, name);
    file.append(element("span", "name", name), where);
    const note = this.note(copy, link);
    const about = cell("about", note);
    if (link < 0 && report.kept.has(copy)) about.prepend(element("strong", "keep", "keep"), " · ");
    else if (link < 0 && report.isPlan) about.prepend("remove · ");
    const button = element("button", "copy", "Copy path");
    button.type = "button";
    button.tabIndex = -1;
    button.setAttribute("aria-label", `Copy the path of ${name}`);
    const action = cell("action");
    action.append(button);
    row.append(file, about, action);
    return row;
  }

  /** What is said beside a name: of a further one, what kind it is. */
  note(copy, link) {
    const { report } = this;
    if (link < 0) return `modified ${moment(report.copyTime[copy])}`;
    return report.symlinks.has(link) ? "symbolic link to the copy above" : "same file as the copy above";
  }

  /** How it is known that the copies are equal. */
  comparison(group) {
    return `${this.report.groupComparison[group]} · ${this.report.groupDigest[group]}…`;
  }

  /** The copy or the further name behind a detail; names follow their copy. */
  nameOf(group, detail) {
    const { report } = this;
    let left = detail;
    let link = report.linkStart[group];
    for (let copy = report.copyStart[group]; copy < report.copyStart[group + 1]; copy += 1) {
      if (left === 0) return { name: report.copyName[copy], folder: report.copyFolder[copy], copy, link: -1 };
      left -= 1;
      for (; link < report.linkStart[group + 1] && report.linkCopy[link] === copy; link += 1) {
        if (left === 0) return { name: report.linkName[link], folder: report.linkFolder[link], copy, link };
        left -= 1;
      }
    }
    return { name: "", folder: 0, copy: report.copyStart[group], link: -1 };
  }

  /** A folder's path with as many characters as there is room for. */
  fitting(path, isDetail) {
    const [others, lines] = innerWidth <= 700 ? [40, isDetail ? 2 : 1] : [isDetail ? 390 : 530, 1];
    const room = Math.floor((this.box.clientWidth - others) / CHARACTER);
    return shortenMiddle(path, Math.max(20, room * lines));
  }

  toggle(index, open) {
    const { group, detail } = this.rowAt(index);
    if (detail >= 0 || this.opened.has(group) === open) return;
    if (open) this.opened.add(group);
    else this.opened.delete(group);
    this.indexOpened();
    this.redraw();
  }

  copy(index) {
    const { group, detail } = this.rowAt(index);
    const { name, folder } = this.nameOf(group, Math.max(0, detail));
    this.onCopy(this.report.path(folder, name));
  }

  /** Opens a group and goes there, if it is among those shown. */
  reveal(group) {
    const position = this.groups.indexOf(group);
    if (position < 0) return false;
    this.opened.add(group);
    this.indexOpened();
    this.redraw();
    this.focus(this.rowOf(position), 3);
    return true;
  }

  click(event) {
    const row = event.target.closest(".row");
    if (!row) return;
    const index = Number(row.dataset.index);
    const isGroup = row.classList.contains("group");
    this.focus(index);
    if (event.target.closest(".copy")) this.copy(index);
    else if (isGroup && getSelection().isCollapsed) this.toggle(index, row.getAttribute("aria-expanded") !== "true");
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { position, group, detail } = this.rowAt(this.current);
    const page = Math.max(1, Math.floor((innerHeight - this.tools.offsetHeight) / this.rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.focus(Math.min(this.count - 1, Math.max(0, this.current + steps[event.key])));
    else if (event.key === "ArrowRight") this.toggle(this.current, true);
    else if (event.key === "ArrowLeft" || event.key === "Escape") {
      if (detail >= 0) this.focus(this.rowOf(position));
      else this.toggle(this.current, false);
    } else if (event.key === "Enter" || event.key === " ") {
      if (detail >= 0) this.copy(this.current);
      else this.toggle(this.current, !this.opened.has(group));
    } else if (event.key === "c") this.copy(this.current);
    else return;
    event.preventDefault();
  }

  /** Makes a row the current one, in the window and with the focus. */
  focus(index, above = 0) {
    if (index < 0 || index >= this.count) return;
    const before = this.drawn.get(this.current);
    if (before) before.tabIndex = -1;
    this.current = index;
    this.scrollTo(index, above);
    this.draw();
    const row = this.drawn.get(index);
    row.tabIndex = 0;
    row.focus({ preventScroll: true });
    this.draw();
  }

  /** Scrolls as little as it takes; `above` asks for rows before it. */
  scrollTo(index, above) {
    const { rows, scale } = this.scrolled();
    const top = this.box.getBoundingClientRect().top;
    const hidden = this.tools.getBoundingClientRect().bottom;
    const shownAt = index * this.rowHeight - rows + Math.max(0, top);
    const least = Math.max(hidden, 0) + above * this.rowHeight;
    const most = innerHeight - this.rowHeight - 8;
    if (shownAt < least) scrollBy({ top: (shownAt - least) / scale, behavior: "instant" });
    else if (shownAt > most) scrollBy({ top: (shownAt - (above > 0 ? least : most)) / scale, behavior: "instant" });
  }
}

function cell(className, text = "") {
  const made = element("div", `cell-of-row ${className}`, text);
  made.setAttribute("role", "gridcell");
  return made;
}
