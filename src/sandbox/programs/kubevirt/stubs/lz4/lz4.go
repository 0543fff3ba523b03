// Package lz4 replaces a library of 34 MB that KubeVirt's DHCP server links and that the programs of
// the sandbox never call: it recognizes no archive.
package lz4

import (
	"errors"
	"io"
)

// ValidFrameHeader reports that the data is not an LZ4 frame.
func ValidFrameHeader([]byte) (bool, error) { return false, nil }

// NewReader returns a reader that fails.
func NewReader(io.Reader) io.Reader { return unsupported{} }

type unsupported struct{}

func (unsupported) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }
