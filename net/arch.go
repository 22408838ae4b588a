package net

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An Arch is the shape of a network: a trunk of Blocks residual blocks of two 3×3 convolutions with Channels channels
// each. With Pooling, the blocks 1, 3, 5, … (see [Arch.Pools]) also see the mean and the maximum of every channel over
// the whole board. The sizes in use are 32x4p, 64x6p and 96x8p; to leave pooling or a head out shows what it is worth.
type Arch struct {
	Channels int // a multiple of 32, 32 to 512
	Blocks   int // 1 to 40
	Pooling  bool
	Without  Heads // auxiliary heads left out
}

// Heads is a set of the auxiliary heads, which serve training: what they are asked to tell shapes the trunk. The policy
// head and the value head's win, draw and loss are always there.
type Heads uint8

// The auxiliary heads.
const (
	Rings     Heads = 1 << iota // the final difference of rings taken
	Reply                       // the policy of the opponent's next Position
	Ownership                   // whose marker is on each Point when the game ends
	Plies                       // how many plies the game still takes
)

// headNames are the heads' names in an Arch's text, in its order.
var headNames = []string{"rings", "reply", "ownership", "plies"}

// Has reports whether a has all of the heads h.
func (a Arch) Has(h Heads) bool { return a.Without&h == 0 }

// Bounds of an Arch.
const (
	channelStep = 32
	maxChannels = 512
	maxBlocks   = 40
)

var archText = regexp.MustCompile(`^([0-9]{1,4})x([0-9]{1,3})(p?)((?:-[a-z]+)*)$`)

// ParseArch reads an Arch as [Arch.String] writes it: 32x4, or 64x6p with pooling, or 64x6p-reply-plies without these heads.
func ParseArch(s string) (Arch, error) {
	m := archText.FindStringSubmatch(s)
	if m == nil {
		return Arch{}, fmt.Errorf("%q is no arch: want channels x blocks, such as 32x4, 64x6p with pooling, or 64x6p-plies without that head", s)
	}
	var a Arch
	a.Channels, _ = strconv.Atoi(m[1])
	a.Blocks, _ = strconv.Atoi(m[2])
	a.Pooling = m[3] != ""
	last := -1
	for name := range strings.SplitSeq(m[4], "-") {
		if name == "" { // before the first
			continue
		}
		i := slices.Index(headNames, name)
		if i <= last {
			return Arch{}, fmt.Errorf("%q is no arch: no %q here: the heads to leave out are %s, each once and in this order",
				s, name, strings.Join(headNames, ", "))
		}
		a.Without |= 1 << i
		last = i
	}
	return a, a.Validate()
}

// String is the text of a: 32x4, or 64x6p with pooling, or 64x6p-reply-plies without these heads.
func (a Arch) String() string {
	s := fmt.Sprintf("%dx%d", a.Channels, a.Blocks)
	if a.Pooling {
		s += "p"
	}
	for i, name := range headNames {
		if !a.Has(1 << i) {
			s += "-" + name
		}
	}
	return s
}

// Validate returns an error unless the numbers of a are in range.
func (a Arch) Validate() error {
	if a.Channels < channelStep || a.Channels > maxChannels || a.Channels%channelStep != 0 {
		return fmt.Errorf("arch %v has %d channels: want a multiple of %d up to %d", a, a.Channels, channelStep, maxChannels)
	}
	if a.Blocks < 1 || a.Blocks > maxBlocks {
		return fmt.Errorf("arch %v has %d blocks: want 1 to %d", a, a.Blocks, maxBlocks)
	}
	if a.Without >= 1<<len(headNames) {
		return fmt.Errorf("arch %v is without heads %#x: want a set of %s", a, uint8(a.Without), strings.Join(headNames, ", "))
	}
	return nil
}

// Pools reports whether block i, 0 ≤ i < Blocks, has a pooling branch: every second one, from block 1.
func (a Arch) Pools(i int) bool { return a.Pooling && i%2 == 1 }

// The heads' sizes.
const (
	// PolicyPlanes is the number of planes of the policy head. Those from 60 on belong to no Move: they round the
	// number up to what the kernels like.
	PolicyPlanes = 64
	// ValueHidden is the width of the value head's hidden layer.
	ValueHidden = 64
	// NumWDL is the number of outcomes, for the side to move: win, draw, loss.
	NumWDL = 3
	// NumRings is the number of classes of the final difference of rings taken, own − other: class i means i − 3.
	// Differences outside −3 to 3 count as the nearest.
	NumRings = 7
	// NumOwners is the number of classes of a Point at the game's end: a marker of the side to move now, none, a marker of
	// the other side.
	NumOwners = 3
	// NumPlies is the number of classes of the plies left in the game, the Position's own Move included: class i means
	// PliesStep·i to PliesStep·i + PliesStep−1, the last class that and more.
	NumPlies  = 16
	PliesStep = 8
)

