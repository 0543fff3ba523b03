use super::counterexample::Broken;
use super::rng::Dice;
use client_model::Listener;
use server::Server;
use store_model::{Ear, Flaw};

mod client_model;
mod server;
mod store_model;

/// Few names, so that one is soon used again.
const NAMES: usize = 3;

/// An object at one version, with numbers instead of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Thing {
    name: usize,
    uid: u64,
    version: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum News {
    /// ADDED, MODIFIED, or the answer to a write.
    Put(Thing),
    /// DELETED, at the version of the deletion.
    Gone(Thing),
    /// The answer to a delete, which has no version.
    GoneByAnswer(Thing),
    List(u64, Vec<Thing>),
}

#[derive(Debug, Default)]
struct Found {
    steps: u64,
    broken: Broken,
}

fn search(flaw: Flaw, seeds: u64) -> Found {
    let mut found = Found::default();
    for seed in 1..=seeds {
        run(seed, flaw, &mut found);
    }
    found
}

fn run(seed: u64, flaw: Flaw, found: &mut Found) {
    let mut dice = Dice::new(seed);
    let mut server = Server::new();
    let mut listener = Listener::new(Ear::new(flaw), seed);
    for _ in 0..20 + dice.roll(60) {
        found.steps += 1;
        if let Some(answer) = server.step(&mut dice) {
            listener.mail.push(answer);
        }
        for news in listener.arrives(&server, &mut dice) {
            listener.hear(&server, &news, &mut found.broken);
        }
    }
    // In the end every event is delivered.
    for news in listener.rest(&server) {
        listener.hear(&server, &news, &mut found.broken);
    }
    for name in 0..NAMES {
        let same = listener.ear.shows(name) == server.there(name);
        let show = || format!("seed {seed}");
        found.broken.must("ends as the server", same, show);
    }
}

#[track_caller]
#[expect(clippy::print_stdout, reason = "a search prints what it covered")]
fn check(seeds: u64) {
    let Found { steps, broken } = search(Flaw::None, seeds);
    println!("{seeds} seeds, {steps} steps");
    broken.assert_none();
}

#[test]
fn a_store_ends_as_the_server_and_never_goes_back() {
    check(20_000);
}

#[test]
#[ignore = "second tier: an exhaustive search, which takes minutes"]
fn exhaustive_interleavings() {
    check(100_000);
}

#[test]
fn every_store_that_is_wrong_on_purpose_is_noticed() {
    for (flaw, name) in [
        (Flaw::LastWins, "never back in time"),
        (Flaw::OneClock, "own write is seen"),
        (Flaw::ListReplaces, "nothing vanishes"),
        (Flaw::ListRemovesNothing, "ends as the server"),
        (Flaw::AnyUid, "nothing vanishes"),
        (Flaw::DeafToAnswers, "own delete is seen"),
        (Flaw::DeadForgotten, "gone stays gone"),
        (Flaw::VersionsAsText, "ends as the server"),
    ] {
        search(flaw, 500).broken.assert_has(name);
    }
}
