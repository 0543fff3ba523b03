//! The modules of the library as syntax trees, without what is only compiled for tests.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, UseTree, Visibility};

/// Segments of a path, such as `["crate", "plan", "Plan"]`.
pub(crate) type Segments = Vec<String>;

/// A module, inline or in a file.
#[derive(Default)]
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    /// Names of the items that it defines.
    items: BTreeSet<String>,
    /// Types that other modules can name.
    pub(crate) types: Vec<String>,
    /// Names that `use` brings in, and their targets.
    aliases: BTreeMap<String, Segments>,
    globs: Vec<Segments>,
    /// Every path in the code; re-exports are aliases only.
    pub(crate) paths: Vec<Segments>,
    /// Names of the macros that it calls.
    pub(crate) macros: BTreeSet<String>,
    /// String literals and doc comments.
    pub(crate) strings: Vec<String>,
    /// First lines of doc comments.
    pub(crate) docs: Vec<String>,
}

/// All modules by their path from the crate's root.
#[derive(Default)]
pub(crate) struct Crate(pub(crate) BTreeMap<Segments, Module>);

impl Crate {
    /// Reads the library from its root file, following `mod` declarations.
    pub(crate) fn read(root: &Path) -> Crate {
        let mut found = Crate::default();
        found.file(Vec::new(), root, root.parent().unwrap());
        found
    }

    /// Parses modules from texts, for tests of these tests: pairs of path and text.
    pub(crate) fn from_texts(texts: &[(&str, &str)]) -> Crate {
        let mut found = Crate::default();
        for (path, text) in texts {
            let segments = path.split("::").filter(|it| !it.is_empty());
            let segments: Segments = segments.map(str::to_owned).collect();
            let file = syn::parse_file(text).unwrap();
            found.module(segments, Path::new(path), None, &file.attrs, &file.items);
        }
        found
    }

    fn file(&mut self, path: Segments, file: &Path, children: &Path) {
        let text = fs::read_to_string(file).unwrap();
        let parsed = syn::parse_file(&text).unwrap();
        self.module(path, file, Some(children), &parsed.attrs, &parsed.items);
    }

    /// Reads one module, and those below it; `children` is the folder of their files.
    fn module(
        &mut self,
        path: Segments,
        file: &Path,
        children: Option<&Path>,
        attributes: &[Attribute],
        items: &[Item],
    ) {
        let mut module = Module {
            file: file.to_owned(),
            ..Module::default()
        };
        module.read_attributes(attributes);
        for item in items.iter().filter(|it| !is_test(attributes_of(it))) {
            module.read(item);
        }
        for item in items {
            let Item::Mod(child) = item else { continue };
            if is_test(&child.attrs) {
                continue;
            }
            let name = child.ident.to_string();
            let below = [path.clone(), vec![name.clone()]].concat();
            if let Some((_, items)) = &child.content {
                let folder = children.map(|it| it.join(&name));
                self.module(below, file, folder.as_deref(), &child.attrs, items);
            } else if let Some(children) = children {
                let (file, folder) = file_of(children, &name);
                self.file(below, &file, &folder);
            }
        }
        self.0.insert(path, module);
    }

    /// The module that defines what a path in `scope` names; `None` for other crates and local names.
    pub(crate) fn definition(&self, scope: &[String], path: &[String]) -> Option<Segments> {
        self.resolve(scope, path, 0)
    }

    fn resolve(&self, scope: &[String], path: &[String], depth: usize) -> Option<Segments> {
        if depth > 16 {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Vec::new(),
            "self" => scope.to_vec(),
            "super" => scope[..scope.len().checked_sub(1)?].to_vec(),
            name => return self.step(scope, name, rest, depth),
        };
        while rest.first().is_some_and(|it| it == "super") {
            at.pop()?;
            rest = &rest[1..];
        }
        match rest.split_first() {
            Some((name, rest)) => self.step(&at, name, rest, depth),
            None => Some(at),
        }
    }

    /// Whether a path that begins with `name` can lead to a module of this crate.
    fn is_local(&self, scope: &[String], name: &str) -> bool {
        let below = [scope, &[name.to_owned()]].concat();
        ["crate", "self", "super"].contains(&name) || self.0.contains_key(&below)
    }

    /// Resolves `name` and the segments after it in the module at `at`.
    fn step(&self, at: &[String], name: &str, rest: &[String], depth: usize) -> Option<Segments> {
        let below = [at, &[name.to_owned()]].concat();
        if self.0.contains_key(&below) {
            return match rest.split_first() {
                Some((name, rest)) => self.step(&below, name, rest, depth),
                None => Some(below),
            };
        }
        let module = self.0.get(at)?;
        if module.items.contains(name) {
            return Some(at.to_vec());
        }
        if let Some(target) = module.aliases.get(name) {
            let target = [target.as_slice(), rest].concat();
            // A re-export of another crate's item is defined here.
            return match self.resolve(at, &target, depth + 1) {
                None if !self.is_local(at, &target[0]) => Some(at.to_vec()),
                found => found,
            };
        }
        module.globs.iter().find_map(|glob| {
            let path = [glob.as_slice(), &[name.to_owned()], rest].concat();
            self.resolve(at, &path, depth + 1)
        })
    }
}

impl Module {
    /// The names that `use` brings in, and their targets.
    pub(crate) fn imports(&self) -> BTreeMap<&str, &Segments> {
        self.aliases
            .iter()
            .map(|(name, target)| (name.as_str(), target))
            .collect()
    }

