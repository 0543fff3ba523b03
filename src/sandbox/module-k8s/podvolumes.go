package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/v1/resource"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/secret"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
)

// mark ends the name of a file that names the persistent volume beside it.
const mark = ".persistent"

type payload map[string]volumeutil.FileProjection

// token is a service account's token as it was handed out.
type token struct {
	text           string
	issued, expiry time.Time
}

// stale tells whether it is time for another: as kubelet has it, when a fifth of
// its life is left, or after a day.
func (t token) stale() bool {
	life := t.expiry.Sub(t.issued)
	return time.Since(t.issued) > min(life*4/5, 24*time.Hour)
}

// setUp makes all volumes as the pod and what it refers to say now; what is as it
// was is not touched.
func (p *podRun) setUp(ctx context.Context, pod *v1.Pod) error {
	if err := os.MkdirAll(filepath.Dir(p.volumeDir("x")), 0o755); err != nil {
		return err
	}
	var failures []error
	for _, volume := range pod.Spec.Volumes {
		if err := p.setUpOne(ctx, pod, &volume); err != nil {
			failures = append(failures, fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume.Name, err))
		}
	}
	return errors.Join(failures...)
}

func (p *podRun) setUpOne(ctx context.Context, pod *v1.Pod, volume *v1.Volume) error {
	dir := p.volumeDir(volume.Name)
	switch {
	case volume.PersistentVolumeClaim != nil:
		return p.attach(pod, volume.PersistentVolumeClaim.ClaimName, dir)
	case volume.EmptyDir != nil:
		return os.MkdirAll(dir, 0o777)
	}
	files, err := p.files(ctx, pod, volume)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	writer, err := volumeutil.NewAtomicWriter(dir, p.name)
	if err != nil {
		return err
	}
	return writer.Write(files, nil)
}

