//! What observations and actions may be: names and bounds, as a `Box` of Gymnasium wants them.

/// A list of numbers, each with a name and bounds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Space {
    /// What each number is called.
    pub names: Vec<String>,
    /// The least that each may be.
    pub low: Vec<f32>,
    /// The most that each may be.
    pub high: Vec<f32>,
}

impl Space {
    /// How many numbers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// One more number.
    pub(crate) fn push(&mut self, name: String, low: f32, high: f32) {
        self.names.push(name);
        self.low.push(low);
        self.high.push(high);
    }

    /// Nothing yet.
    pub(crate) const fn new() -> Self {
        Self {
            names: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
        }
    }
}
