//go:build linux

// Command peers measures yinshzero beside ONNX Runtime and PyTorch; scripts/bench-peers runs it.
//
// Every contender computes the same network from the same weights on the same positions, which is checked first. Then
// they take turns on one core, round after round, so that a machine that slows down or has other work slows them all, and
// a line shows the median and the range of the rounds. Ratios are made in each round; more than 1 means that yinshzero is
// faster. How much of the core a contender got shows whether the machine was quiet; the ratios by CPU time suffer less where
// it was not.
//
// An evaluation of yinshzero encodes one Position, lists its legal Moves and runs the network. ONNX Runtime and PyTorch get
// encoded positions, in batches of the size at which they are fastest. A training step is forward, the losses of all heads,
// backward, clipping and AdamW; PyTorch does it in the fastest of the ways that its script tries.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	product = "bin/yinshzero"
	// tolerance is how far a peer's logits may be from yinshzero's, in parts of the largest, and its training losses.
	tolerance = 1e-4
)

var (
	inferenceSizes = []int{1, 2, 4, 8, 16, 32, 64}
	trainingSizes  = []int{64, 256}
)

// switches are the environment that holds everybody to an instruction set.
var switches = map[string][]string{
	"":        nil,
	"avx512":  {"YINSHZERO_ISA=avx512", "ATEN_CPU_CAPABILITY=avx512", "OPENBLAS_CORETYPE=SkylakeX"},
	"avx2":    {"YINSHZERO_ISA=avx2", "ATEN_CPU_CAPABILITY=avx2", "DNNL_MAX_CPU_ISA=AVX2", "OPENBLAS_CORETYPE=Haswell"},
	"generic": {"YINSHZERO_ISA=generic", "ATEN_CPU_CAPABILITY=default", "DNNL_MAX_CPU_ISA=SSE41", "OPENBLAS_CORETYPE=Prescott"},
}

type options struct {
	isa          string
	seconds      float64
	rounds, cpu  int
	python, node string
}

func main() {
	var o options
	archs := flag.String("arch", "64x6p,32x4p", "networks to measure, separated by commas")
	flag.StringVar(&o.isa, "isa", "", "instruction set: avx512, avx2, generic; empty: what each prefers")
	flag.Float64Var(&o.seconds, "seconds", 3, "length of one measurement")
	flag.IntVar(&o.rounds, "rounds", 5, "how often the contenders take turns")
	flag.IntVar(&o.cpu, "cpu", lastCPU(), "the core on which everything but the comparison of cores runs")
	flag.StringVar(&o.python, "python", "/usr/bin/python3", "a Python that has PyTorch")
	flag.StringVar(&o.node, "node", "node", "Node.js, for ONNX Runtime")
	flag.Parse()
	if err := o.validate(flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "bench-peers: %v; --help lists the flags\n", err)
		os.Exit(2)
	}
	if err := o.run(strings.Split(*archs, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench-peers:", err)
		os.Exit(1)
	}
}

// validate returns the first thing that is wrong with the flags; arguments there are none.
func (o *options) validate(args []string) error {
	switch _, ok := switches[o.isa]; {
	case len(args) > 0:
		return fmt.Errorf("%q is no flag", args[0])
	case !ok:
		return fmt.Errorf("--isa is %q: want avx512, avx2 or generic, or none", o.isa)
	case !(o.seconds > 0 && o.seconds <= 3600):
		return fmt.Errorf("--seconds is %g: want above 0, at most 3600", o.seconds)
	case o.rounds < 1:
		return fmt.Errorf("--rounds is %d: want at least 1", o.rounds)
	}
	return nil
}

