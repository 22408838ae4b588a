package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"yinshzero/internal/atomicfile"
)

// A hub that listens proves itself to workers by a certificate, made when it is first needed, which each worker's
// credentials hold a copy of; a worker proves itself by signing the server's nonce with its nkey, an Ed25519 key whose
// public half is on the hub's list. Both live in HubParams.Keys:
const (
	certificateFile = "hub.crt"      // PEM
	keyFile         = "hub.key"      // PEM, for its owner's eyes only
	allowedFile     = "allowed.json" // a []Permit
)

// hubName is the name in the hub's certificate. Workers ask for it whatever address they connect to.
const hubName = "yinshzero-hub"

// Credentials is what a worker of another machine needs to join: a file that nobody else should read.
type Credentials struct {
	Run         string `json:"run"`
	Worker      string `json:"worker"`
	Seed        string `json:"seed"`                  // the worker's secret nkey
	Certificate string `json:"certificate,omitempty"` // the hub's, PEM; empty trusts the system's authorities
}

// Keygen makes new credentials for a worker of the run whose hub keeps its keys in the directory keys, and the hub's
// certificate if there is none yet. They open nothing until Allow is told their Public key.
func Keygen(keys, run, worker string) (Credentials, error) {
	if err := errors.Join(CheckName("run", run), CheckName("worker", worker)); err != nil {
		return Credentials{}, fmt.Errorf("make credentials: %w", err)
	}
	if err := makeCertificate(keys); err != nil {
		return Credentials{}, fmt.Errorf("make credentials: %w", err)
	}
	certificate, err := os.ReadFile(filepath.Join(keys, certificateFile))
	if err != nil {
		return Credentials{}, fmt.Errorf("make credentials: %w", err)
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		return Credentials{}, fmt.Errorf("make credentials: %w", err)
	}
	seed, err := pair.Seed()
	if err != nil {
		return Credentials{}, fmt.Errorf("make credentials: %w", err)
	}
	return Credentials{run, worker, string(seed), string(certificate)}, nil
}

// ReadCredentials reads a file that Save wrote.
func ReadCredentials(path string) (Credentials, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Credentials{}, fmt.Errorf("read credentials: %w", err)
	}
	var c Credentials
	if err := json.Unmarshal(b, &c); err != nil {
		return Credentials{}, fmt.Errorf("read credentials %s: %w: it must be a file made by keygen", path, err)
	}
	if err := errors.Join(CheckName("run", c.Run), CheckName("worker", c.Worker)); err != nil {
		return Credentials{}, fmt.Errorf("read credentials %s: %w", path, err)
	}
	if _, err := c.Public(); err != nil {
		return Credentials{}, fmt.Errorf("read credentials %s: %w", path, err)
	}
	return c, nil
}

// Save writes the credentials to a new file that only its owner may read.
func (c Credentials) Save(path string) error {
	b, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return fmt.Errorf("save credentials: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("save credentials: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("save credentials: %w", err), os.Remove(path))
	}
	return nil
}

// Public returns the public half of the worker's key.
func (c Credentials) Public() (string, error) {
	pair, err := nkeys.FromSeed([]byte(c.Seed))
	if err != nil {
		return "", fmt.Errorf("seed: %w", err)
	}
	return pair.PublicKey()
}

// options returns what a connection with these credentials needs.
func (c Credentials) options() ([]nats.Option, error) {
	pair, err := nkeys.FromSeed([]byte(c.Seed))
	if err != nil {
		return nil, fmt.Errorf("credentials: seed: %w", err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("credentials: seed: %w", err)
	}
	opts := []nats.Option{nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix(inboxPrefix(c.Worker))}
	if c.Certificate != "" {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(c.Certificate)) {
			return nil, errors.New("credentials: certificate: want PEM")
		}
		opts = append(opts, nats.Secure(&tls.Config{RootCAs: roots, ServerName: hubName, MinVersion: tls.VersionTLS13}))
	}
	return opts, nil
}

// A Permit lets one worker in.
type Permit struct {
	Worker string `json:"worker"`
	Public string `json:"public"` // key
}

// Validate returns the first fault of p.
func (p Permit) Validate() error {
	if err := CheckName("worker", p.Worker); err != nil {
		return err
	}
	if !nkeys.IsValidPublicUserKey(p.Public) {
		return fmt.Errorf("worker %s: public key %q: want a user's nkey, which begins with U", p.Worker, clip(p.Public))
	}
	return nil
}

// Permits returns who may join, in the order they were allowed. A directory without a list lets nobody in.
func Permits(keys string) ([]Permit, error) {
	path := filepath.Join(keys, allowedFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read permits: %w", err)
	}
	var all []Permit
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("read permits: %s: %w", path, err)
	}
	return all, nil
}

// Allow lets the worker with the public key in, from its next attempt to connect. A worker has one key: a new one takes
// the place of the old.
func Allow(keys string, p Permit) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("allow worker: %w", err)
	}
	all, err := Permits(keys)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(q Permit) bool { return q.Worker == p.Worker || q.Public == p.Public })
	return writePermits(keys, append(all, p))
}

// Revoke shuts a worker out. A hub that is running cuts its connection within seconds.
func Revoke(keys, worker string) error {
	all, err := Permits(keys)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(all), func(q Permit) bool { return q.Worker == worker })
	if len(left) == len(all) {
		return fmt.Errorf("revoke worker %q: it is not allowed in anyway", clip(worker))
	}
	return writePermits(keys, left)
}

