package kubelet

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	auth "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	internal "k8s.io/kubernetes/pkg/kubelet/apis/config"
)

// authCache holds the CA of client certificates, and recent answers of the API server.
type authCache struct {
	lock  sync.Mutex
	roots *x509.CertPool
	known map[string]verdict
}

type verdict struct {
	user    auth.UserInfo
	allowed bool
	until   time.Time
}

// authorized authenticates and authorizes requests as configured for kubelet.
func (s *kubeletServer) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := s.caller(r)
		if err != nil {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		if err := s.permit(r, user); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *kubeletServer) caller(r *http.Request) (*auth.UserInfo, error) {
	config := s.node.Config.Authentication
	roots := s.authCache.authorities()
	if roots != nil && len(r.TLS.PeerCertificates) > 0 {
		leaf := r.TLS.PeerCertificates[0]
		_, err := leaf.Verify(x509.VerifyOptions{
			Roots: roots, CurrentTime: s.node.machine.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		})
		if err == nil {
			return &auth.UserInfo{Username: leaf.Subject.CommonName, Groups: append(leaf.Subject.Organization, "system:authenticated")}, nil
		}
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if ok && config.Webhook.Enabled {
		return s.review(r, token)
	}
	if config.Anonymous.Enabled && !ok {
		return &auth.UserInfo{Username: "system:anonymous", Groups: []string{"system:unauthenticated"}}, nil
	}
	return nil, errors.New("unknown client")
}

func (s *kubeletServer) review(r *http.Request, token string) (*auth.UserInfo, error) {
	key := fmt.Sprintf("token %x", sha256.Sum256([]byte(token)))
	if known, ok := s.authCache.find(key); ok {
		return &known.user, nil
	}
	made, err := s.node.client.AuthenticationV1().TokenReviews().Create(r.Context(), &auth.TokenReview{Spec: auth.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	if !made.Status.Authenticated {
		return nil, fmt.Errorf("token not authenticated")
	}
	s.authCache.keep(key, verdict{user: made.Status.User}, s.node.Config.Authentication.Webhook.CacheTTL.Duration)
	return &made.Status.User, nil
}

// permit checks access to the subresource of the node that a path belongs to.
func (s *kubeletServer) permit(r *http.Request, user *auth.UserInfo) error {
	if s.node.Config.Authorization.Mode != internal.KubeletAuthorizationModeWebhook {
		return nil
	}
	verb := map[string]string{"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[r.Method]
	var parts []string
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch first {
	case "metrics", "stats", "checkpoint":
		parts = []string{first}
	case "logs":
		parts = []string{"log"}
	case "pods", "healthz", "configz":
		parts = []string{first, "proxy"}
	default:
		parts = []string{"proxy"}
	}
	for _, part := range parts {
		if allowed, err := s.access(r, user, verb, part); err != nil || allowed {
			return err
		}
	}
	return fmt.Errorf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)", user.Username, verb, parts)
}

func (s *kubeletServer) access(r *http.Request, user *auth.UserInfo, verb, part string) (bool, error) {
	key := strings.Join(append([]string{"access", user.Username, verb, part}, user.Groups...), " ")
	if known, ok := s.authCache.find(key); ok {
		return known.allowed, nil
	}
	made, err := s.node.client.AuthorizationV1().SubjectAccessReviews().Create(r.Context(), &authorization.SubjectAccessReview{
		Spec: authorization.SubjectAccessReviewSpec{
			User: user.Username, Groups: user.Groups, UID: user.UID,
			ResourceAttributes: &authorization.ResourceAttributes{Verb: verb, Version: "v1", Resource: "nodes", Subresource: part, Name: s.node.name},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	life := s.node.Config.Authorization.Webhook.CacheUnauthorizedTTL.Duration
	if made.Status.Allowed {
		life = s.node.Config.Authorization.Webhook.CacheAuthorizedTTL.Duration
	}
	s.authCache.keep(key, verdict{allowed: made.Status.Allowed}, life)
	return made.Status.Allowed, nil
}

func (c *authCache) authorities() *x509.CertPool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.roots
}

// readAuthorities reads the CA of clients from the machine's disk.
func (s *kubeletServer) readAuthorities() error {
	path := s.node.Config.Authentication.X509.ClientCAFile
	if path == "" {
		return nil
	}
	pem, err := s.node.machine.ReadFile(path)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("unable to load client CA file %s: no certificates", path)
	}
	s.authCache.lock.Lock()
	defer s.authCache.lock.Unlock()
	s.authCache.roots = roots
	return nil
}

func (c *authCache) find(key string) (verdict, bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	known, ok := c.known[key]
	return known, ok && time.Now().Before(known.until)
}

func (c *authCache) keep(key string, known verdict, life time.Duration) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.known == nil {
		c.known = map[string]verdict{}
	}
	known.until = time.Now().Add(life)
	c.known[key] = known
}
