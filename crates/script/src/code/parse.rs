//! Statements and expressions.

use winnow::combinator::{alt, delimited, repeat};
use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;
use winnow::token::{any, none_of, one_of, take_while};

type Lexed<T> = Result<T, ErrMode<ContextError>>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement {
    Assert(Expression, Option<Expression>),
    Assign(String, Expression),
    /// `print` and expressions by themselves: what they come to is forgotten.
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
    /// A sign before a number: `-` or `~`.
    Sign(char, Box<Expression>),
    Arithmetic(Box<Expression>, &'static str, Box<Expression>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    /// `a < b <= c`
    Compare(Box<Expression>, Vec<(&'static str, Expression)>),
    Call(String, Vec<Expression>),
}

impl Statement {
    /// The names in it, as they come.
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
            Self::Arithmetic(one, _, two) => {
                one.collect_names(names);
                two.collect_names(names);
            }
            Self::Compare(first, rest) => {
                first.collect_names(names);
                rest.iter().for_each(|(_, e)| e.collect_names(names));
            }
            Self::Tuple(items) | Self::And(items) | Self::Or(items) | Self::Call(_, items) => {
                items.iter().for_each(|item| item.collect_names(names));
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Int(i64),
    Float(f64),
    Text(String),
    Word(String),
    Sign(&'static str),
    /// The end of a statement.
    End,
}

/// Longer ones before those that they begin with.
const SIGNS: [&str; 28] = [
    "**=", "//=", "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=", "/=", "<", ">",
    "+", "-", "*", "/", "%", "&", "|", "^", "~", "(", ")", ",",
];

/// The statements of `text`, each with the number of lines above it; or what is beyond us.
pub(super) fn statements(text: &str) -> Result<Vec<(usize, Statement)>, String> {
    let tokens = tokens(text)?;
    let mut statements = Vec::new();
    for piece in tokens.split(|(_, token)| *token == Token::End) {
        if let Some(&(line, _)) = piece.first() {
            let mut reader = Reader { tokens: piece };
            statements.push((line, reader.statement()?));
        }
    }
    Ok(statements)
}

fn tokens(text: &str) -> Result<Vec<(usize, Token)>, String> {
    let mut rest = text;
    let mut line = 0;
    // Inside brackets a line's end is none of a statement's.
    let mut depth = 0_usize;
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r']);
        if let Some(after) = rest.strip_prefix("\\\n") {
            rest = after;
            line += 1;
            continue;
        }
        if rest.starts_with('#') {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        }
        if let Some(after) = rest.strip_prefix(['\n', ';']) {
            if depth == 0 {
                tokens.push((line, Token::End));
            }
            line += usize::from(rest.starts_with('\n'));
            rest = after;
            continue;
        }
        if rest.is_empty() {
            return Ok(tokens);
        }
        let token = token(&mut rest).map_err(|_| beyond(rest))?;
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => depth = depth.saturating_sub(1),
            _ => {}
        }
        tokens.push((line, token));
    }
}

fn beyond(rest: &str) -> String {
    let start: String = rest.chars().take_while(|&c| c != '\n').take(20).collect();
    format!("Python beyond assertions and arithmetic: `{start}`")
}

fn token(input: &mut &str) -> Lexed<Token> {
    alt((
        number,
        quoted('\'').map(Token::Text),
        quoted('"').map(Token::Text),
        word.map(|word: &str| Token::Word(word.to_owned())),
        sign.map(Token::Sign),
    ))
    .parse_next(input)
}

fn word<'s>(input: &mut &'s str) -> Lexed<&'s str> {
    (
        one_of(|c: char| c.is_ascii_alphabetic() || c == '_'),
        take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_'),
    )
        .take()
        .parse_next(input)
}

fn number(input: &mut &str) -> Lexed<Token> {
    let hex = ("0x", take_while(1.., |c: char| c.is_ascii_hexdigit()))
        .try_map(|(_, digits): (&str, &str)| i64::from_str_radix(digits, 16).map(Token::Int));
    let float = (digits(0), '.', digits(1))
        .take()
        .try_map(|text: &str| text.parse().map(Token::Float));
    let int = digits(1).try_map(|text: &str| text.parse().map(Token::Int));
    alt((hex, float, int)).parse_next(input)
}

fn digits<'s>(least: usize) -> impl FnMut(&mut &'s str) -> Lexed<&'s str> {
    move |input| take_while(least.., |c: char| c.is_ascii_digit()).parse_next(input)
}

