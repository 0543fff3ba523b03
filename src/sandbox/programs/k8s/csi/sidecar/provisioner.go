package sidecar

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

const (
	provisionerKey = "volume.kubernetes.io/storage-provisioner"
	selectedKey    = "volume.kubernetes.io/selected-node"
	provisionedKey = "pv.kubernetes.io/provisioned-by"
	// Finalizer of a volume until the driver has deleted its storage.
	provisionerFinalizer = "external-provisioner.volume.kubernetes.io/finalizer"
	reserved             = "csi.storage.k8s.io/"
)

// provisioner creates volumes for claims, and deletes released ones.
type provisioner struct {
	*sidecar
	controller                               csi.ControllerClient
	prefix, fsType                           string
	metadata                                 bool
	classes, csiNodes, attachments, machines cache.SharedIndexInformer
}

// Provisioner runs the program csi-provisioner.
func Provisioner(ctx context.Context, args []string) error {
	o := common("worker-threads", 10*time.Second, "Topology", "HonorPVReclaimPolicy", "CrossNamespaceVolumeDataSource", "VolumeAttributesClass")
	p := &provisioner{}
	o.set.StringVar(&p.prefix, "volume-name-prefix", "pvc", "that volumes' names begin with")
	o.set.StringVar(&p.fsType, "default-fstype", "", "where a class names none")
	o.set.BoolVar(&p.metadata, "extra-create-metadata", false, "tell the driver of the claim")
	for _, name := range []string{"strict-topology", "enable-capacity", "node-deployment", "prevent-volume-mode-conversion"} {
		o.set.BoolFunc(name, "not in this stand-in", func(value string) error {
			if value != "false" && name != "prevent-volume-mode-conversion" {
				return fmt.Errorf("this stand-in has no --%s", name)
			}
			return nil
		})
	}
	o.set.Bool("immediate-topology", true, "without effect: the driver knows no places")
	o.set.Int("volume-name-uuid-length", -1, "without effect")
	o.set.Int("cloning-protection-threads", 1, "without effect")
	s, err := begin(ctx, o, args)
	if err != nil {
		return err
	}
	p.sidecar, p.controller = s, csi.NewControllerClient(s.calls)
	p.classes = p.Follow(cluster.StorageClasses)
	p.attachments = p.Follow(cluster.Attachments)
	claims, volumes := p.Follow(cluster.Claims), p.Follow(cluster.Volumes)
	if o.gates["Topology"] != "false" {
		p.csiNodes, p.machines = p.Follow(cluster.CSINodes), p.Follow(cluster.Nodes)
	}
	if err := p.Start(ctx); err != nil {
		return err
	}
	cluster.Reconcile(ctx, claims, o.pace, p.claim)
	cluster.Reconcile(ctx, volumes, o.pace, p.volume)
	<-ctx.Done()
	return nil
}

// claim creates the volume of a claim that Kubernetes has assigned to this driver.
func (p *provisioner) claim(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	if claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil || claim.Annotations[provisionerKey] != p.driver || claim.Spec.StorageClassName == nil {
		return nil
	}
	class, err := cluster.Find[storagev1.StorageClass](p.classes, *claim.Spec.StorageClassName)
	if err != nil {
		return err
	}
	if class == nil || class.Provisioner != p.driver {
		return fmt.Errorf("storage class %s of claim %s/%s is not of this driver", *claim.Spec.StorageClassName, claim.Namespace, claim.Name)
	}
	node := claim.Annotations[selectedKey]
	if class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer && node == "" {
		return nil
	}
	p.Event(ctx, p.source(), "PersistentVolumeClaim", &claim.ObjectMeta, "Normal", "Provisioning",
		fmt.Sprintf("External provisioner is provisioning volume for claim %q", claim.Namespace+"/"+claim.Name))
	name, err := p.provision(ctx, claim, class, node)
	if err != nil {
		p.Event(ctx, p.source(), "PersistentVolumeClaim", &claim.ObjectMeta, "Warning", "ProvisioningFailed",
			fmt.Sprintf("failed to provision volume with StorageClass %q: %v", class.Name, err))
		return err
	}
	p.Event(ctx, p.source(), "PersistentVolumeClaim", &claim.ObjectMeta, "Normal", "ProvisioningSucceeded", "Successfully provisioned volume "+name)
	return nil
}

func (p *provisioner) source() string { return p.driver + "_csi-provisioner" }

// volume deletes the storage of a released or deleted volume.
func (p *provisioner) volume(ctx context.Context, volume *v1.PersistentVolume) error {
	released := volume.Status.Phase == v1.VolumeReleased && volume.DeletionTimestamp == nil
	ended := volume.DeletionTimestamp != nil && volume.Status.Phase != v1.VolumeBound && slices.Contains(volume.Finalizers, provisionerFinalizer)
	if volume.Annotations[provisionedKey] != p.driver || volume.Spec.CSI == nil ||
		volume.Spec.PersistentVolumeReclaimPolicy != v1.PersistentVolumeReclaimDelete || !released && !ended {
		return nil
	}
	for _, item := range p.attachments.GetStore().List() {
		one, err := cluster.Decode[storagev1.VolumeAttachment](item.(*unstructured.Unstructured))
		if err == nil && one.Spec.Source.PersistentVolumeName != nil && *one.Spec.Source.PersistentVolumeName == volume.Name {
			err = fmt.Errorf("persistentvolume %s is still attached to node %s", volume.Name, one.Spec.NodeName)
			p.Event(ctx, p.source(), "PersistentVolume", &volume.ObjectMeta, "Warning", "VolumeFailedDelete", err.Error())
		}
		if err != nil {
			return err
		}
	}
	call, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if _, err := p.controller.DeleteVolume(call, &csi.DeleteVolumeRequest{VolumeId: volume.Spec.CSI.VolumeHandle}); err != nil {
		p.Event(ctx, p.source(), "PersistentVolume", &volume.ObjectMeta, "Warning", "VolumeFailedDelete", err.Error())
		return err
	}
	klog.InfoS("deleted", "volume", volume.Name)
	if released {
		// The deletion triggers another call, which removes the finalizer.
		return p.Resource(cluster.Volumes).Delete(ctx, volume.Name, metav1.DeleteOptions{})
	}
	return p.SetFinalizers(ctx, cluster.Volumes, &volume.ObjectMeta, without(volume.Finalizers, provisionerFinalizer), nil)
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return one == name })
}
