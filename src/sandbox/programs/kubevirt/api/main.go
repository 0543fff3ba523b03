// Command sandbox-virt-api is virt-api. It stands apart because the packages
// that it is made of take seconds to start, which the other programs of this
// module need not wait for.
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
