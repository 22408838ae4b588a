package fleet

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startTimeout bounds the start of the embedded server, which reads its store.
const startTimeout = 30 * time.Second

// maxStore is the embedded server's limit over all streams: none, for each stream has its own. The server's default, most of
// the free disk, would keep a hub from opening on a disk that is nearly full although its games need little of it, and a
// limit made from MaxGames one whose MaxGames was lowered.
const maxStore = 1 << 62

// startServer starts the embedded server. It forces every message to disk before it acknowledges it: the server's own
// default is to do so every two minutes, which loses acknowledged games when the power fails. The
// doorkeeper is nil if no port is opened.
func startServer(p HubParams) (*server.Server, *serverLog, *doorkeeper, error) {
	opts := &server.Options{
		ServerName: "yinshzero-" + p.Run,
		DontListen: true,
		JetStream:  true,
		StoreDir:   p.Dir,
		SyncAlways: true,
		NoSigs:     true,
		NoLog:      true,

		JetStreamMaxStore:      maxStore,
		DisableJetStreamBanner: true,
	}
	var door *doorkeeper
	if p.Listen != "" {
		var err error
		if door, err = listen(opts, p); err != nil {
			return nil, nil, nil, err
		}
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("start server: %w", err)
	}
	log := &serverLog{log: p.Log, store: p.Dir, failed: make(chan struct{})}
	srv.SetLoggerV2(log, false, false, false)
	srv.Start()
	if err := log.fatal(); err != nil || !srv.ReadyForConnections(startTimeout) || !srv.JetStreamEnabled() {
		srv.Shutdown()
		srv.WaitForShutdown()
		if err == nil {
			err = errors.New("it is not ready")
		}
		return nil, nil, nil, fmt.Errorf("start server with store %s: %w: if the store is damaged, delete it, the run makes it anew", p.Dir, err)
	}
	return srv, log, door, nil
}

// A serverLog takes the embedded server's log lines. The server calls Fatalf when it cannot start and expects it not to
// return; here Start's caller looks at fatal instead. A stream whose file could not be written once takes nothing more until
// the server starts again and answers nobody; the server tells its log alone.
type serverLog struct {
	log    *slog.Logger
	store  string
	failed chan struct{} // closed when the store could not be written

	mu   sync.Mutex
	died error
	err  error // why failed is closed
}

// writeFailed is in the server's line about a store that could not be written.
const writeFailed = "Critical write error"

func (l *serverLog) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.died
}

func (l *serverLog) line(level func(msg string, args ...any), format string, v []any) {
	level("nats server", "line", fmt.Sprintf(format, v...))
}

// Noticef logs what is of interest to the server's developers only.
func (l *serverLog) Noticef(format string, v ...any) { l.line(l.log.Debug, format, v) }

// Warnf logs a warning of the server's.
func (l *serverLog) Warnf(format string, v ...any) { l.line(l.log.Warn, format, v) }

// Errorf logs an error of the server's.
func (l *serverLog) Errorf(format string, v ...any) {
	l.line(l.log.Error, format, v)
	if !strings.Contains(format, writeFailed) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = fmt.Errorf("the hub's store %s cannot be written and takes nothing more: make room on its disk and start the run again: nothing that it has acknowledged is lost: %s",
			l.store, fmt.Sprintf(format, v...))
		close(l.failed)
	}
}

// failure is why the store takes nothing more, nil if it does.
func (l *serverLog) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Debugf logs nothing.
func (l *serverLog) Debugf(string, ...any) {}

// Tracef logs nothing.
func (l *serverLog) Tracef(string, ...any) {}

// Fatalf keeps the reason why the server cannot start.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.line(l.log.Error, format, v)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.died = fmt.Errorf(format, v...)
}
