"""Plays a game of yinshzero against itself and prints its Moves, with how sure the player is of winning.

    python3 play.py yinshzero engine --protocol json --model uniform --variant mini
"""

import json
import subprocess
import sys

engine = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(query):
    """Sends a query and returns its answer, of which there is one as none is asked for on the way."""
    engine.stdin.write(json.dumps(query) + "\n")
    engine.stdin.flush()
    line = engine.stdout.readline()
    if not line:
        sys.exit("the engine has ended")
    answer = json.loads(line)
    if "error" in answer:
        sys.exit(answer.get("field", "engine") + ": " + answer["error"])
    return answer


moves = []
while True:
    root = (answer := ask({"id": str(len(moves)), "moves": moves, "maxVisits": 50}))["rootInfo"]
    if root["phase"] == "over":
        break
    best = answer["moveInfos"][0]
    print(f"{root['currentPlayer']} {best['winrate']:4.0%}  {best['move']}", file=sys.stderr)
    moves.append(best["move"])
print(" ".join(moves))
engine.stdin.close()
sys.exit(engine.wait())
