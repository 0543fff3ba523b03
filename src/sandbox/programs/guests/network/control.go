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
	MAC string `json:"mac"`
	IP  string `json:"ip"`
}

// ServeHTTP adds leases, and connects clients with machines.
func (n *network) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	switch {
	case request.Method == http.MethodConnect:
		n.connect(answer, request)
	case request.Method == http.MethodPut && request.URL.Path == "/leases":
		n.addLease(answer, request)
	default:
		http.NotFound(answer, request)
	}
}

func (n *network) addLease(answer http.ResponseWriter, request *http.Request) {
	var given lease
	if err := json.NewDecoder(http.MaxBytesReader(answer, request.Body, 4096)).Decode(&given); err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	mac, err := net.ParseMAC(given.MAC)
	ip := net.ParseIP(given.IP).To4()
	if err != nil || ip == nil {
		http.Error(answer, "mac and ip must be a MAC address and an IPv4 address", http.StatusBadRequest)
		return
	}
	n.pool.Release(mac.String())
	n.pool.Reserve(ip, mac.String())
}

// connect answers with an open connection to a port of a machine.
func (n *network) connect(answer http.ResponseWriter, request *http.Request) {
	host, port, err := net.SplitHostPort(request.Host)
	number, wrong := strconv.ParseUint(port, 10, 16)
	ip := net.ParseIP(host).To4()
	if err != nil || wrong != nil || ip == nil {
		http.Error(answer, "the target must be an IPv4 address and a port", http.StatusBadRequest)
		return
	}
	machine, err := gonet.DialContextTCP(request.Context(), n.stack, endpointOf(ip, uint16(number)), ipv4.ProtocolNumber)
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
