// Command sandbox-virt-api is virt-api. It is a separate program because its packages take seconds
// to initialize, which would delay the other programs of this module.
package main

import (
	"net/http"

	klog "kubevirt.io/client-go/log"
	"kubevirt.io/kubevirt/pkg/service"
	virtapi "kubevirt.io/kubevirt/pkg/virt-api"
)

func main() {
	// Packages register pages for debugging in it, which every user of this computer could read.
	*http.DefaultServeMux = http.ServeMux{}
	klog.InitializeLogging("virt-api")
	app := virtapi.NewVirtApi()
	service.Setup(app)
	app.Execute()
}
