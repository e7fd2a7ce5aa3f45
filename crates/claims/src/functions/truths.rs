//! Functions of truth values.

use super::{Call, Evaluated};
use crate::operate::wanted;
use crate::syntax::Fault;
use crate::value::{List, ListKind, Value};
use crate::verdict::Verdict;

impl Call<'_> {
    /// Counts the true items: all of them (`count`), or the items before the first one that is not true (`leading`).
    pub(super) fn counted(&self) -> Evaluated {
        let mut truths = Vec::new();
        for leaf in self.one()?.leaves() {
            match leaf {
                Value::Truth(verdict) => truths.push(*verdict == Verdict::Holds),
                Value::Missing if self.name == "leading" => truths.push(false),
                Value::Missing => return Ok(Value::Missing),
                other => return Err(Fault::new(self.span_of(0), wanted("true or false", other))),
            }
        }
        let truths = truths.into_iter();
        Ok(Value::Number(match self.name {
            "count" => truths.filter(|truth| *truth).count(),
            _ => truths.take_while(|truth| *truth).count(),
        } as f64))
    }

    /// Returns the names of the true items. In a list of lists, the names are separate for each inner list.
    pub(super) fn which(&self, of: &Value) -> Evaluated {
        let Value::List(list) = of else {
            return Err(Fault::new(self.span_of(0), wanted("a list", of)));
        };
        let mut out = Vec::new();
        for (name, item) in &list.items {
            match item {
                Value::Truth(Verdict::Holds) => {
                    out.push((String::new(), Value::Text(name.clone())));
                }
                Value::Truth(_) | Value::Missing => {}
                Value::List(_) => {
                    let inner = self.which(item)?;
                    if !inner.leaves().is_empty() {
                        out.push((name.clone(), inner));
                    }
                }
                other => return Err(Fault::new(self.span_of(0), wanted("true or false", other))),
            }
        }
        Ok(Value::List(List {
            kind: ListKind::Plain,
            items: out,
        }))
    }
}
