// Command sandbox-kubernetes is one multi-call binary: its name (or its first argument)
// picks the program it runs as.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"

	"kvshoot.io/sandbox/kubernetes/autoscaler"
	"kvshoot.io/sandbox/kubernetes/echo"
	"kvshoot.io/sandbox/kubernetes/konnectivity"
	"kvshoot.io/sandbox/kubernetes/network"
	"kvshoot.io/sandbox/kubernetes/pods"
	"kvshoot.io/sandbox/kubernetes/simulator"
)

// programs returns the programs that the binary runs as. It is a function because the
// simulator asks for them too.
func programs() map[string]func() int {
	return map[string]func() int{
		"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
		"etcdutl":                 command(snapshots),
		"kube-apiserver":          command(apiserver.NewAPIServerCommand),
		"kube-controller-manager": command(kcm.NewControllerManagerCommand),
		"kube-scheduler":          command(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
		"cluster-autoscaler":      autoscaler.Main,
		"kubectl":                 command(kubectl),
		"simulator":               func() int { return simulator.Main(isProgram) },
		"proxy-server":            konnectivity.ProxyServer,
		"proxy-agent":             konnectivity.ProxyAgent,
		"sandbox-echo":            echo.Main,
	}
}

func isProgram(name string) bool { return programs()[name] != nil }

func main() {
	pods.ReleaseMemory()
	network.RedirectLoopback()
	programs := programs()
	name := filepath.Base(os.Args[0])
	run, ok := programs[name]
	if !ok && len(os.Args) > 1 {
		name, os.Args = os.Args[1], os.Args[1:]
		run, ok = programs[name]
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "sandbox-kubernetes: call it as etcd, etcdutl, kube-apiserver, kube-controller-manager, kube-scheduler, cluster-autoscaler, kubectl, simulator, proxy-server or proxy-agent")
		os.Exit(2)
	}
	os.Exit(run())
}

func command(build func() *cobra.Command) func() int {
	return func() int { return cli.Run(build()) }
}

// snapshots is the part of etcdutl that restores snapshots.
func snapshots() *cobra.Command {
	root := &cobra.Command{Use: "etcdutl", SilenceUsage: true}
	root.AddCommand(etcdutl.NewSnapshotCommand())
	return root
}
