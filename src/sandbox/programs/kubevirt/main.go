// Command sandbox-kubevirt is one multi-call binary: virt-controller, or virt-manifests
// DIR, which writes what virt-operator would create.
package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"kubevirt.io/kubevirt/pkg/virt-controller/watch"
)

func main() {
	// Packages register pages for debugging in it, which every user of this computer could read.
	*http.DefaultServeMux = http.ServeMux{}
	name := filepath.Base(os.Args[0])
	programs := map[string]func(){
		"virt-controller": watch.Execute,
		"virt-manifests": func() {
			if err := manifests(os.Args[1]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
	}
	run, ok := programs[name]
	if !ok && len(os.Args) > 1 {
		name, os.Args = os.Args[1], os.Args[1:]
		run, ok = programs[name]
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "sandbox-kubevirt: call it as virt-controller or virt-manifests")
		os.Exit(2)
	}
	run()
}
