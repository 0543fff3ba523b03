package kubelet

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	certificates "k8s.io/api/certificates/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/certificate"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/guest/kubeletconfig"
	"kvshoot.io/sandbox/kubernetes/guest/machine"
)

// identity is what kubelet knows the API server by, and is known by.
type identity struct {
	config *rest.Config
	// Configuration for the same server without credentials.
	server *rest.Config
	// end stops the renewal of the certificate.
	end func()
}

// readKubeconfig reads a kubeconfig and the files that it refers to from the machine, but for
// kubelet's certificates in their folder.
func readKubeconfig(m *machine.Machine, path, folder string) (*rest.Config, error) {
	data, err := m.ReadFile(path)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		return nil, err
	}
	inline := func(path *string, into *[]byte) {
		if *path == "" || err != nil {
			return
		}
		*into, err = m.ReadFile(*path)
		*path = ""
	}
	for _, cluster := range config.Clusters {
		inline(&cluster.CertificateAuthority, &cluster.CertificateAuthorityData)
	}
	for _, user := range config.AuthInfos {
		if filepath.Dir(user.ClientCertificate) == folder {
			// The certificate manager reads the certificates.
			user.ClientCertificate, user.ClientKey = "", ""
		}
		inline(&user.ClientCertificate, &user.ClientCertificateData)
		inline(&user.ClientKey, &user.ClientKeyData)
		var token []byte
		inline(&user.TokenFile, &token)
		if len(token) > 0 {
			user.Token = string(bytes.TrimSpace(token))
		}
	}
	if err != nil {
		return nil, err
	}
	return clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
}

// writeKubeconfig writes kubelet's kubeconfig, which refers to its certificate.
func writeKubeconfig(m *machine.Machine, path, pem string, server *rest.Config) error {
	config := api.NewConfig()
	config.Clusters["default-cluster"] = &api.Cluster{Server: server.Host, CertificateAuthorityData: server.CAData, InsecureSkipTLSVerify: server.Insecure}
	config.AuthInfos["default-auth"] = &api.AuthInfo{ClientCertificate: pem, ClientKey: pem}
	config.Contexts["default-context"] = &api.Context{Cluster: "default-cluster", AuthInfo: "default-auth", Namespace: "default"}
	config.CurrentContext = "default-context"
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return m.WriteFile(path, data, 0o600, false)
}

// identify loads or requests kubelet's client certificate by kubelet's rules.
func identify(m *machine.Machine, s *kubeletconfig.Settings, name string) (*identity, error) {
	folder := s.Flags.CertDirectory
	if err := os.MkdirAll(m.Path(folder), 0o700); err != nil {
		return nil, err
	}
	store, err := certificate.NewFileStore("kubelet-client", m.Path(folder), m.Path(folder), "", "")
	if err != nil {
		return nil, err
	}
	current, _ := store.Current()
	valid := current != nil && current.Leaf != nil && m.Now().Before(current.Leaf.NotAfter)
	var bootstrap *rest.Config
	if !valid || !m.Exists(s.Flags.KubeConfig) {
		if s.Flags.BootstrapKubeconfig == "" {
			return nil, fmt.Errorf("invalid kubeconfig: open %s: no such file or directory", s.Flags.KubeConfig)
		}
		if bootstrap, err = readKubeconfig(m, s.Flags.BootstrapKubeconfig, folder); err != nil {
			return nil, fmt.Errorf("unable to load bootstrap kubeconfig: %w", err)
		}
		if err := writeKubeconfig(m, s.Flags.KubeConfig, folder+"/kubelet-client-current.pem", bootstrap); err != nil {
			return nil, err
		}
	}
	config, err := readKubeconfig(m, s.Flags.KubeConfig, folder)
	if err != nil {
		return nil, fmt.Errorf("unable to load kubeconfig: %w", err)
	}
	server := rest.AnonymousClientConfig(config)
	config.QPS, config.Burst = float32(s.Config.KubeAPIQPS), int(s.Config.KubeAPIBurst)
	config.UserAgent = "kubelet/" + s.Version + " (linux/amd64) sandbox-guest"
	if bootstrap != nil {
		bootstrap.UserAgent = config.UserAgent
		if err := secureTransport(m, bootstrap, nil); err != nil {
			return nil, err
		}
	}
	end, err := certify(m, config, bootstrap, store, name)
	if err != nil {
		return nil, err
	}
	return &identity{config: config, server: server, end: end}, nil
}

