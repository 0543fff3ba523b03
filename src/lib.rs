//! kvshoot makes Kubernetes clusters out of KubeVirt virtual machines, from a Gardener-style Shoot manifest.
//!
//! # Bird's-eye view
//!
//! ```text
//! text --manifest--> Shoot, CloudProfile --validate--> ValidShoot --+
//!                                                                   v
//! API server --LIST, WATCH--> Facts ----------------> plan::plan(ValidShoot, Observed) --> Plan
//!      ^                        ^                                                           |
//!      |                        +--- answers to our own writes ---+                         v
//!      +------------ cluster::Performer::perform(Action) <------------------- flow::run: starts what is due
//!                                                                                           |
//!                                                                                   Event --> ui
//! ```
//!
//! A run is a controller that ends: it looks, plans, acts, waits, and looks again, until every item of the plan is
//! done. A plan is a pure function of what is wanted and what is there, so that running the same command again
//! changes nothing, goes on with what was cut off, or carries out what was edited.
//!
//! # Words
//!
//! *shoot* the cluster made · *provider cluster* where KubeVirt runs · *pool* an entry of
//! `spec.provider.workers` · *machine* a worker's VM · *image* an operating system image, its *golden volume* the
//! DataVolume that machines clone · *record* the ConfigMap that stands for the shoot in the provider namespace ·
//! *item* one line of a plan · *action* what a due item does · *run* one invocation that changes things ·
//! *sandbox* a provider cluster on this computer without a hypervisor. Everything else takes the word of
//! Kubernetes, KubeVirt or Gardener.
//!
//! # Rooms, in reading order
//!
//! | room | what is in it | what it uses |
//! |---|---|---|
//! | `model` | what people write; plain data, no rules | nothing |
//! | `manifest` | text to model, and a place in the text for every field | `model` |
//! | `validate` | model to proof: `ValidShoot` | `model` |
//! | `state` | what there is and what is wanted, as data: names, facts, the record, actions, plans | `model`, `validate` |
//! | `render` | the objects of an action | `model`, `validate`, `state` |
//! | `plan` | proof and observation to items | `model`, `validate`, `state`, `render` |
//! | `flow` | runs plans until done; knows neither Kubernetes nor the terminal | `state` |
//! | `cluster` | the one door to API servers | `state`, `render`, `pki` |
//! | `pki` | keys and certificates | nothing |
//! | `config` | environment and directories; no other room reads them | `model` |
//! | `ui` | prints; no other room does | `model`, `manifest`, `state`, `flow` |
//! | `sandbox` | the provider cluster on this computer | `model`, `config`, `pki` |
//! | `commands` | one file a subcommand: arguments, then wiring | all of them |
//!
//! Above `flow` nothing touches time, network, files or the terminal. A test holds the table to what the code does.

mod app;
mod cluster;
mod commands;
mod config;
mod flow;
mod load;
mod manifest;
mod model;
mod pki;
mod plan;
mod render;
mod sandbox;
mod state;
mod ui;
mod validate;

pub use commands::{command, main};
