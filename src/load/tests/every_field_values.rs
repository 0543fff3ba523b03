//! Valid values of fields that do not follow from their type.

/// Documents that are valid together; fields are added to them.
pub(super) const BASES: [(&str, &str); 3] = [
    ("Shoot", SHOOT),
    ("CloudProfile", PROFILE),
    ("MachineDeployment", MACHINES),
];

/// A binding of each form and its Secret. `https://192.0.2.1` is the server of its kubeconfig.
pub(super) const BINDINGS: [(&str, &str); 3] = [
    ("SecretBinding", SECRET_BINDING),
    ("CredentialsBinding", CREDENTIALS_BINDING),
    ("Secret", SECRET),
];

const SECRET_BINDING: &str = "\
apiVersion: core.gardener.cloud/v1beta1
kind: SecretBinding
metadata: {name: provider, namespace: garden-dev}
secretRef: {name: kubeconfig}
";

const CREDENTIALS_BINDING: &str = "\
apiVersion: security.gardener.cloud/v1alpha1
kind: CredentialsBinding
metadata: {name: provider, namespace: garden-dev}
credentialsRef: {apiVersion: v1, kind: Secret, name: kubeconfig}
";

const SECRET: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: kubeconfig, namespace: garden-dev}
data: {kubeconfig: Y2x1c3RlcnM6IFt7bmFtZTogYywgY2x1c3Rlcjoge3NlcnZlcjogJ2h0dHBzOi8vMTkyLjAuMi4xJ319XQpjb250ZXh0czogW3tuYW1lOiBjLCBjb250ZXh0OiB7Y2x1c3RlcjogYywgdXNlcjogdX19XQp1c2VyczogW3tuYW1lOiB1LCB1c2VyOiB7dG9rZW46IHR9fV0KY3VycmVudC1jb250ZXh0OiBjCg==}
";

