package onnx

import (
	"encoding/binary"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"

	"yinshzero/net"
	"yinshzero/net/onnx/pb"
	"yinshzero/rules"
)

const (
	irVersion   = int64(pb.Version_IR_VERSION)
	operatorSet = 17
	batchDim    = "batch" // the name of the first dimension of every input and output
)

// Names of constants that the tensors of net.Arch have not.
const (
	pointsName = "points"      // [1][1][11][11], 1 at the Points of the full board
	planeName  = "board.plane" // the index of the plane that shows the Variant's board
	gridName   = "grid.axes"   // the last two axes of activations
)

// A graph is an ONNX graph that grows. Values are known by their names; those of layer x begin with "x.".
type graph struct {
	pb.GraphProto
	weights *net.Weights
	arch    net.Arch
}

// newGraph is the network of w.
func newGraph(w *net.Weights) *pb.GraphProto {
	g := &graph{weights: w, arch: w.Arch()}
	g.Name = proto.String("yinshzero " + g.arch.String())
	for _, in := range inputs() {
		g.Input = append(g.Input, in.info())
	}
	g.constants()

	bias := g.spread("input.globals", g.op("Gemm", "input.gemm", []string{inputGlobals, g.whole(net.GlobalsFC), g.whole(net.InputConv + net.BiasName)}))
	x := g.op("Conv", "input.conv", []string{inputPlanes, g.conv(net.InputConv)}, pads())
	x = g.rectify("input", g.op("Add", "input.sum", []string{x, bias}))
	for i := range g.arch.Blocks {
		x = g.block(x, i)
	}
	g.pointHead(outputPolicy, net.PolicyHead, x)
	h := g.op("Concat", "value.concat", []string{g.pool("trunk", x), inputGlobals}, axis(1))
	h = g.op("Relu", "value.relu", []string{g.dense("value.gemm", net.ValueDense, h)})
	g.dense(outputWDL, net.WDLHead, h)
	g.op("Softmax", outputProbabilities, []string{outputWDL}, axis(1))
	if g.arch.Has(net.Rings) {
		g.dense(outputRings, net.RingsHead, h)
	}
	if g.arch.Has(net.Reply) {
		g.pointHead(outputReply, net.ReplyHead, x)
	}
	if g.arch.Has(net.Ownership) {
		g.pointHead("ownership.conv", net.OwnershipHead, x)
		g.op("Mul", outputOwnership, []string{"ownership.conv", "board"})
	}
	if g.arch.Has(net.Plies) {
		g.dense(outputPlies, net.PliesHead, h)
	}
	for _, out := range outputs(g.arch) {
		g.Output = append(g.Output, out.info())
	}
	return &g.GraphProto
}

// constants adds what all layers share, and the Variant's board: [N][1][11][11] as "board", its share of the grid's cells
// [N][1] as "board.share".
func (g *graph) constants() {
	points := make([]float32, net.Cells)
	for p := range rules.Point(rules.NumPoints) {
		points[p.Grid()] = 1
	}
	g.floats(pointsName, points, 1, 1, rules.GridSize, rules.GridSize)
	g.ints(planeName, net.PlaneBoard)
	g.ints(gridName, 2, 3)
	g.op("Gather", "board", []string{inputPlanes, planeName}, axis(1))
	g.op("ReduceMean", "board.share", []string{"board"}, overGrid()...)
}

// block adds residual block i.
func (g *graph) block(x string, i int) string {
	name := net.Block(i)
	one, two := name+net.Conv1, name+net.Conv2
	y := g.op("Conv", one+"conv", []string{x, g.conv(one), g.whole(one + net.BiasName)}, pads())
	y = g.rectify(strings.TrimSuffix(one, "."), y)
	in := []string{y, g.conv(two)}
	bias := g.whole(two + net.BiasName)
	if !g.arch.Pools(i) {
		in = append(in, bias)
	}
	z := g.op("Conv", two+"conv", in, pads())
	if g.arch.Pools(i) {
		b := g.op("Gemm", name+"pool.gemm", []string{g.pool(name+"pool", y), g.whole(name + net.PoolFC), bias})
		z = g.op("Add", name+"pool.sum", []string{z, g.spread(name+"pool.bias", b)})
	}
	return g.rectify(strings.TrimSuffix(two, "."), g.op("Add", two+"sum", []string{z, x}))
}

