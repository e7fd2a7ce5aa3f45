//! The parser: turns the words of an expression into a tree by precedence climbing. Every part keeps its place.

use std::ops::Range;

use crate::lex::{Word, words};
use crate::syntax::{Expression, Fault, Node, Operator, Over};

/// Maximum nesting of brackets.
const DEPTH_MAX: usize = 100;
/// Maximum number of operators in an expression. Each operator is one level deeper in the tree.
const OPERATORS_MAX: usize = 1000;

/// Parses `text` as an expression.
pub(crate) fn parse(text: &str) -> Result<Expression, Fault> {
    let mut parser = Parser {
        words: words(text)?,
        at: 0,
        depth: 0,
        operators: 0,
    };
    let whole = parser.expression(0)?;
    match parser.peek() {
        Word::End => Ok(whole),
        other => {
            let message = format!(
                "expected the end of the expression, found {}",
                other.shown()
            );
            Err(Fault::new(&parser.span(), message))
        }
    }
}

struct Parser {
    words: Vec<(Word, Range<usize>)>,
    at: usize,
    depth: usize,
    operators: usize,
}

impl Parser {
    fn peek(&self) -> &Word {
        &self.words[self.at].0
    }

    fn span(&self) -> Range<usize> {
        self.words[self.at].1.clone()
    }

    /// Returns the current word and advances, but never beyond the end.
    fn next(&mut self) -> (Word, Range<usize>) {
        let word = self.words[self.at].clone();
        self.at = (self.at + 1).min(self.words.len() - 1);
        word
    }

    fn is(&self, mark: char) -> bool {
        *self.peek() == Word::Mark(mark)
    }

    fn takes(&mut self, mark: char) -> bool {
        let is = self.is(mark);
        if is {
            self.next();
        }
        is
    }

    fn wants(&mut self, mark: char) -> Result<usize, Fault> {
        let (word, span) = self.next();
        if word == Word::Mark(mark) {
            return Ok(span.end);
        }
        let message = format!("expected `{mark}`, found {}", word.shown());
        Err(Fault::new(&span, message))
    }

