// Package metricsserver is a stand-in for metrics-server: it reads the kubelets' metrics with
// its pod's identity, and serves them as an aggregated API.
package metricsserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"kvshoot.io/sandbox/kubernetes/guest/machine"
	"kvshoot.io/sandbox/kubernetes/guest/serving"
)

// Config is the pod that the server runs in.
type Config struct {
	Machine *machine.Machine
	// Shoot identifies the shoot in the machine's network.
	Shoot string
	// Name of the pod, and its address.
	Name, Address string
	Arguments     []string
	// Client has the identity of the pod, and Token returns its token.
	Client kubernetes.Interface
	Token  func(ctx context.Context) (string, error)
}

// Server is a running metrics-server.
type Server struct {
	Config
	// CA of the API server's proxy, which authenticates users.
	proxyCA *x509.CertPool
	// CA of the kubelets' serving certificates.
	kubeletCA *x509.CertPool
	// Preferred types of node addresses.
	types   []string
	pause   time.Duration
	samples samples
	stop    func()
}

// Start parses the arguments as metrics-server does, and starts to scrape and to serve.
func Start(ctx context.Context, config Config) (*Server, error) {
	flags := pflag.NewFlagSet("metrics-server", pflag.ContinueOnError)
	flags.SetOutput(config.Machine.Console)
	// Only these flags matter here; the others are common to all API servers.
	flags.ParseErrorsAllowlist.UnknownFlags = true
	port := flags.Int("secure-port", 443, "")
	resolution := flags.Duration("metric-resolution", time.Minute, "")
	authority := flags.String("kubelet-certificate-authority", "", "")
	certificate := flags.String("tls-cert-file", "", "")
	key := flags.String("tls-private-key-file", "", "")
	types := flags.StringSlice("kubelet-preferred-address-types", []string{"Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"}, "")
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	if err := flags.Parse(config.Arguments); err != nil {
		return nil, err
	}
	s := &Server{Config: config, types: *types, pause: *resolution}
	var err error
	if s.kubeletCA, err = readPool(*authority); err != nil {
		return nil, fmt.Errorf("--kubelet-certificate-authority: %w", err)
	}
	if s.proxyCA, err = s.requestHeaderCA(ctx); err != nil {
		return nil, err
	}
	pick, err := servingCertificate(config, *certificate, *key)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(config.Address, strconv.Itoa(*port))
	listener, err := config.Machine.Network.Listen(config.Shoot, address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 30 * time.Second, ErrorLog: serving.NoLog(), TLSConfig: &tls.Config{
		GetCertificate: pick, ClientAuth: tls.RequestClientCert,
	}}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	running, cancel := context.WithCancel(config.Machine.Context)
	go s.scrape(running)
	s.stop = func() {
		cancel()
		_ = server.Close()
		config.Machine.Network.Close(config.Shoot, address, listener)
	}
	config.Machine.Print(fmt.Sprintf("containerd: %s runs, listens on %s", config.Name, address))
	return s, nil
}

// servingCertificate reads the given certificate for every connection, since it may be renewed;
// without one it creates a certificate, as metrics-server does.
func servingCertificate(config Config, certificate, key string) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	if certificate == "" {
		pair, err := serving.SelfSigned(config.Name, config.Address)
		return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair, nil }, err
	}
	read := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		return &pair, err
	}
	_, err := read(nil)
	return read, err
}

// readPool reads the certificates of a file.
func readPool(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificates", path)
	}
	return pool, nil
}

// Ready reports whether the server has any metrics.
func (s *Server) Ready() bool { return s.samples.any() }

// Stop stops the server.
func (s *Server) Stop() { s.stop() }

// requestHeaderCA reads the CA of the API server's proxy, which every aggregated API needs.
func (s *Server) requestHeaderCA(ctx context.Context) (*x509.CertPool, error) {
	config, err := s.Client.CoreV1().ConfigMaps("kube-system").Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(config.Data["requestheader-client-ca-file"])) {
		return nil, fmt.Errorf("configmap extension-apiserver-authentication has no requestheader-client-ca-file")
	}
	return pool, nil
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	}
	const base = "/apis/metrics.k8s.io"
	version := metav1.GroupVersionForDiscovery{GroupVersion: "metrics.k8s.io/v1beta1", Version: "v1beta1"}
	group := metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: "metrics.k8s.io",
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}
	s.answer(mux, "/apis", func(*http.Request) any {
		return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group}}
	})
	s.answer(mux, base, func(*http.Request) any { return group })
	s.answer(mux, base+"/v1beta1", func(*http.Request) any {
		return metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.GroupVersion,
			APIResources: []metav1.APIResource{
				{Name: "nodes", Kind: "NodeMetrics", Verbs: []string{"get", "list"}},
				{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: []string{"get", "list"}},
			},
		}
	})
	nodes := func(r *http.Request) any { return s.samples.nodes(r.PathValue("name")) }
	pods := func(r *http.Request) any { return s.samples.pods(r.PathValue("namespace"), r.PathValue("name")) }
	s.answer(mux, base+"/v1beta1/nodes", nodes)
	s.answer(mux, base+"/v1beta1/nodes/{name}", nodes)
	s.answer(mux, base+"/v1beta1/pods", pods)
	s.answer(mux, base+"/v1beta1/namespaces/{namespace}/pods", pods)
	s.answer(mux, base+"/v1beta1/namespaces/{namespace}/pods/{name}", pods)
	return mux
}

// answer serves JSON to the API server's proxy, and refuses other clients.
func (s *Server) answer(mux *http.ServeMux, path string, content func(*http.Request) any) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		known := slices.ContainsFunc(r.TLS.PeerCertificates, func(leaf *x509.Certificate) bool {
			_, err := leaf.Verify(x509.VerifyOptions{Roots: s.proxyCA, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
			return err == nil && r.Header.Get("X-Remote-User") != ""
		})
		if !known {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		object := content(r)
		if object == nil {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object)
	})
}

var (
	nodeList = metav1.TypeMeta{Kind: "NodeMetricsList", APIVersion: v1beta1.SchemeGroupVersion.String()}
	podList  = metav1.TypeMeta{Kind: "PodMetricsList", APIVersion: v1beta1.SchemeGroupVersion.String()}
)
