// Package autoscaler is a stand-in for the cluster autoscaler, which is not available from the
// Go module proxy. It speaks the same protocol with the provider of node groups, in the order of
// the documented loop, and decides by the scheduler's own rules for resources, taints and node
// affinity. It removes nodes only once they are empty; the program itself also moves pods.
package autoscaler

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// settings are the flags that the stand-in follows.
type settings struct {
	cloudConfig, kubeconfig, address, namespace                           string
	scanInterval, unneeded, delayAfterAdd, delayAfterDelete, maxProvision time.Duration
	balance                                                               bool
}

// accepted are flags of the program that have no effect here. Others are refused, as there.
var accepted = []string{
	"cloud-provider", "cluster-name", "leader-elect", "expander", "skip-nodes-with-system-pods",
	"skip-nodes-with-local-storage", "expendable-pods-priority-cutoff", "scale-down-delay-after-failure",
	"scale-down-utilization-threshold", "max-graceful-termination-sec", "new-pod-scale-up-delay",
	"max-scale-down-parallelism", "max-drain-parallelism", "initial-node-group-backoff-duration",
	"max-node-group-backoff-duration", "node-group-backoff-reset-timeout", "ignore-daemonsets-utilization",
	"emit-per-nodegroup-metrics", "max-binpacking-time", "v",
}

func parse(args []string) (settings, error) {
	var s settings
	flags := pflag.NewFlagSet("cluster-autoscaler", pflag.ContinueOnError)
	flags.StringVar(&s.cloudConfig, "cloud-config", "", "")
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&s.address, "address", ":8085", "")
	flags.StringVar(&s.namespace, "namespace", "kube-system", "")
	flags.DurationVar(&s.scanInterval, "scan-interval", 10*time.Second, "")
	flags.DurationVar(&s.unneeded, "scale-down-unneeded-time", 10*time.Minute, "")
	flags.DurationVar(&s.delayAfterAdd, "scale-down-delay-after-add", 10*time.Minute, "")
	flags.DurationVar(&s.delayAfterDelete, "scale-down-delay-after-delete", 0, "")
	flags.DurationVar(&s.maxProvision, "max-node-provision-time", 15*time.Minute, "")
	flags.BoolVar(&s.balance, "balance-similar-node-groups", false, "")
	for _, name := range accepted {
		flags.String(name, "", "")
	}
	for _, name := range []string{"startup-taint", "status-taint", "ignore-taint"} {
		flags.StringArray(name, nil, "")
	}
	return s, flags.Parse(args)
}

// Main runs until it is told to stop, or until it is no longer the leader.
func Main() int {
	s, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster-autoscaler:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		klog.ErrorS(err, "the cluster autoscaler ends")
		return 1
	}
	return 0
}

func run(ctx context.Context, s settings) error {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	provider, err := connect(s.cloudConfig)
	if err != nil {
		return err
	}
	go serve(s.address)
	klog.InfoS("this is the sandbox's stand-in for the cluster autoscaler")
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	lost := fmt.Errorf("another one is the leader")
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: s.namespace, Name: "cluster-autoscaler"},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: fmt.Sprintf("%s_%d", host, os.Getpid())},
		},
		ReleaseOnCancel: true,
		LeaseDuration:   15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				l := newLoop(s, client, provider)
				for ctx.Err() == nil {
					if err := l.once(ctx); err != nil {
						klog.ErrorS(err, "a loop failed")
					}
					select {
					case <-ctx.Done():
					case <-time.After(s.scanInterval):
					}
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if ctx.Err() != nil {
		return nil
	}
	return lost
}

func serve(address string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/health-check", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "OK") })
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	klog.ErrorS(server.ListenAndServe(), "no health checks")
}
