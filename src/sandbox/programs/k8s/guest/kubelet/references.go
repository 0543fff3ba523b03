package kubelet

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// checkReferences returns an error if an object that a pod refers to does not exist or cannot be
// read by the node.
func (p *podManager) checkReferences(ctx context.Context, pod *v1.Pod) error {
	for _, volume := range pod.Spec.Volumes {
		var err error
		if claim := volume.PersistentVolumeClaim; claim != nil {
			err = p.checkClaim(ctx, pod.Namespace, claim.ClaimName)
		}
		for _, reference := range mounted(volume) {
			err = errors.Join(err, p.checkObject(ctx, pod.Namespace, reference))
		}
		if err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume.Name, err)
		}
	}
	for _, container := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		for _, reference := range variables(container) {
			if err := p.checkObject(ctx, pod.Namespace, reference); err != nil {
				return err
			}
		}
	}
	return nil
}

// reference is a reference to a Secret or a ConfigMap.
type reference struct {
	secret   bool
	name     string
	optional *bool
}

func mounted(volume v1.Volume) []reference {
	switch {
	case volume.Secret != nil:
		return []reference{{true, volume.Secret.SecretName, volume.Secret.Optional}}
	case volume.ConfigMap != nil:
		return []reference{{false, volume.ConfigMap.Name, volume.ConfigMap.Optional}}
	case volume.Projected == nil:
		return nil
	}
	var references []reference
	for _, source := range volume.Projected.Sources {
		if source.Secret != nil {
			references = append(references, reference{true, source.Secret.Name, source.Secret.Optional})
		}
		if source.ConfigMap != nil {
			references = append(references, reference{false, source.ConfigMap.Name, source.ConfigMap.Optional})
		}
	}
	return references
}

func variables(container v1.Container) []reference {
	var references []reference
	for _, source := range container.EnvFrom {
		if ref := source.SecretRef; ref != nil {
			references = append(references, reference{true, ref.Name, ref.Optional})
		}
		if ref := source.ConfigMapRef; ref != nil {
			references = append(references, reference{false, ref.Name, ref.Optional})
		}
	}
	for _, env := range container.Env {
		if env.ValueFrom == nil {
			continue
		}
		if ref := env.ValueFrom.SecretKeyRef; ref != nil {
			references = append(references, reference{true, ref.Name, ref.Optional})
		}
		if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
			references = append(references, reference{false, ref.Name, ref.Optional})
		}
	}
	return references
}

// checkObject reads a Secret or ConfigMap, unless it was read recently.
func (p *podManager) checkObject(ctx context.Context, namespace string, reference reference) error {
	p.lock.Lock()
	seen := p.known[namespace][reference.key()]
	p.lock.Unlock()
	if ptr.Deref(reference.optional, false) || time.Since(seen) < 30*time.Second {
		return nil
	}
	var err error
	if reference.secret {
		_, err = p.node.client.CoreV1().Secrets(namespace).Get(ctx, reference.name, metav1.GetOptions{})
	} else {
		_, err = p.node.client.CoreV1().ConfigMaps(namespace).Get(ctx, reference.name, metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.known[namespace] == nil {
		p.known[namespace] = map[string]time.Time{}
	}
	p.known[namespace][reference.key()] = time.Now()
	return nil
}

func (n reference) key() string { return fmt.Sprint(n.secret, n.name) }

// checkClaim returns an error until a claim is bound, and its volume attached if required.
func (p *podManager) checkClaim(ctx context.Context, namespace, name string) error {
	claim, err := p.node.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if claim.Status.Phase != v1.ClaimBound {
		return fmt.Errorf("persistentvolumeclaim %q is not bound", name)
	}
	volume, err := p.node.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if volume.Spec.CSI == nil {
		return nil
	}
	driver, err := p.node.client.StorageV1().CSIDrivers().Get(ctx, volume.Spec.CSI.Driver, metav1.GetOptions{})
	if err == nil && !ptr.Deref(driver.Spec.AttachRequired, true) {
		return nil
	}
	unique := v1.UniqueVolumeName("kubernetes.io/csi/" + volume.Spec.CSI.Driver + "^" + volume.Spec.CSI.VolumeHandle)
	node, err := p.node.client.CoreV1().Nodes().Get(ctx, p.node.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, attached := range node.Status.VolumesAttached {
		if attached.Name == unique {
			return nil
		}
	}
	return fmt.Errorf("volume %s is not attached", volume.Name)
}
