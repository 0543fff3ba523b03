// Command csi-node is a stand-in for the node part of the KubeVirt CSI driver, whose module cannot be fetched from the Go
// module proxy, and for the sidecars beside it. The name that it is called by picks the program.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	programs := map[string]func(context.Context, []string) error{
		"kubevirt-csi-driver":       runDriver,
		"csi-node-driver-registrar": runRegistrar,
		"livenessprobe":             runLivenessProbe,
	}
	name := filepath.Base(os.Args[0])
	run, ok := programs[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "csi-node: call it as kubevirt-csi-driver, csi-node-driver-registrar or livenessprobe")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
