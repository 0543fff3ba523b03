package kubeletconfig

import (
	"reflect"
	"strings"
	"testing"

	"kvshoot.io/sandbox/kubernetes/guest/machinetest"
)

const configuration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: systemd
kubeReserved: {cpu: 100m, memory: 256Mi}
evictionHard: {memory.available: 10%}
`

func TestKubeadmsUnitStartsKubelet(t *testing.T) {
	m := machinetest.New(t, map[string]string{
		"/var/lib/kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS=\"--hostname-override=m --v=2\"\n",
		"/etc/default/kubelet":               "# none\nKUBELET_EXTRA_ARGS='--node-labels=a=b'\n",
	})
	words, err := arguments(m)
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{
		"--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf", "--kubeconfig=/etc/kubernetes/kubelet.conf",
		"--config=/var/lib/kubelet/config.yaml", "--hostname-override=m", "--v=2", "--node-labels=a=b",
	}
	if !reflect.DeepEqual(words, wanted) {
		t.Errorf("%q", words)
	}
}

func TestAUnitInTheUserDataReplacesKubeadmsUnit(t *testing.T) {
	m := machinetest.New(t, map[string]string{
		"/etc/systemd/system/kubelet.service":           "[Service]\nExecStart=/usr/bin/kubelet\n",
		"/etc/systemd/system/kubelet.service.d/10.conf": "[Service]\nEnvironment=\"A=--v=1 --config=/c\"\nExecStart=\nExecStart=/usr/bin/kubelet $A \\\n  --hostname-override=${B}x\n",
	})
	words, err := arguments(m)
	if err != nil || !reflect.DeepEqual(words, []string{"--v=1", "--config=/c", "--hostname-override=x"}) {
		t.Errorf("%q, %v", words, err)
	}
}

func TestUnknownSettingsAreRefused(t *testing.T) {
	for name, one := range map[string]struct{ flags, config, wanted string }{
		"flag":     {"--no-such-flag=1", configuration, "unknown flag: --no-such-flag"},
		"label":    {"--node-labels=node-role.kubernetes.io/worker=", configuration, "node-role.kubernetes.io/worker"},
		"field":    {"", configuration + "nosuchField: 1\n", `unknown field "nosuchField"`},
		"value":    {"", configuration + "maxPods: -1\n", "maxPods"},
		"gate":     {"", configuration + "featureGates: {NoSuchGate: true}\n", "NoSuchGate"},
		"no roots": {"", configuration + "authentication: {x509: {clientCAFile: /none}}\n", "/none"},
	} {
		m := machinetest.New(t, map[string]string{
			"/var/lib/kubelet/config.yaml":       one.config,
			"/var/lib/kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS=\"" + one.flags + "\"\n",
		})
		if _, err := Load(m); err == nil || !strings.Contains(err.Error(), one.wanted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
