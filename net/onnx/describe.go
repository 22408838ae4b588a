package onnx

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"yinshzero/net"
	"yinshzero/net/onnx/pb"
	"yinshzero/rules"
)

const (
	format  = "yinshzero onnx 1" // changes with the meaning of an input, an output or a key of the Description
	licence = "Apache-2.0"
)

// A Description says what a stranger must know to use a model. Its JSON keys are those of the model's metadata, where a
// text stands as it is and everything else as JSON.
type Description struct {
	// Format is "yinshzero onnx 1".
	Format string `json:"format"`
	// Product and Licence are those of the program that wrote the model.
	Product string `json:"product"`
	Licence string `json:"licence"`
	// Model is the name of the Weights: the SHA-256 of their safetensors file, in hex.
	Model string `json:"model"`
	// Arch is the text of the network's shape, see net.ParseArch.
	Arch string `json:"arch"`
	// Encoder is net.EncoderVersion: models of the same one have the same inputs and the same Move table.
	Encoder int `json:"encoder"`
	// Variants are those that the Weights were trained for.
	Variants []Variant `json:"variants"`
	Inputs   []Array   `json:"inputs"`
	Outputs  []Array   `json:"outputs"`
	// Planes and Globals say what stands at each index of the inputs.
	Planes  []Term `json:"planes"`
	Globals []Term `json:"globals"`
	// Moves says, for the text of every Move of the Variants, where among the numbers of policy (or reply) for one Position
	// its logit is: 121·plane + cell.
	Moves map[string]int `json:"moves"`
}

// A Variant is the numbers of a rules.Variant.
type Variant struct {
	Name       string `json:"name"`
	Radius     int8   `json:"radius"`
	Rings      int8   `json:"rings"`
	Markers    int8   `json:"markers"`
	RowLength  int8   `json:"row_length"`
	RingsToWin int8   `json:"rings_to_win"`
}

// An Array is an input or output, float32 and row-major, with the batch in front.
type Array struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"` // of one Position, without the batch
	About string `json:"about"`
}

// A Term is a plane or a global.
type Term struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// Names of inputs and outputs.
const (
	inputPlanes         = "planes"
	inputGlobals        = "globals"
	outputPolicy        = "policy"
	outputWDL           = "wdl"
	outputProbabilities = "wdl_probabilities"
	outputRings         = "rings"
	outputReply         = "reply"
	outputOwnership     = "ownership"
	outputPlies         = "plies"
)

func inputs() []Array {
	return []Array{
		{inputPlanes, []int{net.NumPlanes, rules.GridSize, rules.GridSize}, "what is where: [plane][column a to k][number - 1], 0 where no point is"},
		{inputGlobals, []int{net.NumGlobals}, "numbers about the whole position"},
	}
}

// outputs lists what a network of shape a tells, in the order of the model's outputs.
func outputs(a net.Arch) []Array {
	list := []Array{
		{outputPolicy, []int{net.PolicyPlanes, rules.GridSize, rules.GridSize}, "logits of the moves of the side to move, at the indices of the table moves; softmax over the legal ones"},
		{outputWDL, []int{net.NumWDL}, "logits of win, draw and loss of the side to move"},
		{outputProbabilities, []int{net.NumWDL}, "probabilities of win, draw and loss of the side to move: softmax of wdl"},
	}
	for _, aux := range []struct {
		head net.Heads
		Array
	}{
		{net.Rings, Array{outputRings, []int{net.NumRings}, "logits of the final difference of rings taken, own less other: -3 and less, -2 to 2, 3 and more"}},
		{net.Reply, Array{outputReply, []int{net.PolicyPlanes, rules.GridSize, rules.GridSize}, "logits of the opponent's moves when he is next to move, as policy has them"}},
		{net.Ownership, Array{outputOwnership, []int{net.NumOwners, rules.GridSize, rules.GridSize}, "logits of every point when the game ends: a marker of the side to move now, none, a marker of the other side; 0 off the variant's board"}},
		{net.Plies, Array{outputPlies, []int{net.NumPlies}, fmt.Sprintf("logits of the moves that the game still takes, this one included, in steps of %d; the last class is open", net.PliesStep)}},
	} {
		if a.Has(aux.head) {
			list = append(list, aux.Array)
		}
	}
	return list
}