// certify waits for a valid certificate and then rotates it, until the function that it returns
// is called. It closes connections when the certificate changes.
func certify(m *machine.Machine, config, bootstrap *rest.Config, store certificate.Store, name string) (func(), error) {
	ctx := klog.NewContext(m.Context, m.Logger)
	own := rest.CopyConfig(config)
	manager, err := certificate.NewManager(&certificate.Config{
		Ctx: &ctx,
		ClientsetFn: func(current *tls.Certificate) (kubernetes.Interface, error) {
			if current == nil && bootstrap != nil {
				return kubernetes.NewForConfig(bootstrap)
			}
			return kubernetes.NewForConfig(own)
		},
		Template: &x509.CertificateRequest{
			Subject: pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}},
		},
		SignerName:       certificates.KubeAPIServerClientKubeletSignerName,
		GetUsages:        certificate.DefaultKubeletClientGetUsages,
		CertificateStore: store,
	})
	if err != nil {
		return nil, err
	}
	current := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if certificate := manager.Current(); certificate != nil {
			return certificate, nil
		}
		return &tls.Certificate{}, nil
	}
	if err := secureTransport(m, config, current); err != nil {
		return nil, err
	}
	*own = *config
	manager.Start()
	last := manager.Current()
	for last == nil {
		if !m.Wait(200 * time.Millisecond) {
			manager.Stop()
			return nil, m.Context.Err()
		}
		last = manager.Current()
	}
	m.Print("kubelet: client certificate is valid until " + last.Leaf.NotAfter.UTC().Format(time.RFC3339))
	var ended atomic.Bool
	go func() {
		for m.Wait(5*time.Second) && !ended.Load() {
			if next := manager.Current(); next != nil && next != last {
				last = next
				m.Print("kubelet: certificate rotation detected, shutting down client connections to start using new credentials")
				m.KubeletLine.CloseAll()
			}
		}
	}()
	return func() {
		ended.Store(true)
		manager.Stop()
	}, nil
}

// secureTransport sets a transport that uses the machine's network and clock.
func secureTransport(m *machine.Machine, config *rest.Config, current func(*tls.CertificateRequestInfo) (*tls.Certificate, error)) error {
	settings, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	if settings == nil {
		settings = &tls.Config{}
	}
	settings.Time = m.Now
	if current != nil {
		settings.GetClientCertificate = current
	}
	config.Transport = utilnet.SetTransportDefaults(&http.Transport{
		TLSHandshakeTimeout: 10 * time.Second, TLSClientConfig: settings, MaxIdleConnsPerHost: 25, DialContext: m.KubeletLine.DialContext,
	})
	config.TLSClientConfig = rest.TLSClientConfig{}
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return &errorReporter{m, inner} })
	return nil
}

// errorReporter reports failed requests that kubelet would log.
type errorReporter struct {
	machine *machine.Machine
	inner   http.RoundTripper
}

func (w *errorReporter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.inner.RoundTrip(request)
	server := request.URL.Scheme + "://" + request.URL.Host
	switch {
	case err != nil && request.Context().Err() == nil:
		w.machine.Warn(machine.Unreachable, fmt.Errorf("kubelet: cannot reach %s: %w", server, err))
	case err == nil && response.StatusCode == http.StatusUnauthorized:
		w.machine.Warn("GuestUnauthorized", fmt.Errorf("kubelet: %s does not know these credentials: Unauthorized", server))
	}
	return response, err
}

// WrappedRoundTripper allows idle connections to be closed.
func (w *errorReporter) WrappedRoundTripper() http.RoundTripper { return w.inner }
