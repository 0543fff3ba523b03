use super::{Found, plan, search};

#[track_caller]
#[expect(clippy::print_stdout, reason = "a search tells what it searched")]
fn check(seeds: u64) {
    let Found {
        plans,
        longest,
        broken,
    } = search(plan, 1..=seeds);
    println!("{seeds} seeds, {plans} plans, at most {longest} rounds");
    broken.assert_none();
}

#[test]
fn whole_plans_hold_in_a_small_world() {
    check(25);
}

#[test]
#[ignore = "takes minutes; the whole search"]
fn exhaustive_world() {
    check(10_000);
}
