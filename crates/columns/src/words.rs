//! Columns with few distinct words: each word is stored once, and every row contains the index of its word.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};

/// A column whose words are known in advance.
#[derive(Clone, Debug)]
pub(crate) struct Known(Arc<StringArray>);

impl Known {
    pub(crate) fn new(words: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(Arc::new(StringArray::from_iter_values(words)))
    }

    /// Returns a column with the words that have these indices.
    pub(crate) fn column(&self, numbers: impl IntoIterator<Item = usize>) -> ArrayRef {
        let keys = numbers.into_iter().map(|number| number as i32);
        dictionary(Int32Array::from_iter_values(keys), self.0.clone())
    }
}

/// A column whose words are collected while rows are added. There are at most a few dozen words, and the first ones are
/// the most frequent, so a linear search is faster than a hash table.
#[derive(Clone, Debug)]
pub(crate) struct Met<K> {
    words: Vec<K>,
    keys: Vec<Option<i32>>,
}

impl<K> Default for Met<K> {
    fn default() -> Self {
        Self {
            words: Vec::new(),
            keys: Vec::new(),
        }
    }
}

impl<K: PartialEq + Display> Met<K> {
    pub(crate) fn push(&mut self, word: Option<K>) {
        let key = word.map(|word| {
            let known = self.words.iter().position(|known| *known == word);
            let number = known.unwrap_or_else(|| {
                self.words.push(word);
                self.words.len() - 1
            });
            number as i32
        });
        self.keys.push(key);
    }

    /// Returns the rows as a column and empties this builder.
    pub(crate) fn take(&mut self) -> ArrayRef {
        let words: Vec<String> = self.words.drain(..).map(|word| word.to_string()).collect();
        let keys = Int32Array::from(std::mem::take(&mut self.keys));
        dictionary(keys, Arc::new(StringArray::from(words)))
    }
}

fn dictionary(keys: Int32Array, words: Arc<StringArray>) -> ArrayRef {
    let column = DictionaryArray::<Int32Type>::try_new(keys, words);
    Arc::new(column.expect("every number has a word"))
}
