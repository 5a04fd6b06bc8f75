//! Posts, pages and comments of a WordPress export (WXR, as Tools -> Export writes it), in the form of [`content`](super::content).
//!
//! The file is not trusted. It is read whole up to a limit, as text only: entities other than those of XML itself and
//! document types are refused, nothing outside of it is read, and what WordPress would unserialize or fetch (metadata,
//! attachments) is left out.

use crate::error::StackError;
use model::Redacted;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Largest file.
const FILE_MAX_BYTES: u64 = 64 << 20;
/// Most posts and pages, and most comments in all.
const ITEMS_MAX: usize = 5_000;
const COMMENTS_MAX: usize = 50_000;
/// Deepest element.
const DEPTH_MAX: usize = 16;
/// Most categories and tags of a post.
const TERMS_MAX: usize = 100;
/// Kinds of what is left out that are told apart.
const KINDS_MAX: usize = 20;
/// Longest title or name; characters.
const NAME_MAX: usize = 500;
/// Characters of a reason that are kept, and those of the longest message with one.
const REASON_CHARS_MAX: usize = 200;
const WHY_CHARS_MAX: usize = 2 * REASON_CHARS_MAX;
/// Where no usable date is given.
const FIRST_DATE: &str = "2024-01-01 00:00:00";

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Imported {
    /// One JSON object a line.
    pub(super) lines: Vec<u8>,
    posts: usize,
    pages: usize,
    comments: usize,
    /// What is not imported, by its kind.
    left_out: BTreeMap<String, usize>,
}

/// Reads an export.
///
/// # Errors
/// If it cannot be read, is none, or has more in it than a limit; names file, line and reason.
pub(super) fn read(path: &Path) -> Result<Imported, StackError> {
    let wrong = |why: &str| StackError::Wrong(format!("import={}: {why}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| wrong(&error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| wrong(&error.to_string()))?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err(wrong(&format!("it has more than {FILE_MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))?;
    parse(text.trim_start_matches('\u{feff}')).map_err(|why| wrong(&why))
}

/// Takes `data` as an export: no panic; an error is one short line; and what is taken is an object a line, bounded and of the
/// kinds that visitors see, each as often as the note says, and the same when it is read once more.
pub(crate) fn keep_promises(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let imported = match parse(text) {
        Ok(imported) => imported,
        Err(why) => {
            let is_line = why.chars().count() <= WHY_CHARS_MAX && !why.contains(char::is_control);
            return assert!(is_line, "{why:?}");
        }
    };
    assert_eq!(parse(text).as_ref(), Ok(&imported));
    assert!(imported.note().is_none_or(|note| !note.contains(char::is_control)), "{imported:?}");
    let lines = str::from_utf8(&imported.lines).expect("text");
    let items: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    let of_kind = |kind: &str| items.iter().filter(|item| item["kind"] == kind).count();
    assert_eq!(
        (of_kind("post"), of_kind("page"), items.len()),
        (imported.posts, imported.pages, imported.posts + imported.pages)
    );
    let comments = |item: &Value| item["comments"].as_array().expect("a list").clone();
    assert_eq!(items.iter().map(|item| comments(item).len()).sum::<usize>(), imported.comments);
    for item in &items {
        let terms = [&item["categories"], &item["tags"]].map(|terms| terms.as_array().expect("a list"));
        assert!(terms.iter().all(|terms| terms.len() <= TERMS_MAX), "{item}");
        let comments = comments(item);
        let names = comments.iter().map(|comment| &comment["author"]).chain(terms.into_iter().flatten());
        for name in names.chain([&item["title"], &item["name"]]) {
            let name = name.as_str().expect("text");
            assert!(name.chars().count() <= NAME_MAX && !name.contains(['\n', '\r']), "{name:?}");
        }
        for dated in comments.iter().chain([item]) {
            let date = dated["date"].as_str().expect("text");
            assert!(date.len() == FIRST_DATE.len() && date.is_ascii(), "{date:?}");
        }
    }
}

impl Imported {
    /// What was taken and what was not, for people; none when all was taken.
    pub(super) fn note(&self) -> Option<String> {
        if self.left_out.is_empty() {
            return None;
        }
        let left_out: Vec<String> = self.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        Some(format!(
            "import: {} posts, {} pages, {} comments; left out: {}",
            self.posts,
            self.pages,
            self.comments,
            left_out.join(", ")
        ))
    }

    fn leave_out(&mut self, kind: &str) {
        let kind: String = kind.chars().filter(|c| c.is_ascii_alphanumeric() || "_- ".contains(*c)).take(40).collect();
        let is_known = self.left_out.contains_key(&kind) || self.left_out.len() < KINDS_MAX;
        *self.left_out.entry(if is_known { kind } else { "others".to_owned() }).or_default() += 1;
    }
}

/// A post or page, as far as it was read.
#[derive(Default)]
struct Item {
    kind: String,
    status: String,
    password: String,
    title: String,
    name: String,
    body: String,
    excerpt: String,
    date: String,
    categories: Vec<String>,
    tags: Vec<String>,
    comments: Vec<Comment>,
}

#[derive(Default)]
struct Comment {
    author: String,
    text: String,
    date: String,
    approved: String,
    kind: String,
}

/// The state of a walk through the file.
#[derive(Default)]
struct Walk {
    imported: Imported,
    depth: usize,
    is_export: bool,
    item: Option<Item>,
    comment: Option<Comment>,
    /// `domain` of the category that is open.
    domain: String,
    text: String,
}

fn parse(text: &str) -> Result<Imported, String> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut walk = Walk::default();
    loop {
        let event = reader.read_event().map_err(|error| error.to_string()).and_then(|event| walk.take(event));
        match event {
            Ok(true) => {}
            Ok(false) if walk.is_export && walk.depth == 0 => return Ok(walk.imported),
            Ok(false) if walk.depth > 0 => return Err("it is cut off: an element is not closed".to_owned()),
            Ok(false) => return Err("it is no export of WordPress (no wp:wxr_version in it)".to_owned()),
            Err(why) => {
                let read = (reader.buffer_position() as usize).min(text.len());
                let line = 1 + text.as_bytes()[..read].iter().filter(|byte| **byte == b'\n').count();
                // Names of elements stand in it as they are.
                return Err(format!("line {line}: {}", Redacted::line(&why, REASON_CHARS_MAX)));
            }
        }
    }
}

