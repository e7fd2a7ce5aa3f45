//! One self-contained HTML page: text, tables, and figures inline, nothing to fetch.

use minijinja::{AutoEscape, Environment, context};
use serde::{Deserialize, Serialize};

/// A page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// What it is about, in a sentence or two.
    pub lead: String,
    /// Its sections.
    pub sections: Vec<Section>,
}

/// A section of a page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Whether it is part of the section before it.
    pub depth: Depth,
    /// What the list of contents says of it, after its heading. May be empty.
    pub note: String,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

/// Where a section stands among the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// On its own.
    #[default]
    Section,
    /// Part of the last [`Depth::Section`] before it.
    Subsection,
    /// The same, and not in the list of contents: something else on the page leads to it.
    Detail,
}

/// A piece of a section.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// A paragraph.
    Text {
        /// Its words.
        text: String,
    },
    /// Something the reader must not overlook.
    Warning {
        /// Its words.
        text: String,
    },
    /// A figure.
    Figure {
        /// The picture, as SVG.
        svg: String,
        /// What it shows.
        caption: String,
    },
    /// A table.
    Table {
        /// What it shows.
        caption: String,
        /// Names of the columns.
        header: Vec<String>,
        /// Its rows.
        rows: Vec<Vec<Cell>>,
    },
    /// Files beside the page that belong to what stands before: its numbers, its picture.
    Files {
        /// The files.
        links: Vec<Link>,
    },
    /// Text as it stands, such as a file.
    Listing {
        /// What it is.
        caption: String,
        /// The text.
        text: String,
    },
}

/// A file beside the page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Link {
    /// Its place, from the page's folder on.
    pub file: String,
    /// What it is called.
    pub name: String,
}

impl Link {
    /// To a file by its own name, which may stand in a folder below the page's.
    #[must_use]
    pub fn to(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            name: file.rsplit('/').next().unwrap_or(file).to_owned(),
        }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cell {
    /// Its text.
    pub text: String,
    /// How it stands out.
    pub emphasis: Emphasis,
    /// Where its text leads, if anywhere: a section of the page (`#s3`) or a file beside it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub link: String,
}

/// How a cell stands out.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Emphasis {
    /// It does not.
    #[default]
    Plain,
    /// A number, set to the right.
    Number,
    /// The best of its group.
    Best,
    /// Not told apart from the best.
    Tied,
    /// The first cell of a group.
    Group,
    /// A claim that holds.
    Holds,
    /// A claim that does not hold.
    Fails,
    /// A claim that cannot be told.
    Open,
}

impl Cell {
    /// A cell with `text` that stands out as `emphasis` says.
    #[must_use]
    pub fn new(text: impl Into<String>, emphasis: Emphasis) -> Self {
        Self {
            text: text.into(),
            emphasis,
            link: String::new(),
        }
    }

    /// The same with a link to `place`.
    #[must_use]
    pub fn leading_to(mut self, place: impl Into<String>) -> Self {
        self.link = place.into();
        self
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text, Emphasis::Plain)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::new(text, Emphasis::Plain)
    }
}

impl Block {
    /// A paragraph.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// `text` as HTML in which slashes stay what they are.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// `text` as HTML that may be broken where a reader would break a stack's name: after slashes and
/// commas, and before brackets; never between a mark and the name that it marks.
fn breakable(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '(' if before.is_alphanumeric() => out.push_str("<wbr>("),
            ' ' if matches!(before, '★' | '☆' | '≈' | '!') => out.push('\u{a0}'),
            _ => out.push(letter),
        }
        let between = |c: &char| !c.is_whitespace();
        if matches!(letter, '/' | ',') && letters.peek().is_some_and(between) {
            out.push_str("<wbr>");
        }
        before = letter;
    }
    out
}

/// A cell with more letters than this is a sentence.
const SENTENCE: usize = 60;

const TEMPLATE: &str = include_str!("page.html");

