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

const (
	mtu  = 1500
	card = tcpip.NICID(1)
)

// network connects machines with each other and with a gateway.
type network struct {
	subnet *net.IPNet
	// Its last address.
	gateway net.IP
	stack   *stack.Stack
	wires   *tap.Switch
	pool    *tap.IPPool
}

// newNetwork returns a network with a range of addresses; without one, it has no gateway, DHCP and DNS.
func newNetwork(subnet string, row int) (*network, error) {
	if subnet == "" {
		wires := tap.NewSwitch(false)
		wires.Connect(noGateway{})
		return &network{wires: wires}, nil
	}
	_, addresses, err := net.ParseCIDR(subnet)
	if err != nil {
		return nil, err
	}
	gateway, err := lastAddress(addresses)
	if err != nil {
		return nil, err
	}
	mac := net.HardwareAddr(append([]byte{2, 0}, gateway...)).String()
	endpoint, err := tap.NewLinkEndpoint(false, mtu, mac, gateway.String(), nil)
	if err != nil {
		return nil, err
	}
	wires := tap.NewSwitch(false)
	endpoint.Connect(wires)
	wires.Connect(endpoint)
	n := &network{subnet: addresses, gateway: gateway, wires: wires, pool: tap.NewIPPool(addresses)}
	if n.stack, err = n.newGateway(endpoint); err != nil {
		return nil, err
	}
	n.pool.Reserve(gateway, mac)
	forwardOut(n.stack, row)
	return n, errors.Join(n.serveDHCP(), n.serveDNS())
}

// lastAddress returns the last address before the broadcast address of a range.
func lastAddress(subnet *net.IPNet) (net.IP, error) {
	first := subnet.IP.To4()
	if ones, bits := subnet.Mask.Size(); first == nil || bits-ones < 3 {
		return nil, fmt.Errorf("%s is not a range of at least 8 IPv4 addresses", subnet)
	}
	last := net.IP{}
	for i, one := range first {
		last = append(last, one|^subnet.Mask[i])
	}
	last[3]--
	return last, nil
}

// noGateway is the gateway of a network without one, as the switch needs one: it drops packets.
type noGateway struct{}

func (noGateway) DeliverNetworkPacket(tcpip.NetworkProtocolNumber, *stack.PacketBuffer) {}
func (noGateway) LinkAddress() tcpip.LinkAddress                                        { return "" }
func (noGateway) IP() string                                                            { return "" }

// newGateway returns a stack that accepts packets to all addresses, so that it can forward them.
func (n *network) newGateway(endpoint stack.LinkEndpoint) (*stack.Stack, error) {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
	})
	if err := s.CreateNIC(card, endpoint); err != nil {
		return nil, fmt.Errorf("create the gateway's network card: %s", err)
	}
	address := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: n.gatewayPort(0).Addr.WithPrefix()}
	if err := s.AddProtocolAddress(card, address, stack.AddressProperties{}); err != nil {
		return nil, fmt.Errorf("set the gateway's address: %s", err)
	}
	s.SetSpoofing(card, true)
	s.SetPromiscuousMode(card, true)
	destination, err := tcpip.NewSubnet(tcpip.AddrFromSlice(n.subnet.IP), tcpip.MaskFromBytes(n.subnet.Mask))
	if err != nil {
		return nil, err
	}
	s.SetRouteTable([]tcpip.Route{{Destination: destination, NIC: card}})
	return s, nil
}

// gatewayPort returns a port of the gateway.
func (n *network) gatewayPort(port uint16) tcpip.FullAddress {
	return endpointOf(n.gateway, port)
}

func endpointOf(ip net.IP, port uint16) tcpip.FullAddress {
	return tcpip.FullAddress{NIC: card, Addr: tcpip.AddrFrom4Slice(ip.To4()), Port: port}
}

func (n *network) serveDHCP() error {
	server, err := dhcp.New(&types.Configuration{Subnet: n.subnet.String(), GatewayIP: n.gateway.String(), MTU: mtu}, n.stack, n.pool)
	if err != nil {
		return err
	}
	go func() { _ = server.Serve() }()
	return nil
}

func (n *network) serveDNS() error {
	packets, err := gonet.DialUDP(n.stack, new(n.gatewayPort(53)), nil, ipv4.ProtocolNumber)
	if err != nil {
		return err
	}
	streams, err := gonet.ListenTCP(n.stack, n.gatewayPort(53), ipv4.ProtocolNumber)
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
