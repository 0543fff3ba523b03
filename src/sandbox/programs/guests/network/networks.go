package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"sync"
)

// The range of the provider's pods, which are the machines.
const podRange = "10.64.0.0/10"

// networks are that of the provider's pods, and one for each NetworkAttachmentDefinition that machines are connected to.
type networks struct {
	ctx  context.Context
	row  int
	pods *network

	lock sync.Mutex
	// The other networks, by the names of their sockets.
	others map[string]*network
}

func newNetworks(ctx context.Context, row int) (*networks, error) {
	pods, err := newNetwork(podRange, row)
	if err != nil {
		return nil, err
	}
	return &networks{ctx: ctx, row: row, pods: pods, others: map[string]*network{}}, nil
}

// attach returns a network, and the socket that connects machines with it. The network of pods has no name. A network with
// another range is another one.
func (n *networks) attach(name, subnet string) (*network, string, error) {
	if name == "" {
		return n.pods, machinesSocket, nil
	}
	hash := fnv.New64a()
	fmt.Fprint(hash, name, " ", subnet)
	socket := fmt.Sprintf("%x.sock", hash.Sum64())
	n.lock.Lock()
	defer n.lock.Unlock()
	if known := n.others[socket]; known != nil {
		return known, socket, nil
	}
	other, err := newNetwork(subnet, n.row)
	if err != nil {
		return nil, "", err
	}
	listener, err := listen(socket)
	if err != nil {
		return nil, "", err
	}
	go func() {
		defer listener.Close()
		_ = other.connectMachines(n.ctx, listener)
	}()
	n.others[socket] = other
	return other, socket, nil
}

// with returns the network of a machine's address: that of the pods unless another one has its range.
func (n *networks) with(ip net.IP) *network {
	n.lock.Lock()
	defer n.lock.Unlock()
	for _, other := range n.others {
		if other.subnet != nil && other.subnet.Contains(ip) && !n.pods.subnet.Contains(ip) {
			return other
		}
	}
	return n.pods
}
