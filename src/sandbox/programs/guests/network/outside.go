package main

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/containers/gvisor-tap-vsock/pkg/services/forwarder"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	// Connections that are being opened at the same time.
	opening     = 256
	dialTimeout = 20 * time.Second
)

// forwardOut opens connections of machines to the outside from this computer.
func forwardOut(s *stack.Stack, row int) {
	s.SetTransportProtocolHandler(tcp.ProtocolNumber, tcp.NewForwarder(s, 0, opening, func(r *tcp.ForwarderRequest) {
		forwardConnection(r, row)
	}).HandlePacket)
	s.SetTransportProtocolHandler(udp.ProtocolNumber, forwarder.UDP(s, nil, &sync.Mutex{}, false).HandlePacket)
}

// forwardConnection refuses the connection if this computer cannot open it.
func forwardConnection(request *tcp.ForwarderRequest, row int) {
	id := request.ID()
	address := net.JoinHostPort(outsideAddress(id.LocalAddress, row), strconv.Itoa(int(id.LocalPort)))
	outside, err := net.DialTimeout("tcp", address, dialTimeout)
	if err != nil {
		request.Complete(true)
		return
	}
	var queue waiter.Queue
	endpoint, failed := request.CreateEndpoint(&queue)
	request.Complete(failed != nil)
	if failed != nil {
		_ = outside.Close()
		return
	}
	join(gonet.NewTCPConn(&queue, endpoint), outside.(*net.TCPConn))
}

// outsideAddress translates the addresses that machines use for Services of the provider cluster, which are loopback
// addresses on this computer: 198.18.0.0/16 are the cluster IPs of the sandbox's row, 198.19.0.0/16 its load balancers.
// kvshoot uses the same translation.
func outsideAddress(address tcpip.Address, row int) string {
	bytes := address.As4()
	if bytes[0] != 198 || bytes[1]&^1 != 18 {
		return address.String()
	}
	block := 64
	if bytes[1] == 19 {
		block = 96
	}
	return fmt.Sprintf("127.%d.%d.%d", block+row, bytes[2], bytes[3])
}

// halfCloser can tell the other side that nothing more will be sent.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// join copies bytes both ways until both sides have closed.
func join(a, b halfCloser) {
	var both sync.WaitGroup
	pass := func(to, from halfCloser) {
		if _, err := io.Copy(to, from); err != nil {
			// A connection that is broken on one side is broken on the other.
			_ = from.Close()
			_ = to.Close()
		}
		_ = to.CloseWrite()
	}
	both.Go(func() { pass(a, b) })
	both.Go(func() { pass(b, a) })
	both.Wait()
	_ = a.Close()
	_ = b.Close()
}
