//! A shoot from the inside, by the kubeconfig that the program gives.

use crate::kvshoot::Kvshoot;
use crate::provider::Provider;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};

pub(crate) struct Inside<'a> {
    provider: &'a Provider,
    client: Client,
}

impl<'a> Inside<'a> {
    pub(crate) fn of(provider: &'a Provider, kvshoot: &Kvshoot, shoot: &str) -> Inside<'a> {
        let output = kvshoot.run(&format!("kubeconfig get {shoot}"));
        assert_eq!(output.code, 0, "{output}");
        let client = provider.block_on(async {
            let kubeconfig = Kubeconfig::from_yaml(&output.out).unwrap();
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
            Client::try_from(config.unwrap()).unwrap()
        });
        Inside { provider, client }
    }

    pub(crate) fn nodes(&self) -> Vec<String> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let all = ListParams::default();
        let nodes = self.provider.block_on(nodes.list(&all)).unwrap();
        let mut names: Vec<String> = nodes.iter().map(|it| it.name_any()).collect();
        names.sort();
        names
    }

    /// Bootstrap tokens of machines.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "kube-system");
        let tokens = ListParams::default().fields("type=bootstrap.kubernetes.io/token");
        let tokens = self.provider.block_on(secrets.list(&tokens)).unwrap();
        tokens.iter().map(|it| it.name_any()).collect()
    }
}
