package main

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/containers/gvisor-tap-vsock/pkg/types"
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

func TestNetworksHaveARangeAGatewayAndASocketEach(t *testing.T) {
	t.Chdir(t.TempDir())
	n, err := newNetworks(t.Context(), 31)
	if err != nil {
		t.Fatal(err)
	}
	if n.pods.gateway.String() != "10.127.255.254" {
		t.Error(n.pods.gateway)
	}
	storage, socket, err := n.attach("shoots/storage", "192.168.5.0/24")
	if err != nil || socket == machinesSocket {
		t.Fatal(socket, err)
	}
	if again, same, err := n.attach("shoots/storage", "192.168.5.0/24"); again != storage || same != socket || err != nil {
		t.Error("the same network is another one", err)
	}
	if other, _, err := n.attach("shoots/other", ""); other == storage || err != nil {
		t.Error("another network is the same one", err)
	}
	for address, expected := range map[string]*network{"192.168.5.9": storage, "192.168.6.9": n.pods, "10.64.0.9": n.pods} {
		if n.with(net.ParseIP(address)) != expected {
			t.Error(address)
		}
	}
	for _, subnet := range []string{"192.168.5.0", "192.168.5.0/30", "fd00::/64"} {
		if _, _, err := n.attach("shoots/wrong", subnet); err == nil {
			t.Error(subnet)
		}
	}
}

// A network without a range passes frames between machines, and to nobody else.
func TestANetworkWithoutARangeIsAWire(t *testing.T) {
	n, err := newNetwork("", 31)
	if err != nil {
		t.Fatal(err)
	}
	near, here := net.Pipe()
	far, there := net.Pipe()
	for _, one := range []net.Conn{here, there} {
		go func() { _ = n.wires.Accept(t.Context(), one, types.QemuProtocol) }()
	}
	// The length, the addresses of a broadcast, and its content.
	frame := append([]byte{0, 0, 0, 18}, "\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x08\x00text"...)
	received := make([]byte, len(frame))
	for range 100 {
		if _, err := near.Write(frame); err != nil {
			t.Fatal(err)
		}
		_ = far.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		// The other machine may not be connected yet.
		if _, err := io.ReadFull(far, received); err == nil {
			break
		}
	}
	if !bytes.Equal(received, frame) {
		t.Errorf("%q", received)
	}
}
