package pods

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

// mark is the suffix of a file that contains the name of the persistent volume next to it.
const mark = ".persistent"

type payload map[string]volumeutil.FileProjection

// token is a service account token and its validity.
type token struct {
	text           string
	issued, expiry time.Time
}

// stale reports whether to request a new token: as in kubelet, with a fifth of its lifetime
// left, or after a day.
func (t token) stale() bool {
	life := t.expiry.Sub(t.issued)
	return time.Since(t.issued) > min(life*4/5, 24*time.Hour)
}

// setUp brings all volumes up to date with the pod and the objects that it refers to.
func (w *worker) setUp(ctx context.Context, pod *v1.Pod) error {
	if err := os.MkdirAll(filepath.Dir(w.volumeDir("x")), 0o755); err != nil {
		return err
	}
	var failures []error
	for _, volume := range pod.Spec.Volumes {
		if err := w.setUpOne(ctx, pod, &volume); err != nil {
			failures = append(failures, fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume.Name, err))
		}
	}
	return errors.Join(failures...)
}

func (w *worker) setUpOne(ctx context.Context, pod *v1.Pod, volume *v1.Volume) error {
	dir := w.volumeDir(volume.Name)
	switch {
	case volume.PersistentVolumeClaim != nil:
		return w.attach(pod, volume.PersistentVolumeClaim.ClaimName, dir)
	case volume.EmptyDir != nil:
		return os.MkdirAll(dir, 0o777)
	}
	files, err := w.files(ctx, pod, volume)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	writer, err := volumeutil.NewAtomicWriter(dir, w.name)
	if err != nil {
		return err
	}
	return writer.Write(files, nil)
}

func (w *worker) files(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (payload, error) {
	switch {
	case volume.Secret != nil:
		source := volume.Secret
		return w.secretFiles(pod, source.SecretName, source.Items, source.DefaultMode, isTrue(source.Optional))
	case volume.ConfigMap != nil:
		source := volume.ConfigMap
		return w.configMapFiles(pod, source.Name, source.Items, source.DefaultMode, isTrue(source.Optional))
	case volume.DownwardAPI != nil:
		return w.downwardFiles(pod, volume.DownwardAPI.Items, volume.DownwardAPI.DefaultMode)
	case volume.Projected != nil:
		return w.projectedFiles(ctx, pod, volume)
	}
	return nil, errors.New("volumes of this kind are not supported in the sandbox")
}

func (w *worker) projectedFiles(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (payload, error) {
	mode := volume.Projected.DefaultMode
	all := payload{}
	for _, source := range volume.Projected.Sources {
		var files payload
		var err error
		switch {
		case source.Secret != nil:
			files, err = w.secretFiles(pod, source.Secret.Name, source.Secret.Items, mode, isTrue(source.Secret.Optional))
		case source.ConfigMap != nil:
			files, err = w.configMapFiles(pod, source.ConfigMap.Name, source.ConfigMap.Items, mode, isTrue(source.ConfigMap.Optional))
		case source.DownwardAPI != nil:
			files, err = w.downwardFiles(pod, source.DownwardAPI.Items, mode)
		case source.ServiceAccountToken != nil:
			var text string
			text, err = w.token(ctx, pod, volume.Name, source.ServiceAccountToken)
			files = payload{source.ServiceAccountToken.Path: {Data: []byte(text), Mode: *mode}}
		default:
			err = errors.New("projected volumes of this kind are not supported in the sandbox")
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

func (w *worker) secretFiles(pod *v1.Pod, name string, items []v1.KeyToPath, mode *int32, optional bool) (payload, error) {
	found, err := w.r.secret(pod.Namespace, name)
	if apierrors.IsNotFound(err) && optional {
		return payload{}, nil
	}
	if err != nil {
		return nil, err
	}
	return secret.MakePayload(items, found, mode, optional)
}

func (w *worker) configMapFiles(pod *v1.Pod, name string, items []v1.KeyToPath, mode *int32, optional bool) (payload, error) {
	found, err := w.r.configMap(pod.Namespace, name)
	if apierrors.IsNotFound(err) && optional {
		return payload{}, nil
	}
	if err != nil {
		return nil, err
	}
	return configmap.MakePayload(items, found, mode, optional)
}

func (w *worker) downwardFiles(pod *v1.Pod, items []v1.DownwardAPIVolumeFile, mode *int32) (payload, error) {
	files := payload{}
	for _, item := range items {
		file := volumeutil.FileProjection{Mode: *mode}
		if item.Mode != nil {
			file.Mode = *item.Mode
		}
		var text string
		var err error
		if item.FieldRef != nil {
			text, err = w.field(pod, item.FieldRef.FieldPath)
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

// token returns a token that is bound to the pod, and requests a new one when it is stale.
func (w *worker) token(ctx context.Context, pod *v1.Pod, volume string, source *v1.ServiceAccountTokenProjection) (string, error) {
	key := volume + "/" + source.Path
	if old, found := w.tokens[key]; found && !old.stale() {
		return old.text, nil
	}
	request := &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{
		ExpirationSeconds: source.ExpirationSeconds,
		BoundObjectRef:    &authv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	made, err := w.r.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("failed to fetch token: %w", err)
	}
	w.tokens[key] = token{made.Status.Token, time.Now(), made.Status.ExpirationTimestamp.Time}
	return made.Status.Token, nil
}

// attach moves the volume's folder into the pod's. A volume is attached to one pod at a time.
func (w *worker) attach(pod *v1.Pod, claim, dir string) error {
	object, found, err := w.r.claims.GetByKey(pod.Namespace + "/" + claim)
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
	if w.attached[name] == dir {
		return nil
	}
	if !w.r.attach(name, w) {
		return fmt.Errorf("volume %s is attached to another pod", name)
	}
	// Where to move the folder back if the sandbox ends before the pod.
	if err := os.WriteFile(dir+mark, []byte(name), 0o600); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(w.r.volumes, name), dir)
	if errors.Is(err, os.ErrNotExist) {
		err = os.Mkdir(dir, 0o777)
	}
	if err == nil {
		w.attached[name] = dir
	}
	return err
}

// detach moves the folders of persistent volumes back out of the pod's.
func (w *worker) detach() {
	for name, dir := range w.attached {
		_ = os.Rename(dir, filepath.Join(w.r.volumes, name))
		w.r.detach(name, w)
	}
	w.attached = map[string]string{}
}

// recover moves volumes out of the pods of an earlier run, and removes the pods' folders.
func (r *Runner) recover() error {
	for _, dir := range []string{r.roots, r.volumes, r.Logs} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(r.roots)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		pod := filepath.Join(r.roots, entry.Name())
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
