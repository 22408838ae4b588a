package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// contentPolicy lets the page load from its own server alone, and run no code that is written into it.
const contentPolicy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

// harden sets what every answer says to the browser about itself.
func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// IsLoopback reports whether a host, without a port, is a name or an address of this machine that no other one can reach.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// localOnly refuses those who call this machine by another's name: a page of another site whose name has been made to mean
// this machine.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !IsLoopback(host) {
			refuse(w, http.StatusMisdirectedRequest, "this server answers at localhost alone")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// NewToken returns a token that nobody can guess.
func NewToken() string { return rand.Text() }

const (
	cookieName = "yinshzero"
	cookieAge  = 30 * 24 * 60 * 60 // seconds
)

// tokenOnly refuses those without the token. One in the address becomes a cookie, and the address loses it.
func tokenOnly(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	same := func(got string) bool {
		sum := sha256.Sum256([]byte(got))
		return subtle.ConstantTimeCompare(sum[:], want[:]) == 1
	}
	cookie := hex.EncodeToString(want[:]) // what a token may hold a cookie may not
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Has("token") && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			if same(q.Get("token")) {
				http.SetCookie(w, &http.Cookie{
					Name: cookieName, Value: cookie, Path: "/", MaxAge: cookieAge,
					HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil,
				})
				q.Del("token")
				to := r.URL.EscapedPath()
				if rest := q.Encode(); rest != "" {
					to += "?" + rest
				}
				w.Header().Set("Cache-Control", "no-store")
				w.Header().Set("Location", "/"+strings.TrimLeft(to, "/")) // of this server, whatever the path is
				w.WriteHeader(http.StatusSeeOther)
				return
			}
		}
		bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		ok = ok && same(bearer)
		for _, c := range r.CookiesNamed(cookieName) {
			ok = ok || subtle.ConstantTimeCompare([]byte(c.Value), []byte(cookie)) == 1
		}
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "the token is missing or wrong: open the address that yinshzero serve has printed")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Limits are how many may ask at once. The rest is told to come again.
type Limits struct {
	Searches        int // in all, 1 or more
	ClientSearches  int // of one client, 1 or more
	Questions       int // in all, 1 or more; searches are questions too
	ClientQuestions int // of one client, 1 or more
}

// A turnstile lets so many in at once, and so many of one client.
type turnstile struct {
	most, each int

	mu      sync.Mutex
	all     int
	clients map[netip.Prefix]int
}

func newTurnstile(most, each int) *turnstile {
	return &turnstile{most: most, each: each, clients: map[netip.Prefix]int{}}
}

// enter lets a client in, if there is room. Who has been let in leaves, once.
func (t *turnstile) enter(c netip.Prefix) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all >= t.most || t.clients[c] >= t.each {
		return false
	}
	t.all++
	t.clients[c]++
	return true
}

func (t *turnstile) leave(c netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all--
	if t.clients[c]--; t.clients[c] == 0 {
		delete(t.clients, c)
	}
}

// clientOf is whom a request counts for: an address or, of IPv6, the network that a household has.
func clientOf(r *http.Request) netip.Prefix {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	addr, bits := at.Addr().Unmap().WithZone(""), 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits) // so many bits it has
	return p
}
