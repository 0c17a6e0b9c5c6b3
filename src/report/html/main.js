// Reads the data, draws the page, and connects its parts.

const byId = (id) => document.getElementById(id);
const readJson = (id) => JSON.parse(byId(id).textContent);

/** Reads the blocks one by one, so that the page stays alive meanwhile. */
async function readReport() {
  const report = new Report();
  let since = performance.now();
  for (const block of document.querySelectorAll(".groups-data")) {
    for (const group of JSON.parse(block.textContent)) report.add(group);
    // The text is not needed any more, and it may be large.
    block.remove();
    if (performance.now() - since > 50) {
      byId("lead").textContent = `${counted(report.groups, "group", "groups")} so far`;
      await new Promise((resolve) => setTimeout(resolve));
      since = performance.now();
    }
  }
  report.finish();
  return report;
}

let toastTimer;
/** Announces something: in a corner, and to screen readers. */
function say(text, isVisible = false) {
  const box = byId("said");
  box.textContent = text;
  box.classList.toggle("shown", isVisible);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => box.classList.remove("shown"), 2500);
}

async function copyPath(path) {
  const text = clipboardText(path);
  const copied = await putOnClipboard(text);
  if (!copied) say("The browser did not allow copying", true);
  else say(text.startsWith("$'") ? "Copied, quoted for the shell because the name has special characters" : "Path copied", true);
}

async function putOnClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Older browsers have no clipboard for pages from disk.
    const holder = document.activeElement;
    const area = element("textarea", "sr");
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    holder?.focus({ preventScroll: true });
    return copied;
  }
}

function drawHeader(header, totals, report) {
  byId("as-of").textContent = header.scanned ? header.as_of.split(" (")[0] : "";
  const narrowed = [header.filters, header.keep].filter(Boolean).join(" · ");
  byId("filters").textContent = narrowed;
  byId("filters").hidden = !narrowed;
  if (!header.scanned) {
    byId("headline").textContent = "Nothing has been scanned yet";
    byId("lead").textContent = "Start with: dupescan scan PATH";
    return;
  }
  const isEmpty = totals.groups === 0;
  const size = element("strong", "", humanSize(totals.reclaimable));
  size.title = exactSize(totals.reclaimable);
  byId("headline").replaceChildren(...(isEmpty ? ["No duplicates found"] : [size, " reclaimable"]));
  byId("lead").textContent = isEmpty ? "" : "if you keep one copy of each duplicate file.";
  document.title = isEmpty ? "No duplicate files" : `${humanSize(totals.reclaimable)} in duplicate files`;
  const figures = [
    ["Groups", grouped(totals.groups), "sets of files with the same content"],
    ["Copies", grouped(totals.copies), "files in those groups; hard links count once"],
    ["Unchecked", grouped(totals.unchecked), "files that could be duplicates; not fully read yet"],
  ];
  if (report.groups === totals.groups) {
    const folders = report.files.filter((count) => count > 0).length;
    figures.splice(2, 0, ["Folders", grouped(folders), "folders with duplicate files"]);
  }
  byId("figures").replaceChildren(...figures.map(figure));
  if (header.plan) drawPlan(header.plan, totals, size);
  drawNotices(header, totals, report);
}

/** What a plan does is said instead of what could be reclaimed. */
function drawPlan({ number, action, files }, totals, size) {
  const fate = action === "trash" ? "moved to the trash" : "deleted";
  byId("headline").replaceChildren(...(totals.groups === 0 ? ["Nothing would be removed"] : [size, ` to be ${fate}`]));
  byId("lead").textContent = `Plan ${number}. Every file is compared with a copy that stays before it goes.`;
  document.title = `Plan ${number}: ${humanSize(totals.reclaimable)} to be ${fate}`;
  byId("figures").replaceChildren(...[
    ["Groups", grouped(totals.groups), "sets of files with the same content"],
    ["Files that go", grouped(files), "names that the plan removes, hard links included"],
  ].map(figure));
}

function figure([label, value, explanation]) {
  const box = element("div");
  box.title = explanation;
  box.append(element("dt", "", label), element("dd", "", value));
  return box;
}

function drawNotices(header, totals, report) {
  const notices = [];
  if (header.unfinished > 0) {
    notices.push(`${counted(header.unfinished, "unfinished scan", "unfinished scans")}: groups may be missing`);
  }
  if (totals.unchecked > 0) {
    notices.push(`${counted(totals.unchecked, "file", "files")} unchecked (${totals.unchecked === 1 ? "could be a duplicate" : "could be duplicates"}; not fully read yet)`);
  }
  if (report.groups < totals.groups) {
    notices.push(`Showing ${grouped(report.groups)} of ${grouped(totals.groups)} groups; everything below is about these`);
  }
  byId("notices").replaceChildren(...notices.map((text) => element("li", "", text)));
  byId("notices").hidden = notices.length === 0;
}

/** The part of the page that search, filters and sort order act on. */
class Groups {
  constructor(report) {
    this.report = report;
    this.query = new Query(report);
    this.table = new Table(report, { onCopy: copyPath });
    this.map = new Treemap(report, { onLevel: (level) => this.setFolder(level), onFile: (group) => this.reveal(group), say });
    this.types = new Bars(report, byId("types"), {
      kinds: TYPES.map(([type, label]) => ({ type, label })),
      kindOf: report.groupType,
      largestFirst: true,
      onPress: (type) => this.pick("type", type),
    });
    this.classes = new Bars(report, byId("classes"), {
      kinds: CLASSES.map(([, label]) => ({ label })),
      kindOf: report.groupClass,
      largestFirst: false,
      onPress: (sizeClass) => this.pick("class", sizeClass),
    });
    this.fillSelects();
    this.drawColumns();
    this.listen();
    this.map.show();
    this.update();
  }

