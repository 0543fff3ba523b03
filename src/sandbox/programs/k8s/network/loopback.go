package network

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// AddressEnv is the environment variable that holds the address of the process's pod.
const AddressEnv = "SANDBOX_ADDRESS"

// RedirectLoopback replaces loopback servers by the pod's address in the kubeconfigs that
// this process was started with. In a real pod, its containers share a 127.0.0.1 that no
// other pod can reach; here 127.0.0.1 is the host's.
func RedirectLoopback() {
	address := os.Getenv(AddressEnv)
	if address == "" {
		return
	}
	_ = os.Unsetenv(AddressEnv)
	for i, arg := range os.Args {
		flag, file, found := strings.Cut(arg, "=")
		if !found || !strings.HasSuffix(flag, "kubeconfig") {
			continue
		}
		copied, err := redirectKubeconfig(file, address)
		if err != nil {
			klog.ErrorS(err, "cannot redirect the kubeconfig; using it unchanged", "file", file)
		} else if copied != "" {
			os.Args[i] = flag + "=" + copied
		}
	}
}

// redirectKubeconfig writes a changed copy of a kubeconfig whose server has a loopback
// address, and returns its path; the path is empty if nothing had to change.
func redirectKubeconfig(file, address string) (string, error) {
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return "", err
	}
	// The copy is written to another folder.
	if err := clientcmd.ResolveLocalPaths(config); err != nil {
		return "", err
	}
	found := false
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err != nil {
			return "", err
		}
		host := server.Hostname()
		if host != "localhost" && host != "127.0.0.1" && host != "::1" {
			continue
		}
		found = true
		if cluster.TLSServerName == "" {
			cluster.TLSServerName = host
		}
		server.Host = net.JoinHostPort(address, server.Port())
		cluster.Server = server.String()
	}
	if !found {
		return "", nil
	}
	copied := filepath.Join(os.TempDir(), filepath.Base(file)+".sandbox")
	return copied, clientcmd.WriteToFile(*config, copied)
}
