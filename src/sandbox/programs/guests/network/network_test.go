package main

import (
	"net"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

func TestServicesOfTheProviderAreLoopbackAddressesOfTheRow(t *testing.T) {
	for given, expected := range map[[4]byte]string{
		{198, 18, 0, 1}:   "127.67.0.1",
		{198, 19, 12, 34}: "127.99.12.34",
		{198, 20, 0, 1}:   "198.20.0.1",
		{198, 17, 0, 1}:   "198.17.0.1",
		{192, 0, 2, 1}:    "192.0.2.1",
	} {
		if found := outsideAddress(tcpip.AddrFrom4(given), 3); found != expected {
			t.Errorf("%v: found %s, expected %s", given, found, expected)
		}
	}
}

// The other side never reads, as a machine that is paused.
func TestAMachineThatDoesNotReadStopsNobody(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	w := newWire(near)
	sent := make(chan struct{})
	go func() {
		for range 3 * wireLength {
			if _, err := w.Write(make([]byte, mtu)); err != nil {
				t.Error(err)
			}
		}
		close(sent)
	}()
	select {
	case <-sent:
	case <-time.After(10 * time.Second):
		t.Fatal("writing waits for the machine")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("a closed wire accepts frames")
	}
}

func TestTheNetworkServesDHCPAndDNS(t *testing.T) {
	if _, err := newNetwork(31); err != nil {
		t.Fatal(err)
	}
}
