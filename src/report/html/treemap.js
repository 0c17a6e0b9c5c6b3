// The treemap: reclaimable space by folder. A level is a folder, the files in
// it, or what had no room among either; levels are entered and left.

const MOST_CELLS = 40;
const LEAST_SHARE = 0.0025;
const GAP = 3;
const EDGE = 6;

class Treemap {
  constructor(report, { onLevel, onFile, say }) {
    this.report = report;
    this.onLevel = onLevel;
    this.onFile = onFile;
    this.say = say;
    this.box = document.getElementById("map");
    this.crumbs = document.getElementById("crumbs");
    this.levels = [this.levelOf(0)];
    this.box.addEventListener("click", (event) => this.activate(event.target.closest(".cell")));
    this.box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.layOut()).observe(this.box);
  }

  get level() {
    return this.levels.at(-1);
  }

  /** The level that opening a folder leads to. */
  levelOf(folder) {
    const settled = this.report.settle(folder);
    return { folder: settled, files: this.report.children[settled].length === 0, from: 0 };
  }

  show() {
    this.items = this.itemsOf(this.level);
    this.drawCrumbs();
    this.layOut();
  }

  itemsOf({ folder, files, from }) {
    const all = files ? this.fileItems(folder) : this.folderItems(folder);
    const sum = all.reduce((total, item) => total + item.weight, 0);
    const most = this.box.clientWidth < 600 ? MOST_CELLS / 2 : MOST_CELLS;
    const isShown = (item, index) => index < 3 || (index < most && item.weight >= sum * LEAST_SHARE);
    const rest = all.slice(from);
    const shown = rest.filter(isShown);
    const hidden = rest.slice(shown.length);
    if (hidden.length > 0) {
      const weight = hidden.reduce((total, item) => total + item.weight, 0);
      shown.push({ kind: "rest", weight, label: `${grouped(hidden.length)} smaller`, type: OTHER, from: from + shown.length });
    }
    return shown;
  }

  folderItems(folder) {
    const { report } = this;
    const items = report.children[folder].map((child) => {
      const end = report.settle(child);
      return { kind: "folder", folder: end, weight: report.total[child], label: report.folderPath(end, folder || -1), type: report.mainType(child) };
    });
    if (report.own[folder] > 0) {
      const label = counted(report.files[folder], "file here", "files here");
      items.push({ kind: "files", weight: report.own[folder], label, type: report.mainOwnType(folder) });
    }
    return items.sort((a, b) => b.weight - a.weight);
  }

  fileItems(folder) {
    const { report } = this;
    const items = [];
    for (let group = 0; group < report.groups; group += 1) {
      const weight = report.reclaimable(group) / Math.max(1, report.copies(group));
      for (let copy = report.copyStart[group]; copy < report.copyStart[group + 1]; copy += 1) {
        if (report.copyFolder[copy] === folder && weight > 0) {
          items.push({ kind: "file", group, weight, label: report.copyName[copy], type: report.groupType[group] });
        }
      }
    }
    return items.sort((a, b) => b.weight - a.weight);
  }

  layOut() {
    if (!this.items) return;
    const { clientWidth: width, clientHeight: height } = this.box;
    const held = this.box.contains(document.activeElement) ? this.cells.indexOf(document.activeElement) : -1;
    this.boxes = squarify(this.items.map((item) => item.weight), width, height);
    this.cells = this.items.map((item, index) => this.cell(item, this.boxes[index]));
    this.box.replaceChildren(...this.cells);
    this.setCurrent(Math.max(0, held), held >= 0);
  }

  cell(item, box) {
    const cell = element("button", "cell");
    cell.type = "button";
    cell.dataset.type = TYPES[item.type][0];
    cell.dataset.kind = item.kind;
    place(cell, box);
    const label = element("span", "cell-label", item.label);
    const size = element("span", "cell-size", humanSize(item.weight));
    cell.append(label, size);
    cell.classList.toggle("tiny", box.width < 44 || box.height < 22);
    cell.classList.toggle("flat", box.height < 48);
    const share = percent(item.weight, this.sum());
    const action = { folder: "opens the folder", files: "opens the files", file: "shows the group", rest: "shows the smaller ones" }[item.kind];
    cell.setAttribute("aria-label", `${item.label}, ${humanSize(item.weight)}, ${share} of what is shown; ${action}`);
    cell.title = `${item.label}\n${humanSize(item.weight)} · ${share}`;
    cell.classList.toggle("slim", box.width < 76);
    if (this.hasFolders(item) && box.width > 90 && box.height > 90) cell.append(this.preview(item.folder, box, 44, false));
    return cell;
  }

  /** What is inside a folder, two levels deep, only drawn. */
  preview(folder, box, head, isDeepest) {
    const inside = element("span", "preview");
    const area = { x: EDGE, y: head, width: box.width - 2 * EDGE, height: box.height - head - EDGE };
    place(inside, area);
    const items = this.folderItems(folder).slice(0, 24);
    const boxes = squarify(items.map((item) => item.weight), area.width, area.height);
    items.forEach((item, index) => inside.append(this.part(item, boxes[index], isDeepest)));
    return inside;
  }

  part(item, box, isDeepest) {
    const part = element("span", "part");
    part.dataset.type = TYPES[item.type][0];
    place(part, box);
    if (box.width > 60 && box.height > 24) part.textContent = item.label;
    const isLarge = box.width > 90 && box.height > 70;
    if (this.hasFolders(item) && isLarge && !isDeepest) part.append(this.preview(item.folder, box, 22, true));
    return part;
  }

  hasFolders(item) {
    return item.kind === "folder" && this.report.children[item.folder].length > 0;
  }

  sum() {
    return this.items.reduce((total, item) => total + item.weight, 0);
  }

  drawCrumbs() {
    const crumbs = this.levels.map((level, index) => {
      const isLast = index === this.levels.length - 1;
      const crumb = element(isLast ? "span" : "button", "crumb", this.crumbLabel(index));
      if (isLast) crumb.setAttribute("aria-current", "location");
      else {
        crumb.type = "button";
        crumb.addEventListener("click", () => this.leaveTo(index, false));
      }
      const place = element("li");
      place.append(crumb);
      return place;
    });
    this.crumbs.replaceChildren(...crumbs);
  }

  crumbLabel(index) {
    const level = this.levels[index];
    const before = this.levels[index - 1];
    if (!before) return level.folder === 0 ? "All folders" : this.report.folderPath(level.folder);
    if (level.from > 0) return "smaller";
    return level.folder === before.folder ? "files" : this.report.folderPath(level.folder, before.folder || -1);
  }

  activate(cell) {
    const item = this.items[this.cells.indexOf(cell)];
    if (!item) return;
    const { folder, files } = this.level;
    if (item.kind === "file") this.onFile(item.group);
    else if (item.kind === "folder") this.enter(this.levelOf(item.folder));
    else if (item.kind === "files") this.enter({ folder, files: true, from: 0 });
    else this.enter({ folder, files, from: item.from });
  }

  enter(level) {
    this.level.current = this.current;
    this.levels.push(level);
    this.change(0, true);
  }

  leaveTo(index, keepFocus) {
    if (index < 0 || index >= this.levels.length - 1) return;
    this.levels.length = index + 1;
    this.change(this.level.current ?? 0, keepFocus);
  }

  change(current, takeFocus) {
    this.show();
    this.setCurrent(current, takeFocus);
    this.say(`${this.crumbLabel(this.levels.length - 1)}: ${humanSize(this.sum())}`);
    this.onLevel(this.levels.length > 1 ? this.level : null);
  }

  reset() {
    this.leaveTo(0, false);
  }

  /** One cell takes part in the tab order; arrows move among the others. */
  setCurrent(index, takeFocus) {
    this.current = Math.min(index, this.cells.length - 1);
    this.cells.forEach((cell, at) => {
      cell.tabIndex = at === this.current ? 0 : -1;
    });
    if (takeFocus) this.cells[this.current]?.focus({ preventScroll: true });
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key in moves) this.setCurrent(this.neighbour(...moves[event.key]), true);
    else if (event.key === "Home") this.setCurrent(0, true);
    else if (event.key === "End") this.setCurrent(this.cells.length - 1, true);
    else if (event.key === "Escape" || event.key === "Backspace") this.leaveTo(this.levels.length - 2, true);
    else return;
    event.preventDefault();
  }

  /** The nearest cell in a direction, by the distance of centres. */
  neighbour(right, down) {
    const centre = (box) => [box.x + box.width / 2, box.y + box.height / 2];
    const [x, y] = centre(this.boxes[this.current]);
    let best = this.current;
    let least = Infinity;
    this.boxes.forEach((box, index) => {
      const [toX, toY] = centre(box);
      const ahead = (toX - x) * right + (toY - y) * down;
      const aside = Math.abs((toX - x) * down) + Math.abs((toY - y) * right);
      if (index !== this.current && ahead > 0.5 && ahead + 2 * aside < least) {
        least = ahead + 2 * aside;
        best = index;
      }
    });
    return best;
  }
}

function place(box, { x, y, width, height }) {
  box.style.left = `${x}px`;
  box.style.top = `${y}px`;
  box.style.width = `${Math.max(0, width - GAP)}px`;
  box.style.height = `${Math.max(0, height - GAP)}px`;
}

/** An element with a class and a text; names enter the page only like this. */
function element(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== "") made.textContent = text;
  return made;
}
