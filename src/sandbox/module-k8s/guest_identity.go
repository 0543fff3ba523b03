package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	certificates "k8s.io/api/certificates/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/certificate"
	"k8s.io/klog/v2"
)

// How far the wrong clock of a guest is behind: as after a start without one.
const wrongClock = 20 * 365 * 24 * time.Hour

// dial is the only way out of a guest.
func (g *guest) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := g.cut(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: %w", address, err)}
	}
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return dialer.DialContext(ctx, network, address)
}

// cut tells why no packet leaves the guest.
func (g *guest) cut() error {
	name := g.vmi.GetName()
	if g.all.sim.faults.matches("guest-network", name) || g.all.sim.faults.matches("node-silent", name) {
		return errors.New("i/o timeout")
	}
	return nil
}

func (g *guest) clockWrong() bool {
	return g.all.sim.faults.matches("guest-clock", g.vmi.GetName())
}

// now is the guest's clock.
func (g *guest) now() time.Time {
	if g.clockWrong() {
		return time.Now().Add(-wrongClock)
	}
	return time.Now()
}

// kubeconfig reads a client configuration and the files that it names, all
// from the guest.
func (g *guest) kubeconfig(path string) (*rest.Config, error) {
	data, err := g.read(path)
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
		*into, err = g.read(*path)
		*path = ""
	}
	for _, cluster := range config.Clusters {
		inline(&cluster.CertificateAuthority, &cluster.CertificateAuthorityData)
	}
	for _, user := range config.AuthInfos {
		// Certificates are the manager's; it reads them itself.
		user.ClientCertificate, user.ClientKey = "", ""
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

// keep writes kubelet's own configuration, which points to its certificate.
func (g *guest) keep(path, pem string, server *rest.Config) error {
	config := api.NewConfig()
	config.Clusters["default-cluster"] = &api.Cluster{Server: server.Host, CertificateAuthorityData: server.CAData, InsecureSkipTLSVerify: server.Insecure}
	config.AuthInfos["default-auth"] = &api.AuthInfo{ClientCertificate: pem, ClientKey: pem}
	config.Contexts["default-context"] = &api.Context{Cluster: "default-cluster", AuthInfo: "default-auth", Namespace: "default"}
	config.CurrentContext = "default-context"
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return g.write(cloudFile{Path: path, Content: string(data), Permissions: "0600"})
}

// identify finds or gets kubelet's certificate and makes its client, by the
// rules of kubelet.
func (g *guest) identify(s *settings, name string) (config, server *rest.Config, err error) {
	folder := s.flags.CertDirectory
	if err := os.MkdirAll(g.at(folder), 0o700); err != nil {
		return nil, nil, err
	}
	store, err := certificate.NewFileStore("kubelet-client", g.at(folder), g.at(folder), "", "")
	if err != nil {
		return nil, nil, err
	}
	current, _ := store.Current()
	valid := current != nil && current.Leaf != nil && g.now().Before(current.Leaf.NotAfter)
	var bootstrap *rest.Config
	if !valid || !g.has(s.flags.KubeConfig) {
		if s.flags.BootstrapKubeconfig == "" {
			return nil, nil, fmt.Errorf("invalid kubeconfig: open %s: no such file or directory", s.flags.KubeConfig)
		}
		if bootstrap, err = g.kubeconfig(s.flags.BootstrapKubeconfig); err != nil {
			return nil, nil, fmt.Errorf("unable to load bootstrap kubeconfig: %w", err)
		}
		if err := g.keep(s.flags.KubeConfig, folder+"/kubelet-client-current.pem", bootstrap); err != nil {
			return nil, nil, err
		}
	}
	config, err = g.kubeconfig(s.flags.KubeConfig)
	if err != nil {
		return nil, nil, fmt.Errorf("unable to load kubeconfig: %w", err)
	}
	server = rest.AnonymousClientConfig(config)
	config.QPS, config.Burst = float32(s.config.KubeAPIQPS), int(s.config.KubeAPIBurst)
	config.UserAgent = "kubelet/" + s.version + " (linux/amd64) sandbox-guest"
	if bootstrap != nil {
		bootstrap.UserAgent = config.UserAgent
		if err := g.secure(bootstrap, nil); err != nil {
			return nil, nil, err
		}
	}
	return config, server, g.certify(config, bootstrap, store, name)
}

// certify keeps a certificate that is valid, and turns connections to the new
// one when it changes.
func (g *guest) certify(config, bootstrap *rest.Config, store certificate.Store, name string) error {
	ctx := klog.NewContext(g.ctx, g.log)
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
		return err
	}
	current := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if certificate := manager.Current(); certificate != nil {
			return certificate, nil
		}
		return &tls.Certificate{}, nil
	}
	if err := g.secure(config, current); err != nil {
		return err
	}
	*own = *config
	manager.Start()
	last := manager.Current()
	for last == nil {
		if !g.wait(200 * time.Millisecond) {
			return g.ctx.Err()
		}
		last = manager.Current()
	}
	g.say("kubelet: client certificate is valid until " + last.Leaf.NotAfter.UTC().Format(time.RFC3339))
	go func() {
		for g.wait(5 * time.Second) {
			if next := manager.Current(); next != nil && next != last {
				last = next
				g.say("kubelet: certificate rotation detected, shutting down client connections to start using new credentials")
				g.own.CloseAll()
			}
		}
	}()
	return nil
}

// secure makes a transport that uses the guest's line and clock.
func (g *guest) secure(config *rest.Config, current func(*tls.CertificateRequestInfo) (*tls.Certificate, error)) error {
	settings, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	if settings == nil {
		settings = &tls.Config{}
	}
	settings.Time = g.now
	settings.GetClientCertificate = current
	config.Transport = utilnet.SetTransportDefaults(&http.Transport{
		TLSHandshakeTimeout: 10 * time.Second, TLSClientConfig: settings, MaxIdleConnsPerHost: 25, DialContext: g.own.DialContext,
	})
	config.TLSClientConfig = rest.TLSClientConfig{}
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return &witness{g, inner} })
	return nil
}

// witness tells what a person would read in kubelet's journal.
type witness struct {
	guest *guest
	inner http.RoundTripper
}

func (w *witness) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.inner.RoundTrip(request)
	server := request.URL.Scheme + "://" + request.URL.Host
	switch {
	case err != nil && request.Context().Err() == nil:
		w.guest.warn(unreachable, fmt.Errorf("kubelet: cannot reach %s: %w", server, err))
	case err == nil && response.StatusCode == http.StatusUnauthorized:
		w.guest.warn("GuestUnauthorized", fmt.Errorf("kubelet: %s does not know these credentials: Unauthorized", server))
	}
	return response, err
}

// WrappedRoundTripper lets idle connections be closed.
func (w *witness) WrappedRoundTripper() http.RoundTripper { return w.inner }
