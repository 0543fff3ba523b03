package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// act is what stands for a pod's containers here.
type act struct {
	// ready answers the readiness probe; nothing means always.
	ready func() bool
	end   func()
}

// act starts what a pod runs, where it is something that has to answer.
func (p *nodePods) act(ctx context.Context, pod *v1.Pod, ip string) (*act, error) {
	p.lock.Lock()
	known := p.acts[pod.UID]
	p.lock.Unlock()
	if known != nil {
		return known, nil
	}
	started := &act{end: func() {}}
	var err error
	if container := runs(pod, "proxy-agent"); container != nil {
		started, err = p.agent(ctx, pod, container, ip)
	} else if container := runs(pod, "metrics-server"); container != nil {
		started, err = p.metrics(ctx, pod, container, ip)
	} else if container := runs(pod, "csi-node-driver-registrar"); container != nil {
		err = p.node.registerDriver(ctx, container)
	}
	if err != nil {
		return nil, err
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	// Only one of the two workers is ever at a pod.
	if p.node.guest.ctx.Err() != nil {
		started.end()
		return nil, errors.New("the machine ends")
	}
	p.acts[pod.UID] = started
	return started, nil
}

// plugin tells whether a pod that brings a network configuration runs here.
func (p *nodePods) plugin(node *v1.Node) bool {
	for _, object := range p.store.List() {
		pod := object.(*v1.Pod)
		if pod.Status.Phase != v1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		for _, container := range pod.Spec.Containers {
			switch container.Name {
			case "calico-node", "cilium-agent":
				return true
			case "kube-flannel":
				// It has no range of its own.
				if node.Spec.PodCIDR != "" {
					return true
				}
			}
		}
	}
	return false
}

// runs finds the container that runs a program, by its command or else its
// image.
func runs(pod *v1.Pod, program string) *v1.Container {
	for i, container := range pod.Spec.Containers {
		image, _, _ := strings.Cut(filepath.Base(container.Image), "@")
		image, _, _ = strings.Cut(image, ":")
		name := image
		if len(container.Command) > 0 {
			name = filepath.Base(container.Command[0])
		}
		if name == program {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}
