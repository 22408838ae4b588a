// Where the Points lie. A Point is its name, such as e5: along a letter the numbers rise, and one column to the right lies
// half a step lower (docs/rules.md). Lengths are in the units of the picture.

const UP = 60; // a step along a letter
const ACROSS = 52; // from column to column: 60 times the root of 3/4, so that all steps are as long
const STEPS = [[0, 1], [1, 0], [1, 1]]; // along a letter, along a number, and where both rise

const name = (column, number) => String.fromCharCode(97 + column) + number;
const column = (point) => point.charCodeAt(0) - 97;
const number = (point) => Number(point.slice(1));

// In half steps; twice as fine as numbers, since columns are shifted.
const height = (point) => 2 * number(point) - column(point);

/** Where a Point lies in the picture. */
export const place = (point) => ({ x: ACROSS * column(point), y: (-UP / 2) * height(point) });

/** The lines of a board of these Points, each as {axis, points}: axis 0 is along a letter, 1 along a number, 2 where both rise. */
export function lines(points) {
  const board = new Set(points);
  return STEPS.flatMap(([right, up], axis) => {
    const next = (point, way) => name(column(point) + way * right, number(point) + way * up);
    return points.filter((point) => !board.has(next(point, -1))).map((first) => {
      const line = [];
      for (let point = first; board.has(point); point = next(point, 1)) line.push(point);
      return { axis, points: line };
    });
  });
}

/** The box of a board with room around it: {x, y, width, height}. */
export function box(points, margin) {
  const xs = points.map((point) => place(point).x);
  const ys = points.map((point) => place(point).y);
  const x = Math.min(...xs) - margin;
  const y = Math.min(...ys) - margin;
  return { x, y, width: Math.max(...xs) + margin - x, height: Math.max(...ys) + margin - y };
}

/**
 * The Point that an arrow key leads to, and the level to keep: ArrowUp and ArrowDown go along the letter; ArrowLeft and
 * ArrowRight to the next column, as near as may be to the level at which the walk began.
 */
export function walk(points, { point, level = height(point) }, key) {
  const [right, up] = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[key];
  if (right === 0) {
    const next = name(column(point), number(point) + up);
    return points.includes(next) ? { point: next } : { point };
  }
  const there = points.filter((other) => column(other) === column(point) + right);
  if (there.length === 0) return { point, level };
  const far = (other) => Math.abs(height(other) - level);
  return { point: there.reduce((best, other) => (far(other) < far(best) ? other : best)), level };
}

/** The Points of the board of a radius, a hexagon around f6 without its corners, as positions list them. */
export function hexagon(radius) {
  const points = [];
  for (let right = -radius; right <= radius; right++) {
    for (let up = -radius; up <= radius; up++) {
      const sizes = [right, up, right - up].map(Math.abs);
      const corner = sizes.filter((size) => size === radius).length === 2;
      if (Math.max(...sizes) <= radius && !corner) points.push(name(5 + right, 6 + up));
    }
  }
  return points;
}
