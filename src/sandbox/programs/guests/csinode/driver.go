package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/mount-utils"
	"k8s.io/utils/exec"
)

const driverName = "csi.kubevirt.io"

// driver is the node part of the CSI driver. Its volumes are disks of the machine.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	// nodeID is the namespace and name of the machine.
	nodeID string
	mounts *mount.SafeFormatAndMount
}

func runDriver(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("kubevirt-csi-driver", flag.ContinueOnError)
	endpoint := set.String("endpoint", "unix:/csi/csi.sock", "socket to listen on")
	node := set.String("node-name", "", "name of the node")
	nodeService := set.Bool("run-node-service", true, "run the node part")
	controllerService := set.Bool("run-controller-service", true, "run the controller part")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *controllerService || !*nodeService {
		return errors.New("this stand-in has the node part only")
	}
	id, err := nodeID(ctx, *node)
	if err != nil {
		return err
	}
	d := &driver{nodeID: id, mounts: mount.NewSafeFormatAndMount(mount.New(""), exec.New())}
	klog.InfoS("this is the sandbox's stand-in", "node", id)
	return d.serve(ctx, *endpoint)
}

// nodeID returns the namespace and name of the machine of a node. It reads them where the driver does: from the
// providerID and an annotation, or from two annotations.
func nodeID(ctx context.Context, name string) (string, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	machine, ours := strings.CutPrefix(node.Spec.ProviderID, "kubevirt://")
	namespace := node.Annotations["cluster.x-k8s.io/cluster-namespace"]
	if !ours {
		machine, namespace = node.Annotations["csi.kubevirt.io/infra-vm-name"], node.Annotations["csi.kubevirt.io/infra-vm-namespace"]
	}
	if machine == "" || namespace == "" {
		return "", fmt.Errorf("node %s does not identify its machine: annotation cluster.x-k8s.io/cluster-namespace is missing", name)
	}
	return namespace + "/" + machine, nil
}

func (d *driver) serve(ctx context.Context, endpoint string) error {
	path := socketPath(endpoint)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logged))
	csi.RegisterIdentityServer(server, d)
	csi.RegisterNodeServer(server, d)
	go func() { <-ctx.Done(); server.Stop() }()
	return server.Serve(listener)
}

// socketPath returns the path of an endpoint such as unix:///csi/csi.sock or /csi/csi.sock.
func socketPath(endpoint string) string {
	return "/" + strings.TrimLeft(strings.TrimPrefix(endpoint, "unix:"), "/")
}

// logged logs failures, and calls that change something.
func logged(ctx context.Context, request any, call *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	answer, err := handler(ctx, request)
	name := filepath.Base(call.FullMethod)
	switch {
	case err != nil:
		klog.ErrorS(err, "failed", "call", name, "request", request)
	case strings.Contains(name, "Volume") && !strings.Contains(name, "Get"):
		klog.InfoS("done", "call", name, "request", request)
	}
	return answer, err
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: driverName, VendorVersion: "sandbox-stand-in"}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.nodeID}, nil
}

func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	answer := &csi.NodeGetCapabilitiesResponse{}
	for _, kind := range []csi.NodeServiceCapability_RPC_Type{
		csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME,
		csi.NodeServiceCapability_RPC_EXPAND_VOLUME,
		csi.NodeServiceCapability_RPC_GET_VOLUME_STATS,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: kind}},
		})
	}
	return answer, nil
}

// NodeStageVolume mounts the disk of a volume, and formats it if it is empty.
func (d *driver) NodeStageVolume(_ context.Context, request *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	device, err := findDisk(sysBlock, request.VolumeContext["serial"])
	if err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	volume := request.VolumeCapability.GetMount()
	if volume == nil {
		return &csi.NodeStageVolumeResponse{}, nil
	}
	if mounted, err := d.isMounted(request.StagingTargetPath); err != nil || mounted {
		return &csi.NodeStageVolumeResponse{}, err
	}
	if err := os.MkdirAll(request.StagingTargetPath, 0o750); err != nil {
		return nil, err
	}
	kind := volume.FsType
	if kind == "" {
		kind = "ext4"
	}
	if err := d.mounts.FormatAndMount(device, request.StagingTargetPath, kind, volume.MountFlags); err != nil {
		return nil, err
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

func (d *driver) NodeUnstageVolume(_ context.Context, request *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	return &csi.NodeUnstageVolumeResponse{}, mount.CleanupMountPoint(request.StagingTargetPath, d.mounts, true)
}

// NodePublishVolume shows a pod the mounted volume, or its disk.
func (d *driver) NodePublishVolume(_ context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if mounted, err := d.isMounted(request.TargetPath); err != nil || mounted {
		return &csi.NodePublishVolumeResponse{}, err
	}
	source := request.StagingTargetPath
	if request.VolumeCapability.GetBlock() != nil {
		device, err := findDisk(sysBlock, request.VolumeContext["serial"])
		if err != nil {
			return nil, status.Error(codes.NotFound, err.Error())
		}
		source = device
		if err := makeFile(request.TargetPath); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(request.TargetPath, 0o750); err != nil {
		return nil, err
	}
	options := append([]string{"bind"}, request.VolumeCapability.GetMount().GetMountFlags()...)
	if request.Readonly {
		options = append(options, "ro")
	}
	return &csi.NodePublishVolumeResponse{}, d.mounts.Mount(source, request.TargetPath, "", options)
}

func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	return file.Close()
}

func (d *driver) NodeUnpublishVolume(_ context.Context, request *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	return &csi.NodeUnpublishVolumeResponse{}, mount.CleanupMountPoint(request.TargetPath, d.mounts, true)
}

// NodeExpandVolume grows the file system to the size of its disk.
func (d *driver) NodeExpandVolume(_ context.Context, request *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	if request.VolumeCapability.GetBlock() != nil {
		return &csi.NodeExpandVolumeResponse{}, nil
	}
	device, _, err := mount.GetDeviceNameFromMount(d.mounts, request.VolumePath)
	if err != nil {
		return nil, err
	}
	_, err = mount.NewResizeFs(d.mounts.Exec).Resize(device, request.VolumePath)
	return &csi.NodeExpandVolumeResponse{}, err
}

func (d *driver) NodeGetVolumeStats(_ context.Context, request *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	usage, err := usageOf(request.VolumePath)
	if err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	return &csi.NodeGetVolumeStatsResponse{Usage: usage}, nil
}

func (d *driver) isMounted(path string) (bool, error) {
	isNot, err := d.mounts.IsLikelyNotMountPoint(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return !isNot, err
}
