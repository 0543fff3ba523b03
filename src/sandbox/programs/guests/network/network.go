package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/containers/gvisor-tap-vsock/pkg/services/dhcp"
	"github.com/containers/gvisor-tap-vsock/pkg/services/dns"
	"github.com/containers/gvisor-tap-vsock/pkg/tap"
	"github.com/containers/gvisor-tap-vsock/pkg/types"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

// The range of the provider's pods, which are the machines, and the gateway: its last address.
const (
	machinesRange = "10.64.0.0/10"
	gatewayIP     = "10.127.255.254"
	gatewayMAC    = "02:00:0a:7f:ff:fe"
	mtu           = 1500
	card          = tcpip.NICID(1)
)

// network connects the machines with each other and with the gateway.
type network struct {
	stack *stack.Stack
	wires *tap.Switch
	pool  *tap.IPPool
}

func newNetwork(row int) (*network, error) {
	_, subnet, err := net.ParseCIDR(machinesRange)
	if err != nil {
		return nil, err
	}
	endpoint, err := tap.NewLinkEndpoint(false, mtu, gatewayMAC, gatewayIP, nil)
	if err != nil {
		return nil, err
	}
	wires := tap.NewSwitch(false)
	endpoint.Connect(wires)
	wires.Connect(endpoint)
	gateway, err := newGateway(endpoint, subnet)
	if err != nil {
		return nil, err
	}
	n := &network{stack: gateway, wires: wires, pool: tap.NewIPPool(subnet)}
	n.pool.Reserve(net.ParseIP(gatewayIP), gatewayMAC)
	forwardOut(gateway, row)
	return n, errors.Join(n.serveDHCP(), n.serveDNS())
}

// newGateway returns a stack that accepts packets to all addresses, so that it can forward them.
func newGateway(endpoint stack.LinkEndpoint, subnet *net.IPNet) (*stack.Stack, error) {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
	})
	if err := s.CreateNIC(card, endpoint); err != nil {
		return nil, fmt.Errorf("create the gateway's network card: %s", err)
	}
	address := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: gateway(0).Addr.WithPrefix()}
	if err := s.AddProtocolAddress(card, address, stack.AddressProperties{}); err != nil {
		return nil, fmt.Errorf("set the gateway's address: %s", err)
	}
	s.SetSpoofing(card, true)
	s.SetPromiscuousMode(card, true)
	destination, err := tcpip.NewSubnet(tcpip.AddrFromSlice(subnet.IP), tcpip.MaskFromBytes(subnet.Mask))
	if err != nil {
		return nil, err
	}
	s.SetRouteTable([]tcpip.Route{{Destination: destination, NIC: card}})
	return s, nil
}

// gateway returns a port of the gateway.
func gateway(port uint16) tcpip.FullAddress {
	return endpointOf(net.ParseIP(gatewayIP), port)
}

func endpointOf(ip net.IP, port uint16) tcpip.FullAddress {
	return tcpip.FullAddress{NIC: card, Addr: tcpip.AddrFrom4Slice(ip.To4()), Port: port}
}

func (n *network) serveDHCP() error {
	server, err := dhcp.New(&types.Configuration{Subnet: machinesRange, GatewayIP: gatewayIP, MTU: mtu}, n.stack, n.pool)
	if err != nil {
		return err
	}
	go func() { _ = server.Serve() }()
	return nil
}

func (n *network) serveDNS() error {
	packets, err := gonet.DialUDP(n.stack, new(gateway(53)), nil, ipv4.ProtocolNumber)
	if err != nil {
		return err
	}
	streams, err := gonet.ListenTCP(n.stack, gateway(53), ipv4.ProtocolNumber)
	if err != nil {
		return err
	}
	server, err := dns.New(packets, streams, nil)
	if err != nil {
		return err
	}
	go func() { _ = server.Serve() }()
	go func() { _ = server.ServeTCP() }()
	return nil
}

// connectMachines connects network cards of machines until the listener fails.
func (n *network) connectMachines(ctx context.Context, listener net.Listener) error {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		// It ends with the machine.
		go func() { _ = n.wires.Accept(ctx, newWire(connection), types.QemuProtocol) }()
	}
}
