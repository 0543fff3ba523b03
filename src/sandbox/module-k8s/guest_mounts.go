package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// missing tells what a pod needs and the API server does not give, as the
// node asks for it.
func (p *nodePods) missing(ctx context.Context, pod *v1.Pod) string {
	for _, volume := range pod.Spec.Volumes {
		message := ""
		switch {
		case volume.Secret != nil:
			message = p.object(ctx, pod.Namespace, "secret", volume.Secret.SecretName, volume.Secret.Optional)
		case volume.ConfigMap != nil:
			message = p.object(ctx, pod.Namespace, "configmap", volume.ConfigMap.Name, volume.ConfigMap.Optional)
		case volume.PersistentVolumeClaim != nil:
			message = p.claim(ctx, pod.Namespace, volume.PersistentVolumeClaim.ClaimName)
		case volume.Projected != nil:
			for _, source := range volume.Projected.Sources {
				if source.Secret != nil && message == "" {
					message = p.object(ctx, pod.Namespace, "secret", source.Secret.Name, source.Secret.Optional)
				}
				if source.ConfigMap != nil && message == "" {
					message = p.object(ctx, pod.Namespace, "configmap", source.ConfigMap.Name, source.ConfigMap.Optional)
				}
			}
		}
		if message != "" {
			return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %s", volume.Name, message)
		}
	}
	for _, container := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		for _, source := range container.EnvFrom {
			if source.SecretRef != nil {
				if message := p.object(ctx, pod.Namespace, "secret", source.SecretRef.Name, source.SecretRef.Optional); message != "" {
					return message
				}
			}
			if source.ConfigMapRef != nil {
				if message := p.object(ctx, pod.Namespace, "configmap", source.ConfigMapRef.Name, source.ConfigMapRef.Optional); message != "" {
					return message
				}
			}
		}
		for _, env := range container.Env {
			if env.ValueFrom == nil {
				continue
			}
			if ref := env.ValueFrom.SecretKeyRef; ref != nil {
				if message := p.object(ctx, pod.Namespace, "secret", ref.Name, ref.Optional); message != "" {
					return message
				}
			}
			if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
				if message := p.object(ctx, pod.Namespace, "configmap", ref.Name, ref.Optional); message != "" {
					return message
				}
			}
		}
	}
	return ""
}

// object asks for a Secret or ConfigMap; for a while it takes the answer for
// known.
func (p *nodePods) object(ctx context.Context, namespace, kind, name string, optional *bool) string {
	key := kind + "/" + namespace + "/" + name
	p.lock.Lock()
	seen := p.known[key]
	p.lock.Unlock()
	if ptr.Deref(optional, false) || time.Since(seen) < 30*time.Second {
		return ""
	}
	var err error
	if kind == "secret" {
		_, err = p.node.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	} else {
		_, err = p.node.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return err.Error()
	}
	p.lock.Lock()
	p.known[key] = time.Now()
	p.lock.Unlock()
	return ""
}

// claim waits for a bound claim, and for its volume where one has to be
// attached.
func (p *nodePods) claim(ctx context.Context, namespace, name string) string {
	claim, err := p.node.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	if claim.Status.Phase != v1.ClaimBound {
		return fmt.Sprintf("persistentvolumeclaim %q is not bound", name)
	}
	volume, err := p.node.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	if volume.Spec.CSI == nil {
		return ""
	}
	driver, err := p.node.client.StorageV1().CSIDrivers().Get(ctx, volume.Spec.CSI.Driver, metav1.GetOptions{})
	if err == nil && !ptr.Deref(driver.Spec.AttachRequired, true) {
		return ""
	}
	unique := v1.UniqueVolumeName("kubernetes.io/csi/" + volume.Spec.CSI.Driver + "^" + volume.Spec.CSI.VolumeHandle)
	for _, attached := range p.node.seen().Status.VolumesAttached {
		if attached.Name == unique {
			return ""
		}
	}
	return fmt.Sprintf("volume %s is not attached", volume.Name)
}
