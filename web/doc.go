// Package web serves the page on which people play, analyse and review games: one HTTP server, with the page embedded, that
// needs no network.
//
// A server is a [Handler], which [Serve] runs until its context ends. What the page asks is answered by package web/desk, at
// POST /api/NAME; the server keeps no game, so that one that is started again has lost nothing. With a training run's
// directory there is a page about it at /run, which package report draws anew as the run goes on, and a little JSON at
// /run/status.
//
//	d, err := desk.New(params)
//	h, err := web.Handler(web.Params{Desk: d, Loopback: true, Limits: web.DefaultLimits()})
//	l, err := net.Listen("tcp", "127.0.0.1:8080")
//	err = web.Serve(ctx, l, h)
//
// Who may ask: on a loopback address everyone who calls the server by a name of this machine, so that no other site's page
// can, by a name that it has made to mean this machine. With a token those who bring it, as Authorization: Bearer, or once in
// the address, which then becomes a cookie. Posts from other sites' pages are refused, and so is framing. What a question
// costs has bounds; beyond them the answer is 429 with Retry-After. A search ends when its client goes away.
//
// The page itself is in web/page, and depends on nothing here but the questions of web/desk.
package web
