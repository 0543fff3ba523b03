package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// metricsServer is a stand-in of metrics-server: it asks the kubelets with
// its pod's identity and serves what they tell.
type metricsServer struct {
	node    *node
	account *account
	client  kubernetes.Interface
	// Whose word about the caller it takes.
	front *x509.CertPool
	types []string
	pause time.Duration
	seen  samples
}

// metrics starts the stand-in where the pod would listen.
func (p *nodePods) metrics(ctx context.Context, pod *v1.Pod, container *v1.Container, ip string) (*act, error) {
	flags := pflag.NewFlagSet("metrics-server", pflag.ContinueOnError)
	flags.SetOutput(p.node.guest.console)
	// Of the many flags that it shares with all API servers only these matter here.
	flags.ParseErrorsAllowlist.UnknownFlags = true
	port := flags.Int("secure-port", 443, "")
	resolution := flags.Duration("metric-resolution", time.Minute, "")
	insecure := flags.Bool("kubelet-insecure-tls", false, "")
	types := flags.StringSlice("kubelet-preferred-address-types", []string{"Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"}, "")
	if err := parse(flags, guestArgv(pod, container, "/", p.node.hostIP(), ip)); err != nil {
		return nil, fmt.Errorf("%s: %w", container.Name, err)
	}
	if !*insecure {
		return nil, fmt.Errorf("%s: kubelets have certificates of their own, which nobody has signed; --kubelet-insecure-tls is not set", container.Name)
	}
	client, err := p.node.as(pod)
	if err != nil {
		return nil, err
	}
	m := &metricsServer{node: p.node, account: p.node.account(pod), client: client, types: *types, pause: *resolution}
	if m.front, err = m.requestHeader(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", container.Name, err)
	}
	pair, err := selfSigned(pod.Name, ip)
	if err != nil {
		return nil, err
	}
	address, wire := net.JoinHostPort(ip, strconv.Itoa(*port)), &p.node.guest.all.wire
	line, err := wire.listen(p.node.rest.Host, address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: m.handler(), ReadHeaderTimeout: 30 * time.Second, ErrorLog: quiet(), TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{*pair}, ClientAuth: tls.RequestClientCert,
	}}
	go func() { _ = server.ServeTLS(line, "", "") }()
	live, end := context.WithCancel(p.node.guest.ctx)
	go m.scrape(live)
	p.node.guest.say(fmt.Sprintf("containerd: %s runs, listens on %s", pod.Name, address))
	return &act{ready: m.seen.any, end: func() { end(); _ = server.Close(); wire.close(p.node.rest.Host, address, line) }}, nil
}

// requestHeader reads the root of the proxy that asks in others' names, which
// every aggregated API needs.
func (m *metricsServer) requestHeader(ctx context.Context) (*x509.CertPool, error) {
	config, err := m.client.CoreV1().ConfigMaps("kube-system").Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(config.Data["requestheader-client-ca-file"])) {
		return nil, fmt.Errorf("configmap extension-apiserver-authentication has no requestheader-client-ca-file")
	}
	return pool, nil
}

func (m *metricsServer) handler() http.Handler {
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
	m.answer(mux, "/apis", func(*http.Request) any {
		return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group}}
	})
	m.answer(mux, base, func(*http.Request) any { return group })
	m.answer(mux, base+"/v1beta1", func(*http.Request) any {
		return metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.GroupVersion,
			APIResources: []metav1.APIResource{
				{Name: "nodes", Kind: "NodeMetrics", Verbs: []string{"get", "list"}},
				{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: []string{"get", "list"}},
			},
		}
	})
	nodes := func(r *http.Request) any { return m.seen.nodes(r.PathValue("name")) }
	pods := func(r *http.Request) any { return m.seen.pods(r.PathValue("namespace"), r.PathValue("name")) }
	m.answer(mux, base+"/v1beta1/nodes", nodes)
	m.answer(mux, base+"/v1beta1/nodes/{name}", nodes)
	m.answer(mux, base+"/v1beta1/pods", pods)
	m.answer(mux, base+"/v1beta1/namespaces/{namespace}/pods", pods)
	m.answer(mux, base+"/v1beta1/namespaces/{namespace}/pods/{name}", pods)
	return mux
}

// answer serves JSON to the API server's proxy, and to nobody else.
func (m *metricsServer) answer(mux *http.ServeMux, path string, make func(*http.Request) any) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		known := slices.ContainsFunc(r.TLS.PeerCertificates, func(leaf *x509.Certificate) bool {
			_, err := leaf.Verify(x509.VerifyOptions{Roots: m.front, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
			return err == nil && r.Header.Get("X-Remote-User") != ""
		})
		if !known {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		object := make(r)
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