// rectify adds the end of a layer: what is negative, and what is at no Point, becomes zero.
func (g *graph) rectify(name, x string) string {
	return g.op("Mul", name, []string{g.op("Relu", name+".relu", []string{x}), pointsName})
}

// pool adds the pooled vector of x, [N][2C]: the mean of every channel over the Variant's board, then the maximum. x is
// nowhere negative, so that zeros off the board change no maximum.
func (g *graph) pool(name, x string) string {
	x = g.op("Mul", name+".board", []string{x, "board"})
	mean := g.op("Div", name+".mean", []string{g.op("ReduceMean", name+".share", []string{x}, overGrid()...), "board.share"})
	return g.op("Concat", name+".vector", []string{mean, g.op("ReduceMax", name+".max", []string{x}, overGrid()...)}, axis(1))
}

// spread makes numbers a channel, [N][C], fit to be added to activations.
func (g *graph) spread(name, x string) string { return g.op("Unsqueeze", name, []string{x, gridName}) }

// dense adds a matrix product and its bias.
func (g *graph) dense(output, head, x string) string {
	return g.op("Gemm", output, []string{x, g.whole(head + net.WeightName), g.whole(head + net.BiasName)})
}

// pointHead adds a head with numbers at every cell.
func (g *graph) pointHead(output, head, x string) {
	t := g.weights.Tensor(head + net.WeightName)
	in, out := t.Shape[0], t.Shape[1]
	w := make([]float32, t.Len())
	for i, v := range t.Data {
		w[i%out*in+i/out] = v
	}
	g.op("Conv", output, []string{x, g.floats(t.Name, w, out, in, 1, 1), g.whole(head + net.BiasName)})
}

// conv adds the weights of a 3×3 convolution, [out][in][3][3], with the layer's scale folded in, as net.Program has it.
func (g *graph) conv(layer string) string {
	t, scale := g.weights.Tensor(layer+net.WeightName), g.weights.Tensor(layer+net.ScaleName).Data
	in, out := t.Shape[2], t.Shape[3]
	w := make([]float32, t.Len())
	for i, v := range t.Data {
		tap, from, to := i/(in*out), i/out%in, i%out
		w[(to*in+from)*9+tap] = v * scale[to]
	}
	return g.floats(t.Name, w, out, in, 3, 3)
}

// whole adds a tensor as it is.
func (g *graph) whole(name string) string {
	t := g.weights.Tensor(name)
	return g.floats(name, t.Data, t.Shape...)
}

// floats adds an array of numbers and returns its name.
func (g *graph) floats(name string, data []float32, shape ...int) string {
	raw := make([]byte, 0, 4*len(data))
	for _, v := range data {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	g.array(name, pb.TensorProto_FLOAT, raw, shape)
	return name
}

// ints adds a vector of integers.
func (g *graph) ints(name string, data ...uint64) {
	var raw []byte
	for _, v := range data {
		raw = binary.LittleEndian.AppendUint64(raw, v)
	}
	g.array(name, pb.TensorProto_INT64, raw, []int{len(data)})
}

func (g *graph) array(name string, kind pb.TensorProto_DataType, raw []byte, shape []int) {
	t := &pb.TensorProto{Name: proto.String(name), DataType: proto.Int32(int32(kind)), RawData: raw}
	for _, d := range shape {
		t.Dims = append(t.Dims, int64(d))
	}
	g.Initializer = append(g.Initializer, t)
}

// op adds an operator and returns the name of its output, by which it is known itself.
func (g *graph) op(kind, output string, inputs []string, attributes ...*pb.AttributeProto) string {
	g.Node = append(g.Node, &pb.NodeProto{
		OpType: proto.String(kind), Name: proto.String(output), Input: inputs, Output: []string{output}, Attribute: attributes,
	})
	return output
}

// pads is the border of zeros of a 3×3 convolution.
func pads() *pb.AttributeProto { return integers("pads", 1, 1, 1, 1) }

// overGrid reduces activations to numbers a channel.
func overGrid() []*pb.AttributeProto {
	return []*pb.AttributeProto{integers("axes", 2, 3), integer("keepdims", 0)}
}

func axis(i int64) *pb.AttributeProto { return integer("axis", i) }

func integer(name string, v int64) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_INT.Enum(), I: proto.Int64(v)}
}

func integers(name string, v ...int64) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_INTS.Enum(), Ints: v}
}
