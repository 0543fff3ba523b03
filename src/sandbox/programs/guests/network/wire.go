package main

import (
	"net"
	"slices"
	"sync"
)

// Frames that wait for a machine.
const wireLength = 1024

// wire is the connection to a machine. When it is full, frames are lost: a machine that is paused or busy must not keep
// others from sending.
type wire struct {
	net.Conn
	frames chan []byte
	closed chan struct{}
	once   sync.Once
}

func newWire(connection net.Conn) *wire {
	w := &wire{Conn: connection, frames: make(chan []byte, wireLength), closed: make(chan struct{})}
	go w.send()
	return w
}

func (w *wire) send() {
	for {
		select {
		case frame := <-w.frames:
			if _, err := w.Conn.Write(frame); err != nil {
				_ = w.Close()
				return
			}
		case <-w.closed:
			return
		}
	}
}

// Write queues a frame; the caller may use the bytes again.
func (w *wire) Write(frame []byte) (int, error) {
	select {
	case <-w.closed:
		return 0, net.ErrClosed
	default:
	}
	select {
	case w.frames <- slices.Clone(frame):
	default:
	}
	return len(frame), nil
}

// Close disconnects the machine.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}
