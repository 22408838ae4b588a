// What clicks mean. A Move may take several: a ring and where it goes, or the markers that tell one row from others.

/** The Moves still meant in a position, after the clicks so far. */
export class Choice {
  constructor(position) {
    this.position = position;
    this.cancel();
  }

  /** Forgets the clicks. */
  cancel() {
    this.ring = null; // the ring picked up
    this.fits = this.position.legal; // the Moves still meant
    this.clicked = []; // markers of the row, as far as they are chosen
  }

  /** What the next click is for: place, ring, to, row, take, or nothing. */
  get stage() {
    const kind = this.position.legal[0]?.kind;
    if (kind === "move") return this.ring ? "to" : "ring";
    return { place: "place", row: "row", ring: "take" }[kind] ?? "none";
  }

  /** The legal Moves that a click on this Point would leave: one is played, several wait for a further click. */
  at(point) {
    switch (this.stage) {
      case "ring":
        return this.fits.filter((move) => move.at === point);
      case "to":
        return this.fits.filter((move) => move.to === point);
      case "row":
        return this.fits.filter((move) => move.points.includes(point));
      default:
        return this.fits.filter((move) => move.at === point);
    }
  }

  /** The Points that a click is good for. */
  get targets() {
    const of = { ring: (move) => [move.at], to: (move) => [move.to], row: (move) => move.points, none: () => [] };
    return new Set(this.fits.flatMap(of[this.stage] ?? ((move) => [move.at])));
  }

  /**
   * A click. It gives {move} to play, or {} where a further click is needed, or {why: {at, to}} where no Move is meant.
   */
  click(point) {
    const { legal } = this.position;
    if (this.stage === "to" && point === this.ring) {
      this.cancel();
      return {};
    }
    const found = this.at(point);
    switch (this.stage) {
      case "to":
        if (found.length > 0) return { move: found[0] };
        if (legal.some((move) => move.at === point)) {
          this.cancel();
          return this.click(point);
        }
        return { why: { at: this.ring, to: point } };
      case "ring":
        if (found.length === 0) return { why: { at: point } };
        this.ring = point;
        this.fits = found;
        return {};
      case "row":
        if (found.length === 0) {
          const narrowed = this.clicked.length > 0;
          this.cancel(); // begin again with this marker, if it is in a row at all
          return narrowed ? this.click(point) : { why: { at: point } };
        }
        if (found.length === 1) return { move: found[0] };
        this.fits = found;
        this.clicked.push(point);
        return {};
      default:
        return found.length > 0 ? { move: found[0] } : { why: { at: point } };
    }
  }
}
