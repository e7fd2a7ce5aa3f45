//! The parser: statements and expressions.

use super::evaluate::Error;
use super::lex::{Token, tokens};
use crate::parse::{DEEPEST, too_deep};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement {
    Assert(Expression, Option<Expression>),
    Assign(String, Expression),
    /// `print` and expression statements. The value is discarded.
    Evaluate(Expression),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Int(i64),
    Float(f64),
    Text(String),
    Name(String),
    Tuple(Vec<Expression>),
    Not(Box<Expression>),
    /// A unary operator: `-` or `~`.
    Sign(char, Box<Expression>),
    /// `a + b - c`, evaluated from the left. The operands are a list, so that a long expression is not deeply nested.
    Arithmetic(Box<Expression>, Vec<(&'static str, Expression)>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    /// `a < b <= c`
    Compare(Box<Expression>, Vec<(&'static str, Expression)>),
    Call(String, Vec<Expression>),
}

impl Statement {
    /// Returns the names in the expression, in order.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        match self {
            Self::Assert(condition, _) => condition.collect_names(&mut names),
            Self::Assign(_, expression) | Self::Evaluate(expression) => {
                expression.collect_names(&mut names);
            }
        }
        names
    }
}

impl Expression {
    fn collect_names<'e>(&'e self, names: &mut Vec<&'e str>) {
        match self {
            Self::Int(_) | Self::Float(_) | Self::Text(_) => {}
            Self::Name(name) => names.push(name),
            Self::Not(one) | Self::Sign(_, one) => one.collect_names(names),
            Self::Arithmetic(first, rest) | Self::Compare(first, rest) => {
                first.collect_names(names);
                rest.iter().for_each(|(_, e)| e.collect_names(names));
            }
            Self::Tuple(items) | Self::And(items) | Self::Or(items) | Self::Call(_, items) => {
                items.iter().for_each(|item| item.collect_names(names));
            }
        }
    }
}

/// Returns the statements of `text`, each with the number of lines above it, or the error with the number of lines
/// above it.
pub(super) fn statements(text: &str) -> Result<Vec<(usize, Statement)>, (usize, Error)> {
    let tokens = tokens(text)?;
    let mut statements = Vec::new();
    for piece in tokens.split(|(_, token)| *token == Token::End) {
        if let Some(&(line, _)) = piece.first() {
            let mut reader = Reader::new(piece);
            let statement = reader.statement();
            statements.push((line, statement.map_err(|error| (reader.line(), error))?));
        }
    }
    Ok(statements)
}

/// Binding levels of arithmetic operators, starting with the weakest.
const LEVELS: [&[&str]; 6] = [
    &["|"],
    &["^"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "//", "%"],
];

const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];

struct Reader<'t> {
    tokens: &'t [(usize, Token)],
    /// The previous token.
    last: Option<&'t (usize, Token)>,
    depth: usize,
}

type Read<T> = Result<T, Error>;

impl<'t> Reader<'t> {
    const fn new(tokens: &'t [(usize, Token)]) -> Self {
        Self {
            tokens,
            last: None,
            depth: 0,
        }
    }

    /// Returns the number of lines above the next token.
    fn line(&self) -> usize {
        self.tokens
            .first()
            .or(self.last)
            .map_or(0, |(line, _)| *line)
    }