const PROFILE: &str = "\
apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata: {name: kubevirt}
spec:
  type: kubevirt
  providerConfig:
    apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
    kind: CloudProfileConfig
    machineImages:
    - name: ubuntu
      versions:
      - {version: \"24.04\", sourceURL: https://images.example.org/24.04.img}
      - {version: \"22.04\", sourceURL: https://images.example.org/22.04.img}
    machineTypes: [{name: small, limits: {cpu: \"8\", memory: 32Gi}}]
    networkManifests: [{type: calico, url: https://images.example.org/calico.yaml, digest: 000000000000000000000000000000000000000000000000000000000000000a}]
    customNetworkPolicies: [{name: b, spec: {podSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}, policyTypes: [Ingress, Egress], ingress: [{from: [{podSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}, namespaceSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}], ports: [{port: 80}]}], egress: [{to: [{podSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}, namespaceSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}], ports: [{port: 80}]}]}}]
  kubernetes:
    versions: [{version: 1.35.0, classification: preview}, {version: 1.34.2}, {version: 1.34.1}]
  machineImages:
  - {name: ubuntu, versions: [{version: \"24.04\", cri: [{name: containerd, containerRuntimes: [{type: gvisor}]}]}, {version: \"22.04\"}]}
  machineTypes: [{name: small, cpu: \"1\", memory: 4Gi}, {name: large, cpu: \"4\", memory: 16Gi}]
  volumeTypes: [{name: standard, class: standard-rwo}, {name: fast, class: fast-rwo}]
  regions:
  - name: europe-west1
    zones: [{name: europe-west1-c}, {name: europe-west1-b}]
  - {name: default, zones: [{name: default}]}
";

const SHOOT: &str = "\
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: demo, namespace: garden-dev}
spec:
  cloudProfileName: kubevirt
  region: europe-west1
  purpose: evaluation
  networking: {type: flannel, nodes: 10.244.0.0/16}
  controlPlane: {highAvailability: {failureTolerance: {type: node}}}
  addons: {kubernetesDashboard: {enabled: true}, nginxIngress: {enabled: true}}
  kubernetes:
    version: 1.34.2
    kubeAPIServer:
      admissionPlugins: [{name: PodNodeSelector}]
      oidcConfig: {issuerURL: https://issuer.example.org, clientID: a}
  provider:
    type: kubevirt
    infrastructureConfig:
      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
      kind: InfrastructureConfig
      networks: {tenantNetworks: [{name: a, config: '{\"cniVersion\": \"0.4.0\", \"type\": \"bridge\"}'}]}
      preAllocatedDataVolumes: [{name: ubuntu-disk, url: https://images.example.org/a.img, size: 10Gi, storageClass: standard}]
      customNetworkPolicies: [{name: a, spec: {podSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}, policyTypes: [Ingress, Egress], ingress: [{from: [{podSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}, namespaceSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}], ports: [{port: 80}]}], egress: [{to: [{podSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}, namespaceSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}], ports: [{port: 80}]}]}}]
    controlPlaneConfig:
      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
      kind: ControlPlaneConfig
      exposure: {type: LoadBalancer}
      backup: {schedule: 0 3 * * *, destination: s3://etcd/lab, withPlainKeys: true}
    workers:
    - name: cpu
      machine: {type: small, image: {name: ubuntu, version: \"24.04\"}}
      minimum: 2
      maximum: 2
      volume: {type: standard, size: 20Gi}
      dataVolumes: [{name: data, type: fast, size: 10Gi}]
      zones: [europe-west1-c]
      taints: [{key: example.org/a, effect: NoSchedule}]
      cri: {name: containerd}
      providerConfig:
        apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
        kind: WorkerConfig
        devices: {disks: [{name: root-disk}]}
        memory: {hugepages: {pageSize: 2Mi}}
        topologySpreadConstraints: [{maxSkew: 2, topologyKey: example.org/rack, whenUnsatisfiable: ScheduleAnyway}]
    - name: free
      machine: {type: small, image: {name: ubuntu, version: \"24.04\"}}
      minimum: 1
      maximum: 3
      volume: {type: standard, size: 20Gi}
      zones: [europe-west1-c]
";

const MACHINES: &str = "\
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata: {name: machines}
spec:
  replicas: 1
  template:
    spec:
      taints: [{key: example.org/a, effect: NoSchedule}]
      versions: {kubelet: 1.34.2}
      providerSpec:
        value:
          cloudProvider: kubevirt
          operatingSystem: ubuntu
          operatingSystemSpec: {}
          cloudProviderSpec:
            topologySpreadConstraints: [{maxSkew: \"2\", topologyKey: example.org/rack, whenUnsatisfiable: ScheduleAnyway}]
            virtualMachine:
              template:
                secondaryDisks: [{size: 10Gi}]
                cpus: \"1\"
                memory: 2Gi
                primaryDisk: {osImage: ubuntu-disk, size: 10Gi, storageClassName: standard}
";

/// Fields whose other values are errors: the only effect that they can have. Paths are compared from their end.
pub(super) const REFUSED: &[&str] = &[
    "CloudProfile.spec.regions[].zones[].name",
    "workers[].cri.containerRuntimes[].type",
    "workers[].cri.containerRuntimes[].providerConfig",
    "maxEvictRetries",
    "versions[].architectures",
    "versions[].kubeletVersionConstraint",
    "Shoot.spec.provider.workers[].machine.image.name",
    "Shoot.spec.region",
    "CloudProfile.apiVersion",
    "CloudProfile.kind",
    "Shoot.apiVersion",
    "Shoot.kind",
    "MachineDeployment.apiVersion",
    "MachineDeployment.kind",
    "CloudProfile.metadata.name",
    "spec.kubernetes.versions[].version",
    "spec.kubernetes.versions[].expirationDate",
    "spec.machineImages[].name",
    "spec.machineImages[].versions[].version",
    "spec.machineTypes[].name",
    "providerConfig.machineImages[].name",
    "providerConfig.machineImages[].versions[].version",
    "CloudProfile.spec.regions[].name",
    "CloudProfile.spec.type",
    "volumeTypes[].name",
    "machineTypes[].usable",
    "volumeTypes[].usable",
    "volumeTypes[].minSize",
    "unavailableMachineTypes",
    "unavailableVolumeTypes",
    "cri[].name",
    "workers[].cri.name",
    "spec.paused",
    "strategy.type",
    "Binding.apiVersion",
    "Binding.kind",
    "Secret.apiVersion",
    "Secret.kind",
    "cloudProvider",
    "cloudProfile.kind",
    "cloudProfile.name",
    "Shoot.spec.cloudProfileName",
    "allowPrivilegedContainers",
    "enableStaticTokenKubeconfig",
    "enableBasicAuthentication",
    "kubeconfigSecretName",
    "encryptionConfig.provider.type",
    "encryptionConfig.resources",
    "oidcConfig.signingAlgs",
    "signingKeySecretName",
    "structuredAuthorization",
    "watchCacheSizes.default",
    "downscaleDelay",
    "upscaleDelay",
    "Shoot.spec.provider.type",
    "kubernetesDashboard.authenticationMode",
    "bootOrder",
];

/// The configuration of the extension acl.
const ACL: &str = r#"{"rule": {"action": "ALLOW", "cidrs": ["192.0.2.0/24"]}}"#;

/// Where settings of a pool are used.
const ANSWERED: &str = "`kvshoot keep` answers the cluster autoscaler with it";

/// Fields that act elsewhere than in the first apply of these documents, and where.
pub(super) const ELSEWHERE: &[(&str, &str)] = &[
    ("Binding.metadata.labels", "informational"),
    ("Binding.metadata.annotations", "informational"),
    ("Secret.metadata.labels", "informational"),
    ("Secret.metadata.annotations", "informational"),
    ("Secret.type", "the key kubeconfig decides"),
    ("Secret.immutable", "manifests are only read"),
    ("CloudProfile.metadata.labels", "informational"),
    ("CloudProfile.metadata.annotations", "informational"),
    ("MachineDeployment.metadata.labels", "informational"),
    ("MachineDeployment.metadata.annotations", "informational"),
    (
        "containerRuntimes[].type",
        "which runtimes an image has; pools choose none",
    ),
    ("workers[].clusterAutoscaler.maxNodeProvisionTime", ANSWERED),
    (
        "workers[].clusterAutoscaler.scaleDownGpuUtilizationThreshold",
        ANSWERED,
    ),
    (
        "workers[].clusterAutoscaler.scaleDownUnneededTime",
        ANSWERED,
    ),
    ("workers[].clusterAutoscaler.scaleDownUnreadyTime", ANSWERED),
    (
        "workers[].clusterAutoscaler.scaleDownUtilizationThreshold",
        ANSWERED,
    ),
    ("Shoot.metadata.labels", "kept in the record"),
    (
        "Shoot.metadata.annotations",
        "kept in the record; those of Gardener are named",
    ),
    (
        "CloudProfile.metadata.namespace",
        "profiles are found by name",
    ),
    (
        "MachineDeployment.metadata.namespace",
        "pools are found by Shoot",
    ),
    ("BindingName", "selects the provider cluster"),
    ("clusterName", "selects one of several Shoots"),
    (
        "hibernation.enabled",
        "stops an existing shoot; tests of plan::hibernation",
    ),
    (
        "hibernation.schedules[].start",
        "decides when the shoot hibernates",
    ),
    (
        "hibernation.schedules[].end",
        "decides when the shoot wakes",
    ),
    (
        "hibernation.schedules[].location",
        "decides when the shoot hibernates",
    ),
    (
        "maintenance.autoUpdate.kubernetesVersion",
        "updates an existing shoot; tests of plan::maintenance",
    ),
    (
        "maintenance.autoUpdate.machineImageVersion",
        "updates an existing shoot; tests of plan::maintenance",
    ),
    (
        "machineImages[].updateStrategy",
        "limits updates of an existing shoot; tests of plan::maintenance",
    ),
    (
        "maintenance.confineSpecUpdateRollout",
        "changes of an existing shoot; tests of plan::maintenance",
    ),
    (
        "maintenance.timeWindow.begin",
        "decides when the shoot is updated",
    ),
    (
        "maintenance.timeWindow.end",
        "decides when the shoot is updated",
    ),
    (
        "disableDefaultInstanceTypes",
        "for pools with instancetypes",
    ),
    ("disableDefaultPreferences", "for pools with preferences"),
    ("templateNamespace", "for pools with instancetypes"),
    ("networkManifests[].type", "for other networks"),
    ("networkManifests[].url", "for other networks"),
    ("networkManifests[].digest", "for other networks"),
    ("spec.purpose", "decides whether add-ons are allowed"),
    (
        "versions[].classification",
        "for Shoots that choose a version",
    ),
    (
        "machineImages[].versions[].expirationDate",
        "for Shoots that choose a version",
    ),
];

/// Fields, and others that they need, with the values of these: in the same mapping, or with `/` from the root.
pub(super) const BESIDE: &[(&str, &str, &str)] = &[
    ("dnsConfig.options[].name", "name", "\"ndots\""),
    ("dnsConfig.options[].value", "name", "\"ndots\""),
    ("proxy.http", "https", "\"http://proxy.example.org\""),
    ("proxy.noProxy", "https", "\"http://proxy.example.org\""),
    ("ports[].endPort", "port", "80"),
    ("ipBlock.cidr", "cidr", "\"10.0.0.0/16\""),
    (
        "affinity.nodeAffinityPreset.key",
        "key",
        "\"example.org/a\"",
    ),
    ("affinity.nodeAffinityPreset.type", "type", "\"soft\""),
    ("deviceName", "deviceName", "\"example.org/other\""),
    ("gpus[].name", "deviceName", "\"example.org/card\""),
    ("hostDevices[].name", "deviceName", "\"example.org/card\""),
    ("virtualMachine.template.vcpus.cores", "cores", "2"),
    (
        "providerConfig.instancetype.kind",
        "/spec.provider.workers[].providerConfig.memory",
        "null",
    ),
    (
        "providerConfig.instancetype.name",
        "/spec.provider.workers[].providerConfig.memory",
        "null",
    ),
    ("providerConfig.template.cpus", "memory", "\"2Gi\""),
    ("providerConfig.template.cpus", "cpus", "\"2\""),
    ("providerConfig.template.memory", "cpus", "\"2\""),
    ("providerConfig.template.memory", "memory", "\"2Gi\""),
    (
        "providerConfig.template.vcpus.cores",
        "/spec.provider.workers[].providerConfig.template.memory",
        "\"2Gi\"",
    ),
    ("backup.recipients", "withPlainKeys", "false"),
    ("oidcConfig.groupsPrefix", "groupsClaim", "\"groups\""),
    ("oidcConfig.usernamePrefix", "usernameClaim", "\"name\""),
    ("timeWindow.begin", "begin", "\"213000+0100\""),
    ("timeWindow.begin", "end", "\"230000+0100\""),
    ("timeWindow.end", "begin", "\"220000+0100\""),
    ("timeWindow.end", "end", "\"233000+0100\""),
    (
        "autoUpdate.machineImageVersion",
        "kubernetesVersion",
        "true",
    ),
    ("hibernation.schedules[].start", "end", "\"0 6 * * *\""),
    ("hibernation.schedules[].end", "start", "\"0 20 * * *\""),
    (
        "hibernation.schedules[].location",
        "start",
        "\"0 20 * * *\"",
    ),
    (
        "egress[].to[].ipBlock.cidr",
        "/@policies.spec.egress[].to[].podSelector",
        "null",
    ),
    (
        "egress[].to[].ipBlock.cidr",
        "/@policies.spec.egress[].to[].namespaceSelector",
        "null",
    ),
    (
        "egress[].to[].ipBlock.except",
        "/@policies.spec.egress[].to[].podSelector",
        "null",
    ),
    (
        "egress[].to[].ipBlock.except",
        "/@policies.spec.egress[].to[].namespaceSelector",
        "null",
    ),
    (
        "ingress[].from[].ipBlock.cidr",
        "/@policies.spec.ingress[].from[].podSelector",
        "null",
    ),
    (
        "ingress[].from[].ipBlock.cidr",
        "/@policies.spec.ingress[].from[].namespaceSelector",
        "null",
    ),
    (
        "ingress[].from[].ipBlock.except",
        "/@policies.spec.ingress[].from[].podSelector",
        "null",
    ),
    (
        "ingress[].from[].ipBlock.except",
        "/@policies.spec.ingress[].from[].namespaceSelector",
        "null",
    ),
    ("affinity.nodeAffinityPreset.key", "type", "\"hard\""),
    ("affinity.nodeAffinityPreset.values", "type", "\"hard\""),
    (
        "affinity.nodeAffinityPreset.values",
        "key",
        "\"example.org/a\"",
    ),
    (
        "affinity.nodeAffinityPreset.type",
        "key",
        "\"example.org/a\"",
    ),
    (
        "MachineDeployment.spec.template.spec.providerSpec.value.cloudProviderSpec.virtualMachine.template.primaryDisk.dataVolumeSecretRef",
        "osImage",
        "\"https://a.example.org/b\"",
    ),
    (
        "primaryDisk.extraHeaders",
        "osImage",
        "\"https://a.example.org/b\"",
    ),
    (
        "primaryDisk.extraHeadersSecretRef",
        "osImage",
        "\"https://a.example.org/b\"",
    ),
    (
        "primaryDisk.dataVolumeSecretRef",
        "osImage",
        "\"https://a.example.org/b\"",
    ),
    (
        "primaryDisk.pullMethod",
        "osImage",
        "\"docker://a.example.org/b\"",
    ),
    (
        "primaryDisk.source",
        "osImage",
        "\"docker://a.example.org/b\"",
    ),
    (
        "virtualMachine.template.vcpus.cores",
        "/spec.template.spec.providerSpec.value.cloudProviderSpec.virtualMachine.template.cpus",
        "null",
    ),
    ("extensions[].disabled", "type", "\"acl\""),
    ("extensions[].disabled", "providerConfig", ACL),
    ("extensions[].providerConfig", "type", "\"acl\""),
    ("extensions[].providerConfig", "providerConfig", ACL),
    ("extensions[].type", "type", "\"other\""),
    ("extensions[].type", "providerConfig", ACL),
    ("exposure.address", "type", "\"NodePort\""),
    ("exposure.nodePort", "type", "\"NodePort\""),
    ("exposure.nodePort", "address", "\"10.0.0.1\""),
    ("exposure.address", "address", "\"10.0.0.1\""),
    (
        "structuredAuthentication.configMapName",
        "/spec.kubernetes.kubeAPIServer.oidcConfig",
        "null",
    ),
    ("isolateEmulatorThread", "dedicatedCpuPlacement", "true"),
    ("Shoot.spec.purpose", "/spec.addons", "null"),
    ("ipBlock.except", "cidr", "\"10.0.0.0/16\""),
    ("memory.guest", "hugepages", "null"),
];

/// Fields and another valid value; the longest path counts.
pub(super) const VALUES: &[(&str, &str)] = &[
    (
        "Secret.data",
        "{\"kubeconfig\": \"Y2x1c3RlcnM6IFt7bmFtZTogYywgY2x1c3Rlcjoge3NlcnZlcjogJ2h0dHBzOi8vMTkyLjAuMi4yJ319XQpjb250ZXh0czogW3tuYW1lOiBjLCBjb250ZXh0OiB7Y2x1c3RlcjogYywgdXNlcjogdX19XQp1c2VyczogW3tuYW1lOiB1LCB1c2VyOiB7dG9rZW46IHR9fV0KY3VycmVudC1jb250ZXh0OiBjCg==\"}",
    ),
    (
        "Secret.stringData",
        "{\"kubeconfig\": \"{clusters: [{name: c, cluster: {server: 'https://192.0.2.2'}}], contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {token: t}}], current-context: c}\"}",
    ),
    // Unlike the provider that other documents select.
    (
        "auth.kubeconfig",
        "\"Y2x1c3RlcnM6IFt7bmFtZTogYywgY2x1c3Rlcjoge3NlcnZlcjogJ2h0dHBzOi8vMTkyLjAuMi4zJ319XQpjb250ZXh0czogW3tuYW1lOiBjLCBjb250ZXh0OiB7Y2x1c3RlcjogYywgdXNlcjogdX19XQp1c2VyczogW3tuYW1lOiB1LCB1c2VyOiB7dG9rZW46IHR9fV0KY3VycmVudC1jb250ZXh0OiBjCg==\"",
    ),
    ("deviceName", "\"example.org/card\""),
    ("backup.schedule", "\"0 4 * * *\""),
    ("backup.destination", "\"s3://etcd/other\""),
    ("backup.s3Endpoint", "\"https://s3.example.org\""),
    (
        "backup.recipients",
        r#"["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]"#,
    ),
    ("backup.withPlainKeys", "false"),
    ("kubeReserved", r#"{"cpu": "100m"}"#),
    ("systemReserved", r#"{"cpu": "100m"}"#),
    ("serviceAccountConfig.maxTokenExpiration", "\"720h\""),
    ("cpuManagerPolicy", "\"static\""),
    ("expander", "\"random\""),
    ("clusterAutoscaler.verbosity", "4"),
    ("scaleDownUtilizationThreshold", "0.4"),
    ("scaleDownGpuUtilizationThreshold", "0.4"),
    ("imageGCHighThresholdPercent", "90"),
    ("swapBehavior", "\"LimitedSwap\""),
    ("disks[].cache", "\"writeback\""),
    ("disks[].cdrom.bus", "\"scsi\""),
    ("disks[].disk.bus", "\"scsi\""),
    ("disks[].lun.bus", "\"scsi\""),
    ("disks[].errorPolicy", "\"report\""),
    ("disks[].io", "\"threads\""),
    ("providerConfig.mtu", "1400"),
    (
        "providerConfig.proxy",
        "{\"https\": \"http://proxy.example.org:3128\"}",
    ),
    ("proxy.http", "\"http://proxy.example.org:3128\""),
    ("proxy.https", "\"http://proxy.example.org:3129\""),
    ("proxy.noProxy", "[\".example.org\"]"),
    ("location.region", "\"europe-west1\""),
    ("virtualMachine.location.zone", "\"europe-west1-b\""),
    ("providerConfig.location.zone", "\"europe-west1-c\""),
    ("machineTypes[].cpu", "\"2\""),
    (
        "machineTypes[].storage",
        "{\"class\": \"standard\", \"type\": \"a\"}",
    ),
    ("matchExpressions[].key", "\"example.org/k\""),
    (
        "Shoot.spec.provider.workers[].cri.containerRuntimes",
        "[{\"type\": \"gvisor\"}]",
    ),
    ("workers[].providerConfig.template.cpus", "\"3\""),
    ("classification", "\"deprecated\""),
    ("workers[].updateStrategy", "\"AutoInPlaceUpdate\""),
    ("updateStrategy", "\"patch\""),
    (
        "machineImages[].versions[].expirationDate",
        "\"2030-06-30T23:59:59Z\"",
    ),
    ("expirationDate", "\"2020-06-30T23:59:59Z\""),
    (
        "componentImages",
        "{\"etcd\": \"registry.example.org/etcd:3\"}",
    ),
    ("protocol", "\"UDP\""),
    ("ports[].port", "443"),
    ("endPort", "90"),
    ("ipBlock.cidr", "\"10.1.0.0/16\""),
    ("ipBlock.except", "[\"10.0.1.0/24\"]"),
    ("matchExpressions[].operator", "\"NotIn\""),
    ("policyTypes", "[\"Egress\"]"),
    (
        "downloads.digests",
        "{\"https://dl.k8s.io/release/v1.34.2/bin/linux/amd64/kubelet\": \"0000000000000000000000000000000000000000000000000000000000000000\"}",
    ),
    ("downloads.mirror", "\"https://mirror.example.org\""),
    ("sourceURL", "\"https://images.example.org/other.img\""),
    ("limits.memory", "\"40Gi\""),
    ("limits.cpu", "\"9\""),
    (
        "networkManifests[].digest",
        "\"1111111111111111111111111111111111111111111111111111111111111111\"",
    ),
    ("networkManifests[].type", "\"cilium\""),
    ("networkManifests[].url", "\"https://a.example.org/b.yaml\""),
    ("reclaimPolicy", "\"Retain\""),
    ("volumeBindingMode", "\"WaitForFirstConsumer\""),
    ("allowVolumeExpansion", "false"),
    ("deletionPolicy", "\"Retain\""),
    ("usable", "false"),
    ("volumeTypes[].minSize", "\"100Gi\""),
    ("unavailableMachineTypes", "[\"small\"]"),
    ("unavailableVolumeTypes", "[\"standard\"]"),
    ("affinity.nodeAffinityPreset.type", "\"hard\""),
    ("affinity.nodeAffinityPreset.key", "\"example.org/b\""),
    ("podAffinityPreset", "\"soft\""),
    ("podAntiAffinityPreset", "\"soft\""),
    ("topologySpreadConstraints[].maxSkew", "\"3\""),
    ("providerConfig.topologySpreadConstraints[].maxSkew", "3"),
    ("topologyKey", "\"example.org/row\""),
    ("whenUnsatisfiable", "\"DoNotSchedule\""),
    ("nameservers", "[\"10.0.0.1\"]"),
    ("dnsPolicy", "\"Default\""),
    ("evictionStrategy", "\"LiveMigrate\""),
    ("providerConfig.evictionStrategy", "\"External\""),
    ("instancetype.kind", "\"VirtualMachineClusterInstancetype\""),
    ("preference.kind", "\"VirtualMachineClusterPreference\""),
    ("template.cpus", "\"3\""),
    ("template.memory", "\"3Gi\""),
    ("cores", "3"),
    ("osImage", "\"https://images.example.org/x.img\""),
    ("dataVolumeSecretRef", "\"a\""),
    ("extraHeaders", "[\"A: b\"]"),
    ("extraHeadersSecretRef", "\"a\""),
    ("primaryDisk.size", "\"11Gi\""),
    ("primaryDisk.source", "\"registry\""),
    ("pullMethod", "\"pod\""),
    ("storageAccessType", "\"ReadWriteMany\""),
    ("storageTarget", "\"pvc\""),
    ("secondaryDisks[].size", "\"3Gi\""),
    ("storageClassName", "\"fast\""),
    ("enableNetworkMultiQueue", "false"),
    ("operatingSystem", "\"rhel\""),
    (
        "sshPublicKeys",
        "[\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxsbGxsbGxsbGxsbGxsbGxs me\"]",
    ),
    ("taints[].effect", "\"NoExecute\""),
    ("taints[].key", "\"example.org/b\""),
    ("versions.kubelet", "\"1.34.1\""),
    ("distUpgradeOnBoot", "true"),
    ("authenticationMode", "\"basic\""),
    ("externalTrafficPolicy", "\"Local\""),
    ("loadBalancerSourceRanges", "[\"10.0.0.0/8\"]"),
    ("failureTolerance.type", "\"zone\""),
    ("hibernation.schedules[].start", "\"0 20 * * *\""),
    ("hibernation.schedules[].location", "\"Europe/Berlin\""),
    ("hibernation.schedules[].end", "\"0 6 * * *\""),
    ("allowPrivilegedContainers", "false"),
    ("admissionPlugins[].name", "\"AlwaysPullImages\""),
    ("featureGates", "{\"WatchList\": false}"),
    (
        "cloudControllerManager.featureGates",
        "{\"ContextualLogging\": true}",
    ),
    ("runtimeConfig", "{\"api/beta\": true}"),
    ("issuerURL", "\"https://other.example.org\""),
    (
        "oidcConfig.caBundle",
        "\"-----BEGIN CERTIFICATE-----\\nMAA=\\n-----END CERTIFICATE-----\\n\"",
    ),
    ("minAllowed", "{\"cpu\": \"3\"}"),
    ("nodeCIDRMaskSize", "23"),
    ("kubeProxy.enabled", "false"),
    ("kubeProxy.mode", "\"NFTables\""),
    ("kubeMaxPDVols", "\"30\""),
    ("kubeScheduler.profile", "\"bin-packing\""),
    ("evictionHard", "{\"memoryAvailable\": \"5%\"}"),
    ("evictionMinimumReclaim", "{\"memoryAvailable\": \"1Gi\"}"),
    ("evictionSoft", "{\"memoryAvailable\": \"5%\"}"),
    ("evictionSoftGracePeriod", "{\"memoryAvailable\": \"3m\"}"),
    ("podPidsLimit", "100"),
    ("Shoot.spec.kubernetes.version", "\"1.35.0\""),
    ("workers[].kubernetes.version", "\"1.34.1\""),
    ("timeWindow.begin", "\"220000+0100\""),
    ("timeWindow.end", "\"230000+0100\""),
    ("networking.type", "\"none\""),
    ("networking.nodes", "\"10.245.0.0/16\""),
    ("networking.pods", "\"10.128.0.0/11\""),
    ("networking.services", "\"10.64.0.0/13\""),
    ("extensions[].type", "\"acl\""),
    (
        "extensions[].providerConfig",
        "{\"rule\": {\"action\": \"ALLOW\", \"cidrs\": [\"198.51.100.0/24\"]}}",
    ),
    ("exposure.type", "\"None\""),
    ("exposure.address", "\"10.0.0.2\""),
    ("exposure.nodePort", "30001"),
    (
        "tenantNetworks[].config",
        "\"{\\\"cniVersion\\\": \\\"0.4.0\\\", \\\"type\\\": \\\"macvlan\\\"}\"",
    ),
    (
        "preAllocatedDataVolumes[].url",
        "\"https://images.example.org/b.img\"",
    ),
    ("preAllocatedDataVolumes[].name", "\"other\""),
    (
        "workers[].caBundle",
        "\"-----BEGIN CERTIFICATE-----\\nMAA=\\n-----END CERTIFICATE-----\\n\"",
    ),
    (
        "spec.caBundle",
        "\"-----BEGIN CERTIFICATE-----\\nMAA=\\n-----END CERTIFICATE-----\\n\"",
    ),
    ("dataVolumes[].type", "\"standard\""),
    ("kubeletDataVolumeName", "\"data\""),
    ("machine.image.name", "\"flatcar\""),
    ("machine.image.version", "\"22.04\""),
    ("machine.type", "\"large\""),
    ("workers[].minimum", "1"),
    ("pageSize", "\"1Gi\""),
    ("userData", "\"#cloud-config\\npackages: [jq]\\n\""),
    ("workers[].volume.type", "\"fast\""),
    ("workers[].zones", "[\"europe-west1-b\"]"),
    ("Shoot.spec.purpose", "\"testing\""),
    ("Shoot.spec.region", "\"default\""),
    ("disks[].name", "\"data\""),
    ("watchCacheSizes.resources[].apiGroup", "\"apps\""),
    ("watchCacheSizes.resources[].size", "0"),
    ("matchExpressions[].values", "[\"c\"]"),
    ("architecture", "\"amd64\""),
    ("architectures", "[\"arm64\"]"),
    ("kubeletVersionConstraint", "\"< 1.34\""),
];
