// Command sandbox-csi is a stand-in for the controller part of the KubeVirt CSI driver and for the
// sidecars of CSI drivers. The driver's module is not available from the Go module proxy, and the
// real sidecars would need more memory than the rest of the control plane. The stand-ins speak CSI
// over the pod's socket, and send the same requests to both API servers as the real programs. Its
// name (or its first argument) picks the program it runs as.
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

	"kvshoot.io/sandbox/kubernetes/csi/driver"
	"kvshoot.io/sandbox/kubernetes/csi/sidecar"
)

func main() {
	// Seven of these run in one pod: prefer low memory use to speed.
	debug.SetGCPercent(50)
	programs := map[string]func(context.Context, []string) error{
		"kubevirt-csi-driver": driver.Main,
		"csi-provisioner":     sidecar.Provisioner,
		"csi-attacher":        sidecar.Attacher,
		"csi-resizer":         sidecar.Resizer,
		"csi-snapshotter":     sidecar.Snapshotter,
		"snapshot-controller": sidecar.SnapshotController,
		"livenessprobe":       sidecar.LivenessProbe,
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
