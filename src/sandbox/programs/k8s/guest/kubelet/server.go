package kubelet

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"kvshoot.io/sandbox/kubernetes/guest/serving"
)

// kubeletServer is kubelet's API on the node's address.
type kubeletServer struct {
	node      *Node
	address   string
	line      net.Listener
	http      *http.Server
	begun     time.Time
	authCache authCache
}

func (n *Node) serve() (*kubeletServer, error) {
	s := &kubeletServer{node: n, address: net.JoinHostPort(n.machine.Address, strconv.Itoa(int(n.Config.Port))), begun: time.Now()}
	pick, err := n.servingCertificate()
	if err != nil {
		return nil, err
	}
	secure := &tls.Config{GetCertificate: pick, ClientAuth: tls.RequestClientCert}
	if err := s.readAuthorities(); err != nil {
		return nil, err
	}
	if s.line, err = n.machine.Network.Listen(n.rest.Host, s.address); err != nil {
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
	s.http = &http.Server{
		Handler: s.authorized(mux), ReadHeaderTimeout: 30 * time.Second, TLSConfig: secure, ErrorLog: serving.NoLog(),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	// Every request verifies the certificate, so that a fault begins and ends with the next one.
	s.http.SetKeepAlivesEnabled(false)
	go func() { _ = s.http.ServeTLS(s.line, "", "") }()
	return s, nil
}

func (s *kubeletServer) close() {
	_ = s.http.Close()
	s.node.machine.Network.Close(s.node.rest.Host, s.address, s.line)
}

func (s *kubeletServer) list() []*v1.Pod {
	pods := s.node.podManager()
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

// metrics returns invented figures that increase with time, in kubelet's format.
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
