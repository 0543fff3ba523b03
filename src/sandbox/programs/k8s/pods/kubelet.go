package pods

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/httpstream/wsstream"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/network"
)

// KubeletPort is the port that kubelets listen on, each on the address of its node.
const KubeletPort = 10250

// kubelet serves the requests that the API server sends to kubelets.
type kubelet struct {
	runner *Runner
	// Folder of the consoles of machines.
	consoles string
}

// consoleLog is the container of a launcher pod whose log is the serial console of the machine.
const consoleLog = "guest-console-log"

// ServeKubelets listens on the address of every node. Clients need a certificate of the
// sandbox's CA. The folder consoles has a file for each machine.
func ServeKubelets(ctx context.Context, r *Runner, pki, consoles string, addresses []string) error {
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "server.crt"), filepath.Join(pki, "server.key"))
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return errors.New("cannot parse ca.crt")
	}
	k := &kubelet{r, consoles}
	mux := http.NewServeMux()
	mux.HandleFunc("/portForward/{namespace}/{pod}", k.portForward)
	mux.HandleFunc("/portForward/{namespace}/{pod}/{uid}", k.portForward)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.logs)
	// Connections can only be upgraded in HTTP/1.1.
	config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"http/1.1"}}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 30 * time.Second}
	for _, address := range addresses {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(KubeletPort)))
		if err != nil {
			return err
		}
		go func() {
			if err := server.Serve(tls.NewListener(listener, config)); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "kubelet stopped serving", "address", address)
			}
		}()
	}
	return nil
}

func (k *kubelet) portForward(w http.ResponseWriter, request *http.Request) {
	pod := k.runner.find(request.PathValue("namespace"), request.PathValue("pod"))
	if uid := request.PathValue("uid"); pod == nil || uid != "" && uid != string(pod.uid) {
		http.Error(w, "the pod is simulated and has no ports", http.StatusNotFound)
		return
	}
	protocols := []string{portforward.ProtocolV1Name}
	serve := func(w http.ResponseWriter, request *http.Request, options *portforward.V4Options) {
		portforward.ServePortForward(w, request, k, pod.name, string(pod.uid), options, 4*time.Hour, 30*time.Second, protocols)
	}
	if wsstream.IsWebSocketRequestWithTunnelingProtocol(request) {
		inner := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) { serve(w, request, &portforward.V4Options{}) })
		proxy.NewTunnelingHandler(inner).ServeHTTP(w, request)
		return
	}
	options, err := portforward.NewV4Options(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	serve(w, request, options)
}

// PortForward connects a stream to a port of the pod's processes.
func (k *kubelet) PortForward(ctx context.Context, name, uid string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	address := k.runner.addressOf(types.UID(uid))
	if address == "" {
		return fmt.Errorf("pod %s has ended", name)
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("failed to connect to port %d of pod %s: %w", port, name, err)
	}
	defer connection.Close()
	go func() {
		_, _ = io.Copy(connection, stream)
		_ = connection.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, connection)
	return err
}

// logs serves a container's log, without timestamps.
func (k *kubelet) logs(w http.ResponseWriter, request *http.Request) {
	if request.PathValue("container") == consoleLog {
		k.console(w, request)
		return
	}
	pod := k.runner.find(request.PathValue("namespace"), request.PathValue("pod"))
	var c *container
	if pod != nil {
		for _, one := range pod.containers {
			if one.name == request.PathValue("container") {
				c = one
			}
		}
	}
	if c == nil {
		http.Error(w, "the container is simulated and has no log", http.StatusNotFound)
		return
	}
	query := request.URL.Query()
	begin, end := pod.logRange(c, query.Get("previous") == "true")
	follow := query.Get("follow") == "true" && query.Get("previous") != "true"
	if lines, err := strconv.Atoi(query.Get("tailLines")); err == nil {
		begin = lastLines(c.log, begin, end, lines)
	}
	if limit, err := strconv.ParseInt(query.Get("limitBytes"), 10, 64); err == nil {
		end, follow = min(end, begin+limit), follow && end < begin+limit
	}
	in, err := os.Open(c.log)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer in.Close()
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.Copy(w, io.NewSectionReader(in, begin, end-begin))
	for follow && request.Context().Err() == nil {
		_ = http.NewResponseController(w).Flush()
		time.Sleep(100 * time.Millisecond)
		if now := size(c.log); now > end {
			_, _ = io.Copy(w, io.NewSectionReader(in, end, now-end))
			end = now
		}
	}
}

// console serves what a machine printed. Its pod is virt-launcher-NAME-xxxxx, where the end of a
// long name is missing.
func (k *kubelet) console(w http.ResponseWriter, request *http.Request) {
	name := strings.TrimPrefix(request.PathValue("pod"), "virt-launcher-")
	if last := strings.LastIndexByte(name, '-'); last > 0 {
		name = name[:last]
	}
	file := filepath.Join(k.consoles, name+".log")
	if _, err := os.Stat(file); err != nil {
		if found, _ := filepath.Glob(filepath.Join(k.consoles, name+"*.log")); len(found) == 1 {
			file = found[0]
		}
	}
	in, err := os.Open(file)
	if err != nil {
		http.Error(w, "the machine has not started", http.StatusNotFound)
		return
	}
	defer in.Close()
	begin, end := int64(0), size(file)
	if lines, err := strconv.Atoi(request.URL.Query().Get("tailLines")); err == nil {
		begin = lastLines(file, 0, end, lines)
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.Copy(w, io.NewSectionReader(in, begin, end-begin))
}

// logRange returns the part of the log that the current process wrote, or the previous one.
func (w *worker) logRange(c *container, previous bool) (begin, end int64) {
	answer := make(chan [2]int64, 1)
	select {
	case w.events <- func() {
		switch {
		case previous || c.process == nil:
			answer <- c.before
		default:
			answer <- [2]int64{c.process.offset, size(c.log)}
		}
	}:
	case <-time.After(time.Second):
		return 0, size(c.log)
	}
	select {
	case found := <-answer:
		return found[0], found[1]
	case <-time.After(time.Second):
		return 0, size(c.log)
	}
}

// lastLines returns the offset of the last lines in a part of a log.
func lastLines(file string, begin, end int64, lines int) int64 {
	in, err := os.Open(file)
	if err != nil {
		return begin
	}
	defer in.Close()
	block := make([]byte, 4096)
	for at, left := end, lines+1; at > begin; {
		from := max(begin, at-int64(len(block)))
		n, err := in.ReadAt(block[:at-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return begin
		}
		for i := n - 1; i >= 0; i-- {
			// The newline at the end of the last line does not count.
			if block[i] == '\n' || from+int64(i) == end-1 {
				left--
			}
			if left == 0 {
				return from + int64(i) + 1
			}
		}
		at = from
	}
	return begin
}

// KubeletAddress returns the address that the kubelet of the numbered node listens on.
func KubeletAddress(row, number int) string {
	return network.PodAddress(row, 255<<8+number+1)
}
