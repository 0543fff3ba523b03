package kubelet

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"slices"
	"time"

	certificates "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/certificate"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/guest/serving"
)

// selfSignedFault is the fault of a kubelet whose serving certificate is not the cluster's.
const selfSignedFault = "kubelet-certificate"

type getCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// servingCertificate returns kubelet's serving certificate: a self-signed one, or with
// serverTLSBootstrap one that the cluster signs as soon as its request is approved.
func (n *Node) servingCertificate() (getCertificate, error) {
	own, err := serving.SelfSigned(n.name, n.machine.Address)
	if err != nil || !n.Config.ServerTLSBootstrap {
		return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own, nil }, err
	}
	if n.servingManager, err = n.newServingManager(); err != nil {
		return nil, err
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if n.machine.Faults.Matches(selfSignedFault, n.machine.Name()) {
			return own, nil
		}
		if signed := n.serving().Current(); signed != nil {
			return signed, nil
		}
		return nil, errors.New("no serving certificate available for the kubelet")
	}, nil
}

// serving returns what requests the serving certificate; nil if it is self-signed.
func (n *Node) serving() certificate.Manager {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.servingManager
}

func (n *Node) newServingManager() (certificate.Manager, error) {
	folder := n.machine.Path(n.Flags.CertDirectory)
	store, err := certificate.NewFileStore("kubelet-server", folder, folder, "", "")
	if err != nil {
		return nil, err
	}
	// kubelet's own constructor of this manager registers metrics, which works once per process.
	ctx := klog.NewContext(n.machine.Context, n.machine.Logger)
	return certificate.NewManager(&certificate.Config{
		Ctx:              &ctx,
		ClientsetFn:      func(*tls.Certificate) (kubernetes.Interface, error) { return n.client, nil },
		GetTemplate:      n.servingRequest,
		SignerName:       certificates.KubeletServingSignerName,
		GetUsages:        certificate.DefaultKubeletServingGetUsages,
		CertificateStore: store,
	})
}

// requestServingCertificate starts the manager once the cloud controller manager has written the
// node's addresses. kubelet starts it at once, and finds the addresses a few seconds later, when
// the manager tries again.
func (n *Node) requestServingCertificate() {
	manager := n.serving()
	if manager == nil {
		return
	}
	for n.servingRequest() == nil {
		if !n.machine.Wait(300 * time.Millisecond) {
			return
		}
		read, err := n.client.CoreV1().Nodes().Get(n.machine.Context, n.name, metav1.GetOptions{ResourceVersion: "0"})
		if err == nil {
			n.remember(read)
		}
	}
	manager.Start()
	for manager.Current() == nil {
		if !n.machine.Wait(300 * time.Millisecond) {
			return
		}
	}
	n.machine.Print("kubelet: serving certificate is valid until " + manager.Current().Leaf.NotAfter.UTC().Format(time.RFC3339))
}

// servingRequest returns the request for the node's names and addresses, and nil while it has no
// address.
func (n *Node) servingRequest() *x509.CertificateRequest {
	var names []string
	var addresses []net.IP
	for _, one := range n.current().Status.Addresses {
		ip := net.ParseIP(one.Address)
		switch one.Type {
		case v1.NodeHostName, v1.NodeInternalIP, v1.NodeExternalIP:
			if ip != nil {
				addresses = append(addresses, ip)
			} else if one.Type == v1.NodeHostName {
				names = append(names, one.Address)
			}
		case v1.NodeInternalDNS, v1.NodeExternalDNS:
			names = append(names, one.Address)
		}
	}
	if len(addresses) == 0 {
		return nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	slices.SortFunc(addresses, func(a, b net.IP) int { return slices.Compare(a.To16(), b.To16()) })
	return &x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: "system:node:" + n.name, Organization: []string{"system:nodes"}},
		DNSNames:    names,
		IPAddresses: slices.CompactFunc(addresses, net.IP.Equal),
	}
}
