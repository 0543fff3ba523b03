package main

import (
	"context"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// act is what stands for a pod's containers here.
type act struct {
	end func()
}

// act starts what a pod runs, where it is something that has to answer.
func (p *nodePods) act(ctx context.Context, pod *v1.Pod, ip string) error {
	p.lock.Lock()
	known := p.acts[pod.UID] != nil
	p.lock.Unlock()
	if known {
		return nil
	}
	return nil
}

// plugin tells whether a pod that brings a network configuration runs here.
func (p *nodePods) plugin(node *v1.Node) bool {
	for _, object := range p.store.List() {
		pod := object.(*v1.Pod)
		if pod.Status.Phase != v1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		for _, container := range pod.Spec.Containers {
			for _, name := range []string{"kube-flannel", "calico-node", "cilium-agent"} {
				if container.Name != name {
					continue
				}
				// Flannel has no range of its own.
				return name != "kube-flannel" || node.Spec.PodCIDR != ""
			}
		}
	}
	return false
}

// runs finds the container that runs a program, by its command or else its
// image.
func runs(pod *v1.Pod, program string) *v1.Container {
	for i, container := range pod.Spec.Containers {
		words := append(append([]string{}, container.Command...), container.Args...)
		if len(words) > 0 && filepath.Base(words[0]) == program {
			return &pod.Spec.Containers[i]
		}
		image, _, _ := strings.Cut(filepath.Base(container.Image), "@")
		image, _, _ = strings.Cut(image, ":")
		if len(container.Command) == 0 && image == program {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}
