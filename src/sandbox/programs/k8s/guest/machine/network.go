package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// clockError is how far a wrong clock is behind, as after a start without a hardware clock.
const clockError = 20 * 365 * 24 * time.Hour

// dial opens a connection from the machine to the outside.
func (m *Machine) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := m.Disconnected(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: %w", address, err)}
	}
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return dialer.DialContext(ctx, network, m.outside(address))
}

// outside translates the address that machines use for a Service of the provider cluster, which has a loopback address
// on this computer: 198.18.0.0/16 are the cluster IPs of the sandbox's row, 198.19.0.0/16 its load balancers. kvshoot and
// the network of virtual machines use the same translation.
func (m *Machine) outside(address string) string {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil || !parsed.Addr().Is4() {
		return address
	}
	bytes := parsed.Addr().As4()
	switch {
	case bytes[0] == 198 && bytes[1] == 18:
		bytes[1] = byte(64 + m.Row)
	case bytes[0] == 198 && bytes[1] == 19:
		bytes[1] = byte(96 + m.Row)
	default:
		return address
	}
	bytes[0] = 127
	return netip.AddrPortFrom(netip.AddrFrom4(bytes), parsed.Port()).String()
}

// Disconnected returns an error while a fault keeps the machine from sending packets.
func (m *Machine) Disconnected() error {
	if m.Faults.Matches("guest-network", m.Name()) || m.Faults.Matches("node-silent", m.Name()) {
		return errors.New("i/o timeout")
	}
	return nil
}

// ClockWrong reports whether the machine's clock is wrong.
func (m *Machine) ClockWrong() bool { return m.Faults.Matches("guest-clock", m.Name()) }

// Now returns the time by the machine's clock.
func (m *Machine) Now() time.Time {
	if m.ClockWrong() {
		return time.Now().Add(-clockError)
	}
	return time.Now()
}

// Network connects the machines of a shoot. Their addresses are not reachable on this
// computer, so each server listens on loopback, and Find translates its address.
type Network struct {
	lock      sync.Mutex
	listeners map[endpoint]string
}

// endpoint is an address within a shoot; the URL of its API server identifies the shoot.
type endpoint struct{ shoot, address string }

// Listen opens a listener for an address of the shoot.
func (n *Network) Listen(shoot, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.listeners == nil {
		n.listeners = map[endpoint]string{}
	}
	n.listeners[endpoint{shoot, address}] = listener.Addr().String()
	return listener, nil
}

// Close closes a listener, and removes it unless another one has replaced it.
func (n *Network) Close(shoot, address string, listener net.Listener) {
	_ = listener.Close()
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.listeners[endpoint{shoot, address}] == listener.Addr().String() {
		delete(n.listeners, endpoint{shoot, address})
	}
}

// Find returns the local address of the listener for an address of the shoot.
func (n *Network) Find(shoot, address string) (string, bool) {
	n.lock.Lock()
	defer n.lock.Unlock()
	local, ok := n.listeners[endpoint{shoot, address}]
	return local, ok
}
