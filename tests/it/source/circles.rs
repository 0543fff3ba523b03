//! No modules of the library form a circle of imports.

use super::syntax::{Crate, Segments};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// For each file the files that it uses, each with one of the paths that does so.
type Graph = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

#[test]
fn no_modules_form_a_circle() {
    let circles = circles(&graph(&Crate::read(Path::new("src/lib.rs"))));
    assert!(
        circles.is_empty(),
        "{} circles of imports:\n{}",
        circles.len(),
        circles.join("\n")
    );
}

#[test]
fn circles_are_found_however_they_are_written() {
    let found = |texts: &[(&str, &str)]| circles(&graph(&Crate::from_texts(texts))).len();
    let none = [
        ("", "mod a; mod b;"),
        ("a", "pub(crate) struct A;"),
        ("b", "use crate::a::A; fn f(_: A) {}"),
    ];
    assert_eq!(found(&none), 0);
    let direct = [
        ("", "mod a; mod b;"),
        ("a", "pub(crate) struct A; fn f() { crate::b::g() }"),
        ("b", "use super::a::A; pub(crate) fn g() {}"),
    ];
    assert_eq!(found(&direct), 1);
    let in_a_macro = [
        ("", "mod a; mod b;"),
        (
            "a",
            "use crate::b; pub(crate) struct A; fn f() { println!(\"{}\", b::g()) }",
        ),
        ("b", "pub(crate) fn g() { vec![crate::a::A]; }"),
    ];
    assert_eq!(found(&in_a_macro), 1);
    let through_a_re_export = [
        ("", "mod a;"),
        ("a", "mod b; mod c; pub(crate) use b::B;"),
        ("a::b", "use super::c::C; pub(crate) struct B;"),
        ("a::c", "use super::B; pub(crate) struct C;"),
    ];
    assert_eq!(found(&through_a_re_export), 1);
    let parent_and_child = [
        ("", "mod a;"),
        ("a", "mod b; pub(crate) struct A; fn f() { b::g() }"),
        ("a::b", "use super::A; pub(crate) fn g() {}"),
    ];
    assert_eq!(found(&parent_and_child), 1);
    let only_in_tests = [
        ("", "mod a; mod b;"),
        (
            "a",
            "pub(crate) struct A; #[cfg(test)] mod tests { use crate::b::g; }",
        ),
        ("b", "use super::a::A; pub(crate) fn g() {}"),
    ];
    assert_eq!(found(&only_in_tests), 0);
}

fn graph(all: &Crate) -> Graph {
    let mut graph = Graph::new();
    for (scope, module) in &all.0 {
        let uses = graph.entry(module.file.clone()).or_default();
        for path in &module.paths {
            let Some(target) = all.definition(scope, path) else {
                continue;
            };
            let file = &all.0[&target].file;
            if *file != module.file {
                uses.entry(file.clone()).or_insert_with(|| path.join("::"));
            }
        }
    }
    graph
}

/// One shortest circle of each group of files that use each other, as text.
fn circles(graph: &Graph) -> Vec<String> {
    let reached: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        graph.keys().map(|it| (it, reachable(graph, it))).collect();
    let mut known: BTreeSet<&PathBuf> = BTreeSet::new();
    let mut found = Vec::new();
    for start in graph.keys().filter(|it| reached[it].contains(it)) {
        let group = reached[start]
            .iter()
            .filter(|it| reached[**it].contains(start));
        let group: BTreeSet<&PathBuf> = group.copied().collect();
        if known.insert(start) && group.iter().all(|it| *it == start || known.insert(it)) {
            let step = |pair: &[&PathBuf]| {
                format!("  {} uses {}", pair[0].display(), graph[pair[0]][pair[1]])
            };
            let circle = group
                .iter()
                .filter_map(|it| shortest(graph, it))
                .min_by_key(Vec::len);
            let circle = circle.unwrap_or_default();
            let steps: Vec<String> = circle.windows(2).map(step).collect();
            let files: Vec<String> = group.iter().map(|it| it.display().to_string()).collect();
            let files = files.join(" ");
            found.push(format!(
                "{} files ({files}), for example\n{}",
                group.len(),
                steps.join("\n")
            ));
        }
    }
    found
}

fn reachable<'a>(graph: &'a Graph, start: &PathBuf) -> BTreeSet<&'a PathBuf> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&PathBuf> = graph[start].keys().collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(graph.get(next).into_iter().flat_map(|it| it.keys()));
        }
    }
    found
}

/// The shortest way from a file back to itself.
fn shortest<'a>(graph: &'a Graph, start: &'a PathBuf) -> Option<Vec<&'a PathBuf>> {
    let mut before: BTreeMap<&PathBuf, &PathBuf> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for next in graph.get(at).into_iter().flat_map(|it| it.keys()) {
            if next == start {
                let mut circle = vec![start, at];
                while let Some(step) = before.get(circle[circle.len() - 1]) {
                    circle.push(step);
                }
                circle.reverse();
                return Some(circle);
            }
            if !before.contains_key(next) {
                before.insert(next, at);
                queue.push_back(next);
            }
        }
    }
    None
}

#[test]
fn every_path_of_the_library_is_resolved() {
    let all = Crate::read(Path::new("src/lib.rs"));
    let lost: Vec<String> = all
        .0
        .iter()
        .flat_map(|(scope, module)| module.paths.iter().map(move |path| (scope, path)))
        .filter(|(scope, path)| path[0] == "crate" && all.definition(scope, path).is_none())
        .map(|(scope, path): (&Segments, &Segments)| {
            format!("{}: {}", scope.join("::"), path.join("::"))
        })
        .collect();
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}
