package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// missing tells what a pod needs and the API server does not give, as the
// node asks for it.
func (p *nodePods) missing(ctx context.Context, pod *v1.Pod) error {
	for _, volume := range pod.Spec.Volumes {
		var err error
		if claim := volume.PersistentVolumeClaim; claim != nil {
			err = p.claim(ctx, pod.Namespace, claim.ClaimName)
		}
		for _, need := range mounted(volume) {
			err = errors.Join(err, p.object(ctx, pod.Namespace, need))
		}
		if err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume.Name, err)
		}
	}
	for _, container := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		for _, need := range variables(container) {
			if err := p.object(ctx, pod.Namespace, need); err != nil {
				return err
			}
		}
	}
	return nil
}

// need is a Secret or a ConfigMap that somebody names.
type need struct {
	secret   bool
	name     string
	optional *bool
}

func mounted(volume v1.Volume) []need {
	switch {
	case volume.Secret != nil:
		return []need{{true, volume.Secret.SecretName, volume.Secret.Optional}}
	case volume.ConfigMap != nil:
		return []need{{false, volume.ConfigMap.Name, volume.ConfigMap.Optional}}
	case volume.Projected == nil:
		return nil
	}
	var needs []need
	for _, source := range volume.Projected.Sources {
		if source.Secret != nil {
			needs = append(needs, need{true, source.Secret.Name, source.Secret.Optional})
		}
		if source.ConfigMap != nil {
			needs = append(needs, need{false, source.ConfigMap.Name, source.ConfigMap.Optional})
		}
	}
	return needs
}

func variables(container v1.Container) []need {
	var needs []need
	for _, source := range container.EnvFrom {
		if ref := source.SecretRef; ref != nil {
			needs = append(needs, need{true, ref.Name, ref.Optional})
		}
		if ref := source.ConfigMapRef; ref != nil {
			needs = append(needs, need{false, ref.Name, ref.Optional})
		}
	}
	for _, env := range container.Env {
		if env.ValueFrom == nil {
			continue
		}
		if ref := env.ValueFrom.SecretKeyRef; ref != nil {
			needs = append(needs, need{true, ref.Name, ref.Optional})
		}
		if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
			needs = append(needs, need{false, ref.Name, ref.Optional})
		}
	}
	return needs
}

// object asks for a Secret or ConfigMap; for a while it takes the answer for
// known.
func (p *nodePods) object(ctx context.Context, namespace string, need need) error {
	p.lock.Lock()
	seen := p.known[namespace][need.key()]
	p.lock.Unlock()
	if ptr.Deref(need.optional, false) || time.Since(seen) < 30*time.Second {
		return nil
	}
	var err error
	if need.secret {
		_, err = p.node.client.CoreV1().Secrets(namespace).Get(ctx, need.name, metav1.GetOptions{})
	} else {
		_, err = p.node.client.CoreV1().ConfigMaps(namespace).Get(ctx, need.name, metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.known[namespace] == nil {
		p.known[namespace] = map[string]time.Time{}
	}
	p.known[namespace][need.key()] = time.Now()
	return nil
}

func (n need) key() string { return fmt.Sprint(n.secret, n.name) }

// claim waits for a bound claim, and for its volume where one has to be
// attached.
func (p *nodePods) claim(ctx context.Context, namespace, name string) error {
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