// PoolLen is the length of the pooled vector that enters a pooling branch: the mean of every channel, then the maximum.
func (a Arch) PoolLen() int { return 2 * a.Channels }

// ValueLen is the length of the vector that enters the value head: the pooled vector of the trunk, then the globals.
func (a Arch) ValueLen() int { return a.PoolLen() + NumGlobals }

// A Spec is the name and shape of one tensor.
type Spec struct {
	Name  string
	Shape []int
}

// Len is the number of elements.
func (s Spec) Len() int {
	n := 1
	for _, d := range s.Shape {
		n *= d
	}
	return n
}

// Names of the tensors, all listed by [Arch.Specs]. Those of block i are Block(i) + name.
const (
	InputConv     = "input."         // the first convolution: .weight, .scale, .bias
	GlobalsFC     = "globals.weight" // globals into the first convolution's bias
	Conv1         = "conv1."         // a block's convolutions: .weight, .scale, .bias
	Conv2         = "conv2."
	PoolFC        = "pool.weight" // a pooling branch
	PolicyHead    = "policy."     // .weight, .bias, as of all below
	ValueDense    = "value."
	WDLHead       = "wdl."
	RingsHead     = "rings."
	ReplyHead     = "reply."
	OwnershipHead = "ownership."
	PliesHead     = "plies."
	WeightName    = "weight"
	ScaleName     = "scale"
	BiasName      = "bias"
	blockPrefix   = "block."
)

// Block is the prefix of the names of block i's tensors.
func Block(i int) string { return blockPrefix + strconv.Itoa(i) + "." }

// Specs lists the tensors of a in the order in which Weights hold them. With C channels:
//
//	input.weight [3][3][NumPlanes][C]   input.scale [C]   input.bias [C]
//	globals.weight [NumGlobals][C]
//	block.i.conv1.weight [3][3][C][C]   block.i.conv1.scale [C]   block.i.conv1.bias [C]
//	block.i.conv2.weight [3][3][C][C]   block.i.conv2.scale [C]   block.i.conv2.bias [C]
//	block.i.pool.weight [2C][C]         if Pools(i)
//	policy.weight [C][PolicyPlanes]     policy.bias [PolicyPlanes]
//	value.weight [2C+NumGlobals][ValueHidden]   value.bias [ValueHidden]
//	wdl.weight [ValueHidden][3]         wdl.bias [3]
//	rings.weight [ValueHidden][7]       rings.bias [7]              if Has(Rings)
//	reply.weight [C][PolicyPlanes]      reply.bias [PolicyPlanes]   if Has(Reply)
//	ownership.weight [C][3]             ownership.bias [3]          if Has(Ownership)
//	plies.weight [ValueHidden][16]      plies.bias [16]             if Has(Plies)
//
// Convolution weights are indexed [row][column][in][out]: the tap (r, c) reads the grid index 11·(r−1) + (c−1) away.
// What the network computes from them is in the package comment.
func (a Arch) Specs() []Spec {
	c := a.Channels
	var s []Spec
	conv := func(name string, in int) {
		s = append(s, Spec{name + WeightName, []int{3, 3, in, c}}, Spec{name + ScaleName, []int{c}}, Spec{name + BiasName, []int{c}})
	}
	dense := func(name string, in, out int) {
		s = append(s, Spec{name + WeightName, []int{in, out}}, Spec{name + BiasName, []int{out}})
	}
	conv(InputConv, NumPlanes)
	s = append(s, Spec{GlobalsFC, []int{NumGlobals, c}})
	for i := range a.Blocks {
		conv(Block(i)+Conv1, c)
		conv(Block(i)+Conv2, c)
		if a.Pools(i) {
			s = append(s, Spec{Block(i) + PoolFC, []int{a.PoolLen(), c}})
		}
	}
	dense(PolicyHead, c, PolicyPlanes)
	dense(ValueDense, a.ValueLen(), ValueHidden)
	dense(WDLHead, ValueHidden, NumWDL)
	for _, h := range []struct {
		head    Heads
		name    string
		in, out int
	}{
		{Rings, RingsHead, ValueHidden, NumRings}, {Reply, ReplyHead, c, PolicyPlanes},
		{Ownership, OwnershipHead, c, NumOwners}, {Plies, PliesHead, ValueHidden, NumPlies},
	} {
		if a.Has(h.head) {
			dense(h.name, h.in, h.out)
		}
	}
	return s
}
