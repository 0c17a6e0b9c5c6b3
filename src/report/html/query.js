// Which groups are shown, and in which order.

const ORDERS = {
  reclaimable: { wording: "Most reclaimable", label: "Reclaimable", descending: true, key: (report, group) => report.reclaimable(group) },
  size: { wording: "Largest files", label: "Size", descending: true, key: (report, group) => report.groupSize[group] },
  copies: { wording: "Most copies", label: "Copies", descending: true, key: (report, group) => report.copies(group) },
  type: { wording: "By type", label: "Type", descending: false, key: (report, group) => TYPES[report.groupType[group]][1] },
  name: { wording: "By name", label: "File", descending: false, key: (report, group) => report.title(group).toLowerCase() },
};
const ACROSS = -2;
const ANY = -1;

class Query {
  constructor(report) {
    this.report = report;
    this.sorted = new Map();
    this.clear();
    this.setOrder("reclaimable", true);
  }

  clear() {
    this.words = [];
    this.root = ANY;
    this.type = ANY;
    this.sizeClass = ANY;
    this.folder = ANY;
    this.directly = false;
  }

  setOrder(order, descending) {
    this.order = order;
    this.descending = descending;
  }

  setText(text) {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
  }

  get isFiltered() {
    return this.words.length > 0 || [this.root, this.type, this.sizeClass, this.folder].some((value) => value !== ANY);
  }

  /** The groups that match, in order. */
  run() {
    const tests = this.tests();
    const found = this.inOrder().filter((group) => tests.every((test) => test(group)));
    return this.descending === ORDERS[this.order].descending ? found : found.reverse();
  }

  /** All groups in the order's own direction; sorted once for each order. */
  inOrder() {
    if (!this.sorted.has(this.order)) {
      const { key, descending } = ORDERS[this.order];
      const keys = Array.from({ length: this.report.groups }, (_, group) => key(this.report, group));
      const sign = descending ? -1 : 1;
      const groups = Uint32Array.from(keys.keys());
      // Equal groups stay in the order of the report.
      groups.sort((a, b) => (keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b));
      this.sorted.set(this.order, groups);
    }
    return this.sorted.get(this.order);
  }

  /** Cheap tests first. */
  tests() {
    const { report } = this;
    const tests = [];
    if (this.type !== ANY) tests.push((group) => report.groupType[group] === this.type);
    if (this.sizeClass !== ANY) tests.push((group) => report.groupClass[group] === this.sizeClass);
    if (this.root === ACROSS) tests.push((group) => this.isAcross(group));
    else if (this.root !== ANY) tests.push((group) => this.someName(group, (folder) => report.rootOf[folder] === this.root));
    if (this.folder !== ANY) {
      const inside = this.subtree();
      tests.push((group) => this.someName(group, (folder) => inside[folder] === 1));
    }
    if (this.words.length > 0) tests.push(this.textTest());
    return tests;
  }

  /** Whether one of a group's names, hard links included, passes. */
  someName(group, test) {
    const { report } = this;
    for (let copy = report.copyStart[group]; copy < report.copyStart[group + 1]; copy += 1) {
      if (test(report.copyFolder[copy], report.copyName[copy])) return true;
    }
    for (let link = report.linkStart[group]; link < report.linkStart[group + 1]; link += 1) {
      if (test(report.linkFolder[link], report.linkName[link])) return true;
    }
    return false;
  }

  isAcross(group) {
    const { rootOf, copyFolder, copyStart } = this.report;
    const first = rootOf[copyFolder[copyStart[group]]];
    return this.someName(group, (folder) => rootOf[folder] !== first);
  }

  /** Marks the folder's subtree, or with `directly` the folder alone. */
  subtree() {
    const { folderParent } = this.report;
    const inside = new Uint8Array(folderParent.length);
    inside[this.folder] = 1;
    if (this.directly) return inside;
    for (let folder = this.folder + 1; folder < inside.length; folder += 1) inside[folder] = inside[folderParent[folder]];
    return inside;
  }

  /** A path contains every word, or the digest starts with the only one. */
  textTest() {
    const finders = this.words.map((word) => new WordFinder(this.report, word));
    const digest = this.words.length === 1 && /^[0-9a-f]{6,}$/.test(this.words[0]) ? this.words[0] : null;
    return (group) =>
      this.someName(group, (folder, name) => {
        const lower = name.toLowerCase();
        return finders.every((finder) => finder.isIn(folder, lower));
      }) || (digest !== null && (this.report.groupDigest[group].startsWith(digest) || digest.startsWith(this.report.groupDigest[group])));
  }
}

/**
 * Finds a word in paths without putting whole paths together. A word without
 * slash is in one name; one with slashes in consecutive names, the first of
 * which it ends and the last of which it begins.
 */
class WordFinder {
  constructor(report, word) {
    this.parents = report.folderParent;
    this.lower = report.lowerFolders ??= report.folderName.map((name) => name.toLowerCase());
    this.parts = word.split("/");
    this.word = word;
    this.found = new Uint8Array(this.lower.length);
    for (let folder = 0; folder < this.found.length; folder += 1) {
      const above = folder > 0 && this.found[this.parents[folder]] === 1;
      this.found[folder] = above || this.endsAt(this.parents[folder], this.lower[folder], folder) ? 1 : 0;
    }
  }

  isIn(folder, name) {
    return this.found[folder] === 1 || this.endsAt(folder, name, -1);
  }

  endsAt(parent, name, folder) {
    if (this.parts.length === 1) return name.includes(this.word);
    // The top folder has no name and nothing above it.
    if (folder === 0 || !name.startsWith(this.parts.at(-1))) return false;
    let at = parent;
    for (let part = this.parts.length - 2; part > 0; part -= 1) {
      if (at === 0 || this.lower[at] !== this.parts[part]) return false;
      at = this.parents[at];
    }
    return this.lower[at].endsWith(this.parts[0]);
  }
}
