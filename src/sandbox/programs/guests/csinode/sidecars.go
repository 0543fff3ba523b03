package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/klog/v2"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Where kubelet looks for sockets of plugins.
const registrationDir = "/registration"

// registrar offers the driver to kubelet.
type registrar struct {
	registration.UnimplementedRegistrationServer
	info   *registration.PluginInfo
	failed chan error
}

func runRegistrar(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("csi-node-driver-registrar", flag.ContinueOnError)
	address := set.String("csi-address", "/run/csi/socket", "socket of the driver")
	path := set.String("kubelet-registration-path", "", "path of the driver's socket on the machine")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *path == "" {
		return errors.New("--kubelet-registration-path is not set")
	}
	connection, err := connect(*address)
	if err != nil {
		return err
	}
	defer connection.Close()
	answer, err := csi.NewIdentityClient(connection).GetPluginInfo(ctx, &csi.GetPluginInfoRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	socket := filepath.Join(registrationDir, answer.Name+"-reg.sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	defer os.Remove(socket)
	r := &registrar{failed: make(chan error, 1), info: &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: answer.Name, Endpoint: *path, SupportedVersions: []string{"1.0.0"},
	}}
	server := grpc.NewServer()
	registration.RegisterRegistrationServer(server, r)
	go func() { r.failed <- server.Serve(listener) }()
	defer server.Stop()
	select {
	case err := <-r.failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (r *registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return r.info, nil
}

func (r *registrar) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		// The container is started again, and tries again.
		r.failed <- fmt.Errorf("kubelet did not register the driver: %s", status.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}

func runLivenessProbe(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("livenessprobe", flag.ContinueOnError)
	address := set.String("csi-address", "/run/csi/socket", "socket of the driver")
	timeout := set.Duration("probe-timeout", time.Second, "time for an answer of the driver")
	port := set.String("health-port", "9808", "port to listen on")
	if err := set.Parse(args); err != nil {
		return err
	}
	connection, err := connect(*address)
	if err != nil {
		return err
	}
	defer connection.Close()
	identity := csi.NewIdentityClient(connection)
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(answer http.ResponseWriter, request *http.Request) {
		probe, done := context.WithTimeout(request.Context(), *timeout)
		defer done()
		found, err := identity.Probe(probe, &csi.ProbeRequest{})
		if err != nil || found.Ready != nil && !found.Ready.Value {
			klog.ErrorS(err, "the driver is not ready")
			http.Error(answer, "the driver is not ready", http.StatusInternalServerError)
		}
	})
	server := &http.Server{Addr: ":" + *port, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { <-ctx.Done(); _ = server.Close() }()
	return server.ListenAndServe()
}

// connect returns a connection that is opened when it is used.
func connect(socket string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix:"+socketPath(socket), grpc.WithTransportCredentials(insecure.NewCredentials()))
}
