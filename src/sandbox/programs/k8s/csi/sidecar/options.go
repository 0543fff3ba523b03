// Package sidecar has stand-ins for the programs that run next to a CSI driver.
package sidecar

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
	"kvshoot.io/sandbox/kubernetes/csi/flags"
)

// options are the flags that all sidecars have.
type options struct {
	set                          *flag.FlagSet
	kubeconfig, address          string
	timeout                      time.Duration
	pace                         cluster.Pace
	endpoint, metrics, path      string
	elect                        bool
	electionNamespace            string
	lease, renewDeadline, period time.Duration
	gates                        map[string]string
}

// common declares the flags of a sidecar with a driver. The name of the flag for the number of
// workers and the default timeout differ.
func common(workers string, timeout time.Duration, gates ...string) *options {
	o := alone(workers, gates...)
	o.set.StringVar(&o.address, "csi-address", "/run/csi/socket", "the driver's socket")
	o.set.DurationVar(&o.timeout, "timeout", timeout, "of every call to the driver")
	return o
}

// alone declares the flags of a program without a driver.
func alone(workers string, gates ...string) *options {
	o := &options{set: flags.New(), gates: map[string]string{}}
	o.set.StringVar(&o.kubeconfig, "kubeconfig", "", "client configuration; without one it is the cluster that it runs in")
	o.set.DurationVar(&o.pace.First, "retry-interval-start", time.Second, "how soon what failed is tried again")
	o.set.DurationVar(&o.pace.Max, "retry-interval-max", 5*time.Minute, "how late what failed is tried again")
	o.set.IntVar(&o.pace.Workers, workers, 10, "how many calls at once")
	o.set.StringVar(&o.endpoint, "http-endpoint", "", "where to answer for metrics and health")
	o.set.StringVar(&o.metrics, "metrics-address", "", "as --http-endpoint")
	o.set.StringVar(&o.path, "metrics-path", "/metrics", "where metrics are")
	o.set.BoolVar(&o.elect, "leader-election", false, "work only while it holds the lease")
	o.set.StringVar(&o.electionNamespace, "leader-election-namespace", "", "where the lease is")
	o.set.DurationVar(&o.lease, "leader-election-lease-duration", 15*time.Second, "after which others take over")
	o.set.DurationVar(&o.renewDeadline, "leader-election-renew-deadline", 10*time.Second, "after which it gives up")
	o.set.DurationVar(&o.period, "leader-election-retry-period", 5*time.Second, "how often it tries")
	o.set.Float64("kube-api-qps", 5, "requests a second")
	o.set.Int("kube-api-burst", 10, "requests at once")
	o.set.Func("feature-gates", "NAME=true|false, separated by commas", func(text string) error {
		for pair := range strings.SplitSeq(text, ",") {
			name, value, ok := strings.Cut(pair, "=")
			if !ok || !slices.Contains(gates, name) || value != "true" && value != "false" {
				return fmt.Errorf("no such gate: %s", pair)
			}
			o.gates[name] = value
		}
		return nil
	})
	return o
}

// sidecar is a running sidecar, connected to the cluster and its driver.
type sidecar struct {
	*options
	cluster.Follower
	name   string
	driver string
	calls  *grpc.ClientConn
}

// begin connects to the driver, if any, then to the cluster, and waits to be elected.
func begin(ctx context.Context, o *options, args []string) (*sidecar, error) {
	if err := flags.Parse(o.set, args); err != nil {
		return nil, err
	}
	if o.endpoint != "" && o.metrics != "" {
		return nil, errors.New("only one of --metrics-address and --http-endpoint can be set")
	}
	tenant, err := cluster.Connect(o.kubeconfig)
	if err != nil {
		return nil, err
	}
	s := &sidecar{options: o, Follower: cluster.Follower{Cluster: tenant}, name: o.set.Name()}
	if address := o.endpoint + o.metrics; address != "" {
		go s.answer(address)
	}
	if o.address != "" {
		if s.calls, s.driver, err = dial(ctx, o.address); err != nil {
			return nil, err
		}
		klog.InfoS("found the driver", "driver", s.driver, "cluster", tenant.Config.Host)
	}
	if o.elect {
		return s, s.elected(ctx)
	}
	return s, nil
}

func (s *sidecar) answer(address string) {
	mux := http.NewServeMux()
	fine := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }
	mux.HandleFunc("/healthz/leader-election", fine)
	mux.HandleFunc(s.path, func(http.ResponseWriter, *http.Request) {})
	klog.ErrorS(http.ListenAndServe(address, mux), "cannot answer", "address", address)
	klog.FlushAndExit(klog.ExitFlushTimeout, 1)
}

// dial waits for the driver's socket, and until the driver is ready.
func dial(ctx context.Context, address string) (*grpc.ClientConn, string, error) {
	address = "unix:" + strings.TrimPrefix(strings.TrimPrefix(address, "unix://"), "unix:")
	calls, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, "", err
	}
	identity := csi.NewIdentityClient(calls)
	for {
		_, err := identity.Probe(ctx, &csi.ProbeRequest{}, grpc.WaitForReady(true))
		if err == nil {
			break
		}
		klog.ErrorS(err, "the driver is not ready")
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	}
	info, err := identity.GetPluginInfo(ctx, &csi.GetPluginInfoRequest{})
	return calls, info.GetName(), err
}
