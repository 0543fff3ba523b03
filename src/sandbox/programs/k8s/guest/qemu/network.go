package qemu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"kvshoot.io/sandbox/kubernetes/network"
)

const dialTimeout = 5 * time.Second

// The socket of guest-network that leases are sent to.
const controlSocket = "control.sock"

// Dial opens a connection to a port of a machine.
func (h *Host) Dial(address string) (network.Connection, error) {
	opened, err := net.DialTimeout("unix", filepath.Join(h.Sockets, controlSocket), dialTimeout)
	if err != nil {
		return nil, err
	}
	connection := opened.(*net.UnixConn)
	_ = connection.SetDeadline(time.Now().Add(dialTimeout))
	if err := connect(connection, address); err != nil {
		_ = connection.Close()
		return nil, err
	}
	return connection, connection.SetDeadline(time.Time{})
}

func connect(connection net.Conn, address string) error {
	if _, err := fmt.Fprintf(connection, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address); err != nil {
		return err
	}
	// Byte by byte: what follows the answer comes from the machine.
	answer := []byte{}
	for one := make([]byte, 1); !bytes.HasSuffix(answer, []byte("\r\n\r\n")); {
		if _, err := io.ReadFull(connection, one); err != nil {
			return err
		}
		if answer = append(answer, one...); len(answer) > 4096 {
			return errors.New("the answer of guest-network is too long")
		}
	}
	status, _, _ := strings.Cut(string(answer), "\r\n")
	if !strings.HasPrefix(status, "HTTP/1.1 200") {
		return fmt.Errorf("connect to %s: %s", address, status)
	}
	return nil
}

// lease is what guest-network needs to connect a network card.
type lease struct {
	Network string `json:"network"`
	Subnet  string `json:"subnet"`
	MAC     string `json:"mac"`
	IP      string `json:"ip"`
}

// attach makes guest-network connect a network card and give it its address. It returns the socket for the card.
func (h *Host) attach(ctx context.Context, given lease) (string, error) {
	body, err := json.Marshal(given)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://guest-network/leases", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(h.Sockets, controlSocket))
		},
	}}
	answer, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("guest-network: %w", err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1024))
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("guest-network: %s: %s", answer.Status, text)
	}
	var attached struct {
		Socket string `json:"socket"`
	}
	if err := json.Unmarshal(text, &attached); err != nil {
		return "", fmt.Errorf("guest-network: %w", err)
	}
	return filepath.Join(h.Sockets, attached.Socket), nil
}
