//! The functions of the language, for the reference and for error messages.

/// A function, for the reference and for error messages.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Name of the function.
    pub name: &'static str,
    /// Inputs of the function: `x, low, high`.
    pub inputs: &'static str,
    /// Description of the function's value.
    pub doc: &'static str,
}

macro_rules! functions {
    ($($name:literal ($inputs:literal): $doc:literal;)*) => {
        /// All functions, in the order of the reference.
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
    "runs" ("x"): "the number of samples behind each quantity";
    "all" ("truths, …"): "true if all are true";
    "any" ("truths, …"): "true if at least one is true";
    "count" ("truths"): "the number of true items";
    "size" ("list"): "the number of items";
    "which" ("truths"): "the names of the true items; in a list of lists, separately for each inner list";
    "leading" ("truths"): "the number of true items before the first that is not true";
    "within" ("x, low, high"): "true if the interval is within the bounds, false if it is outside";
    "above" ("x, bound"): "true if the interval is above the bound, false if it is at or below it";
    "below" ("x, bound"): "true if the interval is below the bound, false if it is at or above it";
    "exceeds" ("x, y"): "true if x's interval is above y's, false if it is below";
    "near" ("x, y, share"): "true if x and y certainly differ by at most this share of y, false if they certainly differ by more";
    "rises" ("list"): "true if each item exceeds the previous one";
    "falls" ("list"): "true if each item is below the previous one";
    "grows" ("list"): "false if a step certainly falls; otherwise, true if the last item exceeds the first";
    "min" ("numbers, …"): "the smallest number";
    "max" ("numbers, …"): "the largest number";
    "sum" ("numbers, …"): "the sum";
    "average" ("numbers, …"): "the arithmetic mean";
    "geomean" ("numbers, …"): "the geometric mean";
    "median" ("numbers, …"): "the median";
    "slope" ("numbers"): "the slope of the least-squares line through values at 1, 2, 3, …";
    "off_line" ("numbers"): "the largest distance of a value from the least-squares line";
    "line_squares" ("numbers"): "the sum of the squared distances from the least-squares line";
    "exponential_squares" ("numbers"): "the sum of the squared distances from the exponential whose logarithm is the least-squares line through the logarithms";
    "largest" ("list"): "the item with the highest mean; the first if several are equal";
    "smallest" ("list"): "the item with the lowest mean";
    "which_largest" ("list"): "the name of the item with the highest mean";
    "which_smallest" ("list"): "the name of the item with the lowest mean";
    "winners" ("lists"): "the names of those lists that have the highest mean at some item";
    "first" ("list"): "the first item";
    "last" ("list"): "the last item";
    "join" ("lists, …"): "the items of all lists in one list";
    "pool" ("quantities, …"): "one quantity with the samples of all";
    "sum_by_seed" ("quantities, …"): "the sum of the quantities, run by run";
    "mean_by_seed" ("quantities, …"): "the mean of the quantities, run by run";
    "mean_by_run" ("x"): "the mean over the flows of each run";
    "jain_by_run" ("x"): "Jain's fairness index over the flows of each run";
    "jain" ("x"): "Jain's fairness index over all samples";
    "ratio_of_means" ("x, y"): "the ratio of the means of unpaired samples, with a first-order interval";
    "value" ("points, \"key\""): "the value that a point sets, as a number in percent, Mbit/s, ms, kB or packets, or the number at the start of its text; the key may be left out if there is only one";
    "setting" ("\"key\""): "a number of the experiment file in bit/s, s, bytes or packets, or as a fraction";
    "abs" ("x"): "the absolute value";
    "round" ("x, decimals"): "numbers rounded to this many decimals";
    "ceil" ("x"): "the smallest whole number that is at least x";
    "floor" ("x"): "the largest whole number that is at most x";
    "ln" ("x"): "the natural logarithm";
    "exp" ("x"): "the exponential function";
    "sqrt" ("x"): "the square root";
}
