// Package screen shows a run in a terminal. [Show] runs it and draws its Status twice a second until it ends; the keys q
// and Ctrl-C ask it to finish, pressed again they leave it at once. [Draw] is the picture alone.
//
// It shows what the run says of itself and computes nothing.
package screen
