package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/csi/flags"
)

// LivenessProbe runs the program livenessprobe.
func LivenessProbe(ctx context.Context, args []string) error {
	set := flags.New()
	address := set.String("csi-address", "/run/csi/socket", "the driver's socket")
	port := set.String("health-port", "", "where to answer (9808)")
	endpoint := set.String("http-endpoint", "", "where to answer")
	set.String("metrics-address", "", "where metrics are")
	set.String("metrics-path", "/metrics", "where metrics are")
	// Only the stand-in has this flag: pods share the host's ports, and each has its own address.
	own := set.String("sandbox-bind-address", "0.0.0.0", "the address that --health-port is opened on")
	timeout := set.Duration("probe-timeout", time.Second, "of every call to the driver")
	if err := flags.Parse(set, args); err != nil {
		return err
	}
	switch {
	case *port != "" && *endpoint != "":
		return errors.New("only one of --health-port and --http-endpoint can be set")
	case *endpoint == "" && *port == "":
		*endpoint = net.JoinHostPort(*own, "9808")
	case *endpoint == "":
		*endpoint = net.JoinHostPort(*own, *port)
	}
	calls, driver, err := dial(ctx, *address)
	if err != nil {
		return err
	}
	klog.InfoS("found the driver", "driver", driver)
	identity := csi.NewIdentityClient(calls)
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), *timeout)
		defer cancel()
		if _, err := identity.Probe(ctx, &csi.ProbeRequest{}); err != nil {
			klog.ErrorS(err, "the driver is not healthy")
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, "ok")
	})
	server := &http.Server{Addr: *endpoint, Handler: mux}
	go func() { <-ctx.Done(); _ = server.Close() }()
	return server.ListenAndServe()
}
