//go:build programs

// Package guests names the programs of machines and of their pods, so that Go copies their packages.
package guests

import (
	_ "github.com/flannel-io/flannel"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kubelet"
	_ "k8s.io/kubernetes/test/images/agnhost"
	_ "sigs.k8s.io/apiserver-network-proxy/cmd/agent"
	_ "sigs.k8s.io/metrics-server/cmd/metrics-server"
)
