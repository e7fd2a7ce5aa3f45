//! Columns of words of which there are few: each is kept once, and every row has its number.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};

/// A column of words that are known beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Known(Arc<StringArray>);

impl Known {
    pub(crate) fn new(words: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(Arc::new(StringArray::from_iter_values(words)))
    }

    /// The word with each of these numbers.
    pub(crate) fn column(&self, numbers: impl IntoIterator<Item = usize>) -> ArrayRef {
        let keys = numbers.into_iter().map(|number| number as i32);
        dictionary(Int32Array::from_iter_values(keys), self.0.clone())
    }
}

/// A column of words that are met on the way. There are a few dozen at most, and what is met first is met most
/// often: looking through them one by one is faster than a table.
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

    /// The rows so far, and none after that.
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
