//! Spaces of observations and actions: names and bounds, as required for a `Box` of Gymnasium.

/// List of numbers, each with a name and bounds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Space {
    /// Name of each number.
    pub names: Vec<String>,
    /// Lower bound of each number.
    pub low: Vec<f32>,
    /// Upper bound of each number.
    pub high: Vec<f32>,
}

impl Space {
    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns `true` if the space has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Appends a number.
    pub(crate) fn push(&mut self, name: String, low: f32, high: f32) {
        self.names.push(name);
        self.low.push(low);
        self.high.push(high);
    }

    /// Creates an empty space.
    pub(crate) const fn new() -> Self {
        Self {
            names: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
        }
    }
}
