// Command gen writes the assembly kernels and the tile table of package kernel into the directory named by -dir.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// program builds every kernel.
func program() (*ir.File, error) {
	asm.ConstraintExpr("amd64")
	k := newKonst("konst", []float64{4, 5, 2, 8, .25, 1, -1. / 6, 1. / 6, 1. / 12, -1. / 12, 1. / 24})
	for _, rows := range []int{14, 7, 4, 1} {
		gemm(i512, rows, 2)
	}
	for _, rows := range []int{6, 4, 3, 1} {
		gemm(i256, rows, 2)
	}
	gemmTN(i512, 8)
	gemmTN(i256, 4)
	for _, s := range []isa{i512, i256} {
		transform(s, "winoIn", 6, bt, k, [3]float64{4, 5, 2})
		transform(s, "winoGrad", 4, am, k, [3]float64{4, 8, 2})
		winoOut(s, k, false)
		winoOut(s, k, true)
		packG(s, k)
		unpackG(s, k)
		colSum(s)
		pool(s)
		unpool(s, false)
		unpool(s, true)
		dot(s)
		axpy(s)
		squares(s)
		adamW(s)
	}
	conv8()
	bytes8()
	return asm.Result()
}

// write generates all files in dir.
func write(dir string) error {
	file, err := program()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	cfg := printer.Config{Name: "gen", Pkg: "kernel"}
	for name, p := range map[string]printer.Printer{"kernel_amd64.s": printer.NewGoAsm(cfg), "kernel_amd64.go": printer.NewStubs(cfg)} {
		text, err := p.Print(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "board_gen.go"), []byte(board()), 0o644)
}

func main() {
	dir := flag.String("dir", "..", "directory of package kernel")
	flag.Parse()
	if err := write(*dir); err != nil {
		log.Fatal(err)
	}
}