func writePermits(keys string, all []Permit) error {
	b, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return fmt.Errorf("write permits: %w", err)
	}
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return fmt.Errorf("write permits: %w", err)
	}
	if err := atomicfile.WriteBytes(filepath.Join(keys, allowedFile), append(b, '\n')); err != nil {
		return fmt.Errorf("write permits: %w", err)
	}
	return nil
}

// certificateYears is how long a hub's certificate is good for. It is pinned, so age does not weaken it.
const certificateYears = 20

// makeCertificate makes the hub's key and its certificate, unless they are there. The certificate is written last: with
// it, both are.
func makeCertificate(keys string) error {
	certificate := filepath.Join(keys, certificateFile)
	if _, err := os.Stat(certificate); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	now := time.Now()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: hubName},
		DNSNames:     []string{hubName},
		NotBefore:    now.AddDate(0, 0, -1), // clocks differ
		NotAfter:     now.AddDate(certificateYears, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &x509.Certificate{Subject: pkix.Name{CommonName: hubName}}, &key.PublicKey, key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return err
	}
	if err := writePEM(filepath.Join(keys, keyFile), 0o600, "PRIVATE KEY", secret); err != nil {
		return err
	}
	return writePEM(certificate, 0o644, "CERTIFICATE", der)
}

// listen makes the server open its port, to workers on the list only.
func listen(opts *server.Options, p HubParams) (*doorkeeper, error) {
	host, portText, err := net.SplitHostPort(p.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: %w: want host:port", clip(p.Listen), err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: port: %w", clip(p.Listen), err)
	}
	if err := makeCertificate(p.Keys); err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(p.Keys, certificateFile), filepath.Join(p.Keys, keyFile))
	if err != nil {
		return nil, fmt.Errorf("load certificate: %w", err)
	}
	own, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	d := &doorkeeper{keys: p.Keys, n: names{p.Run}, own: own, inside: map[uint64]Permit{}}
	if d.public, err = own.PublicKey(); err != nil {
		return nil, err
	}
	opts.DontListen, opts.Host, opts.Port = false, host, int(port)
	if port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	opts.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	opts.AlwaysEnableNonce, opts.CustomClientAuthentication = true, d
	return d, nil
}

// A doorkeeper decides who may connect to the embedded server, and as whom. It reads the list anew for each connection.
type doorkeeper struct {
	keys   string
	n      names
	own    nkeys.KeyPair // of the hub's own process: made at its start and kept in memory
	public string

	mu     sync.Mutex
	inside map[uint64]Permit // by the server's number of the connection
}

// options lets the hub's own process in.
func (d *doorkeeper) options() []nats.Option {
	return []nats.Option{nats.Nkey(d.public, d.own.Sign)}
}

// Check is called by the server for each connection, before anything else is taken from it.
func (d *doorkeeper) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	sig, err := base64.RawURLEncoding.DecodeString(o.Sig)
	if err != nil || o.Nkey == "" {
		return false
	}
	key, err := nkeys.FromPublicKey(o.Nkey)
	if err != nil || key.Verify(c.GetNonce(), sig) != nil {
		return false
	}
	if o.Nkey == d.public {
		c.RegisterUser(&server.User{Username: "hub"})
		return true
	}
	p, ok := d.find(o.Nkey)
	if !ok {
		return false
	}
	c.RegisterUser(&server.User{Username: p.Worker, Permissions: d.n.permissions(p.Worker)})
	d.mu.Lock()
	d.inside[c.GetID()] = p
	d.mu.Unlock()
	return true
}

// find looks a public key up in the list. A list that cannot be read lets nobody in.
func (d *doorkeeper) find(public string) (Permit, bool) {
	all, err := Permits(d.keys)
	if err != nil {
		return Permit{}, false
	}
	i := slices.IndexFunc(all, func(p Permit) bool { return p.Public == public })
	if i < 0 {
		return Permit{}, false
	}
	return all[i], true
}

// sweep cuts the connections of those no longer on the list. A list that cannot be read cuts nobody.
func (d *doorkeeper) sweep(srv *server.Server) {
	all, err := Permits(d.keys)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, p := range d.inside {
		if srv.GetClient(id) == nil {
			delete(d.inside, id)
		} else if !slices.Contains(all, p) {
			_ = srv.DisconnectClientByID(id) // gone is gone
			delete(d.inside, id)
		}
	}
}

func inboxPrefix(worker string) string { return "_INBOX." + worker }

// permissions returns what a worker may do: send games and results under its own name, take and answer jobs, and read
// the run's keys and models. It cannot see another worker's games or answers.
func (n names) permissions(worker string) *server.Permissions {
	keys, models := "KV_"+n.keys(), "OBJ_"+n.models()
	publish := []string{
		n.gameSubject(worker),
		n.resultSubject(worker),
		"$JS.API.CONSUMER.INFO." + n.jobs() + "." + workers,
		"$JS.API.CONSUMER.MSG.NEXT." + n.jobs() + "." + workers,
		"$JS.ACK." + n.jobs() + "." + workers + ".>",
	}
	for _, stream := range []string{keys, models} {
		publish = append(publish,
			"$JS.API.STREAM.INFO."+stream,
			"$JS.API.DIRECT.GET."+stream+".>",
			"$JS.API.CONSUMER.CREATE."+stream+".>",
			"$JS.API.CONSUMER.DELETE."+stream+".>",
			"$JS.API.CONSUMER.INFO."+stream+".>",
			"$JS.FC."+stream+".>",
		)
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: []string{inboxPrefix(worker) + ".>"}},
	}
}

func writePEM(path string, perm os.FileMode, kind string, b []byte) error {
	return atomicfile.Write(path, perm, func(w io.Writer) error {
		return pem.Encode(w, &pem.Block{Type: kind, Bytes: b})
	})
}
