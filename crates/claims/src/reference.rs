//! The functions of the language, for the reference and for error messages.

/// A function, for the reference and for error messages.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub inputs: &'static str,
    /// What it gives.
    pub doc: &'static str,
}

macro_rules! functions {
    ($($name:literal ($inputs:literal): $doc:literal;)*) => {
        /// All of them, in the order of the reference.
        pub const FUNCTIONS: &[Function] = &[
            $(Function { name: $name, inputs: $inputs, doc: $doc },)*
        ];
    };
}

functions! {
    "mean" ("x"): "the mean of each quantity";
    "lower" ("x"): "the lower end of its 95 % interval";
    "upper" ("x"): "the upper end of its 95 % interval";
    "half" ("x"): "half the width of its 95 % interval";
    "runs" ("x"): "how many samples it rests on";
    "all" ("truths, …"): "whether all are true";
    "any" ("truths, …"): "whether one is true";
    "count" ("truths"): "how many are true";
    "size" ("list"): "how many there are";
    "which" ("truths"): "the names of those that are true; of lists in a list, of each its own";
    "leading" ("truths"): "how many are true from the first on, before the first that is not";
    "within" ("x, low, high"): "true if the interval is within the bounds, false if it is outside of them";
    "above" ("x, bound"): "true if the interval is above the bound, false if it is at or below it";
    "below" ("x, bound"): "the same of below";
    "exceeds" ("x, y"): "true if x's interval is above y's, false if it is below it";
    "near" ("x, y, share"): "true if the intervals differ by at most this share of y for certain, false if by more for certain";
    "rises" ("list"): "whether each item exceeds the one before";
    "falls" ("list"): "the same of below";
    "grows" ("list"): "false if a step falls for certain; else whether the last item exceeds the first";
    "min" ("numbers, …"): "the least";
    "max" ("numbers, …"): "the greatest";
    "sum" ("numbers, …"): "the sum";
    "average" ("numbers, …"): "the arithmetic mean";
    "geomean" ("numbers, …"): "the geometric mean";
    "median" ("numbers, …"): "the median";
    "slope" ("numbers"): "the slope of the straight line through values at 1, 2, 3, …";
    "off_line" ("numbers"): "the largest distance from the straight line through them";
    "line_squares" ("numbers"): "the squared distances from that line, summed";
    "exponential_squares" ("numbers"): "the same from the exponential that is a line through their logarithms";
    "largest" ("list"): "the item with the highest mean, the first of equals";
    "smallest" ("list"): "the item with the lowest mean";
    "which_largest" ("list"): "its name";
    "which_smallest" ("list"): "the name of the item with the lowest mean";
    "winners" ("lists"): "of several lists, the names of those that have the highest mean at an item";
    "first" ("list"): "the first item";
    "last" ("list"): "the last item";
    "join" ("lists, …"): "the items of all, one after the other";
    "pool" ("quantities, …"): "all their samples as those of one quantity";
    "sum_by_seed" ("quantities, …"): "their sum, run by run";
    "mean_by_seed" ("quantities, …"): "their mean, run by run";
    "mean_by_run" ("x"): "the mean over the flows of each run";
    "jain_by_run" ("x"): "Jain's fairness index over the flows of each run";
    "jain" ("x"): "Jain's fairness index over all samples";
    "ratio_of_means" ("x, y"): "the ratio of the means of samples that are not paired, with an interval to first order";
    "value" ("points, \"key\""): "what a point sets, as a number in percent, Mbit/s, ms, kB or packets, or the number with which its text begins; the key may be left out if there is only one";
    "setting" ("\"key\""): "a number of the experiment file, in bit/s, s, bytes, packets or as a fraction";
    "abs" ("x"): "without its sign";
    "round" ("x, decimals"): "of numbers";
    "ceil" ("x"): "the least whole number that is not less";
    "floor" ("x"): "the greatest whole number that is not more";
    "ln" ("x"): "the natural logarithm";
    "exp" ("x"): "its inverse";
    "sqrt" ("x"): "the square root";
}
