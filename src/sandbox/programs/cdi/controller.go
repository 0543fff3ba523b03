package main

import (
	"crypto/rsa"
	"fmt"
	"os"
	"path/filepath"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	ocpconfigv1 "github.com/openshift/api/config/v1"
	imagev1 "github.com/openshift/api/image/v1"
	routev1 "github.com/openshift/api/route/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	forklift "kubevirt.io/containerized-data-importer-api/pkg/apis/forklift/v1beta1"
	"kubevirt.io/containerized-data-importer/pkg/common"
	"kubevirt.io/containerized-data-importer/pkg/controller"
	dvc "kubevirt.io/containerized-data-importer/pkg/controller/datavolume"
	"kubevirt.io/containerized-data-importer/pkg/controller/populators"
	"kubevirt.io/containerized-data-importer/pkg/util/cert"
	"kubevirt.io/containerized-data-importer/pkg/util/cert/fetcher"
	"kubevirt.io/containerized-data-importer/pkg/util/cert/generator"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	namespace = "cdi"
	image     = "registry.invalid/cdi"
	pull      = "IfNotPresent"
)

// controllerMain runs the controllers for DataVolumes with http, registry, upload and clone
// sources.
func controllerMain(args []string) error {
	o := parse(args)
	config, err := o.config(100)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, cdiv1.AddToScheme, extv1.AddToScheme, snapshotv1.AddToScheme,
		forklift.AddToScheme, imagev1.Install, ocpconfigv1.Install, routev1.Install,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	address := "0"
	if o.port != 0 {
		address = fmt.Sprintf("127.0.0.1:%d", o.port)
	}
	mgr, err := manager.New(config, manager.Options{Scheme: scheme, Metrics: server.Options{BindAddress: address}})
	if err != nil {
		return err
	}
	public, private, err := o.token()
	if err != nil {
		return err
	}
	files := &fetcher.FileCertFetcher{KeyFileName: filepath.Join(o.certs, "tls.key"), CertFileName: filepath.Join(o.certs, "tls.crt")}
	certs := &generator.FetchCertGenerator{Fetcher: files}
	bundle := func(name string) *fetcher.ConfigMapCertBundleFetcher {
		return &fetcher.ConfigMapCertBundleFetcher{Name: name, Client: client.CoreV1().ConfigMaps(namespace)}
	}
	labels := map[string]string{}
	log := logf.Log.WithName("controller")
	ctx := signals.SetupSignalHandler()
	for _, step := range []func() error{
		func() error {
			return second(controller.NewConfigController(mgr, log, "cdi-uploadproxy", common.ConfigName, labels))
		},
		func() error { return second(controller.NewStorageProfileController(mgr, log, labels)) },
		func() error { return dvc.CreateCommonIndexes(mgr) },
		func() error { return second(dvc.NewImportController(ctx, mgr, log, labels)) },
		func() error { return second(dvc.NewUploadController(ctx, mgr, log, labels)) },
		func() error {
			return second(dvc.NewPvcCloneController(ctx, mgr, log, image, image, pull, public, private, labels))
		},
		func() error {
			return second(dvc.NewSnapshotCloneController(ctx, mgr, log, image, image, pull, public, private, labels))
		},
		func() error { return second(dvc.NewPopulatorController(ctx, mgr, log, labels)) },
		func() error { return second(controller.NewImportController(mgr, log, image, pull, "1", labels)) },
		func() error {
			return second(controller.NewCloneController(mgr, log, image, pull, "1", certs, bundle("cdi-uploadserver-signer-bundle"), public, labels))
		},
		func() error {
			return second(controller.NewUploadController(mgr, log, image, pull, "1", certs, bundle("cdi-uploadserver-client-signer-bundle"), labels))
		},
		func() error { return second(controller.NewDataSourceController(mgr, log, labels)) },
		func() error { return populators.CreateCommonPopulatorIndexes(mgr) },
		func() error { return second(populators.NewImportPopulator(ctx, mgr, log, labels)) },
		func() error { return second(populators.NewUploadPopulator(ctx, mgr, log, labels)) },
		func() error { return second(populators.NewClonePopulator(ctx, mgr, log, image, pull, labels, public)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}

func second[T any](_ T, err error) error { return err }

// token reads the key pair that signs clone tokens.
func (o options) token() (*rsa.PublicKey, *rsa.PrivateKey, error) {
	text, err := os.ReadFile(filepath.Join(o.certs, "id_rsa.pub"))
	if err != nil {
		return nil, nil, err
	}
	public, err := controller.DecodePublicKey(text)
	if err != nil {
		return nil, nil, err
	}
	if text, err = os.ReadFile(filepath.Join(o.certs, "id_rsa")); err != nil {
		return nil, nil, err
	}
	key, err := cert.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, nil, err
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, nil, fmt.Errorf("id_rsa is a %T", key)
	}
	return public, private, nil
}