    fn peek(&self) -> Option<&'t Token> {
        self.tokens.first().map(|(_, token)| token)
    }

    fn before(&self) -> Option<&'t Token> {
        self.last.map(|(_, token)| token)
    }

    fn advance(&mut self) {
        if let Some((first, rest)) = self.tokens.split_first() {
            self.last = Some(first);
            self.tokens = rest;
        }
    }

    /// Parses an expression one nesting level deeper.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Read<Expression>) -> Read<Expression> {
        if self.depth == DEEPEST {
            return Err(Error::Wrong(too_deep()));
        }
        self.depth += 1;
        let inside = read(self);
        self.depth -= 1;
        inside
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let there = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        if there {
            self.advance();
        }
        there
    }

    fn take_word(&mut self, word: &str) -> bool {
        let there = matches!(self.peek(), Some(Token::Word(found)) if found == word);
        if there {
            self.advance();
        }
        there
    }

    /// Takes the next token if it is one of `signs`, and returns it.
    fn take_one_of(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        signs.iter().copied().find(|sign| self.take_sign(sign))
    }

    fn statement(&mut self) -> Read<Statement> {
        let statement = if self.take_word("assert") {
            let condition = self.expression()?;
            let message = match self.take_sign(",") {
                true => Some(self.expression()?),
                false => None,
            };
            Statement::Assert(condition, message)
        } else if let Some(name) = self.assigned() {
            self.assignment(name)?
        } else {
            Statement::Evaluate(self.tuple()?)
        };
        match (&statement, self.peek()) {
            (_, None) => Ok(statement),
            (Statement::Assert(..), Some(Token::Sign(","))) => Err(Error::Wrong(
                "`assert` takes a condition and a message: put further values in parentheses"
                    .to_owned(),
            )),
            // `x = y = 1`, `x, y = 1, 2`
            (Statement::Assign(..) | Statement::Evaluate(_), Some(Token::Sign("="))) => {
                Err(self.beyond())
            }
            // Python 2's `print x`.
            (Statement::Evaluate(Expression::Name(name)), _) if name == "print" => {
                Err(self.beyond())
            }
            _ => Err(self.surplus()),
        }
    }

    /// Returns the assigned variable if this is an assignment.
    fn assigned(&self) -> Option<String> {
        match self.tokens {
            [
                (_, Token::Word(name)),
                (_, Token::Sign("=" | "+=" | "-=" | "*=" | "/=" | "//=")),
                ..,
            ] => Some(name.clone()),
            _ => None,
        }
    }

    fn assignment(&mut self, name: String) -> Read<Statement> {
        self.advance();
        let operator = match self.peek() {
            Some(Token::Sign("+=")) => Some("+"),
            Some(Token::Sign("-=")) => Some("-"),
            Some(Token::Sign("*=")) => Some("*"),
            Some(Token::Sign("/=")) => Some("/"),
            Some(Token::Sign("//=")) => Some("//"),
            _ => None,
        };
        self.advance();
        let mut value = self.tuple()?;
        if let Some(operator) = operator {
            let before = Box::new(Expression::Name(name.clone()));
            value = Expression::Arithmetic(before, vec![(operator, value)]);
        }
        Ok(Statement::Assign(name, value))
    }

    /// Parses an expression, or several separated by commas.
    fn tuple(&mut self) -> Read<Expression> {
        let first = self.expression()?;
        if !matches!(self.peek(), Some(Token::Sign(","))) {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.take_sign(",") {
            if matches!(self.peek(), None | Some(Token::Sign(")"))) {
                break;
            }
            items.push(self.expression()?);
        }
        Ok(Expression::Tuple(items))
    }

    fn expression(&mut self) -> Read<Expression> {
        self.nested(Self::choice)
    }

    fn choice(&mut self) -> Read<Expression> {
        let mut parts = vec![self.conjunction()?];
        while self.take_word("or") {
            parts.push(self.conjunction()?);
        }
        Ok(single_or(parts, Expression::Or))
    }

    fn conjunction(&mut self) -> Read<Expression> {
        let mut parts = vec![self.negation()?];
        while self.take_word("and") {
            parts.push(self.negation()?);
        }
        Ok(single_or(parts, Expression::And))
    }

    fn negation(&mut self) -> Read<Expression> {
        if self.take_word("not") {
            return Ok(Expression::Not(Box::new(self.nested(Self::negation)?)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Read<Expression> {
        let first = self.arithmetic(0)?;
        let mut rest = Vec::new();
        while let Some(sign) = self.take_one_of(&COMPARISONS) {
            rest.push((sign, self.arithmetic(0)?));
        }
        Ok(match rest.is_empty() {
            true => first,
            false => Expression::Compare(Box::new(first), rest),
        })
    }

    fn arithmetic(&mut self, level: usize) -> Read<Expression> {
        let Some(signs) = LEVELS.get(level) else {
            return self.signed();
        };
        let first = self.arithmetic(level + 1)?;
        let mut rest = Vec::new();
        while let Some(sign) = self.take_one_of(signs) {
            rest.push((sign, self.arithmetic(level + 1)?));
        }
        Ok(match rest.is_empty() {
            true => first,
            false => Expression::Arithmetic(Box::new(first), rest),
        })
    }

    fn signed(&mut self) -> Read<Expression> {
        match self.take_one_of(&["-", "+", "~"]) {
            Some("-") => Ok(Expression::Sign('-', Box::new(self.nested(Self::signed)?))),
            Some("~") => Ok(Expression::Sign('~', Box::new(self.nested(Self::signed)?))),
            Some(_) => self.nested(Self::signed),
            None => self.power(),
        }
    }

    fn power(&mut self) -> Read<Expression> {
        let base = self.atom()?;
        if !self.take_sign("**") {
            return Ok(base);
        }
        let exponent = self.nested(Self::signed)?;
        Ok(Expression::Arithmetic(
            Box::new(base),
            vec![("**", exponent)],
        ))
    }

    fn atom(&mut self) -> Read<Expression> {
        let Some(token) = self.peek().cloned() else {
            return Err(self.no_expression());
        };
        match token {
            Token::Int(int) => {
                self.advance();
                Ok(Expression::Int(int))
            }
            Token::Float(float) => {
                self.advance();
                Ok(Expression::Float(float))
            }
            Token::Text(mut text) => {
                self.advance();
                while let Some(Token::Text(more)) = self.peek() {
                    text.push_str(more);
                    self.advance();
                }
                Ok(Expression::Text(text))
            }
            Token::Word(name) => {
                if JOINTS.contains(&&*name) {
                    return Err(self.no_expression());
                }
                if KEYWORDS.contains(&&*name) {
                    return Err(self.beyond());
                }
                self.advance();
                match self.take_sign("(") {
                    true => Ok(Expression::Call(name, self.arguments()?)),
                    false => Ok(Expression::Name(name)),
                }
            }
            Token::Sign("(") => {
                self.advance();
                if self.take_sign(")") {
                    return Ok(Expression::Tuple(Vec::new()));
                }
                let inside = self.tuple()?;
                match self.take_sign(")") {
                    true => Ok(inside),
                    false => Err(self.unclosed()),
                }
            }
            // `f(*list)`
            Token::Sign("*" | "**") | Token::End => Err(self.beyond()),
            Token::Sign(_) => Err(self.no_expression()),
        }
    }

    fn arguments(&mut self) -> Read<Vec<Expression>> {
        let mut arguments = Vec::new();
        loop {
            if self.take_sign(")") {
                return Ok(arguments);
            }
            arguments.push(self.expression()?);
            match self.peek() {
                Some(Token::Sign(")")) => {}
                Some(Token::Sign(",")) => self.advance(),
                // `f(name=value)`
                Some(Token::Sign("=")) => return Err(self.beyond()),
                _ => return Err(self.unclosed()),
            }
        }
    }

    fn beyond(&self) -> Error {
        let found = named(self.peek());
        Error::Beyond(format!(
            "Python other than assertions and arithmetic, at {found}"
        ))
    }

    /// Creates the error for a missing expression.
    fn no_expression(&self) -> Error {
        let mut message = "expected an expression".to_owned();
        if let before @ Some(_) = self.before() {
            message.push_str(&format!(" after {}", named(before)));
        }
        if let found @ Some(_) = self.peek() {
            message.push_str(&format!(", found {}", named(found)));
        }
        Error::Wrong(message)
    }

    /// Creates the error for a missing closing bracket.
    fn unclosed(&self) -> Error {
        match self.peek() {
            None => Error::Wrong("unclosed `(`: add `)`".to_owned()),
            Some(_) => self.surplus(),
        }
    }

    /// Creates the error for a token after an expression that does not belong to the expression. The error is
    /// "unsupported" if Python accepts the token, and "wrong" otherwise.
    fn surplus(&self) -> Error {
        match (self.before(), self.peek()) {
            (_, Some(Token::Word(word))) if KEYWORDS.contains(&&**word) => self.beyond(),
            // `10L`, `0b1`; `r'text'`
            (Some(Token::Int(_) | Token::Float(_)), Some(Token::Word(word)))
                if word != "assert" =>
            {
                self.beyond()
            }
            (Some(Token::Word(_)), Some(Token::Text(_))) => self.beyond(),
            (_, Some(Token::Sign("="))) => {
                Error::Wrong("`=` assigns: write `==` to compare".to_owned())
            }
            (_, Some(Token::Sign(")"))) => Error::Wrong("unmatched `)`".to_owned()),
            (
                before,
                found @ Some(Token::Word(_) | Token::Int(_) | Token::Float(_) | Token::Text(_)),
            ) => Error::Wrong(format!(
                "found {} after {}: expected an operator or a comma between them",
                named(found),
                named(before)
            )),
            _ => self.beyond(),
        }
    }
}

/// Returns a token in the form in which messages name it.
fn named(token: Option<&Token>) -> String {
    match token {
        None => "the end of a line".to_owned(),
        Some(Token::Int(int)) => format!("`{int}`"),
        Some(Token::Float(float)) => format!("`{float}`"),
        Some(Token::Text(text)) => format!("`'{text}'`"),
        Some(Token::Word(word)) => format!("`{word}`"),
        Some(Token::Sign(sign)) => format!("`{sign}`"),
        Some(Token::End) => "the end of a statement".to_owned(),
    }
}

/// Keywords that come between expressions and never start one.
const JOINTS: [&str; 5] = ["and", "or", "in", "is", "assert"];

/// Keywords that cannot start an expression.
const KEYWORDS: [&str; 31] = [
    "if", "else", "elif", "for", "while", "def", "class", "import", "from", "return", "lambda",
    "try", "with", "in", "is", "and", "or", "not", "del", "pass", "raise", "global", "nonlocal",
    "break", "continue", "yield", "async", "await", "except", "finally", "exec",
];

fn single_or(
    mut parts: Vec<Expression>,
    make: impl Fn(Vec<Expression>) -> Expression,
) -> Expression {
    match parts.len() {
        1 => parts.remove(0),
        _ => make(parts),
    }
}
