// Lays out rectangles with given areas, as square as can be (Bruls, Huizing,
// van Wijk: Squarified Treemaps).

/** One `{x, y, width, height}` for each weight; weights fall. */
function squarify(weights, width, height) {
  const sum = weights.reduce((a, b) => a + b, 0);
  const scale = sum > 0 ? (width * height) / sum : 0;
  const areas = weights.map((weight) => weight * scale);
  const boxes = [];
  const free = { x: 0, y: 0, width, height };
  let start = 0;
  while (start < areas.length) {
    const side = Math.min(free.width, free.height);
    const end = rowEnd(areas, start, side);
    placeRow(areas.slice(start, end), free, boxes);
    start = end;
  }
  return boxes;
}

/** Where a row ends: before the area that would make its boxes longer. */
function rowEnd(areas, start, side) {
  let sum = areas[start];
  let worst = stretch(areas[start], areas[start], sum, side);
  let end = start + 1;
  for (; end < areas.length; end += 1) {
    const next = stretch(areas[start], areas[end], sum + areas[end], side);
    if (next > worst) break;
    worst = next;
    sum += areas[end];
  }
  return end;
}

function stretch(largest, smallest, sum, side) {
  const squares = [(side * side * largest) / (sum * sum), (sum * sum) / (side * side * smallest)];
  return Math.max(...squares);
}

/** Fills the short side of the free space and takes it away. */
function placeRow(areas, free, boxes) {
  const sum = areas.reduce((a, b) => a + b, 0);
  const upright = free.width >= free.height;
  const side = upright ? free.height : free.width;
  const depth = side > 0 ? sum / side : 0;
  let along = 0;
  for (const area of areas) {
    const length = depth > 0 ? area / depth : 0;
    boxes.push(
      upright
        ? { x: free.x, y: free.y + along, width: depth, height: length }
        : { x: free.x + along, y: free.y, width: length, height: depth },
    );
    along += length;
  }
  if (upright) {
    free.x += depth;
    free.width = Math.max(0, free.width - depth);
  } else {
    free.y += depth;
    free.height = Math.max(0, free.height - depth);
  }
}