func (p *podRun) files(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (payload, error) {
	switch {
	case volume.Secret != nil:
		source := volume.Secret
		return p.secretFiles(pod, source.SecretName, source.Items, source.DefaultMode, yes(source.Optional))
	case volume.ConfigMap != nil:
		source := volume.ConfigMap
		return p.configMapFiles(pod, source.Name, source.Items, source.DefaultMode, yes(source.Optional))
	case volume.DownwardAPI != nil:
		return p.downwardFiles(pod, volume.DownwardAPI.Items, volume.DownwardAPI.DefaultMode)
	case volume.Projected != nil:
		return p.projectedFiles(ctx, pod, volume)
	}
	return nil, errors.New("the sandbox has no volumes of this kind")
}

func (p *podRun) projectedFiles(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (payload, error) {
	mode := volume.Projected.DefaultMode
	all := payload{}
	for _, source := range volume.Projected.Sources {
		var files payload
		var err error
		switch {
		case source.Secret != nil:
			files, err = p.secretFiles(pod, source.Secret.Name, source.Secret.Items, mode, yes(source.Secret.Optional))
		case source.ConfigMap != nil:
			files, err = p.configMapFiles(pod, source.ConfigMap.Name, source.ConfigMap.Items, mode, yes(source.ConfigMap.Optional))
		case source.DownwardAPI != nil:
			files, err = p.downwardFiles(pod, source.DownwardAPI.Items, mode)
		case source.ServiceAccountToken != nil:
			var text string
			text, err = p.token(ctx, pod, volume.Name, source.ServiceAccountToken)
			files = payload{source.ServiceAccountToken.Path: {Data: []byte(text), Mode: *mode}}
		default:
			err = errors.New("the sandbox has no projected volumes of this kind")
		}
		if err != nil {
			return nil, err
		}
		for name, file := range files {
			all[name] = file
		}
	}
	return all, nil
}

func (p *podRun) secretFiles(pod *v1.Pod, name string, items []v1.KeyToPath, mode *int32, optional bool) (payload, error) {
	found, err := p.r.secret(pod.Namespace, name)
	if apierrors.IsNotFound(err) && optional {
		return payload{}, nil
	}
	if err != nil {
		return nil, err
	}
	return secret.MakePayload(items, found, mode, optional)
}

func (p *podRun) configMapFiles(pod *v1.Pod, name string, items []v1.KeyToPath, mode *int32, optional bool) (payload, error) {
	found, err := p.r.configMap(pod.Namespace, name)
	if apierrors.IsNotFound(err) && optional {
		return payload{}, nil
	}
	if err != nil {
		return nil, err
	}
	return configmap.MakePayload(items, found, mode, optional)
}

func (p *podRun) downwardFiles(pod *v1.Pod, items []v1.DownwardAPIVolumeFile, mode *int32) (payload, error) {
	files := payload{}
	for _, item := range items {
		file := volumeutil.FileProjection{Mode: *mode}
		if item.Mode != nil {
			file.Mode = *item.Mode
		}
		var text string
		var err error
		if item.FieldRef != nil {
			text, err = p.field(pod, item.FieldRef.FieldPath)
		} else if item.ResourceFieldRef != nil {
			text, err = resource.ExtractResourceValueByContainerName(item.ResourceFieldRef, pod, item.ResourceFieldRef.ContainerName)
		}
		if err != nil {
			return nil, err
		}
		file.Data = []byte(text)
		files[item.Path] = file
	}
	return files, nil
}

// token asks for a token that is bound to the pod, and for another in good time.
func (p *podRun) token(ctx context.Context, pod *v1.Pod, volume string, source *v1.ServiceAccountTokenProjection) (string, error) {
	key := volume + "/" + source.Path
	if old, found := p.tokens[key]; found && !old.stale() {
		return old.text, nil
	}
	request := &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{
		ExpirationSeconds: source.ExpirationSeconds,
		BoundObjectRef:    &authv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	made, err := p.r.s.kube.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("failed to fetch token: %w", err)
	}
	p.tokens[key] = token{made.Status.Token, time.Now(), made.Status.ExpirationTimestamp.Time}
	return made.Status.Token, nil
}

// attach moves the volume's folder in among the pod's; one pod has it at a time.
func (p *podRun) attach(pod *v1.Pod, claim, dir string) error {
	object, found, err := p.r.s.claims.GetByKey(pod.Namespace + "/" + claim)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("persistentvolumeclaim %q not found", claim)
	}
	name := object.(*v1.PersistentVolumeClaim).Spec.VolumeName
	if name == "" {
		return fmt.Errorf("persistentvolumeclaim %q is not bound", claim)
	}
	if p.attached[name] == dir {
		return nil
	}
	if !p.r.hold(name, p) {
		return fmt.Errorf("volume %s is attached to another pod", name)
	}
	// Where it goes back to, should the sandbox end before the pod does.
	if err := os.WriteFile(dir+mark, []byte(name), 0o600); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(p.r.volumes, name), dir)
	if errors.Is(err, os.ErrNotExist) {
		err = os.Mkdir(dir, 0o777)
	}
	if err == nil {
		p.attached[name] = dir
	}
	return err
}

// detach moves the folders of persistent volumes back home.
func (p *podRun) detach() {
	for name, dir := range p.attached {
		_ = os.Rename(dir, filepath.Join(p.r.volumes, name))
		p.r.release(name, p)
	}
	p.attached = map[string]string{}
}

// recover brings home the folders of volumes from pods of an earlier run, and
// removes what else is left of those.
func (r *runner) recover() error {
	for _, dir := range []string{r.dir, r.volumes, r.logs} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		pod := filepath.Join(r.dir, entry.Name())
		innermost := filepath.Join(pod, "root")
		for exists(filepath.Join(innermost, inner)) {
			innermost = filepath.Join(innermost, inner)
		}
		marks, _ := filepath.Glob(filepath.Join(innermost, volumes, "*"+mark))
		for _, file := range marks {
			name, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			err = os.Rename(strings.TrimSuffix(file, mark), filepath.Join(r.volumes, string(name)))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		if err := os.RemoveAll(pod); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