impl Walk {
    /// Takes what comes next; false at the end of the file.
    fn take(&mut self, event: Event<'_>) -> Result<bool, String> {
        let not_text = |error: quick_xml::encoding::EncodingError| error.to_string();
        match event {
            Event::Start(element) => self.begin(&element)?,
            Event::End(element) => {
                let name = String::from_utf8_lossy(element.name().as_ref()).into_owned();
                self.end(&name)?;
            }
            Event::Text(text) => self.text.push_str(&text.xml10_content().map_err(not_text)?),
            Event::CData(text) => self.text.push_str(&text.xml10_content().map_err(not_text)?),
            Event::GeneralRef(reference) => self.text.push(character(&reference)?),
            Event::DocType(_) => return Err("it declares a document type, which exports do not".to_owned()),
            Event::Eof => return Ok(false),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) | Event::Empty(_) => {}
        }
        Ok(true)
    }

    fn begin(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("elements are nested more than {DEPTH_MAX} deep"));
        }
        self.text.clear();
        match element.name().as_ref() {
            b"item" => self.item = Some(Item::default()),
            b"wp:comment" => self.comment = Some(Comment::default()),
            b"category" => {
                let domain = element.try_get_attribute("domain").map_err(|error| error.to_string())?;
                self.domain =
                    domain.map(|domain| String::from_utf8_lossy(&domain.value).into_owned()).unwrap_or_default();
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), String> {
        self.depth = self.depth.saturating_sub(1);
        let text = std::mem::take(&mut self.text);
        match (name, &mut self.item, &mut self.comment) {
            ("item", item, _) => {
                let item = item.take().unwrap_or_default();
                self.comment = None;
                return self.keep(item);
            }
            ("wp:comment", Some(item), comment) => item.comments.extend(comment.take()),
            ("wp:wxr_version", None, _) => self.is_export = true,
            (name, Some(_), Some(comment)) => comment.set(name, text),
            (name, Some(item), None) => item.set(name, text, &self.domain),
            (_, None, _) => {}
        }
        Ok(())
    }

    /// Keeps an item, if it is one that visitors see.
    fn keep(&mut self, item: Item) -> Result<(), String> {
        let is_kind = ["post", "page"].contains(&item.kind.as_str());
        if !is_kind {
            self.imported.leave_out(if item.kind.is_empty() { "without a type" } else { &item.kind });
        } else if item.status != "publish" || !item.password.is_empty() {
            self.imported.leave_out("not published");
        } else if item.title.trim().is_empty() && item.body.trim().is_empty() {
            self.imported.leave_out("without text");
        } else {
            let line = item.line(&mut self.imported);
            self.imported.lines.extend(format!("{line}\n").into_bytes());
        }
        if self.imported.posts + self.imported.pages > ITEMS_MAX {
            return Err(format!("it has more than {ITEMS_MAX} posts and pages"));
        }
        if self.imported.comments > COMMENTS_MAX {
            return Err(format!("it has more than {COMMENTS_MAX} comments"));
        }
        Ok(())
    }
}

