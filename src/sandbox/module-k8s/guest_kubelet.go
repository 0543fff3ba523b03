package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// kubeletServer is kubelet's own API on the node's address.
type kubeletServer struct {
	node    *node
	address string
	line    net.Listener
	http    *http.Server
	begun   time.Time
	callers callers
}

func (n *node) serve() (*kubeletServer, error) {
	s := &kubeletServer{node: n, address: net.JoinHostPort(n.guest.address, strconv.Itoa(int(n.config.Port))), begun: time.Now()}
	pair, err := selfSigned(n.name, n.guest.address)
	if err != nil {
		return nil, err
	}
	secure := &tls.Config{Certificates: []tls.Certificate{*pair}, ClientAuth: tls.RequestClientCert}
	if path := n.config.Authentication.X509.ClientCAFile; path != "" {
		pem, err := n.guest.read(path)
		if err != nil {
			return nil, err
		}
		s.callers.roots = x509.NewCertPool()
		if !s.callers.roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("unable to load client CA file %s: no certificates", path)
		}
	}
	if s.line, err = n.guest.all.wire.listen(n.rest.Host, s.address); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.HandleFunc("GET /pods", s.pods)
	mux.HandleFunc("GET /metrics/resource", s.metrics)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.logs)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, fmt.Sprintf("%s: this pod runs without a container; the sandbox has nothing to answer with", r.URL.Path), http.StatusNotImplemented)
	})
	s.http = &http.Server{Handler: s.guarded(mux), ReadHeaderTimeout: 30 * time.Second, TLSConfig: secure, ErrorLog: quiet()}
	go func() { _ = s.http.ServeTLS(s.line, "", "") }()
	return s, nil
}

func (s *kubeletServer) close() {
	_ = s.http.Close()
	s.node.guest.all.wire.close(s.node.rest.Host, s.address, s.line)
}

func (s *kubeletServer) list() []*v1.Pod {
	pods := s.node.podsHere()
	if pods == nil {
		return nil
	}
	var list []*v1.Pod
	for _, object := range pods.store.List() {
		list = append(list, object.(*v1.Pod))
	}
	return list
}

func (s *kubeletServer) pods(w http.ResponseWriter, _ *http.Request) {
	list := v1.PodList{}
	list.Kind, list.APIVersion = "PodList", "v1"
	for _, pod := range s.list() {
		list.Items = append(list.Items, *pod)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

func (s *kubeletServer) logs(w http.ResponseWriter, r *http.Request) {
	for _, pod := range s.list() {
		if pod.Namespace != r.PathValue("namespace") || pod.Name != r.PathValue("pod") {
			continue
		}
		for _, container := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
			if container.Name == r.PathValue("container") {
				_, _ = fmt.Fprintf(w, "sandbox: %s runs without a container on %s\n", container.Image, s.node.name)
				return
			}
		}
		http.Error(w, fmt.Sprintf("container %q not found in pod %q", r.PathValue("container"), pod.Name), http.StatusNotFound)
		return
	}
	http.Error(w, fmt.Sprintf("pod %q does not exist", r.PathValue("pod")), http.StatusNotFound)
}

// metrics tells made-up figures that grow with time, in kubelet's own form.
func (s *kubeletServer) metrics(w http.ResponseWriter, _ *http.Request) {
	seconds, now := time.Since(s.begun).Seconds(), time.Now().UnixMilli()
	out := &strings.Builder{}
	_, _ = fmt.Fprintf(out, "node_cpu_usage_seconds_total %f %d\nnode_memory_working_set_bytes %d %d\n", 0.05*seconds+0.01, now, 400<<20, now)
	for _, pod := range s.list() {
		for _, container := range pod.Spec.Containers {
			labels := fmt.Sprintf("{container=%q,namespace=%q,pod=%q}", container.Name, pod.Namespace, pod.Name)
			_, _ = fmt.Fprintf(out, "container_cpu_usage_seconds_total%s %f %d\ncontainer_memory_working_set_bytes%s %d %d\n",
				labels, 0.002*seconds+0.001, now, labels, 20<<20, now)
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write([]byte(out.String()))
}

// selfSigned makes the certificate that a server has when nobody gives it one.
func selfSigned(name, address string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	form := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(address); ip != nil {
		form.IPAddresses = []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
