// Package driver is a stand-in for the controller part of the KubeVirt CSI driver.
package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"go.yaml.in/yaml/v2"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
	"kvshoot.io/sandbox/kubernetes/csi/flags"
)

const driverName = "csi.kubevirt.io"

// driver is the controller part of the CSI driver; its volumes are DataVolumes of the
// infrastructure cluster.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	infra     cluster.Cluster
	tenant    cluster.Cluster
	plain     *http.Client
	namespace string
	labels    map[string]string
	prefix    string
	allowed   enforcement
}

// enforcement is the policy which storage classes of the infrastructure may be used.
type enforcement struct {
	AllowAll     bool     `yaml:"allowAll"`
	AllowDefault bool     `yaml:"allowDefault"`
	AllowList    []string `yaml:"allowList"`
	// Snapshot classes by storage class.
	Mapping []struct {
		StorageClasses  []string `yaml:"storageClasses"`
		SnapshotClasses []string `yaml:"volumeSnapshotClasses"`
	} `yaml:"storageSnapshotMapping"`
}

// Main runs the program kubevirt-csi-driver.
func Main(ctx context.Context, args []string) error {
	set := flags.New()
	endpoint := set.String("endpoint", "unix:/csi/csi.sock", "where to listen")
	node := set.String("node-name", "", "the node that this runs on")
	namespace := set.String("infra-cluster-namespace", "", "where the VMs are")
	labels := set.String("infra-cluster-labels", "", "of all that is made, name=value separated by commas")
	infraConfig := set.String("infra-cluster-kubeconfig", "", "of the cluster that has the VMs; without one it is that of the pod")
	tenantConfig := set.String("tenant-cluster-kubeconfig", "", "of the cluster that the VMs make; without one it is that of the pod")
	prefix := set.String("volume-prefix", "pvc", "that volumes' names have")
	nodeService := set.Bool("run-node-service", true, "on nodes")
	controllerService := set.Bool("run-controller-service", true, "beside the infrastructure")
	if err := flags.Parse(set, args); err != nil {
		return err
	}
	switch {
	case *labels == "" && !*nodeService:
		return errors.New("infra-cluster-labels must be set")
	case *prefix == "":
		return errors.New("volume-prefix must be set")
	case *nodeService || *node != "":
		return errors.New("--run-node-service: this stand-in has the controller part only")
	case !*controllerService:
		return errors.New("--run-controller-service=false: this stand-in has the controller part only")
	}
	// Upstream requires a ServiceAccount even if two kubeconfigs are given.
	if _, err := rest.InClusterConfig(); err != nil {
		return fmt.Errorf("no ServiceAccount of the pod's own cluster: %w", err)
	}
	made, err := pairs(*labels)
	if err != nil {
		return err
	}
	allowed, err := enforce(os.Getenv("INFRA_STORAGE_CLASS_ENFORCEMENT"))
	if err != nil {
		return err
	}
	tenant, err := cluster.Connect(*tenantConfig)
	if err != nil {
		return fmt.Errorf("tenant cluster: %w", err)
	}
	infra, err := cluster.Connect(*infraConfig)
	if err != nil {
		return fmt.Errorf("infrastructure cluster: %w", err)
	}
	plain, err := rest.HTTPClientFor(infra.Config)
	if err != nil {
		return err
	}
	d := &driver{infra: infra, tenant: tenant, plain: plain, namespace: *namespace, labels: made, prefix: *prefix + "-", allowed: allowed}
	klog.InfoS("using the infrastructure cluster", "server", infra.Config.Host, "namespace", *namespace)
	return d.serve(ctx, *endpoint)
}

func pairs(text string) (map[string]string, error) {
	found := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("infra-cluster-labels: %q is not name=value", pair)
		}
		found[name] = value
	}
	return found, nil
}

// enforce parses the policy. An empty policy allows all classes; others allow only what they name.
func enforce(text string) (enforcement, error) {
	if text == "" {
		return enforcement{AllowAll: true, AllowDefault: true}, nil
	}
	var policy enforcement
	if err := yaml.Unmarshal([]byte(text), &policy); err != nil {
		return policy, fmt.Errorf("INFRA_STORAGE_CLASS_ENFORCEMENT: %w", err)
	}
	return policy, nil
}

func (d *driver) serve(ctx context.Context, endpoint string) error {
	path, ok := strings.CutPrefix(endpoint, "unix:")
	if !ok {
		return fmt.Errorf("endpoint %s is not a unix socket", endpoint)
	}
	path = "/" + strings.TrimLeft(path, "/")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logged))
	csi.RegisterIdentityServer(server, d)
	csi.RegisterControllerServer(server, d)
	go func() { <-ctx.Done(); server.Stop() }()
	klog.InfoS("listening", "socket", path)
	return server.Serve(listener)
}

// logged logs every call but the probes, and every failure.
func logged(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	answer, err := handler(ctx, request)
	switch {
	case err != nil:
		klog.ErrorS(err, "failed", "call", info.FullMethod, "request", request)
	case !strings.Contains(info.FullMethod, "Identity"):
		klog.InfoS("done", "call", info.FullMethod, "request", request)
	}
	return answer, err
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: driverName, VendorVersion: "sandbox-stand-in"}, nil
}

// GetPluginCapabilities reports that volumes are not accessible everywhere, although no topology is
// ever returned: upstream does, and its provisioner depends on it.
func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	answer := &csi.GetPluginCapabilitiesResponse{}
	for _, kind := range []csi.PluginCapability_Service_Type{
		csi.PluginCapability_Service_CONTROLLER_SERVICE, csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.PluginCapability{
			Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: kind}},
		})
	}
	return answer, nil
}

// Probe reads the version of the infrastructure's API server, which any identity may do.
func (d *driver) Probe(ctx context.Context, _ *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	if err := d.ask(ctx, http.MethodGet, "/version", nil); err != nil {
		return nil, err
	}
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

// ask sends requests that the dynamic client does not support.
func (d *driver) ask(ctx context.Context, method, path string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(d.infra.Config.Host, "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := d.plain.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, strings.TrimSpace(string(text)))
	}
	return err
}

func (d *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
		csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: kind}},
		})
	}
	return answer, nil
}

// owns reports whether a DataVolume belongs to the driver, by its labels and its name.
func (d *driver) owns(name string, labels map[string]string) bool {
	both := maps.Clone(labels)
	if both == nil {
		both = map[string]string{}
	}
	maps.Copy(both, d.labels)
	return strings.HasPrefix(name, d.prefix) && maps.Equal(both, labels)
}