func (o *options) run(archs []string) error {
	if _, err := exec.LookPath("taskset"); err != nil {
		return fmt.Errorf("%w: install util-linux", err)
	}
	if out, err := o.command("true").CombinedOutput(); err != nil {
		return fmt.Errorf("--cpu is %d: %s", o.cpu, strings.TrimSpace(string(out)))
	}
	fmt.Printf("one thread on core %d, %s; %d rounds of %g s: median (lowest to highest)\n",
		o.cpu, field("/proc/cpuinfo", "model name"), o.rounds, o.seconds)
	if o.isa != "" {
		fmt.Printf("instruction set %s: %s; ONNX Runtime has no such switch and uses what the machine has\n",
			o.isa, strings.Join(switches[o.isa], " "))
	}
	var errs []error
	for _, arch := range archs {
		arch = strings.TrimSpace(arch)
		fmt.Printf("\n%s\n", arch)
		if err := o.network(arch); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", arch, err))
		}
	}
	return errors.Join(errs...)
}

// lastCPU is the last of the cores that this process may use.
func lastCPU() int {
	list := field("/proc/self/status", "Cpus_allowed_list")
	n, _ := strconv.Atoi(list[strings.LastIndexAny(list, "-,")+1:])
	return n
}

// field is the value of the first line "name: value" of a file, empty if there is none.
func field(path, name string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// network compares everything about one network.
func (o *options) network(arch string) error {
	dir, err := os.MkdirTemp("", "bench-peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	play := filepath.Join(dir, "play")
	for _, line := range []string{
		"bench vectors --batch 256 --arch=" + arch + " --dir " + dir,
		"bench vectors --batch 64 --steps 1 --arch " + playing(arch) + " --dir " + play,
		"export --variant standard --model " + play + "/weights.safetensors --onnx " + play + "/model.onnx",
	} {
		if out, err := o.command(product, strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("yinshzero %s: %w\n%s", line, err, out)
		}
	}
	torch := o.start("PyTorch", o.python, "scripts/peers/torch_peer.py", dir)
	defer torch.stop()
	torchPlay := o.start("PyTorch", o.python, "scripts/peers/torch_peer.py", play)
	defer torchPlay.stop()
	ort := o.start("ONNX Runtime", o.node, "scripts/peers/ort_peer.mjs", play)
	defer ort.stop()

	fmt.Println("  the same network: largest difference from yinshzero")
	errs := []error{
		ort.check("run scripts/onnxruntime.sh"),
		torch.check("run apt-get install python3-torch libopenblas0-pthread"),
	}
	contenders := []contender{o.ours("yinshzero, batch 1", "evals_per_second", "eval", "--arch", arch)}
	for _, p := range []*peer{ort, torchPlay} {
		if p.missing != "" {
			continue
		}
		c, err := p.bestBatch(o.seconds / 3)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		contenders = append(contenders, c)
	}
	errs = append(errs, o.compare("inference, evaluations a second", contenders))
	for _, n := range trainingSizes {
		contenders := []contender{o.ours(fmt.Sprintf("yinshzero, batch %d", n), "positions_per_second", "train", "--arch", arch, "--batch", strconv.Itoa(n))}
		if torch.missing == "" {
			contenders = append(contenders, torch.contender("train", n))
		}
		errs = append(errs, o.compare(fmt.Sprintf("training at batch %d, positions a second", n), contenders))
	}
	return errors.Join(append(errs, o.cores(arch), o.memory(arch, dir))...)
}

// playing is arch without the heads that a search does not ask for.
func playing(arch string) string {
	trunk, _, _ := strings.Cut(arch, "-")
	if strings.Contains(arch, "-rings") {
		trunk += "-rings"
	}
	return trunk + "-reply-ownership-plies"
}

// command runs on one core.
func (o *options) command(name string, args ...string) *exec.Cmd {
	return o.free("taskset", append([]string{"-c", strconv.Itoa(o.cpu), name}, args...)...)
}

// free runs on any core.
func (o *options) free(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
	c.Env = append(c.Env, switches[o.isa]...)
	return c
}

// A sample is the outcome of one measurement.
type sample struct {
	Rate  float64 // a second
	Share float64 // CPU time by the time that passed on its cores
	Way   string  // how it was done, where there are several
}

// A contender can be measured.
type contender struct {
	name    string
	measure func(seconds float64) (sample, error)
}

// ours is a benchmark of yinshzero's own, and the key of its figure.
func (o *options) ours(name, key string, args ...string) contender {
	return contender{name, func(seconds float64) (sample, error) {
		s, _, err := measure(o.command(product), seconds, key, args...)
		return s, err
	}}
}

// measure runs a benchmark with the command, and also returns the most bytes that were resident.
func measure(c *exec.Cmd, seconds float64, key string, args ...string) (s sample, resident int64, err error) {
	c.Args = append(append(c.Args, "bench"), append(args, "--json", "--for", fmt.Sprintf("%gs", seconds))...)
	c.Stderr = os.Stderr
	start := time.Now()
	out, err := c.Output()
	if err != nil {
		return sample{}, 0, fmt.Errorf("%s: %w", strings.Join(c.Args, " "), err)
	}
	figures := map[string]any{}
	if err := json.Unmarshal(out, &figures); err != nil {
		return sample{}, 0, fmt.Errorf("%s: %w", strings.Join(c.Args, " "), err)
	}
	s.Rate, _ = figures[key].(float64)
	s.Share = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds() / time.Since(start).Seconds()
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		resident = usage.Maxrss << 10
	}
	return s, resident, nil
}

// compare lets the contenders take turns and prints a line for each; ratios are those of the first to the others.
func (o *options) compare(title string, contenders []contender) error {
	fmt.Printf("  %s\n", title)
	samples := make([][]sample, len(contenders))
	for range o.rounds {
		for i, c := range contenders {
			s, err := c.measure(o.seconds)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			samples[i] = append(samples[i], s)
		}
	}
	rate := func(s sample) float64 { return s.Rate }
	perCPU := func(s sample) float64 { return s.Rate / s.Share }
	busy := false
	for i, c := range contenders {
		fmt.Printf("    %-24s %8s  core %3.0f %%", c.name, spread("%.0f", each(samples[i], rate)), 100*median(each(samples[i], func(s sample) float64 { return s.Share })))
		if i > 0 {
			fmt.Printf("  ratio %s, by CPU time %s", spread("%.2f", ratios(samples[0], samples[i], rate)), spread("%.2f", ratios(samples[0], samples[i], perCPU)))
		}
		if way := samples[i][0].Way; way != "" {
			fmt.Printf("  (%s)", way)
		}
		fmt.Println()
		busy = busy || slices.ContainsFunc(samples[i], func(s sample) bool { return s.Share < 0.95 })
	}
	if busy {
		fmt.Println("    the core had other work to do: these figures are preliminary")
	}
	return nil
}

func each(s []sample, f func(sample) float64) []float64 {
	list := make([]float64, len(s))
	for i := range s {
		list[i] = f(s[i])
	}
	return list
}

// ratios are those of every round.
func ratios(a, b []sample, f func(sample) float64) []float64 {
	list := each(a, f)
	for i := range list {
		list[i] /= f(b[i])
	}
	return list
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// spread is the median and the range.
func spread(verb string, list []float64) string {
	return fmt.Sprintf(verb+" ("+verb+" to "+verb+")", median(list), slices.Min(list), slices.Max(list))
}

// cores compares one and two replicas of yinshzero's training, on all cores.
func (o *options) cores(arch string) error {
	if runtime.NumCPU() < 2 {
		fmt.Println("  training on two cores: this machine has one")
		return nil
	}
	var contenders []contender
	for _, replicas := range []int{2, 1} {
		contenders = append(contenders, contender{fmt.Sprintf("replicas %d", replicas), func(seconds float64) (sample, error) {
			s, _, err := measure(o.free(product), seconds, "positions_per_second", "train", "--arch", arch, "--batch", "256",
				"--replicas", strconv.Itoa(replicas))
			s.Share /= float64(replicas)
			return s, err
		}})
	}
	return o.compare("yinshzero's training at batch 256 on two cores, positions a second", contenders)
}

// memory compares how much a training step takes.
func (o *options) memory(arch, dir string) error {
	fmt.Println("  memory of training at batch 256, MB resident at most")
	_, resident, err := measure(o.command(product), 0.001, "positions_per_second", "train", "--arch", arch, "--batch", "256")
	if err != nil {
		return err
	}
	fmt.Printf("    %-24s %8d\n", "yinshzero", resident>>20)
	torch := o.start("PyTorch", o.python, "scripts/peers/torch_peer.py", dir)
	defer torch.stop()
	if torch.missing != "" {
		return nil
	}
	a, err := torch.ask(request{Do: "memory", Batch: 256})
	if err != nil {
		return err
	}
	fmt.Printf("    %-24s %8d  of which %d before the first step\n", torch.name, a.Most>>20, a.Before>>20)
	return nil
}

// A peer is another program that answers requests; its script says which.
type peer struct {
	name, version string
	missing       string // why it is not there
	cmd           *exec.Cmd
	in            io.Closer
	requests      *json.Encoder
	answers       *bufio.Scanner
}

type request struct {
	Do      string  `json:"do"`
	Batch   int     `json:"batch"`
	Seconds float64 `json:"seconds"`
}

type answer struct {
	Missing, Version string
	sample
	Error     float64  // the largest difference of a logit
	Largest   float64  // the largest logit
	LossError *float64 `json:"loss_error"` // the largest difference of a training loss, in parts of it
	Before    int64    // bytes resident before training
	Most      int64    // and at most
}

// start runs a peer; where that fails the peer is missing.
func (o *options) start(name, program, script, dir string) *peer {
	p := &peer{name: name, cmd: o.command(program, script, dir)}
	if _, err := exec.LookPath(program); err != nil {
		p.missing = err.Error()
		return p
	}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		p.missing = err.Error()
		return p
	}
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.missing = err.Error()
		return p
	}
	p.in, p.requests, p.answers = in, json.NewEncoder(in), bufio.NewScanner(out)
	hello, err := p.answer()
	p.version, p.missing = hello.Version, hello.Missing
	if err != nil {
		p.missing = strings.TrimPrefix(err.Error(), p.name+": ")
	}
	return p
}

