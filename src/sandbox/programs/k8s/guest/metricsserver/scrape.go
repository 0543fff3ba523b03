package metricsserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// samples are the last two samples of every series.
type samples struct {
	lock sync.Mutex
	last map[series]pair
}

// series identifies a node, or a container of a pod.
type series struct{ node, namespace, pod, container string }

type pair struct{ before, now sample }

type sample struct {
	at          time.Time
	cpu, memory float64
}

var metric = regexp.MustCompile(`^(node|container)_(cpu_usage_seconds_total|memory_working_set_bytes)(?:\{container="([^"]*)",namespace="([^"]*)",pod="([^"]*)"\})? (\S+)`)

// scrape reads the metrics of all kubelets at the configured interval, and every second until
// one has answered.
func (s *Server) scrape(ctx context.Context) {
	for {
		found := s.scrapeAll(ctx)
		s.samples.replace(found)
		pause := s.pause
		if len(found) == 0 {
			pause = time.Second
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (s *Server) scrapeAll(ctx context.Context) map[series]sample {
	found := map[series]sample{}
	nodes, err := s.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		s.Machine.PrintChange("scrape", "metrics-server: "+err.Error())
		return found
	}
	for _, node := range nodes.Items {
		text := ""
		err := s.scrapeNode(ctx, &node, found)
		if err != nil && strings.Contains(err.Error(), "remote error: tls: internal error") {
			err = errors.New("kubelet has no serving certificate yet")
		}
		if err != nil && ctx.Err() == nil {
			text = fmt.Sprintf("metrics-server: failed to scrape node %s: %v", node.Name, err)
		}
		s.Machine.PrintChange("scrape "+node.Name, text)
	}
	return found
}

// scrapeNode reads the metrics of one kubelet from the node's preferred address.
func (s *Server) scrapeNode(ctx context.Context, node *v1.Node, into map[series]sample) error {
	address := ""
	for _, wanted := range s.types {
		for _, one := range node.Status.Addresses {
			if string(one.Type) == wanted && address == "" {
				address = one.Address
			}
		}
	}
	if address == "" {
		return fmt.Errorf("no address matched types %v", s.types)
	}
	host := address
	address = net.JoinHostPort(host, strconv.Itoa(int(node.Status.DaemonEndpoints.KubeletEndpoint.Port)))
	local, ok := s.Machine.Network.Find(s.Shoot, address)
	if !ok {
		return fmt.Errorf("dial tcp %s: connect: connection refused", address)
	}
	ctx, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	token, err := s.Token(ctx)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+local+"/metrics/resource", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: s.kubeletCA, ServerName: host}}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("request failed, status: %s", response.Status)
	}
	return parse(response.Body, node.Name, into)
}

func parse(body io.Reader, node string, into map[series]sample) error {
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		match := metric.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		value, err := strconv.ParseFloat(match[6], 64)
		if err != nil {
			return err
		}
		key := series{node: node, container: match[3], namespace: match[4], pod: match[5]}
		one := into[key]
		one.at = time.Now()
		if match[2] == "memory_working_set_bytes" {
			one.memory = value
		} else {
			one.cpu = value
		}
		into[key] = one
	}
	return lines.Err()
}

func (s *samples) replace(found map[series]sample) {
	s.lock.Lock()
	defer s.lock.Unlock()
	next := map[series]pair{}
	for key, now := range found {
		next[key] = pair{before: s.last[key].now, now: now}
	}
	s.last = next
}

func (s *samples) any() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.last) > 0
}

// usage returns the usage between two samples; false if there is only one.
func (p pair) usage() (v1.ResourceList, metav1.Duration, bool) {
	if p.before.at.IsZero() {
		return nil, metav1.Duration{}, false
	}
	window := p.now.at.Sub(p.before.at)
	cpu := (p.now.cpu - p.before.cpu) / window.Seconds()
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewScaledQuantity(int64(cpu*1e9), resource.Nano),
		v1.ResourceMemory: *resource.NewQuantity(int64(p.now.memory), resource.BinarySI),
	}, metav1.Duration{Duration: window}, true
}

// nodes returns the metrics of all nodes, or of the named one.
func (s *samples) nodes(name string) any {
	s.lock.Lock()
	defer s.lock.Unlock()
	list := v1beta1.NodeMetricsList{TypeMeta: nodeList, Items: []v1beta1.NodeMetrics{}}
	for key, pair := range s.last {
		usage, window, ok := pair.usage()
		if key.pod != "" || !ok || name != "" && key.node != name {
			continue
		}
		one := v1beta1.NodeMetrics{Timestamp: metav1.NewTime(pair.now.at), Window: window, Usage: usage}
		one.Kind, one.APIVersion, one.Name = "NodeMetrics", nodeList.APIVersion, key.node
		list.Items = append(list.Items, one)
	}
	if name == "" {
		return list
	}
	if len(list.Items) == 0 {
		return nil
	}
	return list.Items[0]
}

// pods returns the metrics of all pods, of those in a namespace, or of the named one.
func (s *samples) pods(namespace, name string) any {
	s.lock.Lock()
	defer s.lock.Unlock()
	found := map[[2]string]*v1beta1.PodMetrics{}
	for key, pair := range s.last {
		usage, window, ok := pair.usage()
		if key.pod == "" || !ok || namespace != "" && key.namespace != namespace || name != "" && key.pod != name {
			continue
		}
		one := found[[2]string{key.namespace, key.pod}]
		if one == nil {
			one = &v1beta1.PodMetrics{Timestamp: metav1.NewTime(pair.now.at), Window: window}
			one.Kind, one.APIVersion, one.Namespace, one.Name = "PodMetrics", podList.APIVersion, key.namespace, key.pod
			found[[2]string{key.namespace, key.pod}] = one
		}
		one.Containers = append(one.Containers, v1beta1.ContainerMetrics{Name: key.container, Usage: usage})
	}
	if name != "" {
		for _, one := range found {
			return *one
		}
		return nil
	}
	list := v1beta1.PodMetricsList{TypeMeta: podList, Items: []v1beta1.PodMetrics{}}
	for _, one := range found {
		list.Items = append(list.Items, *one)
	}
	return list
}
