// Command sandbox-csi stands in for the KubeVirt CSI driver's controller part and for the
// programs that Kubernetes sets beside such a driver: the module of the one cannot be had from
// the Go module proxy, and the others would take more memory than the whole control plane may.
// They speak real CSI over the pod's socket, and ask both API servers for what the real ones ask.
// Its name (or its first argument) picks the program it runs as.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"k8s.io/klog/v2"
)

func main() {
	// Seven of these run in one pod: rather small than quick.
	debug.SetGCPercent(50)
	programs := map[string]func(context.Context, []string) error{
		"kubevirt-csi-driver": driverMain,
		"csi-provisioner":     provisionerMain,
		"csi-attacher":        attacherMain,
		"csi-resizer":         resizerMain,
		"csi-snapshotter":     snapshotterMain,
		"snapshot-controller": snapshotControllerMain,
		"livenessprobe":       livenessMain,
	}
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	run, ok := programs[name]
	if !ok && len(args) > 0 {
		name, args = args[0], args[1:]
		run, ok = programs[name]
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "sandbox-csi: call it as kubevirt-csi-driver, csi-provisioner, csi-attacher, csi-resizer, csi-snapshotter, snapshot-controller or livenessprobe")
		os.Exit(2)
	}
	os.Args[0] = name
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, args)
	klog.Flush()
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
