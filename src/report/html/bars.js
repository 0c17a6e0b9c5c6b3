// Bars that show how much space each type or size class wastes, and filter
// the groups when pressed.

class Bars {
  /** `kinds` has a label and perhaps a type for each number that `kindOf` gives. */
  constructor(report, list, { kinds, kindOf, largestFirst, onPress }) {
    this.buttons = new Map();
    const sums = kinds.map((kind, number) => ({ ...kind, number, groups: 0, bytes: 0 }));
    for (let group = 0; group < report.groups; group += 1) {
      const sum = sums[kindOf[group]];
      sum.groups += 1;
      sum.bytes += report.reclaimable(group);
    }
    const shown = sums.filter((sum) => sum.groups > 0);
    if (largestFirst) shown.sort((a, b) => b.bytes - a.bytes);
    const total = shown.reduce((bytes, sum) => bytes + sum.bytes, 0);
    const largest = Math.max(1, ...shown.map((sum) => sum.bytes));
    for (const sum of shown) {
      const button = this.bar(sum, largest, total);
      button.addEventListener("click", () => onPress(sum.number));
      const entry = element("li");
      entry.append(button);
      list.append(entry);
    }
  }

  bar(sum, largest, total) {
    const button = element("button", "bar-button");
    button.type = "button";
    const groups = counted(sum.groups, "group", "groups");
    const track = element("span", "track");
    const fill = element("span", "fill");
    fill.style.width = `${(100 * sum.bytes) / largest}%`;
    if (sum.type) fill.dataset.type = sum.type;
    track.append(fill);
    button.append(element("span", "bar-label", sum.label), element("span", "bar-value", humanSize(sum.bytes)), track);
    button.title = `${sum.label}: ${humanSize(sum.bytes)}, ${percent(sum.bytes, total)}, in ${groups}`;
    button.setAttribute("aria-label", `${sum.label}: ${humanSize(sum.bytes)} in ${groups}; show only these`);
    button.setAttribute("aria-pressed", "false");
    this.buttons.set(sum.number, button);
    return button;
  }

  mark(pressed) {
    for (const [number, button] of this.buttons) button.setAttribute("aria-pressed", String(number === pressed));
  }
}
