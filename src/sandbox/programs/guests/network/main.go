// Command guest-network has the networks of a sandbox's machines: for each, a switch, and a gateway with DHCP, DNS and
// connections to the outside, all within this process. It listens on unix sockets only.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

// Names of the sockets, in the folder that the program is started with.
const (
	// qemu connects to it, once for each network card in the network of pods.
	machinesSocket = "machines.sock"
	// HTTP: PUT /leases, and CONNECT to an address of a machine.
	controlSocket = "control.sock"
)

func main() {
	folder := flag.String("dir", ".", "folder for the sockets; closed to other users")
	row := flag.Int("row", 0, "row of loopback addresses of the sandbox, from 0 to 31")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *folder, *row); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, folder string, row int) error {
	networks, err := newNetworks(ctx, row)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	// Paths of sockets are limited to 107 bytes.
	if err := os.Chdir(folder); err != nil {
		return err
	}
	machines, err := listen(machinesSocket)
	if err != nil {
		return err
	}
	defer machines.Close()
	control, err := listen(controlSocket)
	if err != nil {
		return err
	}
	defer control.Close()
	failed := make(chan error, 2)
	go func() { failed <- networks.pods.connectMachines(ctx, machines) }()
	go func() { failed <- http.Serve(control, networks) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// listen replaces the socket of a process that was killed.
func listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return net.Listen("unix", path)
}
