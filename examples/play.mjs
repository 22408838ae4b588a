// Plays a game of yinshzero against itself and prints its Moves, with how sure the player is of winning.
//
//     node play.mjs yinshzero engine --protocol json --model uniform --variant mini

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [command, ...words] = process.argv.slice(2);
const engine = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: engine.stdout })[Symbol.asyncIterator]();

// Sends a query and gives its answer, of which there is one as none is asked for on the way.
async function ask(query) {
  engine.stdin.write(JSON.stringify(query) + "\n");
  const { value, done } = await lines.next();
  if (done) throw new Error("the engine has ended");
  const answer = JSON.parse(value);
  if (answer.error) throw new Error(`${answer.field ?? "engine"}: ${answer.error}`);
  return answer;
}

const moves = [];
for (;;) {
  const { rootInfo, moveInfos } = await ask({ id: String(moves.length), moves, maxVisits: 50 });
  if (rootInfo.phase === "over") break;
  const [best] = moveInfos;
  console.error(`${rootInfo.currentPlayer} ${Math.round(100 * best.winrate)}%  ${best.move}`);
  moves.push(best.move);
}
console.log(moves.join(" "));
engine.stdin.end();
