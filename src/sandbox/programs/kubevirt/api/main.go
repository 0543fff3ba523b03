// Command sandbox-virt-api is virt-api. It is a separate program because its packages take seconds
// to initialize, which would delay the other programs of this module.
package main

import (
	klog "kubevirt.io/client-go/log"
	"kubevirt.io/kubevirt/pkg/service"
	virtapi "kubevirt.io/kubevirt/pkg/virt-api"
)

func main() {
	klog.InitializeLogging("virt-api")
	app := virtapi.NewVirtApi()
	service.Setup(app)
	app.Execute()
}
