//! Parses the body of a page with the CommonMark parser and collects the parts that gates check.

use std::ops::Range;

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::html;
use super::page::{CodeBlock, CodeSpan, Comment, Heading, LineKind, Link, LinkKind, Page};

/// Longest text of a heading or a link that is kept, in bytes.
const TEXT_BYTES_MAX: usize = 1024;
/// Longest code within a line, or comment, that is kept, in bytes.
const SPAN_BYTES_MAX: usize = 4096;
/// Maximum depth of nested images that get a text.
const NESTED_LINKS_MAX: usize = 4;
/// Longest target of a link that is kept, in bytes.
const TARGET_BYTES_MAX: usize = 4096;

/// Parses the body of `text`, which begins at `body`, and adds what it contains to the page.
pub(super) fn collect(page: &mut Page, text: &str, body: usize, items_max: usize) {
    page.line_kinds = vec![LineKind::Blank; page.lines.count()];
    for (kind, line) in page.line_kinds.iter_mut().zip(text.lines()) {
        *kind = if line.trim().is_empty() { LineKind::Blank } else { LineKind::Text };
    }
    let mut collector = Collector {
        body,
        masked: text.as_bytes().to_vec(),
        items_max,
        page: &mut *page,
        open: Open::default(),
    };
    collector.mark(0..body, LineKind::FrontMatter);
    let mut undefined: Vec<(usize, String)> = Vec::new();
    let mut note_undefined = |link: BrokenLink<'_>| {
        if link.link_type == LinkType::Reference && undefined.len() < items_max {
            undefined.push((link.span.start, cut(&link.reference, TEXT_BYTES_MAX)));
        }
        None::<(CowStr<'_>, CowStr<'_>)>
    };
    let Some(source) = text.get(body..) else { return };
    let parser = Parser::new_with_broken_link_callback(source, options(), Some(&mut note_undefined));
    for (_, definition) in parser.reference_definitions().iter() {
        collector.mark(shifted(&definition.span, body), LineKind::Reference);
    }
    for (event, range) in parser.into_offset_iter() {
        collector.take(event, shifted(&range, body), text);
    }
    let masked = String::from_utf8(std::mem::take(&mut collector.masked)).unwrap_or_default();
    page.masked = masked;
    let lines = &page.lines;
    page.undefined_references =
        undefined.into_iter().map(|(at, label)| (lines.line(body + at), label)).collect();
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_GFM
}

fn shifted(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// The beginning of a text, at most so many bytes.
fn cut(text: &str, bytes_max: usize) -> String {
    text[..text.floor_char_boundary(bytes_max)].to_owned()
}

/// The elements that are open.
#[derive(Default)]
struct Open {
    heading: Option<Heading>,
    /// Links and images, the innermost last.
    links: Vec<Link>,
    code: Option<CodeBlock>,
}

struct Collector<'p> {
    page: &'p mut Page,
    body: usize,
    masked: Vec<u8>,
    items_max: usize,
    open: Open,
}

