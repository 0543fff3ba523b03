//! kvshoot creates Kubernetes clusters from KubeVirt virtual machines, from a Gardener-style Shoot manifest.
//!
//! # Bird's-eye view
//!
//! ```text
//! text --manifest--> Shoot, CloudProfile --validate--> ValidShoot --+
//!                                                                   v
//! API server --LIST, WATCH--> Facts ----------------> plan::plan(ValidShoot, Observed) --> Plan
//!      ^                        ^                                                           |
//!      |                        +---- answers to own writes -----+                          v
//!      +----- cluster::Executor::execute(RenderedAction) <----------------- flow::run: starts due actions
//!                                                                                           |
//!                                                                                RunEvent --> ui
//! ```
//!
//! A run is a controller that ends: it observes, plans, acts, waits, and observes again, until every item of the plan
//! is done. A plan is a pure function of the desired and the observed state. So the same command, run again, changes
//! nothing, resumes an interrupted run, or applies an edit.
//!
//! # Words
//!
//! *shoot*: the created cluster · *provider cluster*: the cluster that runs KubeVirt · *pool*: an entry of
//! `spec.provider.workers` · *machine*: the VM of a node · *image*: an operating system image; its *golden volume* is
//! the DataVolume that machines clone · *record*: the ConfigMap that represents the shoot in the provider namespace ·
//! *item*: one line of a plan · *action*: the request that completes an item · *run*: one invocation that changes
//! something · *sandbox*: a provider cluster on this computer, without a hypervisor. Everything else has its name from
//! Kubernetes, KubeVirt or Gardener.
//!
//! # Rooms, in reading order
//!
//! | room | contents | uses |
//! |---|---|---|
//! | `model` | manifests as plain data, without rules | nothing |
//! | `manifest` | text to model, with the place of every field in the text | `model` |
//! | `validate` | the rules: model to `ValidShoot` | `model`, `backup` |
//! | `state` | observed and desired state as data: names, facts, the record, actions, plans | `model`, `validate` |
//! | `render` | the objects of an action | `model`, `validate`, `state` |
//! | `plan` | the planner: desired and observed state to items | `model`, `validate`, `state`, `render` |
//! | `load` | documents, profiles and the record to `ValidShoot`s | `model`, `manifest`, `validate`, `state` |
//! | `flow` | the control loop; knows neither Kubernetes nor the terminal | `state` |
//! | `clock` | the time, which a sandbox may have moved | nothing |
//! | `pki` | keys and certificates | nothing |
//! | `cluster` | all requests to API servers | `validate`, `state`, `render`, `pki`, `clock` |
//! | `config` | environment and directories | `model`, `clock` |
//! | `backup` | backups of shoots: destinations, format, hashes, encryption, retention | nothing |
//! | `storage` | destinations of backups: directories and S3 buckets | `backup` |
//! | `tcp_server` | a TCP port with a limit of connections | nothing |
//! | `metrics` | metrics as text, and the server that serves them | `tcp_server` |
//! | `autoscaler` | the protocol of the cluster autoscaler, and a server for it | `pki`, `tcp_server`, `clock` |
//! | `ui` | all output | `model`, `manifest`, `state`, `flow`, `clock` |
//! | `sandbox` | the provider cluster on this computer | `model`, `config`, `pki`, `clock` |
//! | `app` | use cases: apply, delete, run, status, … | all but `commands` |
//! | `commands` | arguments of the command line, and one call into `app` | all |
//!
//! Nothing before `flow` in this table touches the clock, the network, files or the terminal. Tests in
//! `tests/it/source` compare the table with the code.

mod app;
mod autoscaler;
mod backup;
mod clock;
mod cluster;
mod commands;
mod config;
mod flow;
#[cfg(test)]
mod fuzz;
mod load;
mod manifest;
mod metrics;
mod model;
mod pki;
mod plan;
mod render;
mod sandbox;
mod state;
mod storage;
mod tcp_server;
mod ui;
mod validate;

pub use commands::{command, main};
