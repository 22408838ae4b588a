package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"yinshzero/pipeline"
)

// drawEvery is the time between pictures.
const drawEvery = 500 * time.Millisecond

// Show calls run and draws what status says until run returns, and returns its error. When the user asks, or the screen
// fails, the context that run got ends. When the user asks again, the screen closes, and from then on an interrupt ends the
// process. Show never returns before run.
func Show(ctx context.Context, status func() pipeline.Status, run func(context.Context) error) error {
	return show(ctx, os.Stdout, status, run, tea.WithAltScreen())
}

func show(ctx context.Context, out io.Writer, status func() pipeline.Status, run func(context.Context) error, opts ...tea.ProgramOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &model{ctx: ctx, cancel: cancel, status: status, width: 80, height: 24}
	program := tea.NewProgram(m, append(opts, tea.WithOutput(out), tea.WithoutSignalHandler())...)
	done := make(chan error, 1)
	go func() {
		done <- run(ctx)
		program.Send(ended{})
	}()
	_, err := program.Run()
	cancel()
	if m.left {
		signal.Reset(os.Interrupt)
		fmt.Fprintln(out, "finishing what is in hand … Ctrl-C: end at once")
	}
	err = errors.Join(err, <-done)
	fmt.Fprint(out, Draw(status(), m.width, m.height, ""))
	return err
}

// ended is the message that run has returned.
type ended struct{}

// redraw is the message that it is time for another picture.
type redraw struct{}

func tick() tea.Cmd { return tea.Tick(drawEvery, func(time.Time) tea.Msg { return redraw{} }) }

// A model is the state of the screen.
type model struct {
	ctx           context.Context // of the run; bubbletea's models have no argument for it
	cancel        context.CancelFunc
	status        func() pipeline.Status
	width, height int
	asked         bool // to finish, by a key
	left          bool // the screen, by another
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return tick() }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case ended:
		return m, tea.Quit
	case redraw:
		return m, tick()
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyMsg:
		if k := msg.String(); k != "q" && k != "ctrl+c" {
			break
		}
		if m.asked {
			m.left = true
			return m, tea.Quit
		}
		m.asked = true
		m.cancel()
	}
	return m, nil
}

// View implements tea.Model.
func (m *model) View() string {
	foot := "q or Ctrl-C: finish and end"
	if m.ctx.Err() != nil {
		foot = "finishing what is in hand … q or Ctrl-C: leave the screen"
	}
	return Draw(m.status(), m.width, m.height, foot)
}
