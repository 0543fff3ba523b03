//! Random interleavings of a server, other writers and our own writes, with events that are late, duplicated or out of
//! order.

use super::rng::Rng;
use super::violations::Violations;
use client_model::ClientModel;
use server::Server;
use store_model::{Flaw, StoreModel};

mod client_model;
mod server;
mod store_model;

/// Few names, so that they are reused soon.
const NAMES: usize = 3;

/// An object at one version; numbers replace strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ObjectVersion {
    name: usize,
    uid: u64,
    version: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum News {
    /// ADDED, MODIFIED, or the answer to a write.
    Put(ObjectVersion),
    /// DELETED, at the version of the deletion.
    Deleted(ObjectVersion),
    /// The answer to a delete, which has no version.
    DeletedByAnswer(ObjectVersion),
    List(u64, Vec<ObjectVersion>),
}

#[derive(Debug, Default)]
struct SearchResult {
    steps: u64,
    violations: Violations,
}

fn search(flaw: Flaw, seeds: u64) -> SearchResult {
    let mut result = SearchResult::default();
    for seed in 1..=seeds {
        run(seed, flaw, &mut result);
    }
    result
}

fn run(seed: u64, flaw: Flaw, result: &mut SearchResult) {
    let mut rng = Rng::new(seed);
    let mut server = Server::new();
    let mut client = ClientModel::new(StoreModel::new(flaw), seed);
    for _ in 0..20 + rng.below(60) {
        result.steps += 1;
        if let Some(answer) = server.step(&mut rng) {
            client.answers.push(answer);
        }
        for news in client.next_deliveries(&server, &mut rng) {
            client.receive(&server, &news, &mut result.violations);
        }
    }
    // In the end everything is delivered.
    for news in client.remaining(&server) {
        client.receive(&server, &news, &mut result.violations);
    }
    for name in 0..NAMES {
        let same = client.store.get(name) == server.current(name);
        let show = || format!("seed {seed}");
        result
            .violations
            .require("ends equal to the server", same, show);
    }
}

#[track_caller]
#[expect(clippy::print_stdout, reason = "a search prints what it covered")]
fn check(seeds: u64) {
    let SearchResult { steps, violations } = search(Flaw::None, seeds);
    println!("{seeds} seeds, {steps} steps");
    violations.assert_none();
}

#[test]
fn a_store_converges_to_the_server_and_never_goes_back() {
    check(20_000);
}

#[test]
#[ignore = "takes minutes; the exhaustive search"]
fn exhaustive_interleavings() {
    check(100_000);
}

#[test]
fn every_broken_store_is_detected() {
    for (flaw, name) in [
        (Flaw::LastWins, "versions never go back"),
        (Flaw::OneVersion, "own write is visible"),
        (Flaw::ListReplaces, "nothing vanishes"),
        (Flaw::ListRemovesNothing, "ends equal to the server"),
        (Flaw::AnyUid, "nothing vanishes"),
        (Flaw::IgnoresAnswers, "own delete is visible"),
        (Flaw::ForgetsDeleted, "deleted stays deleted"),
        (Flaw::VersionsAsText, "ends equal to the server"),
    ] {
        search(flaw, 500).violations.assert_has(name);
    }
}
