package kubelet

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
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

// A pod that a controller changed at the same time refuses the first status.
func TestARestartIsCountedOnceTheStatusIsAccepted(t *testing.T) {
	var accepted []v1.Pod
	refused := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !refused {
			refused = true
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(apierrors.NewConflict(v1.Resource("pods"), "a", nil).Status())
			return
		}
		var pod v1.Pod
		if err := json.NewDecoder(r.Body).Decode(&pod); err != nil {
			t.Error(err)
		}
		accepted = append(accepted, pod)
		_ = json.NewEncoder(w).Encode(pod)
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	node := &Node{machine: machinetest.New(t, nil), client: client, rebooted: true}
	p := &podManager{node: node, workloads: map[types.UID]*workload{}}
	old := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "u"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c"}}},
	}
	pod := startedPod(old, v1.PodRunning, "10.0.0.1", "10.0.0.2", true)
	if _, err := p.syncRunning(t.Context(), pod); !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.syncRunning(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	if len(accepted) != 1 {
		t.Fatalf("%d accepted updates", len(accepted))
	}
	if accepted[0].Status.ContainerStatuses[0].RestartCount != 1 {
		t.Errorf("%+v", accepted[0].Status)
	}
}
