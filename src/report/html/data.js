// The groups in memory: columns of numbers and names rather than an object for
// each file, so that hundreds of thousands of them stay small and quick. The
// layout of the blocks is described in data.rs.

const TYPES = [
  ["pictures", "Pictures", "jpg jpeg png gif webp heic heif avif tif tiff bmp svg ico psd xcf raw cr2 cr3 nef arw dng orf rw2 raf"],
  ["video", "Video", "mp4 m4v mkv mov avi webm wmv mpg mpeg mts m2ts 3gp flv vob ogv"],
  ["audio", "Audio", "mp3 flac wav ogg oga opus m4a aac wma aiff aif mid midi"],
  ["documents", "Documents", "pdf doc docx odt rtf txt md rst tex epub mobi djvu ps xls xlsx ods ppt pptx odp pages numbers key eml html htm man 1 3 5 7 8"],
  ["archives", "Archives", "zip gz tgz bz2 xz zst 7z rar tar deb rpm jar whl apk cab lz4 lzma iso img dmg vmdk qcow2 vdi"],
  ["code", "Code", "c h cc cpp hpp rs go py pyi pyc js mjs cjs ts tsx jsx map java class kt swift rb php pl pm sh lua css scss sql r el vue asm s"],
  ["programs", "Programs", "so a o dll exe bin dylib ko elc rlib rmeta msi appimage wasm node"],
  ["data", "Data", "json jsonl xml yaml yml toml csv tsv db sqlite sqlite3 parquet npy npz h5 hdf5 mo po dat log ini conf cfg lock pb onnx safetensors pt gguf ttf otf woff woff2"],
  ["other", "Other", ""],
];
const OTHER = TYPES.length - 1;
const TYPE_OF = new Map(TYPES.flatMap(([, , endings], type) => endings.split(" ").map((ending) => [ending, type])));

const KIB = 1024;
const CLASSES = [
  [4 * KIB, "up to 4 KiB"],
  [64 * KIB, "4 to 64 KiB"],
  [KIB ** 2, "64 KiB to 1 MiB"],
  [16 * KIB ** 2, "1 to 16 MiB"],
  [128 * KIB ** 2, "16 to 128 MiB"],
  [KIB ** 3, "128 MiB to 1 GiB"],
  [Infinity, "over 1 GiB"],
];

/** The type that a name's ending suggests; `lib.so.6` is a program. */
function typeOf(name) {
  const plain = name.toLowerCase().replace(/(\.so)(\.\d+)+$/, "$1");
  const dot = plain.lastIndexOf(".");
  if (dot < 1) return OTHER;
  return TYPE_OF.get(plain.slice(dot + 1)) ?? OTHER;
}

class Report {
  constructor() {
    this.folderName = [""];
    this.folderParent = [0];
    this.rootFolders = new Set();
    this.groupSize = [];
    this.groupReclaimable = [];
    this.groupComparison = [];
    this.groupDigest = [];
    this.groupType = [];
    this.groupClass = [];
    this.copyStart = [0];
    this.copyFolder = [];
    this.copyName = [];
    this.copyTime = [];
    this.kept = new Set();
    this.linkStart = [0];
    this.linkCopy = [];
    this.linkFolder = [];
    this.linkName = [];
    this.symlinks = new Set();
    // A folder may be named again under a new number.
    this.numbers = [0];
    this.known = new Map();
  }

  get groups() {
    return this.groupSize.length;
  }

  add([size, reclaimable, comparison, digest, copies, folders = [], links = [], roots = [], symlinks = [], kept = []]) {
    for (let at = 0; at < folders.length; at += 2) this.addFolder(this.numbers[folders[at]], folders[at + 1]);
    for (const root of roots) this.rootFolders.add(this.numbers[root]);
    const first = this.copyFolder.length;
    for (let at = 0; at < copies.length; at += 3) {
      this.copyFolder.push(this.numbers[copies[at]]);
      this.copyName.push(copies[at + 1]);
      this.copyTime.push(copies[at + 2]);
    }
    for (const copy of kept) this.kept.add(first + copy);
    for (const link of symlinks) this.symlinks.add(this.linkCopy.length + link);
    for (let at = 0; at < links.length; at += 3) {
      this.linkCopy.push(first + links[at]);
      this.linkFolder.push(this.numbers[links[at + 1]]);
      this.linkName.push(links[at + 2]);
    }
    this.copyStart.push(this.copyFolder.length);
    this.linkStart.push(this.linkCopy.length);
    this.groupSize.push(size);
    this.groupReclaimable.push(reclaimable);
    this.groupComparison.push(comparison);
    this.groupDigest.push(digest);
    this.groupType.push(typeOf(this.copyName[first] ?? ""));
    this.groupClass.push(CLASSES.findIndex(([limit]) => size <= limit));
  }

