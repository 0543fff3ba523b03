package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/connrotation"
	"sigs.k8s.io/apiserver-network-proxy/cmd/agent/app/options"
	"sigs.k8s.io/apiserver-network-proxy/proto/header"
)

const configuration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: systemd
kubeReserved: {cpu: 100m, memory: 256Mi}
evictionHard: {memory.available: 10%}
`

// machine is a guest with files, and with nothing around it.
func machine(t *testing.T, files map[string]string) *guest {
	t.Helper()
	console, err := os.CreateTemp(t.TempDir(), "console")
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{
		all: &guests{sim: &simulator{}}, root: t.TempDir(), ctx: context.Background(), console: console, told: map[string]time.Time{}, noted: map[string]string{},
		vmi: &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "m"},
			"spec": map[string]any{"domain": map[string]any{
				"cpu": map[string]any{"cores": int64(2), "sockets": int64(2)}, "memory": map[string]any{"guest": "4Gi"},
			}},
		}},
	}
	g.line = connrotation.NewDialer(g.dial)
	g.own = g.line
	for path, content := range files {
		if err := g.write(cloudFile{Path: path, Content: content}); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func TestUserDataIsReadAsCloudInitReadsIt(t *testing.T) {
	plain := "#cloud-config\nhostname: a\nwrite_files:\n- {path: /a, content: b, permissions: '0600'}\n"
	zipped := &bytes.Buffer{}
	writer := gzip.NewWriter(zipped)
	_, _ = writer.Write([]byte(plain))
	_ = writer.Close()
	parts := "Content-Type: multipart/mixed; boundary=\"x\"\nMIME-Version: 1.0\n\n--x\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n--x\n" +
		"Content-Type: text/cloud-config\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(plain)) + "\n--x--\n"
	for name, data := range map[string]string{"plain": plain, "zipped": zipped.String(), "parts": parts} {
		config, err := parseUserData([]byte(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if config.Hostname != "a" || len(config.Files) != 1 || config.Files[0].Path != "/a" {
			t.Errorf("%s: %+v", name, config)
		}
	}
}

func TestWhatCloudInitDoesNotTakeIsRefused(t *testing.T) {
	for data, wanted := range map[string]string{
		"hostname: a\n":                           "unhandled non-multipart",
		"#cloud-config\nwrite_files: {":           "failed loading yaml blob",
		"#cloud-config\nwrite_files: [{path: 1}]": "schema",
	} {
		if _, err := parseUserData([]byte(data)); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%q: %v", data, err)
		}
	}
	if _, err := (cloudFile{Encoding: "rot13"}).content(); err == nil {
		t.Error("an unknown encoding is taken")
	}
}

func TestFilesHaveTheirContentAndMode(t *testing.T) {
	g := machine(t, nil)
	for _, file := range []cloudFile{
		{Path: "/etc/a", Content: "YQ==", Encoding: "b64", Permissions: "0600"},
		{Path: "/etc/a", Content: "b", Append: true, Permissions: "0640"},
	} {
		if err := g.write(file); err != nil {
			t.Fatal(err)
		}
	}
	data, err := g.read("/etc/a")
	if err != nil || string(data) != "ab" {
		t.Errorf("%q, %v", data, err)
	}
	if info, _ := os.Stat(g.at("/etc/a")); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if !strings.HasPrefix(g.at("/../../etc/a"), g.root) {
		t.Error("a path leads out of the guest")
	}
}

func TestCommandsNeedWhatTheyName(t *testing.T) {
	g := machine(t, map[string]string{
		"/etc/systemd/system/good.service": "[Service]\nExecStart=/bin/sh /usr/local/lib/good\n", "/usr/local/lib/good": "",
		"/etc/systemd/system/bad.service": "[Service]\nExecStart=/usr/local/lib/bad\n",
	})
	good := &cloudConfig{Run: []any{[]any{"systemctl", "enable", "--now", "good.service"}, "systemctl restart kubelet.service"}}
	if err := g.commands(good); err != nil {
		t.Error(err)
	}
	for _, command := range []any{[]any{"systemctl", "start", "none.service"}, "systemctl start bad.service", "/usr/local/lib/none"} {
		if err := g.commands(&cloudConfig{Run: []any{command}}); err == nil {
			t.Errorf("%v is taken", command)
		}
	}
}

func TestKubeletIsStartedAsKubeadmsUnitStartsIt(t *testing.T) {
	g := machine(t, map[string]string{
		"/var/lib/kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS=\"--hostname-override=m --v=2\"\n",
		"/etc/default/kubelet":               "# none\nKUBELET_EXTRA_ARGS='--node-labels=a=b'\n",
	})
	words, err := g.arguments()
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

func TestAUnitOfTheUserDataStartsKubeletItsOwnWay(t *testing.T) {
	g := machine(t, map[string]string{
		"/etc/systemd/system/kubelet.service":           "[Service]\nExecStart=/usr/bin/kubelet\n",
		"/etc/systemd/system/kubelet.service.d/10.conf": "[Service]\nEnvironment=\"A=--v=1 --config=/c\"\nExecStart=\nExecStart=/usr/bin/kubelet $A \\\n  --hostname-override=${B}x\n",
	})
	words, err := g.arguments()
	if err != nil || !reflect.DeepEqual(words, []string{"--v=1", "--config=/c", "--hostname-override=x"}) {
		t.Errorf("%q, %v", words, err)
	}
}

func TestKubeletRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, one := range map[string]struct{ flags, config, wanted string }{
		"flag":     {"--no-such-flag=1", configuration, "unknown flag: --no-such-flag"},
		"label":    {"--node-labels=node-role.kubernetes.io/worker=", configuration, "node-role.kubernetes.io/worker"},
		"field":    {"", configuration + "nosuchField: 1\n", `unknown field "nosuchField"`},
		"value":    {"", configuration + "maxPods: -1\n", "maxPods"},
		"gate":     {"", configuration + "featureGates: {NoSuchGate: true}\n", "NoSuchGate"},
		"no roots": {"", configuration + "authentication: {x509: {clientCAFile: /none}}\n", "/none"},
	} {
		g := machine(t, map[string]string{
			"/var/lib/kubelet/config.yaml":       one.config,
			"/var/lib/kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS=\"" + one.flags + "\"\n",
		})
		if _, err := g.settings(); err == nil || !strings.Contains(err.Error(), one.wanted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestANodeIsWhatItsFilesSay(t *testing.T) {
	g := machine(t, map[string]string{
		"/var/lib/kubelet/config.yaml": configuration,
		"/etc/kvshoot/join.conf":       "KUBELET_VERSION=1.35.2\n",
		"/var/lib/kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS=\"--hostname-override=m --cloud-provider=external " +
			"--provider-id=kubevirt://m --node-labels=a=b --register-with-taints=c=d:NoExecute\"\n",
	})
	s, err := g.settings()
	if err != nil {
		t.Fatal(err)
	}
	n := &node{settings: s, guest: g, name: "m"}
	node := n.initial()
	if node.Spec.ProviderID != "kubevirt://m" || node.Labels["a"] != "b" || node.Labels[v1.LabelHostname] != "m" {
		t.Errorf("%+v", node)
	}
	if len(node.Spec.Taints) != 2 || node.Spec.Taints[1].Key != "node.cloudprovider.kubernetes.io/uninitialized" {
		t.Errorf("%+v", node.Spec.Taints)
	}
	if node.Status.NodeInfo.KubeletVersion != "v1.35.2" || len(node.Status.Addresses) != 1 || n.network(node) {
		t.Errorf("%+v", node.Status)
	}
	for name, wanted := range map[v1.ResourceName]string{v1.ResourceCPU: "3900m", v1.ResourceMemory: "3597035111"} {
		if left := node.Status.Allocatable[name]; left.Cmp(resource.MustParse(wanted)) != 0 {
			t.Errorf("%s: %s", name, left.String())
		}
	}
	if err := g.write(cloudFile{Path: "/etc/cni/net.d/a.conflist", Content: "{}"}); err != nil {
		t.Fatal(err)
	}
	if !n.network(node) {
		t.Error("a network configuration is not seen")
	}
}

func TestAServerThatIsOnlyJustAwayIsNoNews(t *testing.T) {
	g := machine(t, nil)
	ctx, end := context.WithCancel(context.Background())
	end()
	// Its Events go nowhere once it has ended; what it has told remains.
	g.ctx = ctx
	g.warn(unreachable, os.ErrDeadlineExceeded)
	g.warn("KubeletFailed", os.ErrInvalid)
	away, broken := g.told[unreachable+os.ErrDeadlineExceeded.Error()], g.told["KubeletFailed"+os.ErrInvalid.Error()]
	if away.IsZero() || !broken.IsZero() {
		t.Errorf("%v, %v", away, broken)
	}
}

// counter hears of each attempt to connect.
type counter chan struct{}

func (c counter) Count() int {
	c <- struct{}{}
	return 1
}

// An agent whose machine is gone finds no token; the agent's own code would end all machines with it.
func TestAnAgentWithoutItsTokenGoesOnTrying(t *testing.T) {
	g := machine(t, nil)
	g.line = connrotation.NewDialer((&net.Dialer{}).DialContext)
	p := &nodePods{node: &node{guest: g}}
	o := options.NewGrpcProxyAgentOptions()
	o.ProxyServerHost, o.ProxyServerPort = "127.0.0.1", 1
	o.SyncInterval, o.SyncIntervalCap = time.Millisecond, time.Millisecond
	o.ServiceAccountTokenPath = filepath.Join(t.TempDir(), "token")
	stop, tries := make(chan struct{}), make(counter)
	set := p.clients(o, &tls.Config{}, make(chan struct{}), stop)
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

func TestAnAgentSaysItsToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, err := introduced(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	said, _ := metadata.FromOutgoingContext(ctx)
	if got := said.Get(header.AuthenticationTokenContextKey); !reflect.DeepEqual(got, []string{"Bearer secret"}) {
		t.Fatal(got)
	}
}
