package kubelet

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/util/connrotation"
	"sigs.k8s.io/apiserver-network-proxy/cmd/agent/app/options"
	"sigs.k8s.io/apiserver-network-proxy/proto/header"

	"kvshoot.io/sandbox/kubernetes/guest/kubeletconfig"
	"kvshoot.io/sandbox/kubernetes/guest/machinetest"
)

const configuration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: systemd
kubeReserved: {cpu: 100m, memory: 256Mi}
evictionHard: {memory.available: 10%}
`

func TestANodeIsDescribedByItsFiles(t *testing.T) {
	m := machinetest.New(t, map[string]string{
		"/var/lib/kubelet/config.yaml": configuration,
		"/etc/kvshoot/join.conf":       "KUBELET_VERSION=1.35.2\n",
		"/var/lib/kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS=\"--hostname-override=m --cloud-provider=external " +
			"--provider-id=kubevirt://m --node-labels=a=b --register-with-taints=c=d:NoExecute\"\n",
	})
	s, err := kubeletconfig.Load(m)
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{Settings: s, machine: m, name: "m"}
	node := n.initial()
	if node.Spec.ProviderID != "kubevirt://m" || node.Labels["a"] != "b" || node.Labels[v1.LabelHostname] != "m" {
		t.Errorf("%+v", node)
	}
	if len(node.Spec.Taints) != 2 || node.Spec.Taints[1].Key != "node.cloudprovider.kubernetes.io/uninitialized" {
		t.Errorf("%+v", node.Spec.Taints)
	}
	if node.Status.NodeInfo.KubeletVersion != "v1.35.2" || len(node.Status.Addresses) != 1 || n.networkReady(node) {
		t.Errorf("%+v", node.Status)
	}
	for name, wanted := range map[v1.ResourceName]string{v1.ResourceCPU: "3900m", v1.ResourceMemory: "3597035111"} {
		if left := node.Status.Allocatable[name]; left.Cmp(resource.MustParse(wanted)) != 0 {
			t.Errorf("%s: %s", name, left.String())
		}
	}
	if err := m.WriteFile("/etc/cni/net.d/a.conflist", []byte("{}"), 0o644, false); err != nil {
		t.Fatal(err)
	}
	if !n.networkReady(node) {
		t.Error("the network configuration is not found")
	}
}

// counter blocks until each attempt to connect is counted.
type counter chan struct{}

func (c counter) Count() int {
	c <- struct{}{}
	return 1
}

// An agent cannot read its token once its machine is gone; the agent's own code would panic.
func TestAnAgentWithoutATokenKeepsTrying(t *testing.T) {
	m := machinetest.New(t, nil)
	m.Line = connrotation.NewDialer((&net.Dialer{}).DialContext)
	p := &podManager{node: &Node{machine: m}}
	o := options.NewGrpcProxyAgentOptions()
	o.ProxyServerHost, o.ProxyServerPort = "127.0.0.1", 1
	o.SyncInterval, o.SyncIntervalCap = time.Millisecond, time.Millisecond
	o.ServiceAccountTokenPath = filepath.Join(t.TempDir(), "token")
	stop, tries := make(chan struct{}), make(counter)
	set := p.clientSet(o, &tls.Config{}, make(chan struct{}), stop)
	set.SetServerCounter(tries)
	set.Serve()
	for range 5 {
		<-tries
	}
	close(stop)
	if set.ClientsCount() != 0 {
		t.Fatal("it is connected")
	}
}

func TestAnAgentSendsItsToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, err := withToken(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	sent, _ := metadata.FromOutgoingContext(ctx)
	if got := sent.Get(header.AuthenticationTokenContextKey); !reflect.DeepEqual(got, []string{"Bearer secret"}) {
		t.Fatal(got)
	}
}
