package autoscaler

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/encoding/protowire"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const (
	service = "/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/"
	timeout = 5 * time.Second
)

// States of an instance.
const (
	instanceRunning  = 1
	instanceCreating = 2
	instanceDeleting = 3
)

// group is a node group.
type group struct {
	id       string
	min, max int
}

// instance is a machine of a group.
type instance struct {
	id, errorCode string
	state         int
}

// provider asks for node groups.
type provider struct{ conn *grpc.ClientConn }

// connect reads the file of --cloud-config.
func connect(file string) (*provider, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var config struct {
		Address string `json:"address"`
		Cert    string `json:"cert"`
		Key     string `json:"key"`
		CACert  string `json:"cacert"`
	}
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(config.Address)
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(config.Cert, config.Key)
	if err != nil {
		return nil, err
	}
	roots, err := os.ReadFile(config.CACert)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(roots) {
		return nil, fmt.Errorf("%s has no certificate", config.CACert)
	}
	secure := credentials.NewTLS(&tls.Config{ServerName: host, Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12})
	conn, err := grpc.NewClient(config.Address, grpc.WithTransportCredentials(secure), grpc.WithDefaultCallOptions(grpc.ForceCodec(wire{})))
	return &provider{conn}, err
}

// wire passes encoded messages on.
type wire struct{}

func (wire) Name() string { return "proto" }

func (wire) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (wire) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte{}, data...)
	return nil
}

func (p *provider) call(ctx context.Context, name string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var response []byte
	if err := p.conn.Invoke(ctx, service+name, request, &response); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return response, nil
}

func (p *provider) refresh(ctx context.Context) error {
	_, err := p.call(ctx, "Refresh", nil)
	return err
}

func (p *provider) groups(ctx context.Context) ([]group, error) {
	response, err := p.call(ctx, "NodeGroups", nil)
	if err != nil {
		return nil, err
	}
	var groups []group
	err = each(response, func(number protowire.Number, _ uint64, bytes []byte) error {
		g, err := decodeGroup(bytes)
		if number == 1 {
			groups = append(groups, g)
		}
		return err
	})
	return groups, err
}

// groupOf returns the ID of a node's group; none if it is empty.
func (p *provider) groupOf(ctx context.Context, node *v1.Node) (string, error) {
	response, err := p.call(ctx, "NodeGroupForNode", message(1, encodeNode(node.Spec.ProviderID, node.Name)))
	if err != nil {
		return "", err
	}
	var g group
	err = each(response, func(_ protowire.Number, _ uint64, bytes []byte) (err error) {
		g, err = decodeGroup(bytes)
		return err
	})
	return g.id, err
}

func (p *provider) targetSize(ctx context.Context, id string) (int, error) {
	response, err := p.call(ctx, "NodeGroupTargetSize", text(1, id))
	if err != nil {
		return 0, err
	}
	size := 0
	err = each(response, func(_ protowire.Number, value uint64, _ []byte) error {
		size = int(int32(value))
		return nil
	})
	return size, err
}

func (p *provider) instances(ctx context.Context, id string) ([]instance, error) {
	response, err := p.call(ctx, "NodeGroupNodes", text(1, id))
	if err != nil {
		return nil, err
	}
	var all []instance
	err = each(response, func(_ protowire.Number, _ uint64, bytes []byte) error {
		i, err := decodeInstance(bytes)
		all = append(all, i)
		return err
	})
	return all, err
}

func (p *provider) template(ctx context.Context, id string) (*v1.Node, error) {
	response, err := p.call(ctx, "NodeGroupTemplateNodeInfo", text(1, id))
	if err != nil {
		return nil, err
	}
	node := &v1.Node{}
	err = each(response, func(number protowire.Number, _ uint64, bytes []byte) error {
		if number != 2 {
			return nil
		}
		return node.Unmarshal(bytes)
	})
	return node, err
}

func (p *provider) increase(ctx context.Context, id string, delta int) error {
	_, err := p.call(ctx, "NodeGroupIncreaseSize", append(number(1, delta), text(2, id)...))
	return err
}

func (p *provider) decrease(ctx context.Context, id string, delta int) error {
	_, err := p.call(ctx, "NodeGroupDecreaseTargetSize", append(number(1, -delta), text(2, id)...))
	return err
}

// deleteNode deletes a node, or a machine without one, whose ID is its name too.
func (p *provider) deleteNode(ctx context.Context, id, providerID, name string) error {
	_, err := p.call(ctx, "NodeGroupDeleteNodes", append(message(1, encodeNode(providerID, name)), text(2, id)...))
	return err
}

func encodeNode(providerID, name string) []byte { return append(text(1, providerID), text(2, name)...) }

func decodeGroup(data []byte) (g group, err error) {
	err = each(data, func(number protowire.Number, value uint64, bytes []byte) error {
		switch number {
		case 1:
			g.id = string(bytes)
		case 2:
			g.min = int(int32(value))
		case 3:
			g.max = int(int32(value))
		}
		return nil
	})
	return g, err
}

func decodeInstance(data []byte) (i instance, err error) {
	err = each(data, func(number protowire.Number, _ uint64, bytes []byte) error {
		if number == 1 {
			i.id = string(bytes)
			return nil
		}
		return each(bytes, func(number protowire.Number, value uint64, bytes []byte) error {
			if number == 1 {
				i.state = int(value)
				return nil
			}
			return each(bytes, func(number protowire.Number, _ uint64, bytes []byte) error {
				if number == 1 {
					i.errorCode = string(bytes)
				}
				return nil
			})
		})
	})
	return i, err
}

func text(number protowire.Number, value string) []byte { return message(number, []byte(value)) }

func message(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

func number(n protowire.Number, value int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), uint64(int64(value)))
}

// each calls a function for each field of a message: with its value, or its bytes.
func each(data []byte, field func(protowire.Number, uint64, []byte) error) error {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		var value uint64
		var bytes []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(data)
		default:
			return errors.New("a field has an unknown type")
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if err := field(number, value, bytes); err != nil {
			return err
		}
	}
	return nil
}