    /// Parses operators with a precedence of at least `least`, with their operands.
    fn expression(&mut self, least: u8) -> Result<Expression, Fault> {
        self.deeper()?;
        let mut left = self.prefix()?;
        let mut compared = false;
        while let Word::Operator(operator) = *self.peek() {
            if operator.strength() < least {
                break;
            }
            self.operators += 1;
            if self.operators > OPERATORS_MAX {
                let message = format!("the expression has more than {OPERATORS_MAX} operators");
                return Err(Fault::new(&self.span(), message)
                    .help("move parts to `[define]`, or use a list: `all(…)`, `sum(…)`"));
            }
            self.next();
            let right = self.expression(operator.strength() + 1)?;
            if operator.compares() {
                if compared {
                    let span = left.span.start..right.span.end;
                    return Err(Fault::new(&span, "two comparisons follow each other")
                        .help("join them with `and`"));
                }
                compared = true;
            }
            left = Expression {
                span: left.span.start..right.span.end,
                node: Node::Binary {
                    operator,
                    left: Box::new(left),
                    right: Box::new(right),
                },
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn deeper(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        match self.depth > DEPTH_MAX {
            true => Err(Fault::new(
                &self.span(),
                "the expression is nested too deeply",
            )),
            false => Ok(()),
        }
    }

    fn prefix(&mut self) -> Result<Expression, Fault> {
        let (word, span) = self.next();
        let node = match word {
            Word::Number(number) => Node::Number(number),
            Word::Quantity(text) => match text.strip_suffix('%').map(str::parse::<f64>) {
                Some(Ok(percent)) => Node::Number(percent / 100.0),
                _ => Node::Quantity(text),
            },
            Word::Text(text) => Node::Text(text),
            Word::Operator(Operator::Minus) => {
                let of = self.expression(Operator::Times.strength() + 1)?;
                return Ok(joined(span.start, of, Node::Negative));
            }
            Word::Name(name) if name == "not" => {
                let of = self.expression(Operator::And.strength() + 1)?;
                return Ok(joined(span.start, of, Node::Not));
            }
            Word::Name(name) => return self.named(name, span),
            Word::Mark('(') => {
                let inner = self.expression(0)?;
                let end = self.wants(')')?;
                let span = span.start..end;
                return Ok(Expression { span, ..inner });
            }
            Word::Mark('[') => {
                let (items, end) = self.until(']')?;
                return Ok(Expression {
                    node: Node::List(items),
                    span: span.start..end,
                });
            }
            other => {
                let message = format!("expected a value, found {}", other.shown());
                return Err(Fault::new(&span, message));
            }
        };
        Ok(Expression { node, span })
    }

    /// Parses an expression that starts with a name: a call, a choice, a loop, an experiment, or the name alone.
    fn named(&mut self, name: String, span: Range<usize>) -> Result<Expression, Fault> {
        let kind = match name.as_str() {
            "each" => Some(Over::Each),
            "all" => Some(Over::All),
            "any" => Some(Over::Any),
            _ => None,
        };
        if let (Some(kind), Word::Name(variable)) = (kind, self.peek().clone()) {
            self.next();
            return self.over(kind, variable, span.start);
        }
        if self.takes('(') {
            let (inputs, end) = self.until(')')?;
            let node = Node::Call { name, inputs };
            return Ok(Expression {
                node,
                span: span.start..end,
            });
        }
        if self.takes('[') {
            let (choices, end) = self.until(']')?;
            let node = Node::Select { name, choices };
            return Ok(Expression {
                node,
                span: span.start..end,
            });
        }
        if self.takes('.') {
            self.deeper()?;
            let (word, at) = self.next();
            let body = match word {
                Word::Name(inner) => self.named(inner, at)?,
                Word::Mark('(') => {
                    let inner = self.expression(0)?;
                    let end = self.wants(')')?;
                    let span = inner.span.start..end;
                    Expression { span, ..inner }
                }
                other => {
                    let message = format!(
                        "expected a measure after `{name}.`, found {}",
                        other.shown()
                    );
                    return Err(Fault::new(&at, message).help(format!(
                        "write `{name}.goodput[…]`, or an expression in parentheses: `{name}.(…)`"
                    )));
                }
            };
            self.depth -= 1;
            let wrap = |body| Node::Within {
                experiment: name,
                body,
            };
            return Ok(joined(span.start, body, wrap));
        }
        Ok(Expression {
            node: Node::Name(name),
            span,
        })
    }

    /// Parses a loop, `s in others: body`, starting at `in`.
    fn over(&mut self, kind: Over, variable: String, start: usize) -> Result<Expression, Fault> {
        let (word, at) = self.next();
        if word != Word::Operator(Operator::In) {
            let message = format!("expected `in`, found {}", word.shown());
            return Err(Fault::new(&at, message));
        }
        let items = Box::new(self.expression(0)?);
        self.wants(':')?;
        let body = self.expression(0)?;
        let span = start..body.span.end;
        let node = Node::Over {
            kind,
            variable,
            items,
            body: Box::new(body),
        };
        Ok(Expression { node, span })
    }

    /// Parses expressions separated by commas up to `close`. Returns the expressions and the end of `close`.
    fn until(&mut self, close: char) -> Result<(Vec<Expression>, usize), Fault> {
        let mut items = Vec::new();
        while !self.is(close) {
            items.push(self.expression(0)?);
            if !self.takes(',') {
                break;
            }
        }
        let end = self.wants(close)?;
        Ok((items, end))
    }
}

fn joined(
    start: usize,
    body: Expression,
    wrap: impl FnOnce(Box<Expression>) -> Node,
) -> Expression {
    Expression {
        span: start..body.span.end,
        node: wrap(Box::new(body)),
    }
}