// stop ends the peer.
func (p *peer) stop() {
	if p.in != nil {
		p.in.Close()
		p.cmd.Wait()
	}
}

func (p *peer) ask(r request) (answer, error) {
	if err := p.requests.Encode(r); err != nil {
		return answer{}, fmt.Errorf("%s: %w", p.name, err)
	}
	return p.answer()
}

func (p *peer) answer() (a answer, err error) {
	if !p.answers.Scan() {
		return a, fmt.Errorf("%s: %w", p.name, errors.Join(io.ErrUnexpectedEOF, p.answers.Err()))
	}
	if err := json.Unmarshal(p.answers.Bytes(), &a); err != nil {
		return a, fmt.Errorf("%s: %w", p.name, err)
	}
	return a, nil
}

// check says whether the peer computes the same.
func (p *peer) check(remedy string) error {
	if p.missing != "" {
		fmt.Printf("    %s is left out, %s: %s\n", p.name, p.missing, remedy)
		return nil
	}
	a, err := p.ask(request{Do: "check"})
	if err != nil {
		return err
	}
	fmt.Printf("    %-24s logits %.1e, the largest is %.2g", p.name+" "+p.version, a.Error, a.Largest)
	same := a.Error <= tolerance*max(a.Largest, 1)
	if a.LossError != nil {
		fmt.Printf("; losses of training %.1e of them", *a.LossError)
		same = same && *a.LossError <= tolerance
	}
	fmt.Println()
	if !same {
		return fmt.Errorf("%s computes something else: want at most %g", p.name, tolerance)
	}
	return nil
}

func (p *peer) contender(do string, batch int) contender {
	return contender{fmt.Sprintf("%s, batch %d", p.name, batch), func(seconds float64) (sample, error) {
		a, err := p.ask(request{do, batch, seconds})
		return a.sample, err
	}}
}

// bestBatch tries all sizes at inference and returns the fastest by CPU time.
func (p *peer) bestBatch(seconds float64) (best contender, err error) {
	fastest := 0.0
	for _, n := range inferenceSizes {
		c := p.contender("eval", n)
		s, err := c.measure(seconds)
		if err != nil {
			return contender{}, err
		}
		if v := s.Rate / s.Share; v > fastest {
			best, fastest = c, v
		}
	}
	return best, nil
}
