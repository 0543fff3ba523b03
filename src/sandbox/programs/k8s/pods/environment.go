package pods

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/v1/resource"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// environment returns the environment of the container's process.
func (w *worker) environment(pod *v1.Pod, container *v1.Container) (map[string]string, error) {
	env := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", "HOSTNAME": pod.Name,
		clockVariable: clock, "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": w.r.APIPort, "KUBERNETES_SERVICE_PORT_HTTPS": w.r.APIPort,
	}
	for _, from := range container.EnvFrom {
		if err := w.imported(pod, from, env); err != nil {
			return nil, err
		}
	}
	for _, one := range container.Env {
		if one.ValueFrom == nil {
			env[one.Name] = expansion.Expand(one.Value, expansion.MappingFuncFor(env))
			continue
		}
		value, found, err := w.valueFrom(pod, container, one.ValueFrom)
		if err != nil {
			return nil, err
		}
		if found {
			env[one.Name] = value
		}
	}
	return env, nil
}

func (w *worker) imported(pod *v1.Pod, from v1.EnvFromSource, env map[string]string) error {
	if ref := from.ConfigMapRef; ref != nil {
		config, err := w.r.configMap(pod.Namespace, ref.Name)
		if err != nil && !isTrue(ref.Optional) {
			return err
		}
		if err == nil {
			for key, value := range config.Data {
				env[from.Prefix+key] = value
			}
		}
	}
	if ref := from.SecretRef; ref != nil {
		secret, err := w.r.secret(pod.Namespace, ref.Name)
		if err != nil && !isTrue(ref.Optional) {
			return err
		}
		if err == nil {
			for key, value := range secret.Data {
				env[from.Prefix+key] = string(value)
			}
		}
	}
	return nil
}

func (w *worker) valueFrom(pod *v1.Pod, container *v1.Container, from *v1.EnvVarSource) (string, bool, error) {
	switch {
	case from.FieldRef != nil:
		value, err := w.field(pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err := resource.ExtractContainerResourceValue(from.ResourceFieldRef, container)
		return value, true, err
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		secret, err := w.r.secret(pod.Namespace, ref.Name)
		if err != nil {
			return "", false, unlessOptional(ref.Optional, err)
		}
		value, found := secret.Data[ref.Key]
		if !found {
			err = fmt.Errorf("couldn't find key %v in Secret %v/%v", ref.Key, pod.Namespace, ref.Name)
		}
		return string(value), found, unlessOptional(ref.Optional, err)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		config, err := w.r.configMap(pod.Namespace, ref.Name)
		if err != nil {
			return "", false, unlessOptional(ref.Optional, err)
		}
		value, found := config.Data[ref.Key]
		if !found {
			err = fmt.Errorf("couldn't find key %v in ConfigMap %v/%v", ref.Key, pod.Namespace, ref.Name)
		}
		return value, found, unlessOptional(ref.Optional, err)
	}
	return "", false, nil
}

// field returns a value of the downward API. As the pod's IP it returns the address that the
// processes can listen on, which is not the one in the pod's status.
func (w *worker) field(pod *v1.Pod, name string) (string, error) {
	switch name {
	case "status.podIP", "status.podIPs":
		return w.address, nil
	case "status.hostIP", "status.hostIPs":
		return pod.Status.HostIP, nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	}
	return fieldpath.ExtractFieldPathAsString(pod, name)
}

func isTrue(value *bool) bool {
	return value != nil && *value
}

func unlessOptional(optional *bool, err error) error {
	if isTrue(optional) {
		return nil
	}
	return err
}
