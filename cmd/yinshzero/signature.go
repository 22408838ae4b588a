package main

import (
	"crypto/sha256"
	"fmt"

	"github.com/spf13/cobra"

	"yinshzero/mcts"
	"yinshzero/rules"
	"yinshzero/selfplay"
)

// signatureGames is how many games of each Variant the signature plays.
const signatureGames = 4

func newSignature() *cobra.Command {
	c := &cobra.Command{
		Use:   "signature",
		Short: "Print one hash of how the search plays",
		Long: `Play self-play games of every named variant with fixed seeds and the uniform evaluator, and print one hash of their
records: Moves, policies and values. It changes when the rules, the search or self-play behave differently.`,
		Example: "  yinshzero bench signature",
		Args:    cobra.NoArgs,
	}
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, err := selfplay.New(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), selfplay.DefaultParams())
		if err != nil {
			return err
		}
		all := sha256.New()
		for _, v := range rules.Variants() {
			for i := range uint64(signatureGames) {
				r, err := p.Game(c.Context(), v, i)
				if err != nil {
					return err
				}
				hash := r.Hash()
				all.Write(hash[:])
			}
		}
		signature := fmt.Sprintf("%x", all.Sum(nil)[:8])
		if *asJSON {
			return printJSON(c, map[string]string{"signature": signature})
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), signature)
		return err
	}
	return c
}
