package screen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"yinshzero/pipeline"
)

// drawEvery is the time between pictures.
const drawEvery = 500 * time.Millisecond

// errLeft says that the user would not wait for the run to finish.
var errLeft = errors.New("left before the run had finished what was in hand")

// Show calls run and draws what status says until run returns, and returns its error. When the user asks, the context
// that run got ends.
func Show(ctx context.Context, status func() pipeline.Status, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &model{ctx: ctx, cancel: cancel, status: status, width: 80, height: 24}
	program := tea.NewProgram(m, tea.WithAltScreen(), tea.WithoutSignalHandler())
	go func() { program.Send(ended{run(ctx)}) }()
	_, err := program.Run()
	fmt.Fprint(os.Stdout, Draw(status(), m.width, m.height, ""))
	return errors.Join(err, m.err)
}

// ended is the message that run has returned.
type ended struct{ err error }

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
	err           error
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return tick() }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case ended:
		m.err = msg.err
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
			m.err = errLeft
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
		foot = "finishing what is in hand … q or Ctrl-C: leave at once"
	}
	return Draw(m.status(), m.width, m.height, foot)
}
