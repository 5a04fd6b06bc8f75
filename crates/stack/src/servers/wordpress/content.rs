//! Dummy content from a seed: posts, pages, comments and images. The same settings give the same content, to the byte.

use crate::error::StackError;
use crate::spec::Spec;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

/// What a post or a page is made of.
const PARAGRAPHS: usize = 12;
const PARAGRAPH_WORDS: usize = 70;
const COMMENT_WORDS: usize = 40;
const TITLE_WORDS: usize = 5;
/// Categories and tags, which posts share.
const CATEGORIES: u64 = 8;
const TAGS: u64 = 20;
/// Minutes from one post to the next, and from one comment of a post to the next.
const POST_MINUTES: u64 = 60;
const COMMENT_MINUTES: u64 = 1;

const WORDS: [&str; 64] = [
    "ad",
    "adipiscing",
    "aliqua",
    "aliquip",
    "amet",
    "anim",
    "aute",
    "cillum",
    "commodo",
    "consectetur",
    "consequat",
    "culpa",
    "cupidatat",
    "deserunt",
    "do",
    "dolor",
    "dolore",
    "duis",
    "ea",
    "eiusmod",
    "elit",
    "enim",
    "esse",
    "est",
    "et",
    "ex",
    "excepteur",
    "exercitation",
    "fugiat",
    "id",
    "in",
    "incididunt",
    "ipsum",
    "irure",
    "labore",
    "laboris",
    "laborum",
    "lorem",
    "magna",
    "minim",
    "mollit",
    "nisi",
    "non",
    "nostrud",
    "nulla",
    "occaecat",
    "officia",
    "pariatur",
    "proident",
    "qui",
    "quis",
    "reprehenderit",
    "sed",
    "sint",
    "sit",
    "sunt",
    "tempor",
    "ullamco",
    "ut",
    "velit",
    "veniam",
    "vitae",
    "voluptate",
    "voluptatem",
];

/// How much of it there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) posts: u64,
    pub(super) pages: u64,
    /// In all, shared out over the posts.
    pub(super) comments: u64,
    /// In all; posts have them in turns.
    pub(super) images: u64,
    pub(super) seed: u64,
}

/// Kinds of items; each has random numbers of its own.
#[derive(Clone, Copy)]
enum Kind {
    Title,
    Post,
    Page,
    Comment,
    Image,
}

impl Amount {
    /// What `spec` asks for.
    ///
    /// # Errors
    /// If there are comments and no post that they could be of.
    pub(super) fn of(spec: &Spec) -> Result<Self, StackError> {
        let number = |name| spec.extras.number(name);
        let amount = Self {
            posts: number("posts"),
            pages: number("pages"),
            comments: number("comments"),
            images: number("images"),
            seed: number("seed"),
        };
        if amount.posts == 0 && amount.comments > 0 {
            return Err(StackError::Wrong(format!(
                "comments={}: there is no post that they could be of; add posts, or comments=0",
                amount.comments
            )));
        }
        Ok(amount)
    }

    /// All of it, one JSON object a line: images before the posts that show them.
    pub(super) fn lines(&self) -> Vec<u8> {
        let images = (1..=self.images).map(|number| self.image(number));
        let posts = (1..=self.posts).map(|number| self.post(number));
        let pages = (1..=self.pages).map(|number| self.page(number));
        images.chain(posts).chain(pages).flat_map(|item| format!("{item}\n").into_bytes()).collect()
    }

    /// The title of the latest post, which every theme shows on its front page.
    pub(super) fn latest_title(&self) -> Option<String> {
        (self.posts > 0).then(|| self.title(self.posts))
    }

