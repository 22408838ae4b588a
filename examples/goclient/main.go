// Goclient plays a game of yinshzero against itself and prints its Moves, with how sure the player is of winning.
//
//	goclient yinshzero engine --protocol json --model uniform --variant mini
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// An answer is what is read here of an answer.
type answer struct {
	Error, Field string
	RootInfo     struct{ CurrentPlayer, Phase string }
	MoveInfos    []struct {
		Move    string
		Winrate float64
	}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: goclient ENGINE [ARGUMENT …]")
	}
	engine := exec.Command(os.Args[1], os.Args[2:]...)
	engine.Stderr = os.Stderr
	in, err := engine.StdinPipe()
	check(err)
	out, err := engine.StdoutPipe()
	check(err)
	check(engine.Start())
	queries, answers := json.NewEncoder(in), json.NewDecoder(out)
	moves := []string{}
	for {
		check(queries.Encode(map[string]any{"id": strconv.Itoa(len(moves)), "moves": moves, "maxVisits": 50}))
		var a answer
		check(answers.Decode(&a))
		if a.Error != "" {
			log.Fatalf("%s: %s", a.Field, a.Error)
		}
		if a.RootInfo.Phase == "over" {
			break
		}
		best := a.MoveInfos[0]
		log.Printf("%s %3.0f%%  %s", a.RootInfo.CurrentPlayer, 100*best.Winrate, best.Move)
		moves = append(moves, best.Move)
	}
	fmt.Println(strings.Join(moves, " "))
	check(in.Close())
	check(engine.Wait())
}

// check ends the program if there is an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