  fillSelects() {
    const { report } = this;
    const roots = [...report.rootFolders].map((root) => [root, report.folderPath(root)]);
    roots.sort((a, b) => (a[1] < b[1] ? -1 : 1));
    if (roots.length > 1) roots.unshift([ACROSS, "In more than one root"]);
    byId("root").parentElement.hidden = roots.length < 2;
    fillSelect("root", "All roots", roots);
    fillSelect("type", "All types", [...this.types.buttons.keys()].map((type) => [type, TYPES[type][1]]));
    fillSelect("class", "All sizes", [...this.classes.buttons.keys()].map((each) => [each, CLASSES[each][1]]));
    const orders = Object.entries(ORDERS).map(([order, { wording }]) => new Option(wording, order));
    byId("order").replaceChildren(...orders);
  }

  drawColumns() {
    const buttons = ["name", "type", "copies", "size", "reclaimable"].map((order) => {
      const button = element("button", `column ${order}`, ORDERS[order].label);
      button.type = "button";
      button.dataset.order = order;
      button.addEventListener("click", () => this.sortBy(order));
      return button;
    });
    byId("columns").replaceChildren(...buttons);
  }

  listen() {
    let typing;
    byId("search").addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.update(), this.report.groups > 20_000 ? 120 : 0);
    });
    byId("search").addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") {
        event.preventDefault();
        this.table.focus(0);
      } else if (event.key === "Escape") {
        byId("search").value = "";
        this.update();
      }
    });
    for (const id of ["root", "type", "class"]) byId(id).addEventListener("change", () => this.update());
    byId("order").addEventListener("change", (event) => this.sortBy(event.target.value));
    byId("clear").addEventListener("click", () => this.clear());
    byId("folder-chip").addEventListener("click", () => this.map.reset());
    addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.closest("input, select, textarea")) return;
      event.preventDefault();
      byId("search").focus();
    });
  }

  /** Selects what a bar stands for, or everything if it was selected. */
  pick(id, value) {
    const select = byId(id);
    select.value = select.value === String(value) ? String(ANY) : String(value);
    this.update();
  }

  setFolder(level) {
    this.query.folder = level ? level.folder : ANY;
    this.query.directly = level ? level.files : false;
    this.update();
  }

  sortBy(order) {
    const { query } = this;
    const isSame = query.order === order;
    query.setOrder(order, isSame ? !query.descending : ORDERS[order].descending);
    this.update();
  }

  clear() {
    byId("search").value = "";
    for (const id of ["root", "type", "class"]) byId(id).value = String(ANY);
    this.map.reset();
    this.update();
    byId("search").focus({ preventScroll: true });
  }

  reveal(group) {
    if (this.table.reveal(group)) return;
    byId("search").value = "";
    for (const id of ["root", "type", "class"]) byId(id).value = String(ANY);
    this.update();
    this.table.reveal(group);
  }

  /** Runs the query again and shows the result. */
  update() {
    const { query } = this;
    query.setText(byId("search").value);
    query.root = Number(byId("root").value);
    query.type = Number(byId("type").value);
    query.sizeClass = Number(byId("class").value);
    const groups = query.run();
    this.types.mark(query.type);
    this.classes.mark(query.sizeClass);
    this.markOrder();
    this.drawStatus(groups);
    this.table.show(groups);
  }

  markOrder() {
    const { order, descending } = this.query;
    byId("order").value = order;
    for (const button of byId("columns").children) {
      const isOrder = button.dataset.order === order;
      const direction = descending ? "descending" : "ascending";
      button.dataset.direction = isOrder ? direction : "";
      button.setAttribute("aria-pressed", String(isOrder));
      button.setAttribute("aria-label", `Sort by ${button.textContent.toLowerCase()}${isOrder ? `, now ${direction}` : ""}`);
    }
  }

  drawStatus(groups) {
    const { query, report } = this;
    const bytes = groups.reduce((sum, group) => sum + report.reclaimable(group), 0);
    const all = grouped(report.groups);
    const shown = query.isFiltered ? `${grouped(groups.length)} of ${all} groups` : counted(report.groups, "group", "groups");
    byId("count").textContent = `${shown}, ${humanSize(bytes)} reclaimable`;
    byId("clear").hidden = !query.isFiltered;
    const chip = byId("folder-chip");
    chip.hidden = query.folder === ANY;
    if (!chip.hidden) {
      const path = report.folderPath(query.folder);
      chip.replaceChildren(`In ${shortenMiddle(path, 48)} `, element("span", "cross", "×"));
      chip.title = path;
      chip.setAttribute("aria-label", `Only groups with a copy in ${path}; remove this filter`);
    }
    byId("empty").hidden = groups.length > 0;
    byId("empty").textContent = "No matching groups.";
  }
}

function fillSelect(id, all, choices) {
  const options = choices.map(([value, label]) => new Option(shortenMiddle(label, 60), String(value)));
  byId(id).replaceChildren(new Option(all, String(ANY)), ...options);
}

function connectTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = byId("theme");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const name = () => {
    byId("theme-name").textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  system.addEventListener("change", name);
  name();
}

addEventListener("DOMContentLoaded", async () => {
  connectTheme();
  const header = readJson("header-data");
  const totals = readJson("totals-data");
  const report = await readReport();
  report.isPlan = Boolean(header.plan);
  drawHeader(header, totals, report);
  if (report.groups > 0) {
    byId("report").hidden = false;
    new Groups(report);
  }
  // For tests that wait for the page: how long it took, in milliseconds.
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
});