    fn random(&self, kind: Kind, number: u64) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(self.seed.wrapping_add(((kind as u64) << 56) | (number << 24))))
    }

    fn title(&self, number: u64) -> String {
        format!("Post {number} {}", self.random(Kind::Title, number).words(TITLE_WORDS))
    }

    fn post(&self, number: u64) -> Value {
        let mut random = self.random(Kind::Post, number);
        let image = (self.images > 0).then(|| (number - 1) % self.images + 1);
        let body = random.body();
        // Each number that is the post's, in steps of the number of posts.
        let comments = (0..).map(|turn| number + turn * self.posts).take_while(|comment| *comment <= self.comments);
        json!({
            "kind": "post",
            "title": self.title(number),
            "name": format!("post-{number}"),
            "body": body,
            "minute": number * POST_MINUTES,
            "categories": [format!("Category {}", random.below(CATEGORIES) + 1)],
            "tags": [format!("tag {}", random.below(TAGS) + 1), format!("tag {}", random.below(TAGS) + 1)],
            "image": image,
            "comments": comments.enumerate().map(|(at, comment)| self.comment(number, at as u64, comment)).collect::<Vec<_>>(),
        })
    }

    fn comment(&self, post: u64, at: u64, number: u64) -> Value {
        json!({
            "author": format!("Visitor {number}"),
            "text": self.random(Kind::Comment, number).words(COMMENT_WORDS),
            "minute": post * POST_MINUTES + (at + 1) * COMMENT_MINUTES,
        })
    }

    fn page(&self, number: u64) -> Value {
        let body = self.random(Kind::Page, number).body();
        json!({ "kind": "page", "title": format!("Page {number}"), "name": format!("page-{number}"), "body": body, "minute": 0 })
    }

    /// A page to be written by REST, as a template: JSON.
    pub(super) fn new_page(&self) -> String {
        let body = self.random(Kind::Page, 0).body();
        let name = "{{run}}-{{counter}}";
        let page = json!({ "title": format!("Written {name}"), "slug": format!("written-{name}"), "status": "publish", "content": body });
        page.to_string()
    }

    fn image(&self, number: u64) -> Value {
        // PHP counts with 31 bits.
        json!({ "kind": "image", "number": number, "seed": self.random(Kind::Image, number).below(1 << 31) })
    }
}

/// A source of text.
struct Random(Xoshiro256PlusPlus);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    /// A sentence.
    fn words(&mut self, n: usize) -> String {
        let words: Vec<&str> = (0..n).map(|_| WORDS[self.below(WORDS.len() as u64) as usize]).collect();
        let text = words.join(" ");
        let (first, rest) = text.split_at(1);
        format!("{}{rest}.", first.to_uppercase())
    }

    /// Paragraphs in the form that WordPress's editor gives them.
    fn body(&mut self) -> String {
        let paragraph = |text: String| format!("<!-- wp:paragraph -->\n<p>{text}</p>\n<!-- /wp:paragraph -->\n\n");
        (0..PARAGRAPHS).map(|_| paragraph(self.words(PARAGRAPH_WORDS))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: Amount = Amount { posts: 3, pages: 1, comments: 4, images: 2, seed: 1 };

    fn items(amount: &Amount) -> Vec<Value> {
        let text = String::from_utf8(amount.lines()).expect("text");
        text.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_content_and_another_seed_another() {
        assert_eq!(FEW.lines(), FEW.lines());
        assert_ne!(FEW.lines(), Amount { seed: 2, ..FEW }.lines());
        let more = items(&Amount { posts: 4, ..FEW });
        assert_eq!(items(&FEW)[2]["body"], more[2]["body"], "more posts leave the others as they are");
    }

    #[test]
    fn there_is_as_much_as_was_asked_for() {
        let items = items(&FEW);
        let kinds: Vec<_> = items.iter().map(|item| item["kind"].as_str().expect("a kind")).collect();
        assert_eq!(kinds, ["image", "image", "post", "post", "post", "page"]);
        let comments: Vec<usize> =
            items[2..5].iter().map(|post| post["comments"].as_array().expect("a list").len()).collect();
        assert_eq!(comments, [2, 1, 1]);
        let images: Vec<u64> = items[2..5].iter().map(|post| post["image"].as_u64().expect("a number")).collect();
        assert_eq!(images, [1, 2, 1]);
        assert_eq!(items[4]["title"].as_str(), FEW.latest_title().as_deref());
        let body = items[2]["body"].as_str().expect("text");
        assert!((4_000..8_000).contains(&body.len()) && body.matches("<p>").count() == PARAGRAPHS, "{}", body.len());
        assert!(items.iter().all(|item| item["image"].is_null() || item["kind"] == "post"));
    }

    #[test]
    fn titles_are_letters_that_no_theme_changes() {
        let all = (1..=200).map(|posts| Amount { posts, ..FEW }.latest_title().expect("a post"));
        let mut all: Vec<String> = all.collect();
        assert!(
            all.iter().all(|title| title.chars().all(|c| c.is_ascii_alphanumeric() || " .".contains(c))),
            "{all:?}"
        );
        all.dedup();
        assert_eq!(all.len(), 200);
        assert_eq!(Amount { posts: 0, ..FEW }.latest_title(), None);
    }

    #[test]
    fn comments_without_posts_are_refused() {
        let amount = |text: &str| Amount::of(&Spec::parse(text).expect("known"));
        let error = amount("wordpress posts=0").expect_err("100 comments").to_string();
        assert!(error.contains("comments=100") && error.contains("comments=0"), "{error}");
        assert_eq!(amount("wordpress posts=3 pages=1 comments=4 images=2").expect("fine"), FEW);
    }
}
