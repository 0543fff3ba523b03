package main

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// simulator plays the parts of a cluster that need machines: kubelets,
// virt-handler, a storage provisioner with snapshots, a load balancer and, if wanted, CDI.
type simulator struct {
	kube        kubernetes.Interface
	dynamic     dynamic.Interface
	nodes       []infraNode
	faults      faults
	ips         atomic.Uint32
	services    cache.Store
	balancers   map[string]types.UID
	claims      cache.Store
	classes     cache.Store
	dataVolumes cache.Store
	snapshots   cache.Store
	// Of snapshots.
	snapshotClasses cache.Store
	importTime      time.Duration
	runner          *runner
	row             int
	// When each import began, by the DataVolume's UID.
	imports sync.Map
}

func simulatorMain() int {
	set := flag.NewFlagSet("simulator", flag.ExitOnError)
	kubeconfig := set.String("kubeconfig", "", "client configuration")
	nodes := set.Int("nodes", 0, "infrastructure nodes to create and keep alive")
	zones := set.String("zones", "zone-a,zone-b,zone-c", "zones that the nodes are spread over")
	bare := set.Int("bare", 0, "further nodes without region and zone")
	virt := set.Bool("virt", false, "play virt-handler")
	data := set.Bool("data", false, "play CDI: DataVolumes are imported and cloned")
	importTime := set.Duration("import-time", time.Second, "how long an import takes")
	podsDir := set.String("pods-dir", "", "folder to run pods of control planes in, as processes; none: they are simulated")
	logs := set.String("logs", "", "folder for the logs of those processes")
	row := set.Int("row", 0, "which loopback addresses are taken, from 0 to 31")
	pki := set.String("pki", "", "folder with the certificates that the kubelets serve with")
	apiPort := set.String("api-port", "6443", "port of the API server")
	kvshoot := set.String("kvshoot", "", "the program kvshoot, for pods that run it")
	_ = set.Parse(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		klog.ErrorS(err, "no configuration")
		return 1
	}
	config.QPS = -1
	s := &simulator{
		kube: kubernetes.NewForConfigOrDie(config), dynamic: dynamic.NewForConfigOrDie(config),
		nodes: fleet(*nodes, strings.Split(*zones, ","), *bare), balancers: map[string]types.UID{}, importTime: *importTime, row: *row,
	}
	if *podsDir != "" {
		if s.runner, err = newRunner(ctx, s, *podsDir, *logs, *row, *apiPort, *kvshoot); err != nil {
			klog.ErrorS(err, "cannot run pods")
			return 1
		}
		addresses := []string{}
		for i := range s.nodes {
			s.nodes[i].address = kubeletAddress(s.row, i)
			addresses = append(addresses, s.nodes[i].address)
		}
		if err := serveKubelets(ctx, s.runner, *pki, addresses); err != nil {
			klog.ErrorS(err, "the kubelets cannot serve")
			return 1
		}
	}
	if err := s.join(ctx); err != nil {
		klog.ErrorS(err, "cannot create the nodes")
		return 1
	}
	if err := s.resume(ctx); err != nil {
		klog.ErrorS(err, "cannot read the pods")
		return 1
	}
	core := informers.NewSharedInformerFactory(s.kube, 30*time.Second)
	s.services = core.Core().V1().Services().Informer().GetStore()
	s.claims = core.Core().V1().PersistentVolumeClaims().Informer().GetStore()
	s.classes = core.Storage().V1().StorageClasses().Informer().GetStore()
	custom := dynamicinformer.NewDynamicSharedInformerFactory(s.dynamic, 30*time.Second)
	s.snapshots = custom.ForResource(volumeSnapshots).Informer().GetStore()
	s.snapshotClasses = custom.ForResource(snapshotClasses).Informer().GetStore()
	changed := make(chan struct{}, 1)
	s.faults.follow(core.Core().V1().ConfigMaps().Informer(), func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	go func() {
		for {
			select {
			case <-changed:
				s.refit(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
	if s.runner != nil {
		s.runner.follow(ctx, core)
	}
	watch(ctx, core.Core().V1().Pods().Informer(), 8, s.pod)
	watch(ctx, core.Core().V1().PersistentVolumeClaims().Informer(), 4, s.claim)
	watch(ctx, core.Core().V1().PersistentVolumes().Informer(), 4, s.volume)
	watch(ctx, core.Core().V1().Services().Informer(), 1, s.service)
	core.Start(ctx.Done())
	core.WaitForCacheSync(ctx.Done())
	if *virt {
		watch(ctx, custom.ForResource(vmis).Informer(), 8, s.vmi)
		newGuests(s, *kubeconfig).follow(ctx, custom.ForResource(vmis).Informer())
	}
	watch(ctx, custom.ForResource(volumeSnapshots).Informer(), 2, s.snapshot)
	if *data {
		s.dataVolumes = custom.ForResource(dvs).Informer().GetStore()
		watch(ctx, custom.ForResource(dvs).Informer(), 8, s.dataVolume)
	}
	custom.Start(ctx.Done())
	<-ctx.Done()
	return 0
}

// resume starts the addresses after those that pods have already.
func (s *simulator) resume(ctx context.Context) error {
	pods, err := s.kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		address, err := netip.ParseAddr(pod.Status.PodIP)
		if err != nil || !address.Is4() {
			continue
		}
		b := address.As4()
		if n := uint32(b[1]-64)<<16 | uint32(b[2])<<8 | uint32(b[3]); b[0] == 10 && b[1] >= 64 && n > s.ips.Load() {
			s.ips.Store(n)
		}
	}
	return nil
}

func (s *simulator) address() string {
	n := s.ips.Add(1)
	return fmt.Sprintf("10.%d.%d.%d", 64+n>>16&63, n>>8&255, n&255)
}
