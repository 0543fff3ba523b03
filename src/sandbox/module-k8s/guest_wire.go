package main

import (
	"net"
	"sync"
)

// wire is what the guests of a shoot reach of each other. Their addresses are
// of no use on this computer, so each listener stands for one of them.
type wire struct {
	lock      sync.Mutex
	listeners map[endpoint]string
}

// endpoint is an address within a shoot, which is told apart by its server.
type endpoint struct{ shoot, address string }

// listen opens a listener that answers for an address of the shoot.
func (w *wire) listen(shoot, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.listeners == nil {
		w.listeners = map[endpoint]string{}
	}
	w.listeners[endpoint{shoot, address}] = listener.Addr().String()
	return listener, nil
}

func (w *wire) close(shoot, address string, listener net.Listener) {
	_ = listener.Close()
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.listeners[endpoint{shoot, address}] == listener.Addr().String() {
		delete(w.listeners, endpoint{shoot, address})
	}
}

// find is where a connection to an address of the shoot has to go here.
func (w *wire) find(shoot, address string) (string, bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	local, ok := w.listeners[endpoint{shoot, address}]
	return local, ok
}
