//! Rotation of roots and keys, while clients use the shoot.

use crate::support::provider::Provider;
use crate::support::shoot_api::shoot_client;
use crate::support::shoots::Manifest;
use kube::Client;
use serde_json::{Value, json};

const NAME: &str = "turns";
const TOKENS: &str = "/api/v1/namespaces/default/serviceaccounts/default/token";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

struct Shoot<'a> {
    provider: &'a Provider,
    client: Client,
}

impl Shoot<'_> {
    fn post(&self, path: &str, object: &Value) -> Option<Value> {
        let body = serde_json::to_vec(object).unwrap();
        let request = http::Request::post(path).header("Content-Type", "application/json");
        let request = request.body(body).unwrap();
        let answer = self.client.request::<Value>(request);
        self.provider.block_on(answer).ok()
    }

    /// A new token of a service account.
    fn token(&self) -> String {
        let mut token = None;
        let request =
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
        self.provider.wait_for("a token", |_| {
            let answer = self.post(TOKENS, &request);
            token = answer.and_then(|it| Some(it["status"]["token"].as_str()?.to_owned()));
            token.is_some()
        });
        token.unwrap()
    }

    /// Whether the API server accepts a token; None while the only one is being replaced.
    fn accepts(&self, token: &str) -> Option<bool> {
        let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token } });
        let answer = self.post(REVIEWS, &review)?;
        Some(answer["status"]["authenticated"] == true)
    }

    fn wait_until_rejected(&self, token: &str) {
        self.provider.wait_for("the token to be rejected", |_| {
            self.accepts(token) == Some(false)
        });
    }

    /// The first response about a token.
    fn assert_accepted(&self, token: &str) {
        let mut accepted = None;
        self.provider.wait_for("a response", |_| {
            accepted = self.accepts(token);
            accepted.is_some()
        });
        assert_eq!(accepted, Some(true));
    }

    /// Number of keys that other programs verify tokens with; None while the only API server is being replaced.
    fn published_keys(&self) -> Option<usize> {
        let request = http::Request::get("/openid/v1/jwks").body(Vec::new());
        let answer = self.client.request::<Value>(request.unwrap());
        let answer = self.provider.block_on(answer).ok()?;
        Some(answer["keys"].as_array()?.len())
    }

    fn wait_for_keys(&self, number: usize) {
        let what = format!("{number} published keys");
        self.provider
            .wait_for(&what, |_| self.published_keys() == Some(number));
    }
}

#[test]
#[ignore = "second tier: each step replaces the API server; unit tests of rotations have the steps, what is trusted in each, and the restart of system pods"]
fn tokens_of_the_old_key_work_until_the_rotation_is_complete() {
    let provider = Provider::new();
    let kvshoot = provider.kvshoot();
    provider.assert_applied(&Manifest::small(NAME), "created");
    let shoot = Shoot {
        provider: &provider,
        client: shoot_client(&provider, NAME),
    };
    let old = shoot.token();
    shoot.wait_for_keys(1);
    let line = format!("rotate {NAME} service-account-key");

    let early = kvshoot.run(&format!("{line} --complete --yes"));
    assert!(
        early
            .err
            .contains("no rotation of service-account-key was started"),
        "{early}"
    );
    assert_ne!(early.code, 0, "{early}");

    let started = kvshoot.run(&format!("{line} --start"));
    assert_eq!(started.code, 0, "{started}");
    assert!(started.out.contains("Prepared since"), "{started}");
    // An API server of before answers until it has ended.
    shoot.wait_for_keys(2);
    shoot.assert_accepted(&old);
    let new = shoot.token();
    shoot.assert_accepted(&new);
    provider.assert_unchanged(&Manifest::small(NAME));
    let again = kvshoot.run(&format!("{line} --start"));
    assert_eq!(again.out, started.out, "{again}");

    let completed = kvshoot.run(&format!("{line} --complete --yes"));
    assert_eq!(completed.code, 0, "{completed}");
    assert!(completed.out.contains("Completed since"), "{completed}");
    shoot.wait_until_rejected(&old);
    shoot.assert_accepted(&new);
    shoot.wait_for_keys(1);
    provider.assert_unchanged(&Manifest::small(NAME));
    provider.assert_deleted(NAME);
}

#[test]
#[ignore = "second tier: each step replaces the API server; unit tests of rotations have the steps and the contents of Secrets"]
fn all_secrets_are_readable_after_the_encryption_key_is_gone() {
    const NAME: &str = "sealed";
    let provider = Provider::new();
    let kvshoot = provider.kvshoot();
    provider.assert_applied(&Manifest::small(NAME), "created");
    let shoot = Shoot {
        provider: &provider,
        client: shoot_client(&provider, NAME),
    };
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "old" }, "stringData": { "a": "b" },
    });
    provider.wait_for("a Secret", |_| {
        shoot
            .post("/api/v1/namespaces/default/secrets", &secret)
            .is_some()
    });
    for phase in ["--start", "--complete --yes"] {
        let output = kvshoot.run(&format!("rotate {NAME} encryption-key {phase}"));
        assert_eq!(output.code, 0, "{output}");
        assert!(
            output.out.contains("stored objects written again"),
            "{output}"
        );
    }
    // An API server of before may end in the middle of a response.
    let mut names = Vec::new();
    provider.wait_for("all Secrets", |_| {
        let all = http::Request::get("/api/v1/secrets").body(Vec::new());
        let all = shoot.client.request::<Value>(all.unwrap());
        let Ok(all) = provider.block_on(all) else {
            return false;
        };
        let items = all["items"].as_array().unwrap().iter();
        names = items.map(|it| it["metadata"]["name"].clone()).collect();
        true
    });
    assert!(names.contains(&json!("old")), "{names:?}");
    provider.assert_deleted(NAME);
}
