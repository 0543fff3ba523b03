package kubelet

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/certificate"
)

const (
	// renewScript is the script that takes new CAs in a real machine, once a minute.
	renewScript = "/usr/local/lib/kvshoot/renew"
	// Files of that script.
	authoritiesFile = "/var/lib/kvshoot/certificate-authorities"
	presentFile     = "/var/lib/kvshoot/renewal/kubelet.pem"
	joinSettings    = "/etc/kvshoot/join.conf"
	authoritiesPEM  = "/etc/kubernetes/pki/ca.crt"
	// Name of the ConfigMap with the CAs, and annotation of the node that has them.
	authoritiesMap        = "kvshoot-certificate-authorities"
	authoritiesAnnotation = "kvshoot.io/certificate-authorities"
	// Shorter than the minute of a real machine, as are other times of the sandbox.
	authoritiesPause = 10 * time.Second
)

// replaceable is the transport of a kubelet that is started again while its pods run.
type replaceable struct{ inner atomic.Value }

// next holds a transport, because an atomic value needs the same type each time.
type next struct{ transport http.RoundTripper }

func (r *replaceable) replace(transport http.RoundTripper) { r.inner.Store(next{transport}) }

func (r *replaceable) RoundTrip(request *http.Request) (*http.Response, error) {
	return r.inner.Load().(next).transport.RoundTrip(request)
}

func (n *Node) known() *identity {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.identity
}

// renewAuthorities does what the timer of a machine does: it takes the CAs that the cluster
// publishes, and reports them on the node.
func (n *Node) renewAuthorities() {
	m := n.machine
	if !m.Exists(renewScript) {
		return
	}
	reported := ""
	for m.Wait(authoritiesPause) {
		if m.Disconnected() != nil {
			continue
		}
		if err := n.renewOnce(&reported); err != nil && m.Context.Err() == nil {
			m.PrintChange("renew", "kvshoot-renew: "+err.Error())
		}
	}
}

func (n *Node) renewOnce(reported *string) error {
	ctx := n.machine.Context
	published, err := n.client.CoreV1().ConfigMaps("kube-system").Get(ctx, authoritiesMap, metav1.GetOptions{})
	if err != nil {
		return err
	}
	roots := published.Data["roots"]
	if roots != n.authorities() {
		if err := n.takeAuthorities(roots, published.Data["ca.crt"]); err != nil {
			return err
		}
	}
	if *reported == roots {
		return nil
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, authoritiesAnnotation, roots)
	if _, err := n.client.CoreV1().Nodes().Patch(ctx, n.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return err
	}
	*reported = roots
	return nil
}

// authorities returns the CAs that the machine has: those that it took last, or was created with.
func (n *Node) authorities() string {
	if taken, err := n.machine.ReadFile(authoritiesFile); err == nil {
		return strings.TrimSpace(string(taken))
	}
	settings, _ := n.machine.ReadFile(joinSettings)
	for _, line := range strings.Split(string(settings), "\n") {
		if value, ok := strings.CutPrefix(line, "CERTIFICATE_AUTHORITIES="); ok {
			return strings.Trim(value, "'")
		}
	}
	return ""
}

// takeAuthorities starts kubelet again with other CAs. It asks for new certificates with its
// present one.
func (n *Node) takeAuthorities(roots, pem string) error {
	if !strings.HasPrefix(pem, "-----BEGIN CERTIFICATE-----") {
		return errors.New("the cluster publishes no certificate authority")
	}
	m := n.machine
	m.Print("kvshoot-renew: taking certificate authorities " + roots)
	folder := n.Flags.CertDirectory
	present, err := m.ReadFile(folder + "/kubelet-client-current.pem")
	if err != nil {
		return err
	}
	if err := m.WriteFile(presentFile, present, 0o600, false); err != nil {
		return err
	}
	if err := m.WriteFile(authoritiesPEM, []byte(pem), 0o644, false); err != nil {
		return err
	}
	if err := m.WriteFile(n.Flags.BootstrapKubeconfig, []byte(n.renewalKubeconfig()), 0o600, false); err != nil {
		return err
	}
	n.known().end()
	if serving := n.serving(); serving != nil {
		serving.Stop()
	}
	if err := n.removeCertificates(folder); err != nil {
		return err
	}
	if err := n.startAgain(); err != nil {
		return err
	}
	if err := m.WriteFile(authoritiesFile, []byte(roots+"\n"), 0o644, false); err != nil {
		return err
	}
	_ = os.Remove(m.Path(n.Flags.BootstrapKubeconfig))
	return os.RemoveAll(m.Path(filepath.Dir(presentFile)))
}

// renewalKubeconfig refers to the present certificate.
func (n *Node) renewalKubeconfig() string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: shoot
  cluster: {server: %q, certificate-authority: %s}
users:
- name: renewal
  user: {client-certificate: %s, client-key: %s}
contexts:
- name: renewal
  context: {cluster: shoot, user: renewal}
current-context: renewal
`, n.known().server.Host, authoritiesPEM, presentFile, presentFile)
}

func (n *Node) removeCertificates(folder string) error {
	names := []string{n.machine.Path(n.Flags.KubeConfig)}
	for _, pattern := range []string{"/kubelet-client-*", "/kubelet-server-*"} {
		found, err := filepath.Glob(n.machine.Path(folder) + pattern)
		if err != nil {
			return err
		}
		names = append(names, found...)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// startAgain gets kubelet new certificates, and gives them to what runs.
func (n *Node) startAgain() error {
	own, err := identify(n.machine, n.Settings, n.name)
	if err != nil {
		return err
	}
	n.transport.replace(own.config.Transport)
	var serving certificate.Manager
	if n.serving() != nil {
		if serving, err = n.newServingManager(); err != nil {
			return err
		}
	}
	n.lock.Lock()
	n.identity, n.servingManager = own, serving
	n.lock.Unlock()
	n.machine.KubeletLine.CloseAll()
	if err := n.api.readAuthorities(); err != nil {
		return err
	}
	n.requestServingCertificate()
	return nil
}
