// Package data keeps games on disk and draws training samples from the newest of them.
package data