    fn read(&mut self, item: &Item) {
        if let Item::Use(item) = item {
            let is_private = matches!(item.vis, Visibility::Inherited);
            self.read_use(&item.tree, Vec::new(), is_private);
            return;
        }
        if let Some((name, visibility)) = type_of(item)
            && !matches!(visibility, Visibility::Inherited)
        {
            self.types.push(name);
        }
        if let Item::Macro(call) = item {
            self.items.extend(identifiers(call.mac.tokens.clone()));
        }
        if let Some(name) = name_of(item) {
            self.items.insert(name);
        }
        if !matches!(item, Item::Mod(_)) {
            self.visit_item(item);
        }
    }

    fn read_use(&mut self, tree: &UseTree, mut prefix: Segments, is_private: bool) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.read_use(&path.tree, prefix, is_private);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.read_use(tree, prefix.clone(), is_private);
                }
            }
            UseTree::Glob(_) => {
                if is_private {
                    self.paths.push(prefix.clone());
                }
                self.globs.push(prefix);
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.import(prefix, &name, None, is_private);
            }
            UseTree::Rename(rename) => {
                let (name, alias) = (rename.ident.to_string(), rename.rename.to_string());
                self.import(prefix, &name, Some(alias), is_private);
            }
        }
    }

    fn import(&mut self, prefix: Segments, name: &str, alias: Option<String>, is_private: bool) {
        let mut target = prefix;
        if name != "self" {
            target.push(name.to_owned());
        }
        let known_as = alias.or_else(|| target.last().cloned());
        if is_private {
            self.paths.push(target.clone());
        }
        if let Some(known_as) = known_as {
            self.aliases.insert(known_as, target);
        }
    }

    fn read_attributes(&mut self, attributes: &[Attribute]) {
        for attribute in attributes {
            self.visit_attribute(attribute);
        }
        self.read_doc(attributes);
    }

    /// Keeps the first line of a doc comment.
    fn read_doc(&mut self, attributes: &[Attribute]) {
        let first = attributes.iter().find_map(|it| match &it.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                syn::Expr::Lit(literal) => match &literal.lit {
                    syn::Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        });
        self.docs.extend(first);
    }

    /// Finds paths and strings in the arguments of a macro, which no parser knows.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut path: Segments = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.end_path(&mut path);
                    }
                    path.push(ident.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.end_path(&mut path);
                    self.read_tokens(group.stream());
                }
                TokenTree::Literal(literal) => {
                    let literal = TokenStream::from(TokenTree::Literal(literal));
                    if let Ok(text) = syn::parse2::<syn::LitStr>(literal) {
                        self.strings.push(text.value());
                    }
                    self.end_path(&mut path);
                }
                TokenTree::Punct(_) => self.end_path(&mut path),
            }
            colons = 0;
        }
        self.end_path(&mut path);
    }

    fn end_path(&mut self, path: &mut Segments) {
        if path.len() > 1 {
            self.paths.push(std::mem::take(path));
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        match &attribute.meta {
            syn::Meta::List(list) => self.read_tokens(list.tokens.clone()),
            _ => visit::visit_attribute(self, attribute),
        }
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.strings.push(literal.value());
    }

    /// The path of `pub(in …)` does not use that module.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|it| it.ident.to_string());
        let segments: Segments = segments.collect();
        if segments.len() > 1 {
            self.paths.push(segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if let Some(name) = call.path.segments.last() {
            self.macros.insert(name.ident.to_string());
        }
        self.read_tokens(call.tokens.clone());
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = attributes_of(item);
        if is_test(attributes) {
            return;
        }
        self.read_doc(attributes);
        if let Item::Use(item) = item {
            self.read_use(&item.tree, Vec::new(), true);
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Fn(item) => item.attrs.as_slice(),
            ImplItem::Const(item) => item.attrs.as_slice(),
            _ => &[],
        };
        if is_test(attributes) {
            return;
        }
        self.read_doc(attributes);
        visit::visit_impl_item(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if is_test(&field.attrs) {
            return;
        }
        self.read_doc(&field.attrs);
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.read_doc(&variant.attrs);
        visit::visit_variant(self, variant);
    }
}

/// The file of a child module, and the folder of its own children.
fn file_of(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    let below = folder.join(name);
    let flat = folder.join(format!("{name}.rs"));
    match flat.exists() {
        true => (flat, below),
        false => (below.join("mod.rs"), below),
    }
}

/// The identifiers in the arguments of a macro, some of which it may define.
fn identifiers(tokens: TokenStream) -> Vec<String> {
    let identifiers = |token| match token {
        TokenTree::Ident(ident) => vec![ident.to_string()],
        TokenTree::Group(group) => identifiers(group.stream()),
        _ => Vec::new(),
    };
    tokens.into_iter().flat_map(identifiers).collect()
}

fn is_test(attributes: &[Attribute]) -> bool {
    let text = |it: &Attribute| match &it.meta {
        syn::Meta::List(list) => list.tokens.to_string(),
        _ => String::new(),
    };
    attributes
        .iter()
        .any(|it| it.path().is_ident("test") || (it.path().is_ident("cfg") && text(it) == "test"))
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::Type(it) => &it.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn type_of(item: &Item) -> Option<(String, &Visibility)> {
    let (name, visibility) = match item {
        Item::Enum(it) => (&it.ident, &it.vis),
        Item::Struct(it) => (&it.ident, &it.vis),
        Item::Trait(it) => (&it.ident, &it.vis),
        Item::Type(it) => (&it.ident, &it.vis),
        _ => return None,
    };
    Some((name.to_string(), visibility))
}
