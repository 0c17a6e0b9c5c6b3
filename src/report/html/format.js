// Numbers, times and names as people read them, and paths as a shell reads
// them. Sizes are written as in the other formats.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** A size in binary units with one decimal: `999 B`, `1.0 KiB`, `23.4 MiB`. */
function humanSize(bytes) {
  if (bytes < 1023.5) return `${Math.round(bytes)} B`;
  let unit = 0;
  let value = bytes / 1024;
  // 1023.96 KiB would round to 1024.0 KiB, which is 1.0 MiB.
  while (Math.round(value * 10) >= 10240 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${(Math.round(value * 10) / 10).toFixed(1)} ${UNITS[unit]}`;
}

/** The exact number of bytes, as far as JavaScript can represent it. */
function exactSize(bytes) {
  return Number.isSafeInteger(bytes) ? `${grouped(bytes)} bytes` : humanSize(bytes);
}

/** A number with thousands separators: `1,234,567`. */
function grouped(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number and its noun: `1 copy`, `1,234 copies`. */
function counted(number, one, many) {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

/** A part of a whole: `0.3 %`, `12 %`. */
function percent(part, whole) {
  const share = whole > 0 ? (100 * part) / whole : 0;
  if (share > 0 && share < 0.1) return "under 0.1 %";
  return `${share < 10 && share > 0 ? share.toFixed(1) : Math.round(share)} %`;
}

/** A moment in local time: `2026-11-16 09:30`. */
function moment(seconds) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return "";
  const two = (number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Cuts out the middle of a text: `/home/an…/IMG_1.CR2`. */
function shortenMiddle(text, length) {
  if (text.length <= length) return text;
  const room = Math.max(2, length - 1);
  const head = text.slice(0, Math.floor(room / 2)).replace(/[\ud800-\udbff]$/, "");
  const tail = text.slice(text.length - Math.ceil(room / 2)).replace(/^[\udc00-\udfff]/, "");
  return `${head}…${tail}`;
}

/** An escape as escape.rs writes it; the group is a character's number. */
const ESCAPE = /\\(?:u\{([0-9a-f]+)\}|.)/g;

/**
 * What a button puts on the clipboard for an escaped path: the path itself, or
 * if it is not plain text, a word that bash and zsh read as
 * exactly that path. A raw newline or escape sequence could act when pasted.
 */
function clipboardText(escaped) {
  if (!escaped.includes("\\")) return escaped;
  const isPlain = !escaped.replaceAll("\\\\", "").includes("\\");
  if (isPlain) return escaped.replaceAll("\\\\", "\\");
  const word = escaped.replaceAll("'", "\\'").replaceAll(ESCAPE, (code, point) => {
    if (point === undefined) return code;
    const bytes = new TextEncoder().encode(String.fromCodePoint(parseInt(point, 16)));
    return Array.from(bytes, (one) => `\\x${one.toString(16).padStart(2, "0")}`).join("");
  });
  return `$'${word}'`;
}
