// Package simulator does the work of the parts of a cluster that need machines: kubelets,
// virt-handler, storage with snapshots, a load balancer and, on request, CDI.
package simulator

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/controller"
	"kvshoot.io/sandbox/kubernetes/faults"
	"kvshoot.io/sandbox/kubernetes/guest"
	"kvshoot.io/sandbox/kubernetes/guest/qemu"
	"kvshoot.io/sandbox/kubernetes/network"
	"kvshoot.io/sandbox/kubernetes/pods"
	"kvshoot.io/sandbox/kubernetes/storage"
)

type simulator struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
	nodes   []node
	faults  faults.Faults
	podIPs  network.PodIPs
	// Addresses of machines in other networks than that of pods.
	attachmentIPs network.AttachmentIPs
	// Nil if the pods of control planes are simulated too.
	runner *pods.Runner
	guests *guest.Guests
	// Nil if all machines are simulated.
	host *qemu.Host
}

// Main runs the program until it is terminated, and returns its exit code. hasProgram reports
// whether this binary can run as the named program.
func Main(hasProgram func(name string) bool) int {
	set := flag.NewFlagSet("simulator", flag.ExitOnError)
	kubeconfig := set.String("kubeconfig", "", "path of the kubeconfig")
	nodes := set.Int("nodes", 0, "number of infrastructure nodes in zones")
	zones := set.String("zones", "zone-a,zone-b,zone-c", "zones of the nodes")
	bare := set.Int("bare", 0, "number of further nodes without region and zone")
	virt := set.Bool("virt", false, "do the work of virt-handler")
	data := set.Bool("data", false, "do the work of CDI: import and clone DataVolumes")
	importTime := set.Duration("import-time", time.Second, "duration of an import")
	podsDir := set.String("pods-dir", "", "folder to run pods of control planes in, as processes; they are simulated if it is empty")
	logs := set.String("logs", "", "folder for the logs of those processes")
	row := set.Int("row", 0, "row of loopback addresses to use, from 0 to 31")
	pki := set.String("pki", "", "folder with the serving certificate of the kubelets")
	apiPort := set.String("api-port", "6443", "port of the API server")
	kvshoot := set.String("kvshoot", "", "path of the program kvshoot, for pods that run it")
	guestFiles := set.String("guests", "", "folder with the disk of virtual machines; machines are simulated if it is empty")
	guestNetwork := set.String("guest-network", "", "folder with the sockets of guest-network")
	guestCount := set.Int("guest-count", 0, "largest number of virtual machines; further machines are simulated")
	kvm := set.Bool("kvm", false, "run virtual machines with KVM instead of emulation")
	_ = set.Parse(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		klog.ErrorS(err, "cannot read the kubeconfig")
		return 1
	}
	config.QPS = -1
	s := &simulator{
		client: kubernetes.NewForConfigOrDie(config), dynamic: dynamic.NewForConfigOrDie(config),
		nodes: fleet(*nodes, strings.Split(*zones, ","), *bare),
	}
	if *guestFiles != "" && *podsDir != "" {
		s.host = &qemu.Host{Installation: *guestFiles, Sockets: *guestNetwork, KVM: *kvm, Limit: *guestCount}
	}
	if *podsDir != "" {
		if s.runner, err = pods.NewRunner(ctx, pods.Config{
			Client: s.client, Faults: &s.faults, Dir: *podsDir, Logs: *logs, Row: *row, APIPort: *apiPort, Kvshoot: *kvshoot,
			HasProgram: hasProgram, HostIP: s.hostIP, PodIPs: &s.podIPs, DialMachine: s.dialMachine(),
		}); err != nil {
			klog.ErrorS(err, "cannot run pods")
			return 1
		}
		if s.host != nil {
			s.host.VolumeDir = s.runner.VolumeDir
		}
		addresses := []string{}
		for i := range s.nodes {
			s.nodes[i].address = pods.KubeletAddress(*row, i)
			addresses = append(addresses, s.nodes[i].address)
		}
		if err := pods.ServeKubelets(ctx, s.runner, *pki, guest.Consoles(*kubeconfig), addresses); err != nil {
			klog.ErrorS(err, "cannot start the kubelets")
			return 1
		}
	}
	if err := s.join(ctx); err != nil {
		klog.ErrorS(err, "cannot create the nodes")
		return 1
	}
	if err := s.podIPs.Resume(ctx, s.client); err != nil {
		klog.ErrorS(err, "cannot list the pods")
		return 1
	}
	s.guests = guest.New(s.client, s.dynamic, &s.faults, *kubeconfig, *row, s.host)
	core := informers.NewSharedInformerFactory(s.client, 30*time.Second)
	custom := dynamicinformer.NewDynamicSharedInformerFactory(s.dynamic, 30*time.Second)
	s.followFaults(ctx, core)
	if s.runner != nil {
		s.runner.Follow(ctx, core)
	}
	disks := storage.New(storage.Config{
		Client: s.client, Dynamic: s.dynamic, Faults: &s.faults, Node: s.firstNode(), ImportTime: *importTime, DeleteData: s.deleteData,
	})
	disks.WatchVolumes(ctx, core, custom)
	controller.Start(ctx, core.Core().V1().Pods().Informer(), 8, s.reconcilePod)
	services := core.Core().V1().Services().Informer()
	controller.Start(ctx, services, 1, network.NewLoadBalancer(s.client, services.GetStore(), *row).Reconcile)
	core.Start(ctx.Done())
	core.WaitForCacheSync(ctx.Done())
	if *virt {
		machines := custom.ForResource(vmis).Informer()
		controller.Start(ctx, machines, 8, s.reconcileVMI)
		s.guests.Follow(ctx, machines)
	}
	disks.WatchSnapshots(ctx, custom)
	if *data {
		disks.WatchDataVolumes(ctx, custom)
	}
	custom.Start(ctx.Done())
	<-ctx.Done()
	return 0
}

// dialMachine returns nil if all machines are simulated.
func (s *simulator) dialMachine() network.Dial {
	if s.host == nil {
		return nil
	}
	return s.host.Dial
}

// followFaults updates the nodes whenever the faults change.
func (s *simulator) followFaults(ctx context.Context, core informers.SharedInformerFactory) {
	changed := make(chan struct{}, 1)
	s.faults.Follow(core.Core().V1().ConfigMaps().Informer(), func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	go func() {
		for {
			select {
			case <-changed:
				s.updateNodes(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (s *simulator) firstNode() string {
	if len(s.nodes) == 0 {
		return ""
	}
	return s.nodes[0].name
}

func (s *simulator) deleteData(volume string) error {
	if s.runner == nil {
		return nil
	}
	return os.RemoveAll(s.runner.VolumeDir(volume))
}