  addFolder(parent, name) {
    const key = `${parent}/${name}`;
    let folder = this.known.get(key);
    if (folder === undefined) {
      folder = this.folderName.length;
      this.known.set(key, folder);
      this.folderName.push(name);
      this.folderParent.push(parent);
    }
    this.numbers.push(folder);
  }

  copies(group) {
    return this.copyStart[group + 1] - this.copyStart[group];
  }

  reclaimable(group) {
    return this.groupReclaimable[group];
  }

  /** The name of a group in one line: that of its first copy. */
  title(group) {
    return this.copyName[this.copyStart[group]] ?? "";
  }

  /** A folder's whole path, or its path below the folder `above`. */
  folderPath(folder, above = -1) {
    const names = [];
    for (let at = folder; at !== above && at !== 0; at = this.folderParent[at]) names.push(this.folderName[at]);
    const path = names.reverse().join("/");
    return above < 0 ? `/${path}` : path;
  }

  path(folder, name) {
    return folder === 0 ? `/${name}` : `${this.folderPath(folder)}/${name}`;
  }

  /** Sums what cannot be said before all groups are there. */
  finish() {
    this.known.clear();
    this.numbers = [];
    this.sumFolders();
    this.linkFolders();
    this.findRoots();
  }

  /** The reclaimable space of each folder's subtree, in all and by type. */
  sumFolders() {
    const count = this.folderName.length;
    this.own = new Float64Array(count);
    this.files = new Uint32Array(count);
    this.total = new Float64Array(count);
    this.byType = new Float64Array(count * TYPES.length);
    for (let group = 0; group < this.groups; group += 1) {
      const share = this.reclaimable(group) / Math.max(1, this.copies(group));
      for (let copy = this.copyStart[group]; copy < this.copyStart[group + 1]; copy += 1) {
        this.own[this.copyFolder[copy]] += share;
        this.files[this.copyFolder[copy]] += 1;
        this.byType[this.copyFolder[copy] * TYPES.length + this.groupType[group]] += share;
      }
    }
    this.total.set(this.own);
    // A parent always has a smaller number than its children.
    for (let folder = count - 1; folder > 0; folder -= 1) {
      const parent = this.folderParent[folder];
      this.total[parent] += this.total[folder];
      for (let type = 0; type < TYPES.length; type += 1) {
        this.byType[parent * TYPES.length + type] += this.byType[folder * TYPES.length + type];
      }
    }
  }

  linkFolders() {
    this.children = Array.from(this.folderName, () => []);
    for (let folder = 1; folder < this.folderName.length; folder += 1) {
      if (this.total[folder] > 0) this.children[this.folderParent[folder]].push(folder);
    }
    for (const children of this.children) children.sort((a, b) => this.total[b] - this.total[a]);
  }

  /** The root of each folder; -1 outside all known roots. */
  findRoots() {
    this.rootOf = new Int32Array(this.folderName.length).fill(-1);
    for (let folder = 0; folder < this.folderName.length; folder += 1) {
      const inherited = folder > 0 ? this.rootOf[this.folderParent[folder]] : -1;
      this.rootOf[folder] = this.rootFolders.has(folder) ? folder : inherited;
    }
  }

  /** The type that most of a subtree's reclaimable space belongs to. */
  mainType(folder) {
    const sums = this.typeSums(folder);
    return sums.indexOf(Math.max(...sums));
  }

  /** The same for the files directly in the folder. */
  mainOwnType(folder) {
    const sums = this.typeSums(folder).slice();
    for (const child of this.children[folder]) {
      this.typeSums(child).forEach((sum, type) => {
        sums[type] -= sum;
      });
    }
    return sums.indexOf(Math.max(...sums));
  }

  typeSums(folder) {
    return this.byType.subarray(folder * TYPES.length, (folder + 1) * TYPES.length);
  }

  /** Skips folders that contain only one folder. */
  settle(folder) {
    let at = folder;
    while (this.own[at] === 0 && this.children[at].length === 1) at = this.children[at][0];
    return at;
  }
}
