package kubelet

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	v1 "k8s.io/api/core/v1"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
	"sigs.k8s.io/apiserver-network-proxy/cmd/agent/app/options"
	"sigs.k8s.io/apiserver-network-proxy/konnectivity-client/proto/client"
	"sigs.k8s.io/apiserver-network-proxy/pkg/agent"
	"sigs.k8s.io/apiserver-network-proxy/pkg/util"
	"sigs.k8s.io/apiserver-network-proxy/proto/header"

	"kvshoot.io/sandbox/kubernetes/guest/machine"
)

// nowhere is an address that refuses connections.
const nowhere = "127.0.0.1:1"

// konnectivityAgent runs the konnectivity agent: its own code with the pod's arguments, files
// and token. Only the addresses that it dials are translated.
func (p *podManager) konnectivityAgent(ctx context.Context, pod *v1.Pod, container *v1.Container, ip string) (*workload, error) {
	folder, again, err := p.writeMounts(ctx, pod, container)
	if err != nil {
		return nil, err
	}
	o := options.NewGrpcProxyAgentOptions()
	flags := o.Flags()
	local := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(local)
	local.VisitAll(func(f *flag.Flag) { flags.VarPF(cliflag.NoOp{}, util.Normalize(f.Name), shorthand(f.Name), f.Usage) })
	flags.SetOutput(p.node.machine.Console)
	if err := parse(flags, arguments(pod, container, folder, p.node.hostIP(), ip)); err != nil {
		return nil, fmt.Errorf("%s: %w", container.Name, err)
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("%s: failed to validate agent options with %w", container.Name, err)
	}
	secure, err := util.GetClientTLSConfig(o.CaCert, o.AgentCert, o.AgentKey, o.ProxyServerHost, o.AlpnProtos)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", container.Name, err)
	}
	secure.Time = p.node.machine.Now
	drain, stop := make(chan struct{}), make(chan struct{})
	set := p.clientSet(o, secure, drain, stop)
	set.SetServerCounter(agent.NewAggregateServerCounter(nil, agent.NewResponseBasedCounter(set), o.ServerCountSource))
	set.Serve()
	p.node.machine.Print(fmt.Sprintf("containerd: %s runs, dials %s:%d", pod.Name, o.ProxyServerHost, o.ProxyServerPort))
	live, end := context.WithCancel(p.node.machine.Context)
	go p.refresh(live, pod, container, again)
	return &workload{
		ready: func() bool { return set.HealthyClientsCount() > 0 },
		end:   func() { end(); close(drain); close(stop) },
	}, nil
}

func (p *podManager) clientSet(o *options.GrpcProxyAgentOptions, secure *tls.Config, drain, stop <-chan struct{}) *agent.ClientSet {
	config := o.ClientSetConfig(p.dialOptions(o, secure)...)
	// If the token cannot be read, because the machine is gone, the agent (v0.34.0,
	// initializeAuthContext) continues without a connection and panics, which would end this
	// process. So the interceptor below adds the token instead.
	config.ServiceAccountTokenPath = ""
	return config.NewAgentClientSet(drain, stop)
}

func shorthand(name string) string {
	if name == "v" {
		return name
	}
	return ""
}

func parse(flags *pflag.FlagSet, words []string) error {
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	return flags.Parse(words)
}

// refresh writes a container's files again before its token expires.
func (p *podManager) refresh(ctx context.Context, pod *v1.Pod, container *v1.Container, again time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(time.Second, time.Until(again))):
		}
		_, next, err := p.writeMounts(ctx, pod, container)
		if err != nil {
			p.node.machine.Print(fmt.Sprintf("kubelet: pod %s/%s: %v", pod.Namespace, pod.Name, err))
			next = time.Now().Add(10 * time.Second)
		}
		again = next
	}
}

func (p *podManager) dialOptions(o *options.GrpcProxyAgentOptions, secure *tls.Config) []grpc.DialOption {
	m := p.node.machine
	return []grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(secure)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: o.KeepaliveTime, PermitWithoutStream: true}),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return m.Line.DialContext(ctx, "tcp", address)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, streamer grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			ctx, err := withToken(ctx, o.ServiceAccountTokenPath)
			if err != nil {
				return nil, err
			}
			stream, err := streamer(ctx, desc, conn, method, options...)
			if err != nil {
				m.Warn(machine.Unreachable, fmt.Errorf("konnectivity-agent: cannot reach %s: %w", conn.Target(), err))
				return nil, err
			}
			return &translatedStream{ClientStream: stream, pods: p}, nil
		}),
	}
}

// withToken adds the agent's token to the outgoing metadata, if the agent has one.
func withToken(ctx context.Context, path string) (context.Context, error) {
	if path == "" {
		return ctx, nil
	}
	token, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return metadata.AppendToOutgoingContext(ctx, header.AuthenticationTokenContextKey, header.AuthenticationTokenContextSchemePrefix+string(token)), nil
}

// translatedStream is the stream from the server, with the addresses of dial requests replaced
// by those on this computer.
type translatedStream struct {
	grpc.ClientStream
	pods *podManager
}

// Header reports why a server refuses the agent; the agent itself does not.
func (t *translatedStream) Header() (metadata.MD, error) {
	head, err := t.ClientStream.Header()
	if err == nil && len(head.Get(header.ServerID)) == 0 {
		if refused := t.ClientStream.RecvMsg(&client.Packet{}); refused != nil {
			t.pods.node.machine.Warn("KonnectivityRefused", fmt.Errorf("konnectivity-agent: the server refuses this agent: %w", refused))
		}
	}
	return head, err
}

func (t *translatedStream) RecvMsg(message any) error {
	if err := t.ClientStream.RecvMsg(message); err != nil {
		return err
	}
	packet, ok := message.(*client.Packet)
	if !ok || packet.Type != client.PacketType_DIAL_REQ {
		return nil
	}
	request := packet.GetDialRequest()
	local, err := t.pods.route(t.Context(), request.Address)
	thing, text := "dial "+request.Address, ""
	if err != nil {
		text, local = fmt.Sprintf("konnectivity-agent: dial %s: %v", request.Address, err), nowhere
	}
	t.pods.node.machine.PrintChange(thing, text)
	request.Protocol, request.Address = "tcp", local
	return nil
}