impl Item {
    fn set(&mut self, name: &str, text: String, domain: &str) {
        match name {
            "title" => self.title = short(&text),
            "content:encoded" => self.body = text,
            "excerpt:encoded" => self.excerpt = text,
            "wp:post_name" => self.name = short(&text),
            "wp:post_date" => self.date = text,
            "wp:post_type" => self.kind = text,
            "wp:status" => self.status = text,
            "wp:post_password" => self.password = text,
            "category" => {
                let terms = match domain {
                    "category" => &mut self.categories,
                    "post_tag" => &mut self.tags,
                    _ => return,
                };
                if terms.len() < TERMS_MAX && !text.trim().is_empty() {
                    terms.push(short(&text));
                }
            }
            _ => {}
        }
    }

    /// The item as it is stored, and its count.
    fn line(self, imported: &mut Imported) -> Value {
        let is_post = self.kind == "post";
        *if is_post { &mut imported.posts } else { &mut imported.pages } += 1;
        let (shown, hidden): (Vec<Comment>, Vec<Comment>) = self.comments.into_iter().partition(Comment::is_shown);
        hidden.iter().for_each(|_| imported.leave_out("comments that visitors do not see"));
        imported.comments += shown.len();
        let comment =
            |comment: Comment| json!({ "author": comment.author, "text": comment.text, "date": date(&comment.date) });
        json!({
            "kind": self.kind,
            "title": self.title,
            "name": self.name,
            "body": self.body,
            "excerpt": self.excerpt,
            "date": date(&self.date),
            "categories": if is_post { self.categories } else { Vec::new() },
            "tags": if is_post { self.tags } else { Vec::new() },
            "comments": shown.into_iter().map(comment).collect::<Vec<_>>(),
        })
    }
}

impl Comment {
    fn set(&mut self, name: &str, text: String) {
        match name {
            "wp:comment_author" => self.author = short(&text),
            "wp:comment_content" => self.text = text,
            "wp:comment_date" => self.date = text,
            "wp:comment_approved" => self.approved = text,
            "wp:comment_type" => self.kind = text,
            _ => {}
        }
    }

    fn is_shown(&self) -> bool {
        self.approved == "1" && ["", "comment"].contains(&self.kind.as_str()) && !self.text.trim().is_empty()
    }
}

/// The character of a reference. Entities that a file has declared itself may name files, or stand for gigabytes.
fn character(reference: &BytesRef<'_>) -> Result<char, String> {
    match reference.resolve_char_ref() {
        Ok(Some(character)) => return Ok(character),
        Ok(None) => {}
        Err(error) => return Err(error.to_string()),
    }
    let name = String::from_utf8_lossy(reference);
    match name.as_ref() {
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "amp" => Ok('&'),
        "quot" => Ok('"'),
        "apos" => Ok('\''),
        other => Err(format!("&{}; is no entity of XML", other.chars().take(40).collect::<String>())),
    }
}

/// A line of limited length.
fn short(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAME_MAX).collect()
}

