package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

// lease is the address of a network card.
type lease struct {
	// Network is the name of a NetworkAttachmentDefinition; empty for the network of pods.
	Network string `json:"network"`
	// Subnet is the range of that network; empty if it has no addresses.
	Subnet string `json:"subnet"`
	MAC    string `json:"mac"`
	IP     string `json:"ip"`
}

// attachment answers a lease.
type attachment struct {
	// Socket is the name of the socket that connects the network card.
	Socket string `json:"socket"`
}

// ServeHTTP adds leases, and connects clients with machines.
func (n *networks) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	switch {
	case request.Method == http.MethodConnect:
		n.connect(answer, request)
	case request.Method == http.MethodPut && request.URL.Path == "/leases":
		n.addLease(answer, request)
	default:
		http.NotFound(answer, request)
	}
}

func (n *networks) addLease(answer http.ResponseWriter, request *http.Request) {
	var given lease
	if err := json.NewDecoder(http.MaxBytesReader(answer, request.Body, 4096)).Decode(&given); err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	mac, err := net.ParseMAC(given.MAC)
	ip := net.ParseIP(given.IP).To4()
	if err != nil || (ip == nil) != (given.IP == "") {
		http.Error(answer, "mac and ip must be a MAC address and an IPv4 address", http.StatusBadRequest)
		return
	}
	found, socket, err := n.attach(given.Network, given.Subnet)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	if found.pool != nil && ip != nil {
		found.pool.Release(mac.String())
		found.pool.Reserve(ip, mac.String())
	}
	_ = json.NewEncoder(answer).Encode(attachment{Socket: socket})
}

// connect answers with an open connection to a port of a machine.
func (n *networks) connect(answer http.ResponseWriter, request *http.Request) {
	host, port, err := net.SplitHostPort(request.Host)
	number, wrong := strconv.ParseUint(port, 10, 16)
	ip := net.ParseIP(host).To4()
	if err != nil || wrong != nil || ip == nil {
		http.Error(answer, "the target must be an IPv4 address and a port", http.StatusBadRequest)
		return
	}
	machine, err := gonet.DialContextTCP(request.Context(), n.with(ip).stack, endpointOf(ip, uint16(number)), ipv4.ProtocolNumber)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadGateway)
		return
	}
	client, buffered, err := http.NewResponseController(answer).Hijack()
	if err != nil {
		_ = machine.Close()
		return
	}
	// The client must wait for the answer before it sends anything.
	_, err = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	if err != nil || buffered.Reader.Buffered() > 0 {
		_ = machine.Close()
		_ = client.Close()
		return
	}
	join(machine, client.(*net.UnixConn))
}
