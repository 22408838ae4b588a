// Package site says what a folder holds that is the page as plain files: web/static writes it, web/wasm plays in it.
package site

import (
	"encoding/json"
	"errors"
	"fmt"

	"yinshzero/net"
	"yinshzero/rules"
)

// Format changes with the meaning of a Site or of a file beside it.
const Format = "yinshzero web 1"

// Name is the file that holds the Site.
const Name = "site.json"

// A Site is what a folder says of itself.
type Site struct {
	Format   string           `json:"format"`   // the constant
	Product  string           `json:"product"`  // the program that wrote the folder, and its version
	Model    string           `json:"model"`    // the name of the model: the SHA-256 of its safetensors file, in hex
	Arch     string           `json:"arch"`     // its shape, see net.ParseArch
	Encoder  int              `json:"encoder"`  // net.EncoderVersion
	Variants []string         `json:"variants"` // that it was trained for, the one to begin with at the head
	Files    map[string]int64 `json:"files"`    // what lies beside, in bytes
}

// Parse reads a Site. An error says what is wrong with it.
func Parse(text []byte) (Site, error) {
	var s Site
	if err := json.Unmarshal(text, &s); err != nil {
		return Site{}, fmt.Errorf("%s: %w", Name, err)
	}
	var errs []error
	if s.Format != Format {
		errs = append(errs, fmt.Errorf("%s: format is %q: want %q", Name, s.Format, Format))
	}
	if s.Encoder != net.EncoderVersion {
		errs = append(errs, fmt.Errorf("%s: encoder is %d: want %d; export the model again with this version of the program", Name, s.Encoder, net.EncoderVersion))
	}
	if len(s.Model) < shortName {
		errs = append(errs, fmt.Errorf("%s: model is %q: want a SHA-256", Name, s.Model))
	}
	if _, err := net.ParseArch(s.Arch); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", Name, err))
	}
	if len(s.Variants) == 0 {
		errs = append(errs, fmt.Errorf("%s: no variants", Name))
	}
	for _, name := range s.Variants {
		if _, err := rules.ParseVariant(name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", Name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Site{}, err
	}
	return s, nil
}

const shortName = 12

// ShortModel is the name of the model for people.
func (s Site) ShortModel() string { return s.Model[:shortName] }