fn quoted(quote: char) -> impl FnMut(&mut &str) -> Lexed<String> {
    move |input| {
        let escaped = ('\\', any).map(|(_, c)| if c == 'n' { '\n' } else { c });
        let plain = none_of([quote, '\\', '\n']);
        let inside = repeat(0.., alt((escaped, plain)));
        delimited(quote, inside, quote).parse_next(input)
    }
}

fn sign(input: &mut &str) -> Lexed<&'static str> {
    for sign in SIGNS.into_iter().chain(["="]) {
        if let Some(rest) = input.strip_prefix(sign) {
            *input = rest;
            return Ok(sign);
        }
    }
    Err(ErrMode::Backtrack(ContextError::new()))
}

/// How tightly arithmetic binds, from the loosest.
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
}

type Read<T> = Result<T, String>;

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.first().map(|(_, token)| token)
    }

    fn advance(&mut self) {
        self.tokens = &self.tokens[1..];
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

    /// The one of `signs` that is next, taken.
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
        match self.peek() {
            None => Ok(statement),
            Some(_) => Err(self.beyond()),
        }
    }

    /// The variable that is assigned to, if this is an assignment.
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
            value = Expression::Arithmetic(before, operator, Box::new(value));
        }
        Ok(Statement::Assign(name, value))
    }

    /// An expression, or several with commas between.
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
            return Ok(Expression::Not(Box::new(self.negation()?)));
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
        let mut left = self.arithmetic(level + 1)?;
        while let Some(sign) = self.take_one_of(signs) {
            let right = self.arithmetic(level + 1)?;
            left = Expression::Arithmetic(Box::new(left), sign, Box::new(right));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Read<Expression> {
        match self.take_one_of(&["-", "+", "~"]) {
            Some("-") => Ok(Expression::Sign('-', Box::new(self.signed()?))),
            Some("~") => Ok(Expression::Sign('~', Box::new(self.signed()?))),
            Some(_) => self.signed(),
            None => self.power(),
        }
    }

    fn power(&mut self) -> Read<Expression> {
        let base = self.atom()?;
        if !self.take_sign("**") {
            return Ok(base);
        }
        let exponent = self.signed()?;
        Ok(Expression::Arithmetic(
            Box::new(base),
            "**",
            Box::new(exponent),
        ))
    }

    fn atom(&mut self) -> Read<Expression> {
        let Some(token) = self.peek().cloned() else {
            return Err("Python that ends in the middle of an expression".to_owned());
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
                    false => Err(self.beyond()),
                }
            }
            Token::Sign(_) | Token::End => Err(self.beyond()),
        }
    }

    fn arguments(&mut self) -> Read<Vec<Expression>> {
        let mut arguments = Vec::new();
        loop {
            if self.take_sign(")") {
                return Ok(arguments);
            }
            arguments.push(self.expression()?);
            if !self.take_sign(",") && !matches!(self.peek(), Some(Token::Sign(")"))) {
                return Err(self.beyond());
            }
        }
    }

    fn beyond(&self) -> String {
        let found = match self.peek() {
            None => "the end of a line".to_owned(),
            Some(Token::Int(int)) => format!("`{int}`"),
            Some(Token::Float(float)) => format!("`{float}`"),
            Some(Token::Text(text)) => format!("`'{text}'`"),
            Some(Token::Word(word)) => format!("`{word}`"),
            Some(Token::Sign(sign)) => format!("`{sign}`"),
            Some(Token::End) => "the end of a statement".to_owned(),
        };
        format!("Python beyond assertions and arithmetic, at {found}")
    }
}

/// Words that begin what is not an expression.
const KEYWORDS: [&str; 19] = [
    "if", "else", "elif", "for", "while", "def", "class", "import", "from", "return", "lambda",
    "try", "with", "in", "is", "and", "or", "not", "del",
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
