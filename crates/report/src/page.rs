//! One self-contained HTML page with text, tables and inline figures. The page loads no other files.

use minijinja::{AutoEscape, Environment, context};
use serde::{Deserialize, Serialize};

use crate::markdown::code_spans;

/// An HTML page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// Title of the page.
    pub title: String,
    /// Subject of the page, in one or two sentences.
    pub lead: String,
    /// Sections of the page, in order.
    pub sections: Vec<Section>,
}

/// A section of a page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    /// Heading of the section.
    pub heading: String,
    /// Level of the section.
    pub depth: Depth,
    /// Note that follows the heading in the table of contents. May be empty.
    pub note: String,
    /// Contents of the section.
    pub blocks: Vec<Block>,
}

/// Level of a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// A separate section.
    #[default]
    Section,
    /// A part of the preceding [`Depth::Section`].
    Subsection,
    /// A part of the preceding [`Depth::Section`] that is not in the table of contents. Another place on the page links
    /// to it.
    Detail,
}

/// An element of a section.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// A paragraph.
    Text {
        /// Text of the paragraph.
        text: String,
    },
    /// A warning that the reader must not overlook.
    Warning {
        /// Text of the warning.
        text: String,
    },
    /// A figure.
    Figure {
        /// The picture, as SVG.
        svg: String,
        /// Caption of the figure.
        caption: String,
    },
    /// A table.
    Table {
        /// Caption of the table.
        caption: String,
        /// Names of the columns.
        header: Vec<String>,
        /// Rows of the table.
        rows: Vec<Vec<Cell>>,
    },
    /// Links to files that belong to the preceding blocks: numbers and pictures.
    Files {
        /// Links to the files.
        links: Vec<Link>,
    },
    /// Preformatted text, such as the contents of a file.
    Listing {
        /// Caption of the listing.
        caption: String,
        /// Text of the listing.
        text: String,
    },
}

/// Link to a file of the report.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Link {
    /// Path of the file, relative to the folder of the page.
    pub file: String,
    /// Text of the link.
    pub name: String,
}

impl Link {
    /// Returns a link to a file. The text of the link is the file's name, without the folder.
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
    /// Text of the cell.
    pub text: String,
    /// Emphasis of the cell.
    pub emphasis: Emphasis,
    /// Target of the link: a section of the page (`#s3`) or a file of the report. Empty if the cell has no link.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub link: String,
}

/// Emphasis of a cell.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Emphasis {
    /// No emphasis.
    #[default]
    Plain,
    /// A number, aligned to the right.
    Number,
    /// The best value of its group.
    Best,
    /// A value that is not significantly different from the best of its group.
    Tied,
    /// The first cell of a group.
    Group,
    /// A claim that holds.
    Holds,
    /// A claim that does not hold.
    Fails,
    /// A claim that cannot be decided.
    Open,
}

impl Cell {
    /// Returns a cell with `text` and `emphasis`.
    #[must_use]
    pub fn new(text: impl Into<String>, emphasis: Emphasis) -> Self {
        Self {
            text: text.into(),
            emphasis,
            link: String::new(),
        }
    }

    /// Returns the cell with a link to `place`.
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
    /// Returns a paragraph.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// Returns `text` as HTML that keeps its slashes.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns `text` as HTML with possible line breaks where a reader would break the name of a stack: after slashes and
/// commas, and before brackets. A mark is never separated from the name after it. Text between two backticks is code.
fn breakable(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (is_code, piece) in code_spans(text) {
        if is_code {
            out.push_str("<code>");
        }
        break_into(&mut out, piece);
        if is_code {
            out.push_str("</code>");
        }
    }
    out
}

fn break_into(out: &mut String, text: &str) {
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
}

/// Cells with more than this number of characters are considered sentences.
const SENTENCE: usize = 60;

const TEMPLATE: &str = include_str!("page.html");

/// Returns the page as one HTML document.
///
/// # Panics
///
/// Panics if the built-in template is invalid, which the tests exclude.
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
    fn stacks_break_between_parts_but_not_after_marks() {
        assert_eq!(
            breakable("★ rack/bbr(a=0.9,b=1)"),
            "★\u{a0}rack/<wbr>bbr<wbr>(a=0.9,<wbr>b=1)"
        );
        assert_eq!(breakable("1, 2 (3) a/"), "1, 2 (3) a/");
        assert_eq!(
            breakable("`le/reno` and `<x>`"),
            "<code>le/<wbr>reno</code> and <code>&lt;x&gt;</code>"
        );
        assert_eq!(breakable("a ` b"), "a ` b");
        assert_eq!(breakable("<b> & \"c\""), "&lt;b&gt; &amp; &quot;c&quot;");
    }

    #[test]
    fn blocks_link_to_their_files() {
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
    fn cells_may_be_links() {
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
    fn tables_scroll_below_their_captions_and_cells_have_their_column() {
        let table = |last: &str| Block::Table {
            caption: "Caption".to_owned(),
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
        let caption = short.find("<p class=\"caption\" id=\"s1-2\">Caption</p>");
        let scrolled =
            short.find("<div class=\"scroll\" tabindex=\"0\"><table aria-labelledby=\"s1-2\">");
        assert!(caption.unwrap() < scrolled.unwrap(), "{short}");
        assert!(short.contains("<td class=\"plain none\" data-head=\"stack\">–</td>"));
        // On a narrow screen, a row with a sentence is shown as a paragraph.
        let long = page(&"word ".repeat(20));
        assert!(long.contains("class=\"sentences\">"), "{long}");
        assert!(
            long.contains("long\" data-head=\"gain and cost\">word"),
            "{long}"
        );
        assert!(!short.contains("class=\"sentences\">"), "{short}");
    }

    #[test]
    fn text_is_escaped_but_pictures_are_not() {
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
