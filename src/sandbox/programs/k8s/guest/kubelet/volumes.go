package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	auth "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// token requests a token of the pod's ServiceAccount, and returns when to renew it.
func (n *Node) token(ctx context.Context, pod *v1.Pod, audience string, seconds *int64) (string, time.Time, error) {
	request := &auth.TokenRequest{Spec: auth.TokenRequestSpec{
		ExpirationSeconds: seconds,
		BoundObjectRef:    &auth.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	made, err := n.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", time.Time{}, err
	}
	life := time.Until(made.Status.ExpirationTimestamp.Time)
	return made.Status.Token, time.Now().Add(life * 8 / 10), nil
}

// writeMounts writes the files of a container's volumes below the returned folder, and returns
// when tokens have to be renewed.
func (p *podManager) writeMounts(ctx context.Context, pod *v1.Pod, container *v1.Container) (folder string, again time.Time, err error) {
	folder = filepath.Join(p.node.machine.Root, "var/lib/kubelet/pods", string(pod.UID), container.Name)
	volumes := map[string]v1.Volume{}
	for _, volume := range pod.Spec.Volumes {
		volumes[volume.Name] = volume
	}
	again = time.Now().Add(time.Minute)
	for _, mount := range container.VolumeMounts {
		files, due, err := p.volumeFiles(ctx, pod, volumes[mount.Name])
		if err != nil {
			return "", again, err
		}
		if !due.IsZero() && due.Before(again) {
			again = due
		}
		for name, data := range files {
			path := filepath.Join(folder, filepath.Clean("/"+mount.MountPath), filepath.Clean("/"+name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path)); err != nil {
				return "", again, err
			}
		}
	}
	return folder, again, nil
}

// volumeFiles returns the files of a volume.
func (p *podManager) volumeFiles(ctx context.Context, pod *v1.Pod, volume v1.Volume) (map[string][]byte, time.Time, error) {
	files, due := map[string][]byte{}, time.Time{}
	var sources []v1.VolumeProjection
	switch {
	case volume.Projected != nil:
		sources = volume.Projected.Sources
	case volume.Secret != nil:
		sources = []v1.VolumeProjection{{Secret: &v1.SecretProjection{
			LocalObjectReference: v1.LocalObjectReference{Name: volume.Secret.SecretName}, Items: volume.Secret.Items, Optional: volume.Secret.Optional,
		}}}
	case volume.ConfigMap != nil:
		sources = []v1.VolumeProjection{{ConfigMap: &v1.ConfigMapProjection{
			LocalObjectReference: volume.ConfigMap.LocalObjectReference, Items: volume.ConfigMap.Items, Optional: volume.ConfigMap.Optional,
		}}}
	}
	for _, source := range sources {
		switch {
		case source.ServiceAccountToken != nil:
			token, next, err := p.node.token(ctx, pod, source.ServiceAccountToken.Audience, source.ServiceAccountToken.ExpirationSeconds)
			if err != nil {
				return nil, due, err
			}
			files[source.ServiceAccountToken.Path], due = []byte(token), next
		case source.Secret != nil:
			secret, err := p.node.client.CoreV1().Secrets(pod.Namespace).Get(ctx, source.Secret.Name, metav1.GetOptions{})
			if err == nil {
				err = selectKeys(files, secret.Data, source.Secret.Items)
			}
			if err != nil && !ptr.Deref(source.Secret.Optional, false) {
				return nil, due, err
			}
		case source.ConfigMap != nil:
			config, err := p.node.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, source.ConfigMap.Name, metav1.GetOptions{})
			if err == nil {
				data := map[string][]byte{}
				for key, value := range config.Data {
					data[key] = []byte(value)
				}
				err = selectKeys(files, data, source.ConfigMap.Items)
			}
			if err != nil && !ptr.Deref(source.ConfigMap.Optional, false) {
				return nil, due, err
			}
		}
	}
	return files, due, nil
}

func selectKeys(files, data map[string][]byte, items []v1.KeyToPath) error {
	if items == nil {
		for key, value := range data {
			files[key] = value
		}
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			return fmt.Errorf("references non-existent config key: %s", item.Key)
		}
		files[item.Path] = value
	}
	return nil
}

// arguments returns a container's arguments, with variables expanded and mount paths replaced by
// those below the folder.
func arguments(pod *v1.Pod, container *v1.Container, folder, host, ip string) []string {
	fields := map[string]string{
		"spec.nodeName": pod.Spec.NodeName, "status.hostIP": host, "status.podIP": ip, "metadata.name": pod.Name,
		"metadata.namespace": pod.Namespace, "metadata.uid": string(pod.UID), "spec.serviceAccountName": pod.Spec.ServiceAccountName,
	}
	var pairs []string
	for _, env := range container.Env {
		value := env.Value
		if env.ValueFrom != nil && env.ValueFrom.FieldRef != nil {
			value = fields[env.ValueFrom.FieldRef.FieldPath]
		}
		pairs = append(pairs, "$("+env.Name+")", value)
	}
	for _, mount := range container.VolumeMounts {
		pairs = append(pairs, "="+mount.MountPath, "="+filepath.Join(folder, mount.MountPath))
	}
	words := container.Args
	if len(container.Command) > 0 {
		words = append(append([]string{}, container.Command[1:]...), container.Args...)
	}
	out := make([]string, 0, len(words))
	replacer := strings.NewReplacer(pairs...)
	for _, word := range words {
		out = append(out, replacer.Replace(word))
	}
	return out
}