impl Collector<'_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>, text: &str) {
        match event {
            Event::Start(tag) => self.start(tag, range, text),
            Event::End(tag) => self.end(tag),
            Event::Text(written) => match &mut self.open.code {
                Some(block) => {
                    if block.code.is_empty() {
                        block.code_line = self.page.lines.line(range.start);
                    }
                    block.code.push_str(&written);
                }
                None => self.add_text(&written),
            },
            Event::Code(code) => {
                self.mask(&range);
                self.add_text(&code);
                let span =
                    CodeSpan { code: cut(&code, SPAN_BYTES_MAX), line: self.page.lines.line(range.start) };
                add(&mut self.page.code_spans, span, self.items_max, &mut self.page.is_truncated);
            }
            Event::InlineHtml(_) => self.add_html(range, text),
            Event::SoftBreak | Event::HardBreak => self.add_text(" "),
            Event::Html(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>, text: &str) {
        let line = self.page.lines.line(range.start);
        match tag {
            Tag::Heading { level, id, .. } => {
                self.mark(range, LineKind::Heading);
                let id = id.map(|id| cut(&id, TEXT_BYTES_MAX));
                self.open.heading = Some(Heading { level: level as u8, text: String::new(), line, id });
            }
            Tag::CodeBlock(kind) => {
                self.mark(range.clone(), LineKind::Code);
                self.mask(&range);
                let (info, is_closed) = match kind {
                    CodeBlockKind::Fenced(info) => {
                        (Some(cut(&info, TEXT_BYTES_MAX)), is_closed(&text[range.clone()]))
                    }
                    CodeBlockKind::Indented => (None, true),
                };
                let code_line = line.saturating_add(u32::from(info.is_some()));
                self.open.code = Some(CodeBlock { info, code: String::new(), line, code_line, is_closed });
            }
            Tag::HtmlBlock => {
                self.mark(range.clone(), LineKind::Html);
                self.add_html(range, text);
            }
            Tag::Table(_) => self.mark(range, LineKind::Table),
            Tag::Link { dest_url, link_type, .. } => {
                // Mail addresses lead out of the site.
                let target = if link_type == LinkType::Email {
                    format!("mailto:{dest_url}")
                } else {
                    dest_url.to_string()
                };
                self.open_link(LinkKind::Link, &target, line);
            }
            Tag::Image { dest_url, .. } => {
                if let Some(outer) = self.open.links.last_mut() {
                    outer.has_content = true;
                }
                self.open_link(LinkKind::Image, &dest_url, line);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        let items_max = self.items_max;
        match tag {
            TagEnd::Heading(_) => {
                if let Some(mut heading) = self.open.heading.take() {
                    heading.text = heading.text.trim().to_owned();
                    add(&mut self.page.headings, heading, items_max, &mut self.page.is_truncated);
                }
            }
            TagEnd::CodeBlock => {
                if let Some(block) = self.open.code.take() {
                    add(&mut self.page.code_blocks, block, items_max, &mut self.page.is_truncated);
                }
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(link) = self.open.links.pop() {
                    add(&mut self.page.links, link, items_max, &mut self.page.is_truncated);
                }
            }
            _ => {}
        }
    }

    fn open_link(&mut self, kind: LinkKind, target: &str, line: u32) {
        let target = cut(target, TARGET_BYTES_MAX);
        self.open.links.push(Link { kind, target, text: String::new(), line, has_content: false });
    }

    /// Adds text without markup to the heading and the links that are open.
    fn add_text(&mut self, written: &str) {
        let open = self.open.heading.iter_mut().map(|heading| &mut heading.text);
        let links = self.open.links.iter_mut().rev().take(NESTED_LINKS_MAX).map(|link| &mut link.text);
        for text in open.chain(links) {
            if text.len() < TEXT_BYTES_MAX {
                text.push_str(&written[..written.floor_char_boundary(TEXT_BYTES_MAX - text.len())]);
            }
        }
    }

    fn add_html(&mut self, range: Range<usize>, text: &str) {
        let html = html::read(&text[range.clone()]);
        let (page, items_max) = (&mut *self.page, self.items_max);
        for (within, comment) in html.comments {
            let line = page.lines.line(range.start + within.start);
            let comment = Comment { text: cut(comment.trim(), SPAN_BYTES_MAX), line };
            add(&mut page.comments, comment, items_max, &mut page.is_truncated);
            blank(&mut self.masked, &shifted(&within, range.start));
        }
        for (at, target, is_image) in html.links {
            let kind = if is_image { LinkKind::Image } else { LinkKind::Link };
            let (target, line) = (cut(target, TARGET_BYTES_MAX), page.lines.line(range.start + at));
            let link = Link { kind, target, text: String::new(), line, has_content: true };
            add(&mut page.links, link, items_max, &mut page.is_truncated);
        }
        for id in html.ids {
            if page.html_ids.len() < items_max {
                page.html_ids.insert(cut(id, TEXT_BYTES_MAX));
            }
        }
        for (at, what) in html.active {
            let active = (page.lines.line(range.start + at), what.to_owned());
            add(&mut page.active_html, active, items_max, &mut page.is_truncated);
        }
    }

    /// Notes the kind of the lines of a range.
    fn mark(&mut self, range: Range<usize>, kind: LineKind) {
        for row in self.page.lines.rows(&range) {
            if let Some(known) = self.page.line_kinds.get_mut(row)
                && (*known != LineKind::Blank || matches!(kind, LineKind::Code | LineKind::FrontMatter))
            {
                *known = kind;
            }
        }
    }

    fn mask(&mut self, range: &Range<usize>) {
        debug_assert!(range.start >= self.body, "the front matter stays");
        blank(&mut self.masked, range);
    }
}

/// Replaces the bytes of a range by spaces; line breaks stay.
fn blank(bytes: &mut [u8], range: &Range<usize>) {
    for byte in bytes.get_mut(range.clone()).unwrap_or_default() {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

fn add<T>(items: &mut Vec<T>, item: T, items_max: usize, is_truncated: &mut bool) {
    if items.len() < items_max {
        items.push(item);
    } else {
        *is_truncated = true;
    }
}

/// Returns `true` if a fenced block has an end: its last line is a fence of the same character.
fn is_closed(source: &str) -> bool {
    let content = |line: &str| line.trim_start_matches([' ', '\t', '>']).to_owned();
    let source = source.trim_end();
    let (Some(first), Some((_, last))) = (source.lines().next(), source.rsplit_once('\n')) else {
        return false;
    };
    let (first, last) = (content(first), content(last));
    let fence = if first.starts_with('~') { '~' } else { '`' };
    let run = |line: &str| line.chars().take_while(|c| *c == fence).count();
    run(&last) >= run(&first).max(3) && last.trim_end().chars().all(|c| c == fence)
}
