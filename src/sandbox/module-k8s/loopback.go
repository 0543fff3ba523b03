package main

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// The address of the pod that this process is of.
const addressKey = "SANDBOX_ADDRESS"

// ownLoopback makes kubeconfigs that lead to the pod's own loopback lead to the
// pod's own address. A pod's containers would share 127.0.0.1 with each other and
// nobody else; here it is the computer's.
func ownLoopback() {
	address := os.Getenv(addressKey)
	if address == "" {
		return
	}
	_ = os.Unsetenv(addressKey)
	for i, arg := range os.Args {
		flag, file, found := strings.Cut(arg, "=")
		if !found || !strings.HasSuffix(flag, "kubeconfig") {
			continue
		}
		passing, err := redirected(file, address)
		if err != nil {
			klog.ErrorS(err, "cannot read the kubeconfig for the sandbox; it is left as it is", "file", file)
		} else if passing != "" {
			os.Args[i] = flag + "=" + passing
		}
	}
}

// redirected writes a kubeconfig anew, if its server is on a loopback address.
func redirected(file, address string) (string, error) {
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return "", err
	}
	// The copy stands elsewhere.
	if err := clientcmd.ResolveLocalPaths(config); err != nil {
		return "", err
	}
	any := false
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err != nil {
			return "", err
		}
		host := server.Hostname()
		if host != "localhost" && host != "127.0.0.1" && host != "::1" {
			continue
		}
		any = true
		if cluster.TLSServerName == "" {
			cluster.TLSServerName = host
		}
		server.Host = net.JoinHostPort(address, server.Port())
		cluster.Server = server.String()
	}
	if !any {
		return "", nil
	}
	passing := filepath.Join(os.TempDir(), filepath.Base(file)+".sandbox")
	return passing, clientcmd.WriteToFile(*config, passing)
}
