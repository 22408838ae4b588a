// The game of this tab: a tree of Moves, in which one stands somewhere. It knows no rules and no page; who moved is told to it.

/**
 * A Game. Its nodes are numbers; node 0 is the start. From each node `next` leads on along the line that is shown, which is
 * the one last gone. Moves are the rules' texts; by is "W" or "B", or undefined as long as nobody said.
 */
export class Game {
  constructor({ variant = "standard", start = "", moves = [], names = {} } = {}) {
    Object.assign(this, { variant, start, names, at: 0 });
    this.nodes = [{ parent: -1, children: [], next: -1 }];
    for (const move of moves) this.play(move);
    this.at = 0;
  }

  /** The Game that JSON.stringify wrote. What it cannot have written throws. */
  static from(saved) {
    const game = Object.assign(new Game(), saved);
    if (game.ply < 0) throw new RangeError("stands nowhere");
    return game;
  }

  /** Goes on with a Move, on the line that there is or on a new one. */
  play(move, by) {
    const here = this.nodes[this.at];
    let node = here.children.find((child) => this.nodes[child].move === move);
    if (node === undefined) {
      node = this.nodes.push({ move, by, parent: this.at, children: [], next: -1 }) - 1;
      here.children.push(node);
    }
    here.next = node;
    this.at = node;
  }

  /** Stands at a node, and makes its line the one that is shown. */
  go(node) {
    for (let child = node; child !== 0; child = this.nodes[child].parent) {
      this.nodes[this.nodes[child].parent].next = child;
    }
    this.at = node;
  }

  /** The nodes of the line that is shown, from the start to its tip: the index is the ply. */
  get line() {
    const line = [];
    for (let node = 0; node !== -1; node = this.nodes[node].next) line.push(node);
    return line;
  }

  /** How many Moves lead to where one stands. */
  get ply() {
    return this.line.indexOf(this.at);
  }

  /** The game up to a ply of the line as a question asks for it. */
  upTo(ply = this.ply) {
    const moves = this.line.slice(1, ply + 1).map((node) => this.nodes[node].move);
    return { variant: this.variant, ...(this.start && { start: this.start }), moves };
  }

  /** Other Moves that were tried where the Move of this node was played: nodes. */
  others(node) {
    return node === 0 ? [] : this.nodes[this.nodes[node].parent].children.filter((child) => child !== node);
  }

  /** Learns who moved on the line from the position's turns. */
  learn(turns) {
    const line = this.line;
    let ply = 0;
    for (const turn of turns) {
      for (; ply < turn.ply; ply++) this.nodes[line[ply + 1]].by = turn.by;
    }
  }

  /**
   * The ply of the last decision before this one, or of the next one after it (way −1 or 1), of a side for which counts(by)
   * is true; one ply away if there is none.
   */
  decision(way, counts) {
    const line = this.line;
    const by = (ply) => this.nodes[line[ply + 1]]?.by; // who decides at a ply
    const from = this.ply + way;
    for (let ply = from; ply >= 0 && ply < line.length; ply += way) {
      if (ply === line.length - 1 || by(ply) === undefined || counts(by(ply))) return ply;
    }
    return Math.max(0, Math.min(from, line.length - 1));
  }
}
