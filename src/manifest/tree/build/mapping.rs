//! The entries of a mapping: duplicates are told, and what is merged comes in.

use std::collections::{HashMap, HashSet};

use super::{Builder, Frame, MAX_PROBLEMS, syntax};
use crate::manifest::problem::{Kind, Problem};
use crate::manifest::tree::{NodeId, NodeKind, Style};

impl Builder<'_> {
    /// Keys with their values: every key is text, the first of its name, and `<<` is replaced by what it names.
    pub(super) fn entries(&mut self, frame: &Frame) -> Box<[(NodeId, NodeId)]> {
        let mut entries: Vec<(NodeId, NodeId)> =
            Vec::with_capacity((self.children.len() - frame.first_child) / 2);
        let mut seen: HashMap<&str, NodeId> = HashMap::new();
        let mut merged = Vec::new();
        let mut told = Vec::new();
        for pair in self.children[frame.first_child..].chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            let Some((text, style)) = self.tree.text(self.source, key) else {
                told.push(
                    syntax("yaml/key", "a key must be text").at(self.tree.place(self.number, key)),
                );
                continue;
            };
            if text == "<<" && style == Style::Plain {
                merged.push(value);
                continue;
            }
            let few = entries.len() < 16;
            let first = if few {
                self.first_of(&entries, text)
            } else {
                seen.get(text).copied()
            };
            if let Some(first) = first {
                if self.problems.len() + told.len() >= MAX_PROBLEMS {
                    continue;
                }
                let path = self.path_here(frame, text);
                let problem = Problem::new(
                    path,
                    Kind::Duplicate,
                    "yaml/duplicate-key",
                    format!("the key {text} stands twice"),
                )
                .at(self.tree.place(self.number, key))
                .related(self.tree.place(self.number, first), "the first one");
                told.push(problem);
                continue;
            }
            entries.push((key, value));
            if entries.len() == 16 {
                seen = entries
                    .iter()
                    .filter_map(|(k, _)| Some((self.tree.text(self.source, *k)?.0, *k)))
                    .collect();
            } else if entries.len() > 16 {
                seen.insert(text, key);
            }
        }
        for map in merged {
            self.merge(map, &mut entries);
        }
        self.problems.extend(told);
        entries.into()
    }

    fn first_of(&self, entries: &[(NodeId, NodeId)], text: &str) -> Option<NodeId> {
        entries
            .iter()
            .map(|(key, _)| *key)
            .find(|key| self.key(*key) == text)
    }

    fn key(&self, key: NodeId) -> &str {
        self.tree
            .text(self.source, key)
            .map_or("", |(text, _)| text)
    }

    /// `<<: *defaults` and `<<: [*a, *b]`, as kubectl reads them: what stands here wins, then the earlier one.
    fn merge(&self, from: NodeId, entries: &mut Vec<(NodeId, NodeId)>) {
        match self.tree.kind(from) {
            NodeKind::Map(more) => {
                let known: HashSet<&str> = entries.iter().map(|(key, _)| self.key(*key)).collect();
                entries.extend(
                    more.iter()
                        .filter(|(key, _)| !known.contains(self.key(*key))),
                );
            }
            NodeKind::List(maps) => maps.iter().for_each(|map| self.merge(*map, entries)),
            NodeKind::Scalar { .. } | NodeKind::Alias(_) => {}
        }
    }
}
