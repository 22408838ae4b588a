// Moves and positions in words, for the status line, labels and screen readers.

export const side = { W: "White", B: "Black" };

const count = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;

/** A Move's text taken apart: {kind, at, to}; kind is place, move, row, ring or pass. */
export function parse(text) {
  if (text === "pass") return { kind: "pass" };
  const taken = text.startsWith("x");
  const [at, to] = text.slice(taken ? 1 : 0).split("-");
  return { kind: taken ? (to ? "row" : "ring") : to ? "move" : "place", at, to };
}

/** A Move that was made, as a sentence. position is the one after it. */
export function tell(move, position) {
  const who = side[move.by];
  switch (move.kind) {
    case "place":
      return `${who} places a ring on ${move.at}.`;
    case "move": {
      const turned = move.points?.length ? `, turning ${count(move.points.length, "marker")}: ${move.points.join(", ")}` : "";
      return `${who} moves the ring ${move.at} to ${move.to}${turned}.`;
    }
    case "row":
      return `${who} takes the row ${move.at} to ${move.to}.`;
    case "ring":
      return `${who} takes off the ring ${move.at}: ${position.taken[move.by]} of ${position.ringsToWin}.`;
    default:
      return `${who} passes: none of the rings can move.`;
  }
}

/** What is asked of the side to move at a stage of its Choice. */
export function ask(position, choice) {
  const mine = `${side[position.toMove].toLowerCase()} ring`;
  switch (choice.stage) {
    case "place":
      return `Place a ring on any free point: ${position.hand[position.toMove]} left.`;
    case "ring":
      return `Choose a ${mine} to move.`;
    case "to":
      return `Where shall the ring ${choice.ring} go?`;
    case "row":
      if (choice.fits.length === 1) return "Five in a row: click it to take it off.".replace("Five", rowLength(position));
      return choice.clicked.length === 0
        ? `Choose one of ${choice.fits.length} rows: click a marker of it.`
        : `${choice.fits.length} rows have ${choice.clicked.join(", ")}: click one more marker.`;
    case "take":
      return `Now take one of the ${mine}s off: ${position.taken[position.toMove] + 1} of ${position.ringsToWin}.`;
    default:
      return position.legal[0]?.kind === "pass" ? "None of the rings can move: there is nothing but to pass." : "";
  }
}

const rowLength = (position) =>
  ["", "", "", "Three", "Four", "Five", "Six", "Seven"][position.legal[0].points.length] ?? "Markers";

const pieces = { WR: "white ring", BR: "black ring", WM: "white marker", BM: "black marker" };

/** What lies on a Point and, if it is one of the targets of the Choice, what a click there is good for. */
export function label(position, choice, point, targets) {
  const what = pieces[position.pieces[point]] ?? "empty";
  const use = {
    place: "free to place a ring",
    ring: "can move",
    to: "the ring can go here",
    row: "in a row",
    take: "can be taken off",
  }[choice.stage];
  const picked = choice.ring === point ? ", picked up" : "";
  return `${point}, ${what}${picked}${targets.has(point) ? `, ${use}` : ""}`;
}

/** How a game ended. */
export function outcome(result) {
  const who = result.winner === "draw" ? "A draw" : `${side[result.winner]} wins`;
  return result.reason ? `${who}: ${result.reason}.` : `${who}.`;
}
