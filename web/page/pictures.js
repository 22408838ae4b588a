// The pictures of the rules page, as data. A test asks the rules whether each is true: of to, that these are all the points
// where the ring from may go; of move, that it is legal; of rows, that these are all the rows there are to take.

/** Pictures by name. Pieces are lists of Points; mover is the side whose decision it is; text says what is seen. */
export const pictures = {
  board: { radius: 5, text: "The empty board: columns a to k, numbers along the slanted lines." },
  moving: {
    radius: 4,
    WR: "f4",
    BR: "d4",
    WM: "f7 g4",
    BM: "f6 e3 d2",
    mover: "W",
    from: "f4",
    to: "f3 f5 f8 e4 h4 g5 h6 i7 j8",
    text: "A white ring on f4 and dots on the nine points where it may go.",
  },
  before: {
    radius: 4,
    WR: "f4",
    BR: "h6",
    WM: "f6",
    BM: "f5 f7",
    mover: "W",
    move: "f4-f8",
    text: "A white ring on f4 is about to jump over three markers to f8.",
  },
  after: {
    radius: 4,
    WR: "f8",
    BR: "h6",
    WM: "f4 f5 f7",
    BM: "f6",
    text: "The ring stands on f8, a white marker on f4, and the three markers have turned over.",
  },
  stuck: {
    radius: 4,
    WR: "b4",
    BR: "b3 b5 c4 c5",
    mover: "W",
    from: "b4",
    to: "",
    text: "A white ring on b4 at the edge, with black rings on every point around it.",
  },
  row: {
    radius: 4,
    WR: "d7 i7",
    BR: "d5 g4",
    WM: "e5 f6 g7 h8 d4 g6",
    BM: "e6 h7 f4",
    mover: "W",
    rows: "xd4-h8",
    text: "Five white markers in a line from d4 to h8.",
  },
  long: {
    radius: 4,
    WR: "d7 h5",
    BR: "d5 i8",
    WM: "f4 f5 f6 f7 f8 f9",
    BM: "e6 g8 g6",
    mover: "W",
    rows: "xf4-f8 xf5-f9",
    text: "Six white markers in a line on f4 to f9: two ways to take five of them.",
  },
  crossing: {
    radius: 4,
    WR: "d7 h5",
    BR: "d4 i8",
    WM: "f4 f5 f6 f7 f8 d6 e6 g6 h6",
    BM: "e7 g8",
    mover: "W",
    rows: "xf4-f8 xd6-h6",
    text: "Two white rows that cross on f6, from f4 to f8 and from d6 to h6.",
  },
  gift: {
    radius: 4,
    WR: "f5 h9",
    BR: "d4 i8",
    WM: "f6 e7",
    BM: "d6 e6 g6 h6",
    mover: "W",
    move: "f5-f7",
    text: "Black markers on d6, e6, g6 and h6, a white one on f6 between them; a white ring jumps from f5 over it to f7.",
  },
  given: {
    radius: 4,
    WR: "f7 h9",
    BR: "d4 i8",
    WM: "f5 e7",
    BM: "d6 e6 f6 g6 h6",
    mover: "B",
    rows: "xd6-h6",
    text: "The marker on f6 is black now, and Black has a row from d6 to h6.",
  },
};

/** The pieces of a picture by Point, as a position has them. */
export function piecesOf(picture) {
  const pieces = {};
  for (const code of ["WR", "BR", "WM", "BM"]) {
    for (const point of list(picture[code])) pieces[point] = code;
  }
  return pieces;
}

/** The words of a text. */
export const list = (text = "") => text.split(" ").filter(Boolean);