/// The page as one HTML document.
///
/// # Panics
/// Never, unless the built-in template is broken, which the tests would show.
#[must_use]
pub fn html(page: &Page) -> String {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_filter("place", |text: String| {
        minijinja::Value::from_safe_string(escaped(&text))
    });
    environment.add_filter("breakable", |text: String| {
        minijinja::Value::from_safe_string(breakable(&text))
    });
    environment.add_filter("has_sentences", |rows: Vec<Vec<minijinja::Value>>| {
        let long = |cell: &minijinja::Value| {
            let text = cell.get_attr("text").unwrap_or_default();
            text.as_str()
                .is_some_and(|text| text.chars().count() > SENTENCE)
        };
        rows.iter().flatten().any(long)
    });
    environment
        .add_template("page", TEMPLATE)
        .expect("the template is valid");
    environment
        .get_template("page")
        .and_then(|template| {
            template.render(context! {
                page => minijinja::value::Serde(page),
                version => env!("CARGO_PKG_VERSION"),
                sentence => SENTENCE,
            })
        })
        .expect("the template fits the page")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_breaks_between_its_parts_and_stays_with_its_mark() {
        assert_eq!(
            breakable("★ rack/bbr(a=0.9,b=1)"),
            "★\u{a0}rack/<wbr>bbr<wbr>(a=0.9,<wbr>b=1)"
        );
        assert_eq!(breakable("1, 2 (3) a/"), "1, 2 (3) a/");
        assert_eq!(breakable("<b> & \"c\""), "&lt;b&gt; &amp; &quot;c&quot;");
    }

    #[test]
    fn what_stands_on_the_page_links_to_its_files() {
        let links = vec![Link::to("figures/a.csv"), Link::to("summary.csv")];
        let page = Page {
            sections: vec![Section {
                blocks: vec![Block::Files { links }],
                ..Section::default()
            }],
            ..Page::default()
        };
        let html = html(&page);
        assert!(
            html.contains("<a href=\"figures/a.csv\">a.csv</a>"),
            "{html}"
        );
        assert!(html.contains("<a href=\"summary.csv\">summary.csv</a>"));
    }

    #[test]
    fn a_cell_may_lead_elsewhere() {
        let row = vec![
            Cell::new("a/b", Emphasis::Plain).leading_to("#s2"),
            "c".into(),
        ];
        let page = Page {
            sections: vec![Section {
                blocks: vec![Block::Table {
                    caption: String::new(),
                    header: vec!["x".to_owned(), "y".to_owned()],
                    rows: vec![row],
                }],
                ..Section::default()
            }],
            ..Page::default()
        };
        let html = html(&page);
        assert!(html.contains("<a href=\"#s2\">a/<wbr>b</a></td>"), "{html}");
        assert!(html.contains(">c</td>"));
    }

    #[test]
    fn a_table_scrolls_below_its_caption_and_each_cell_knows_its_column() {
        let table = |last: &str| Block::Table {
            caption: "What it shows".to_owned(),
            header: vec!["stack".to_owned(), "gain and cost".to_owned()],
            rows: vec![vec!["–".into(), last.into()]],
        };
        let page = |last: &str| {
            html(&Page {
                sections: vec![Section {
                    blocks: vec![Block::text("x"), table(last)],
                    ..Section::default()
                }],
                ..Page::default()
            })
        };
        let short = page("much");
        let caption = short.find("<p class=\"caption\" id=\"s1-2\">What it shows</p>");
        let scrolled =
            short.find("<div class=\"scroll\" tabindex=\"0\"><table aria-labelledby=\"s1-2\">");
        assert!(caption.unwrap() < scrolled.unwrap(), "{short}");
        assert!(short.contains("<td class=\"plain none\" data-head=\"stack\">–</td>"));
        // On a phone a row with a sentence is a paragraph.
        let long = page(&"word ".repeat(20));
        assert!(long.contains("class=\"sentences\">"), "{long}");
        assert!(
            long.contains("long\" data-head=\"gain and cost\">word"),
            "{long}"
        );
        assert!(!short.contains("class=\"sentences\">"), "{short}");
    }

    #[test]
    fn text_is_escaped_and_pictures_are_not() {
        let page = Page {
            title: "a < b".to_owned(),
            sections: vec![Section {
                heading: "<script>".to_owned(),
                blocks: vec![
                    Block::text("x & y"),
                    Block::Figure {
                        svg: "<svg></svg>".to_owned(),
                        caption: "c".to_owned(),
                    },
                    Block::Table {
                        caption: String::new(),
                        header: vec!["h".to_owned()],
                        rows: vec![vec![Cell::new("1", Emphasis::Best)]],
                    },
                ],
                ..Section::default()
            }],
            ..Page::default()
        };
        let html = html(&page);
        assert!(html.contains("a &lt; b") && html.contains("x &amp; y"));
        assert!(html.contains("<svg></svg>") && !html.contains("<script>"));
        assert!(html.contains("class=\"best\""));
        assert!(html.contains("prefers-color-scheme: dark"));
        assert!(
            !html.contains("http://") && !html.contains("src="),
            "it fetches nothing"
        );
    }
}
