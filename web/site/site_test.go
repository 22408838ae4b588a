package site

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"yinshzero/net"
)

// TestParse: what is written is read again, and what is wrong with a file is told, all of it.
func TestParse(t *testing.T) {
	good := Site{
		Format: Format, Product: "yinshzero test", Model: strings.Repeat("0f", 32), Arch: "32x4p", Encoder: net.EncoderVersion,
		Variants: []string{"blitz", "4-4-35-5-2"}, Files: map[string]int64{"index.html": 7},
	}
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Parse(text); err != nil || !reflect.DeepEqual(got, good) || got.ShortModel() != "0f0f0f0f0f0f" {
		t.Errorf("got %+v, %v", got, err)
	}
	bad := Site{Format: "yinshzero web 0", Model: "0f", Arch: "32", Encoder: net.EncoderVersion + 1, Variants: []string{"go"}}
	if text, err = json.Marshal(bad); err != nil {
		t.Fatal(err)
	}
	for in, wants := range map[string][]string{
		string(text): {"format", "model", "32", "encoder", "go", "standard, blitz, mini"},
		`{}`:         {"format", "model", "encoder", "variants"},
		``:           {Name},
		`[`:          {Name},
		`null`:       {"format"},
	} {
		_, err := Parse([]byte(in))
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v, want one about %s", in, err, want)
			}
		}
	}
}
