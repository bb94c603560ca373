//! Contents of the blocks of pages.

use std::collections::{BTreeMap, BTreeSet};

use super::titled;
use crate::claim::{Claim, ClaimKind};
use crate::derivation::defined;
use crate::forms::{CatalogSnippet, PlanBlock, PlanItem, PlanPage, ProductFacts, SnippetCatalog};
use crate::render::ruleset::{BlockRule, Quota, Source};

/// The claims and snippets from which pages are made.
pub(super) struct Material<'a> {
    claims: Vec<&'a Claim>,
    definitions: Vec<Definition<'a>>,
    snippets: BTreeMap<&'a str, &'a CatalogSnippet>,
    snippet_order: Vec<&'a str>,
    commands: &'a [String],
    licence: Option<&'a str>,
    quota: Quota,
}

/// A definition: its name, its statement, and that of its comment.
struct Definition<'a> {
    name: &'a str,
    path: &'a str,
    claim: &'a str,
    comments: Vec<&'a str>,
}

impl<'a> Material<'a> {
    pub(super) fn new(
        facts: &'a ProductFacts,
        catalog: &'a SnippetCatalog,
        usable: &BTreeSet<&str>,
        quota: Quota,
    ) -> Self {
        let is_usable = |id: &str| usable.contains(id);
        let snippets = catalog.snippets.iter().map(|snippet| (snippet.sha256.as_str(), snippet));
        Self {
            claims: facts.claims.iter().filter(|claim| is_usable(&claim.claim_id)).collect(),
            definitions: definitions(&facts.claims, &is_usable),
            snippets: snippets.collect(),
            snippet_order: catalog.snippets.iter().map(|snippet| snippet.sha256.as_str()).collect(),
            commands: &facts.install_commands,
            licence: facts.licence_claim.as_deref().filter(|id| is_usable(id)),
            quota,
        }
    }

    /// Returns the blocks that a rule asks for, without claims that the page has already; an empty list if the blocks would be empty.
    pub(super) fn blocks(&self, rule: &BlockRule, used: &mut BTreeSet<String>) -> Vec<PlanBlock> {
        let quota = self.quota;
        let items = match rule.source {
            Source::Api => return self.api(used),
            Source::Overview => {
                let has_features = self.claims.iter().any(|claim| claim.kind == ClaimKind::Feature);
                let kind = if has_features { ClaimKind::Feature } else { ClaimKind::Other };
                let chosen = self.choose(kind, quota.paragraphs, used);
                chosen.into_iter().map(|claim_id| PlanItem::Paragraph { claim_id }).collect()
            }
            Source::Features => self.entries(ClaimKind::Feature, used),
            Source::Formats => self.entries(ClaimKind::Format, used),
            Source::Usage => self.entries(ClaimKind::Workflow, used),
            Source::Limitations => self.entries(ClaimKind::Limitation, used),
            Source::Install => {
                let mut items = self.entries(ClaimKind::Install, used);
                items.extend(self.commands.iter().map(|text| PlanItem::Command { text: text.clone() }));
                items
            }
            Source::Example => self.examples(0, 1),
            Source::Examples => self.examples(1, quota.snippets),
            Source::Licence => {
                let new = self.licence.filter(|id| used.insert((*id).to_owned()));
                new.map(|id| PlanItem::Paragraph { claim_id: id.to_owned() }).into_iter().collect()
            }
            Source::Links => Vec::new(),
        };
        if items.is_empty() { Vec::new() } else { vec![titled(rule.heading, items)] }
    }

    fn entries(&self, kind: ClaimKind, used: &mut BTreeSet<String>) -> Vec<PlanItem> {
        let chosen = self.choose(kind, self.quota.entries, used);
        chosen.into_iter().map(|claim_id| PlanItem::Entry { claim_id }).collect()
    }

    /// The first claims of a kind that the page does not have yet. The claim of the licence has a block of its own.
    fn choose(&self, kind: ClaimKind, most: usize, used: &mut BTreeSet<String>) -> Vec<String> {
        let of_kind = self.claims.iter().filter(|claim| {
            claim.kind == kind
                && self.licence != Some(claim.claim_id.as_str())
                && !used.contains(&claim.claim_id)
        });
        let chosen: Vec<String> = of_kind.take(most).map(|claim| claim.claim_id.clone()).collect();
        used.extend(chosen.iter().cloned());
        chosen
    }

    fn examples(&self, skip: usize, most: usize) -> Vec<PlanItem> {
        let chosen = self.snippet_order.iter().skip(skip).take(most);
        chosen.map(|sha256| PlanItem::Snippet { sha256: (*sha256).to_owned() }).collect()
    }