// planes and globals say what net's constants mean.
var (
	planes = [net.NumPlanes]Term{
		net.PlaneOwnRings:     {"own_rings", "1 where the side to move has a ring"},
		net.PlaneOtherRings:   {"other_rings", "1 where the other side has a ring"},
		net.PlaneOwnMarkers:   {"own_markers", "1 where the side to move has a marker"},
		net.PlaneOtherMarkers: {"other_markers", "1 where the other side has a marker"},
		net.PlaneBoard:        {"board", "1 at the points of the variant's board"},
		net.PlaneOwnRows:      {"own_rows", "in the phases row and ring: 1 at the points of every row that the side to move has; else 0"},
		net.PlaneOtherRows:    {"other_rows", "in the phases row and ring: 1 at the points of every row that the other side has; else 0"},
	}
	globals = [net.NumGlobals]Term{
		net.GlobalPhase:       {"phase_place", "1 if a ring is to be placed"},
		net.GlobalPhase + 1:   {"phase_move", "1 if a ring is to be moved"},
		net.GlobalPhase + 2:   {"phase_row", "1 if a row is to be removed"},
		net.GlobalPhase + 3:   {"phase_ring", "1 if a ring is to be removed for a row"},
		net.GlobalOwnToGo:     {"own_to_go_1", "1 if the side to move wins with the next ring it takes"},
		net.GlobalOwnToGo + 1: {"own_to_go_2", "1 if it wins with the second"},
		net.GlobalOwnToGo + 2: {"own_to_go_3", "1 if it needs three or more"},

		net.GlobalOtherToGo:     {"other_to_go_1", "1 if the other side wins with the next ring it takes"},
		net.GlobalOtherToGo + 1: {"other_to_go_2", "1 if it wins with the second"},
		net.GlobalOtherToGo + 2: {"other_to_go_3", "1 if it needs three or more"},

		net.GlobalOwnTaken:   {"own_taken", "rings that the side to move has taken, divided by 5"},
		net.GlobalOtherTaken: {"other_taken", "rings that the other side has taken, divided by 5"},
		net.GlobalOwnHand:    {"own_hand", "rings that the side to move has yet to place, divided by 5"},
		net.GlobalOtherHand:  {"other_hand", "rings that the other side has yet to place, divided by 5"},
		net.GlobalPool:       {"pool", "markers in the pool, divided by 99"},
		net.GlobalPoolLow:    {"pool_low", "markers in the pool, at most ten, divided by 10"},
		net.GlobalOwnLast:    {"own_last", "1 if the side to move was the last to place or move a ring or to pass, else -1; -1 before the first move"},
		net.GlobalRadius:     {"radius", "of the variant's board, divided by 5"},
		net.GlobalRings:      {"rings", "a side has in the variant, divided by 5"},
		net.GlobalMarkers:    {"markers", "in the variant, divided by 99"},
		net.GlobalRowLength:  {"row_length", "markers in a row of the variant, divided by 7"},
		net.GlobalRingsToWin: {"rings_to_win", "rings taken that win in the variant, divided by 5"},
	}
)

// describe says all of w and s but the model's name.
func describe(a net.Arch, s Source) (Description, error) {
	if len(s.Variants) == 0 {
		return Description{}, errors.New("no variants: want those that the weights were trained for")
	}
	d := Description{
		Format: format, Product: s.Product, Licence: licence, Arch: a.String(), Encoder: net.EncoderVersion,
		Inputs: inputs(), Outputs: outputs(a), Planes: planes[:], Globals: globals[:], Moves: map[string]int{},
	}
	for _, v := range s.Variants {
		if err := v.Validate(); err != nil {
			return Description{}, fmt.Errorf("variant %v: %w", v, err)
		}
		d.Variants = append(d.Variants, Variant{v.String(), v.Radius, v.Rings, v.Markers, v.RowLength, v.RingsToWin})
		addMoves(d.Moves, v)
	}
	return d, nil
}

// addMoves adds the Moves on v's board. Variants with rows of other lengths have other texts for the same Move.
func addMoves(table map[string]int, v rules.Variant) {
	var onBoard [rules.NumPoints]bool
	pos := rules.New(v)
	for _, p := range pos.AppendBoard(nil) {
		onBoard[p] = true
	}
	var points []rules.Point
	for m := range rules.Move(rules.NumMoves) {
		points = points[:0]
		switch m.Kind() {
		case rules.PlaceRing, rules.RemoveRing:
			points = append(points, m.Point())
		case rules.MoveRing:
			points = append(points, m.From(), m.To())
		case rules.RemoveRow:
			last, ok := m.Row().Last(int(v.RowLength))
			if !ok {
				continue
			}
			points = append(points, m.Row().First(), last) // the board is convex along its lines
		}
		on := true
		for _, p := range points {
			on = on && onBoard[p]
		}
		if on {
			plane, cell := net.PolicyIndex(m)
			table[v.MoveText(m)] = plane*net.Cells + cell
		}
	}
}

// properties are the metadata of the model.
func (d Description) properties() ([]*pb.StringStringEntryProto, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	var list []*pb.StringStringEntryProto
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		value := string(fields[key])
		var s string
		if json.Unmarshal(fields[key], &s) == nil {
			value = s
		}
		list = append(list, &pb.StringStringEntryProto{Key: proto.String(key), Value: proto.String(value)})
	}
	return list, nil
}

// info is a as the graph declares it.
func (a Array) info() *pb.ValueInfoProto {
	shape := &pb.TensorShapeProto{Dim: []*pb.TensorShapeProto_Dimension{
		{Value: &pb.TensorShapeProto_Dimension_DimParam{DimParam: batchDim}},
	}}
	for _, d := range a.Shape {
		shape.Dim = append(shape.Dim, &pb.TensorShapeProto_Dimension{Value: &pb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}})
	}
	return &pb.ValueInfoProto{
		Name: proto.String(a.Name), DocString: proto.String(a.About),
		Type: &pb.TypeProto{Value: &pb.TypeProto_TensorType{TensorType: &pb.TypeProto_Tensor{
			ElemType: proto.Int32(int32(pb.TensorProto_FLOAT)), Shape: shape,
		}}},
	}
}
