// Package apply has what virt-controller uses of virt-operator's package of this name.
package apply

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sv1 "kubevirt.io/api/core/v1"
)

// GetCertDuration returns the validity of a certificate that KubeVirt signs itself.
func GetCertDuration(config *k8sv1.KubeVirtSelfSignConfiguration) *metav1.Duration {
	defaultDuration := &metav1.Duration{Duration: 24 * time.Hour}

	if config == nil {
		return defaultDuration
	}

	// deprecated, but takes priority to provide a smooth upgrade path
	if config.CertRotateInterval != nil {
		return config.CertRotateInterval
	}
	if config.Server != nil && config.Server.Duration != nil {
		return config.Server.Duration
	}

	return defaultDuration
}

// GetCertRenewBefore returns how long before its end such a certificate is renewed.
func GetCertRenewBefore(config *k8sv1.KubeVirtSelfSignConfiguration) *metav1.Duration {
	certDuration := GetCertDuration(config)
	defaultDuration := &metav1.Duration{Duration: time.Duration(float64(certDuration.Duration) * 0.2)}

	if config == nil {
		return defaultDuration
	}

	if config.Server != nil && config.Server.RenewBefore != nil {
		return config.Server.RenewBefore
	}

	return defaultDuration
}
