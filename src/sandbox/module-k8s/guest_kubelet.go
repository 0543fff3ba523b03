package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"time"
)

// kubeletServer is kubelet's own API on the node's address.
type kubeletServer struct {
	node    *node
	address string
	line    net.Listener
	http    *http.Server
}

func (n *node) serve() (*kubeletServer, error) {
	s := &kubeletServer{node: n, address: net.JoinHostPort(n.guest.address, strconv.Itoa(int(n.config.Port)))}
	pair, err := selfSigned(n.name, n.guest.address)
	if err != nil {
		return nil, err
	}
	if s.line, err = n.guest.all.wire.listen(n.rest.Host, s.address); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 30 * time.Second, TLSConfig: &tls.Config{Certificates: []tls.Certificate{*pair}}}
	go func() { _ = s.http.ServeTLS(s.line, "", "") }()
	return s, nil
}

func (s *kubeletServer) close() {
	_ = s.http.Close()
	s.node.guest.all.wire.close(s.node.rest.Host, s.address, s.line)
}

// selfSigned makes the certificate that kubelet has when nobody gives it one.
func selfSigned(name, address string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(address); ip != nil {
		template.IPAddresses = []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