/// `2024-01-31 12:30:00`, or the first date of all where the text is none.
fn date(text: &str) -> &str {
    let is_date = text.len() == FIRST_DATE.len()
        && text.bytes().zip(FIRST_DATE.bytes()).all(|(found, form)| match form {
            b'0'..=b'9' => found.is_ascii_digit(),
            other => found == other,
        });
    if is_date && !text.starts_with("0000") { text } else { FIRST_DATE }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n<rss version=\"2.0\">\n<channel>\n<wp:wxr_version>1.2</wp:wxr_version>\n";

    fn export(items: &str) -> String {
        format!("{HEAD}{items}</channel>\n</rss>\n")
    }

    fn item(kind: &str, more: &str) -> String {
        format!(
            "<item><title><![CDATA[A & B]]></title><content:encoded><![CDATA[<p>text</p>]]></content:encoded>\
             <wp:post_name>a-b</wp:post_name><wp:post_date>2020-02-03 04:05:06</wp:post_date><wp:status>publish</wp:status>\
             <wp:post_type>{kind}</wp:post_type>{more}</item>\n"
        )
    }

    fn items(text: &str) -> (Vec<Value>, Imported) {
        let imported = parse(text).unwrap_or_else(|why| panic!("{why}: {text}"));
        let lines = String::from_utf8(imported.lines.clone()).expect("text");
        (lines.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect(), imported)
    }

    #[test]
    fn posts_pages_terms_and_comments_are_read() {
        let comment = |approved: &str, text: &str| {
            format!(
                "<wp:comment><wp:comment_author>Eve</wp:comment_author><wp:comment_content>{text}</wp:comment_content>\
                 <wp:comment_date>2020-02-04 00:00:00</wp:comment_date><wp:comment_approved>{approved}</wp:comment_approved>\
                 <wp:comment_type>comment</wp:comment_type></wp:comment>"
            )
        };
        let more = format!(
            "<category domain=\"category\" nicename=\"n\">News</category><category domain=\"post_tag\">&lt;x&#62;</category>\
             <excerpt:encoded/>{}{}",
            comment("1", "fine"),
            comment("spam", "buy")
        );
        let (items, imported) = items(&export(&(item("post", &more) + &item("page", "") + &item("nav_menu_item", ""))));
        assert_eq!(items.len(), 2);
        assert_eq!((&items[0]["title"], &items[0]["body"]), (&"A & B".into(), &"<p>text</p>".into()));
        assert_eq!((&items[0]["categories"][0], &items[0]["tags"][0]), (&"News".into(), &"<x>".into()));
        assert_eq!((&items[0]["date"], &items[0]["name"]), (&"2020-02-03 04:05:06".into(), &"a-b".into()));
        assert_eq!((items[0]["comments"].as_array().map(Vec::len), &items[1]["kind"]), (Some(1), &"page".into()));
        let said =
            "import: 1 posts, 1 pages, 1 comments; left out: 1 comments that visitors do not see, 1 nav_menu_item";
        assert_eq!(imported.note().as_deref(), Some(said));
    }

    #[test]
    fn what_visitors_do_not_see_is_left_out() {
        let draft = item("post", "").replace("publish", "draft");
        let secret = item("post", "<wp:post_password>x</wp:post_password>");
        let empty = item("post", "").replace("A & B", " ").replace("<p>text</p>", "");
        let (items, imported) = items(&export(&(draft + &secret + &empty)));
        assert!(items.is_empty());
        assert_eq!(imported.left_out, [("not published".to_owned(), 2), ("without text".to_owned(), 1)].into());
    }

    #[test]
    fn metadata_and_attachments_are_not_taken() {
        let meta = "<wp:postmeta><wp:meta_key>x</wp:meta_key><wp:meta_value>O:8:\"Evil\":0:{}</wp:meta_value></wp:postmeta>\
                    <wp:attachment_url>http://192.0.2.1/a.php</wp:attachment_url>";
        let (_, imported) = items(&export(&(item("post", meta) + &item("attachment", meta))));
        let lines = String::from_utf8(imported.lines).expect("text");
        assert!(!lines.contains("Evil") && !lines.contains("192.0.2.1") && lines.lines().count() == 1, "{lines}");
    }

    #[test]
    fn what_is_hostile_or_broken_is_refused_with_its_line() {
        let refused = |text: &str, named: &str| {
            let why = parse(text).expect_err(text);
            assert!(why.contains(named) && why.lines().count() == 1, "{why}");
        };
        let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>";
        refused(&format!("{bomb}{}", export("")), "line 1: it declares a document type");
        refused(&export("<item><title>&file;</title></item>"), "line 5: &file; is no entity");
        refused(&export("<item><title>x</item>"), "line 5: ");
        refused(&export(&"<a>".repeat(DEPTH_MAX)), "nested more than 16 deep");
        refused(&format!("{HEAD}{}", item("post", "")), "it is cut off");
        refused("<rss><channel></channel></rss>", "no export of WordPress");
        refused("", "no export of WordPress");
        // The name of an element is any text.
        let named = format!("<item></{}>", "\n\u{1b}[2J".repeat(9_999));
        let why = parse(&export(&named)).expect_err("another element ends");
        assert!(why.len() < WHY_CHARS_MAX && !why.contains(char::is_control), "{why:?}");
        refused(&export(&item("post", "").repeat(ITEMS_MAX + 1)), "more than 5000 posts and pages");
    }

    #[test]
    fn dates_and_names_are_bounded() {
        assert_eq!(date("2024-02-03 04:05:06"), "2024-02-03 04:05:06");
        for text in ["", "0000-00-00 00:00:00", "2024-02-03", "2024-02-03T04:05:06", "2024-02-03 04:05:0'"] {
            assert_eq!(date(text), FIRST_DATE);
        }
        assert_eq!(short(&"é ".repeat(9_999)).chars().count(), NAME_MAX);
    }

    #[test]
    fn a_file_that_does_not_end_is_read_to_its_limit() {
        let error = read(Path::new("/dev/zero")).expect_err("no end").to_string();
        assert_eq!(error, "import=/dev/zero: it has more than 67108864 bytes");
        let error = read(Path::new("/no/such.xml")).expect_err("not there").to_string();
        assert!(error.starts_with("import=/no/such.xml: No such file"), "{error}");
    }
}