    /// A heading for each file, and below it one for each of its definitions.
    fn api(&self, used: &mut BTreeSet<String>) -> Vec<PlanBlock> {
        let mut blocks: Vec<PlanBlock> = Vec::new();
        let mut path = "";
        let mut names: BTreeSet<(&str, &str)> = BTreeSet::new();
        for definition in self.definitions.iter().take(self.quota.definitions) {
            // Two headings with the same text would have the same anchor.
            if !names.insert((definition.path, definition.name)) {
                continue;
            }
            if definition.path != path {
                path = definition.path;
                blocks.push(code_block(2, path, Vec::new()));
            }
            let claims = definition.comments.iter().copied().chain(std::iter::once(definition.claim));
            let new: Vec<&str> = claims.filter(|id| used.insert((*id).to_owned())).collect();
            let items = new.into_iter().map(|id| PlanItem::Paragraph { claim_id: id.to_owned() }).collect();
            blocks.push(code_block(3, definition.name, items));
        }
        blocks
    }

    /// Lines that an item takes on its page.
    fn lines(&self, item: &PlanItem) -> usize {
        match item {
            PlanItem::Paragraph { .. } | PlanItem::Line { .. } => 2,
            PlanItem::Entry { .. } | PlanItem::Link { .. } => 1,
            PlanItem::Command { text } => text.lines().count() + 3,
            PlanItem::Snippet { sha256 } => {
                self.snippets.get(sha256.as_str()).map_or(0, |snippet| snippet.code.lines().count()) + 3
            }
        }
    }
}

fn code_block(level: u8, heading: &str, items: Vec<PlanItem>) -> PlanBlock {
    PlanBlock { level, heading: heading.to_owned(), is_code: true, items }
}

/// The definitions among claims, each with the claims of its comment, which follow it.
fn definitions<'a>(claims: &'a [Claim], is_usable: &dyn Fn(&str) -> bool) -> Vec<Definition<'a>> {
    let mut found: Vec<(Definition<'a>, bool)> = Vec::new();
    for claim in claims.iter().filter(|claim| claim.kind == ClaimKind::Api) {
        let Some(cited) = claim.citations.first() else { continue };
        match defined(&claim.text) {
            Some((name, path)) if path == cited.path => {
                let definition = Definition { name, path, claim: &claim.claim_id, comments: Vec::new() };
                found.push((definition, is_usable(&claim.claim_id)));
            }
            _ => {
                let last = found.last_mut().filter(|(last, _)| last.path == cited.path);
                if let Some((last, _)) = last.filter(|_| is_usable(&claim.claim_id)) {
                    last.comments.push(&claim.claim_id);
                }
            }
        }
    }
    found.into_iter().filter(|(_, is_usable)| *is_usable).map(|(definition, _)| definition).collect()
}

/// Lines of a page beside its items: front matter, title and the lines around them.
const FRAME_LINES: usize = 12;

/// Removes the parts of a page beyond its budget of lines: definitions first, then the ends of the longest lists.
pub(super) fn cut(page: &mut PlanPage, lines_max: usize, material: &Material<'_>) {
    let lines = |page: &PlanPage| -> usize {
        let of_block =
            |block: &PlanBlock| 3 + block.items.iter().map(|item| material.lines(item)).sum::<usize>();
        FRAME_LINES + page.blocks.iter().map(of_block).sum::<usize>()
    };
    while lines(page) > lines_max {
        let definition = page.blocks.iter().rposition(|block| block.is_code && block.level > 2);
        let longest = page.blocks.iter().enumerate().max_by_key(|(at, block)| (block.items.len(), *at));
        match (definition, longest.map(|(at, block)| (at, block.items.len()))) {
            (Some(at), _) if page.blocks.iter().filter(|block| block.level > 2).count() > 1 => {
                page.blocks.remove(at);
            }
            (_, Some((at, count))) if count > 1 => {
                if let Some(block) = page.blocks.get_mut(at) {
                    block.items.pop();
                }
            }
            _ => break,
        }
    }
    // A file without definitions needs no heading.
    let is_empty = |at: usize, blocks: &[PlanBlock]| {
        let next_is_below = blocks.get(at + 1).is_some_and(|next| next.level > 2);
        blocks.get(at).is_some_and(|block| block.is_code && block.level == 2) && !next_is_below
    };
    let mut at = 0;
    while at < page.blocks.len() {
        if is_empty(at, &page.blocks) {
            page.blocks.remove(at);
        } else {
            at += 1;
        }
    }
}
